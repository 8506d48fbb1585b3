"""
Mapping by the cycles of a step: the mappings by hops and by multicast traffic, each annealed on the busiest resource;
the better one is kept.

Fewer hops do not imply fewer cycles: they may concentrate traffic on one core, whose input port then limits the step.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...support.jit import Array
from ..kernels.graph import Graph
from ..method import Effort
from .multicast import CYCLES, MAX_COUNTS, refine_multicast
from .nets import Nets
from .step_anneal import anneal_step, step_loads
from .target import Cooling, Target

HOT, COLD = 3e-4, 3e-6
"""Worsening proposals are accepted up to about this share of the cost, at first and in the end."""


@dataclass(frozen=True)
class StepWork:
    """The work of an effort."""

    multicast: Effort | None
    """Of the start by multicast traffic; None: there is none."""
    sweeps: float
    """Proposals per vertex,"""
    work: float
    """or as many as look at so many pins."""


STEP_WORK = {
    Effort.FAST: StepWork(None, 20, 1e8),
    Effort.NORMAL: StepWork(Effort.NORMAL, 60, 5e8),
    Effort.HIGH: StepWork(Effort.HIGH, 200, 3e9),
}


def refine_step(nets: Nets, graph: Graph, core_of: Array, target: Target, state: Array, effort: Effort) -> Array:
    """
    Core of each vertex ([n] int32), from a mapping `core_of` within the capacity; `graph` is the same network.

    Networks with too many nets for the mesh (`multicast.MAX_COUNTS`) stay as they are.
    """
    if nets.count * target.mesh.cores > MAX_COUNTS:
        return core_of
    work = STEP_WORK[effort]
    starts = [core_of]
    if work.multicast is not None:
        starts.append(refine_multicast(nets, graph, core_of.copy(), target, state, CYCLES[work.multicast]))
    sweeps = max(5.0, min(work.sweeps, work.work / (graph.vertices + nets.pins.size)))
    found: list[Array] = []
    for start in starts:
        annealed = start.copy()
        anneal_step(nets, graph.size, annealed, target, state, Cooling(HOT, COLD, sweeps))
        found.append(annealed)
    return min(found, key=lambda mapping: float(step_loads(nets, mapping, target.mesh).max()))

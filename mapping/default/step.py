"""
Mapping for few cycles of a step: the mappings for few hops and for little multicast traffic are each annealed for the
load of the busiest resource; the better one is kept.

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
"""Worse proposals are accepted up to about this share of the cost, at first and in the end."""


@dataclass(frozen=True)
class StepWork:
    """The work of an effort."""

    multicast: Effort | None
    """Effort of the start for little multicast traffic; None: there is no such start."""
    sweeps: float
    """Largest number of proposals per vertex."""
    work: float
    """Largest number of pins that the proposals visit, if this gives fewer proposals."""


STEP_WORK = {
    Effort.FAST: StepWork(None, 20, 1e8),
    Effort.NORMAL: StepWork(Effort.NORMAL, 60, 5e8),
    Effort.HIGH: StepWork(Effort.HIGH, 200, 3e9),
}


def refine_step(nets: Nets, graph: Graph, core_of: Array, target: Target, state: Array, effort: Effort) -> Array:
    """
    Core of each vertex ([n] int32), from a mapping `core_of` within the capacity; `graph` is the same network.

    If there are too many nets for the mesh (`multicast.MAX_COUNTS`), the mapping is returned unchanged.
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

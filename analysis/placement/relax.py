"""Improvement of a placement, cluster by cluster: tiles of two cores are exchanged if that saves estimated cycles."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...chips import Chip
from .clusters import Cluster, clusters_of
from .estimate import Estimator, PlaceObjective
from .tile_graph import TileGraph

HOT_SWEEPS = 12
"""Number of passes for annealing."""


@dataclass(frozen=True)
class RelaxEffort:
    """The amount of search of `relax`."""

    sweeps: int = 3
    """Number of passes over all clusters, alternately forward and backward; with `heat`, `HOT_SWEEPS`."""
    trials: int = 120
    """Number of exchanges tried per block of cores and pass; all of them if there are fewer."""
    heat: float = 0.0
    """
    The fraction of a cluster's cycles up to which exchanges with a cost are accepted, with a falling probability
    (simulated annealing).
    """


def relax(
    graph: TileGraph,
    chip: Chip,
    core_of: NDArray[np.int32],
    objective: PlaceObjective,
    seed: int,
    effort: RelaxEffort = RelaxEffort(),
) -> NDArray[np.int32]:
    """
    [vertices] a placement that is estimated no worse than `core_of`, by exchanges within clusters (Gauss-Seidel).

    Each task keeps its set of cores, and so its share of the DRAM ports. With `heat`, the best placement is kept.
    """
    estimator = Estimator.of(graph, chip, objective)
    passed_on = np.diff(graph.sent.first) + np.diff(graph.shared.first)
    # Without transfers between cores, no exchange has a gain.
    clusters = [cluster for cluster in clusters_of(graph, core_of) if passed_on[cluster.affected].any()]
    generator = np.random.default_rng(seed)
    everything = np.arange(graph.tasks)
    placed = core_of.copy()
    best, least = placed.copy(), estimator.cycles(everything, placed)
    for sweep in range(HOT_SWEEPS if effort.heat else effort.sweeps):
        improved = False
        warmth = effort.heat * (1 - sweep / HOT_SWEEPS) ** 2
        for cluster in clusters if sweep % 2 == 0 else reversed(clusters):
            improved |= _improve(cluster, core_of, placed, estimator, generator, effort.trials, warmth)
        cycles = estimator.cycles(everything, placed)
        if cycles < least:
            best, least = placed.copy(), cycles
        if not improved:
            break
    return best


def _improve(
    cluster: Cluster,
    planned: NDArray[np.int32],
    placed: NDArray[np.int32],
    estimator: Estimator,
    generator: np.random.Generator,
    trials: int,
    heat: float,
) -> bool:
    own = planned[cluster.vertices]
    best = estimator.cycles(cluster.affected, placed)
    improved = False
    for block in cluster.blocks:
        groups = [cluster.vertices[own == core] for core in block]
        first = np.cumsum([0, *map(len, groups)])
        pairs = np.stack(np.tril_indices(len(block), -1), axis=1)
        if len(pairs) > trials:
            pairs = pairs[generator.choice(len(pairs), trials, replace=False)]
        before = generator.bit_generator.state
        draws = generator.random(len(pairs) if heat else 0)
        best, found, drawn = estimator.exchange(
            cluster.affected, placed, first, np.concatenate(groups), pairs, best, heat, draws
        )
        improved |= found
        generator.bit_generator.state = before
        generator.random(drawn)
    return improved

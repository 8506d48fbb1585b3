"""All ways of placing the tiles of a planned network, by name: the compiler's own, and simple ones to compare with."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ...chips import Chip
from ...mapping.baselines.hilbert import hilbert_order
from ...mapping.mesh import Mesh
from ...mapping.method import Objective
from ...support.errors import InputError
from .estimate import Estimator, PlaceObjective
from .greedy import place_greedily
from .mapped import place_mapped, place_matched
from .relax import relax
from .tile_graph import TileGraph

LEAST_GAIN = 0.001
"""Fraction of the estimated cycles by which a placement must be better than row-major to be chosen."""
RELAXED_GAIN = 0.02
"""The same for exchanges of single tiles, whose estimate is less certain: they break the even order of messages."""
QUICK_TRIALS = 40
"""Exchanges tried per block of cores: compilation is to stay quick."""
HEAT = 0.02
"""Of annealing, see `relax`."""

PlaceMethod = Callable[[TileGraph, Chip, NDArray[np.int32], PlaceObjective, int], NDArray[np.int32]]
"""(graph, chip, [vertices] cores as planned, objective, seed) -> [vertices] cores, different ones within each task."""


def place_best(
    graph: TileGraph, chip: Chip, planned: NDArray[np.int32], objective: PlaceObjective, seed: int
) -> NDArray[np.int32]:
    """Row-major, as planned, or as planned with exchanges: what is estimated best by a margin."""
    estimator = Estimator.of(graph, chip, objective)
    everything = np.arange(graph.tasks)
    best = row_major(graph, chip, planned, objective, seed)
    least = estimator.cycles(everything, best)
    for found, gain in (
        (planned, LEAST_GAIN),
        (relax(graph, chip, planned, objective=objective, seed=seed, sweeps=1, trials=QUICK_TRIALS), RELAXED_GAIN),
    ):
        cycles = estimator.cycles(everything, found)
        if cycles < (1 - gain) * least:
            best, least = found, cycles
    return best


def as_planned(
    graph: TileGraph, chip: Chip, planned: NDArray[np.int32], objective: PlaceObjective, seed: int
) -> NDArray[np.int32]:
    """Where the tilings have them: down the columns, if they come from `manycore-tile`."""
    del graph, chip, objective, seed
    return planned


def row_major(
    graph: TileGraph, chip: Chip, planned: NDArray[np.int32], objective: PlaceObjective, seed: int
) -> NDArray[np.int32]:
    """Tile t of every task on the t-th usable core."""
    del planned, objective, seed
    return _in_order(graph, np.array(chip.usable_cores, np.int32))


def hilbert(
    graph: TileGraph, chip: Chip, planned: NDArray[np.int32], objective: PlaceObjective, seed: int
) -> NDArray[np.int32]:
    """Tiles of every task along a Hilbert curve."""
    del planned, objective, seed
    return _in_order(graph, hilbert_order(Mesh.of_chip(chip)))


def at_random(
    graph: TileGraph, chip: Chip, planned: NDArray[np.int32], objective: PlaceObjective, seed: int
) -> NDArray[np.int32]:
    """Tile t of every task on the t-th core of one random order, so that values that stay in place do."""
    del planned, objective
    return _in_order(graph, np.random.default_rng(seed).permutation(np.array(chip.usable_cores, np.int32)))


def relaxed(
    graph: TileGraph, chip: Chip, planned: NDArray[np.int32], objective: PlaceObjective, seed: int
) -> NDArray[np.int32]:
    """As planned, with exchanges of tiles that are estimated to gain."""
    return relax(graph, chip, planned, objective=objective, seed=seed)


def anneal(
    graph: TileGraph, chip: Chip, planned: NDArray[np.int32], objective: PlaceObjective, seed: int
) -> NDArray[np.int32]:
    """Simulated annealing of exchanges."""
    return relax(graph, chip, planned, objective=objective, seed=seed, heat=HEAT)


def matched(
    graph: TileGraph, chip: Chip, planned: NDArray[np.int32], objective: PlaceObjective, seed: int
) -> NDArray[np.int32]:
    """As planned, all tiles of a task exchanged at once for few bytes x hops, task after task."""
    del objective, seed
    return place_matched(graph, chip, planned)


def literal(
    graph: TileGraph, chip: Chip, planned: NDArray[np.int32], objective: PlaceObjective, seed: int
) -> NDArray[np.int32]:
    """By the literal method of mapping: merging, bisection, regions, forces."""
    del objective
    return place_mapped(graph, chip, planned, "literal", Objective.HOPS, seed)


def hops(
    graph: TileGraph, chip: Chip, planned: NDArray[np.int32], objective: PlaceObjective, seed: int
) -> NDArray[np.int32]:
    """By the default method of mapping, for few bytes x hops."""
    del objective
    return place_mapped(graph, chip, planned, "default", Objective.HOPS, seed)


def multicast(
    graph: TileGraph, chip: Chip, planned: NDArray[np.int32], objective: PlaceObjective, seed: int
) -> NDArray[np.int32]:
    """By the default method of mapping, for few bytes x hops where each value goes once to each core."""
    del objective
    return place_mapped(graph, chip, planned, "default", Objective.MULTICAST, seed)


PLACE_METHODS: dict[str, PlaceMethod] = {
    "default": place_best,
    "planned": as_planned,
    "row-major": row_major,
    "random": at_random,
    "greedy": place_greedily,
    "hilbert": hilbert,
    "relaxed": relaxed,
    "anneal": anneal,
    "matched": matched,
    "literal": literal,
    "hops": hops,
    "multicast": multicast,
}

MAPPED = ("literal", "hops", "multicast")
"""Those that map the graph of all tiles, which takes the longer the more tiles and cores there are."""
HOPS = ("matched", *MAPPED)
"""Those that make bytes x hops few, whatever the busiest links and ports are."""


def find_place_method(name: str) -> PlaceMethod:
    """The method called `name`. Raises InputError listing the known ones."""
    if name not in PLACE_METHODS:
        raise InputError(f"no placement method '{name}': choose one of {', '.join(PLACE_METHODS)}")
    return PLACE_METHODS[name]


def _in_order(graph: TileGraph, order: NDArray[np.int32]) -> NDArray[np.int32]:
    counts = np.diff(graph.first)
    return order[np.arange(int(graph.first[-1])) - np.repeat(graph.first[:-1], counts)].astype(np.int32)

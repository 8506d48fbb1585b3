"""
All methods of placing the tiles of a planned network, by name: the compiler's methods, and simple ones to compare.
"""

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
from .relax import RelaxEffort, relax
from .tile_graph import TileGraph

LEAST_GAIN = 0.001
"""Fraction of the estimated cycles by which a placement must be better than row-major to be chosen."""
RELAXED_GAIN = 0.02
"""
As `LEAST_GAIN`, for exchanges of single tiles, whose estimate is less accurate, since they make the order of messages
irregular.
"""
QUICK_TRIALS = 40
"""Number of exchanges tried per block of cores; small, to keep compilation fast."""
HEAT = 0.02
"""Initial temperature of annealing, see `relax`."""

PlaceMethod = Callable[[TileGraph, Chip, NDArray[np.int32], PlaceObjective, int], NDArray[np.int32]]
"""(graph, chip, [vertices] cores as planned, objective, seed) -> [vertices] cores, different ones within each task."""


def place_best(
    graph: TileGraph, chip: Chip, planned: NDArray[np.int32], objective: PlaceObjective, seed: int
) -> NDArray[np.int32]:
    """The best of row-major, planned, and planned with exchanges, by the estimate, with a margin."""
    estimator = Estimator.of(graph, chip, objective)
    everything = np.arange(graph.tasks)
    best = row_major(graph, chip, planned, objective, seed)
    least = estimator.cycles(everything, best)
    for found, gain in (
        (planned, LEAST_GAIN),
        (relax(graph, chip, planned, objective, seed, RelaxEffort(sweeps=1, trials=QUICK_TRIALS)), RELAXED_GAIN),
    ):
        cycles = estimator.cycles(everything, found)
        if cycles < (1 - gain) * least:
            best, least = found, cycles
    return best


def as_planned(
    graph: TileGraph, chip: Chip, planned: NDArray[np.int32], objective: PlaceObjective, seed: int
) -> NDArray[np.int32]:
    """The planned cores; they are in column-major order if pass `manycore-tile` chose them."""
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
    """Tile t of every task on the t-th core of one random order, so that values in place stay in place."""
    del planned, objective
    return _in_order(graph, np.random.default_rng(seed).permutation(np.array(chip.usable_cores, np.int32)))


def relaxed(
    graph: TileGraph, chip: Chip, planned: NDArray[np.int32], objective: PlaceObjective, seed: int
) -> NDArray[np.int32]:
    """The planned placement, with exchanges of tiles that improve the estimate."""
    return relax(graph, chip, planned, objective, seed)


def anneal(
    graph: TileGraph, chip: Chip, planned: NDArray[np.int32], objective: PlaceObjective, seed: int
) -> NDArray[np.int32]:
    """The planned placement, improved by simulated annealing of exchanges."""
    return relax(graph, chip, planned, objective, seed, RelaxEffort(heat=HEAT))


def matched(
    graph: TileGraph, chip: Chip, planned: NDArray[np.int32], objective: PlaceObjective, seed: int
) -> NDArray[np.int32]:
    """The planned placement, with the tiles of one task after the other permuted for few bytes x hops."""
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
    """By the default method of mapping, for few bytes x hops with each value sent once to each core."""
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
"""Methods that map the graph of all tiles; their time grows with the numbers of tiles and cores."""
HOPS = ("matched", *MAPPED)
"""Methods that minimise bytes x hops, without regard to the busiest links and ports."""


def find_place_method(name: str) -> PlaceMethod:
    """The method called `name`. Raises InputError, which lists the known methods, if there is none."""
    if name not in PLACE_METHODS:
        raise InputError(f"no placement method '{name}': choose one of {', '.join(PLACE_METHODS)}")
    return PLACE_METHODS[name]


def _in_order(graph: TileGraph, order: NDArray[np.int32]) -> NDArray[np.int32]:
    counts = np.diff(graph.first)
    return order[np.arange(int(graph.first[-1])) - np.repeat(graph.first[:-1], counts)].astype(np.int32)

"""
Tests of the placement of tiles for few bytes x hops: assignments against all permutations, stacks and costs against
recounts.
"""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from meshloom.analysis.placement.assignment import assign
from meshloom.analysis.placement.estimate import Estimator, PlaceObjective
from meshloom.analysis.placement.matching import match, nearest_to
from meshloom.analysis.placement.methods import HOPS, PLACE_METHODS
from meshloom.analysis.placement.stacks import Stacks, stacks_of
from meshloom.analysis.placement.tile_graph import Rows, TileGraph
from meshloom.chips import load_chip
from meshloom.mapping.mesh import Mesh
from numpy.typing import NDArray

EDGE = load_chip("edge")
MESH = Mesh.of_chip(EDGE)


@pytest.mark.parametrize("seed", range(20))
def test_an_assignment_costs_no_more_than_any_other(seed: int) -> None:
    generator = np.random.default_rng(seed)
    columns = int(generator.integers(1, 7))
    rows = int(generator.integers(1, columns + 1))
    costs = generator.integers(-50, 50, (rows, columns)).astype(np.float64)
    found = assign(costs)
    assert len(set(found.tolist())) == rows
    least = min(sum(costs[row, column] for row, column in enumerate(way)) for way in permutations(range(columns), rows))
    assert costs[np.arange(rows), found].sum() == least


def rows_of(entries: list[list[tuple[int, list[int]]]]) -> Rows:
    """The entries of each task, given as (bytes, vertices)."""
    flat = [entry for task in entries for entry in task]
    return Rows(
        np.cumsum([0, *map(len, entries)]).astype(np.int64),
        np.array([nbytes for nbytes, _ in flat], np.int64),
        np.cumsum([0, *(len(vertices) for _, vertices in flat)]).astype(np.int64),
        np.array([vertex for _, vertices in flat for vertex in vertices], np.int32),
    )


def chain(order: NDArray[np.int64]) -> TileGraph:
    """Two tasks of 16 tiles: tile `order[t]` of the first sends 100 bytes to tile t of the second."""
    sent = [[], [(100, [int(order[tile]), 16 + tile]) for tile in range(16)]]
    none = rows_of([[], []])
    return TileGraph(np.array([0, 16, 32], np.int64), rows_of(sent), none, none, ())


def hop_bytes(stacks: Stacks, cores: NDArray[np.int32]) -> int:
    """Sum over edges of bytes times hops."""
    total = 0
    for source, target, nbytes in zip(stacks.source, stacks.target, stacks.nbytes, strict=True):
        a, b = int(cores[source]), int(cores[target])
        total += int(nbytes) * (abs(a % 4 - b % 4) + abs(a // 4 - b // 4))
    return total


@pytest.mark.parametrize("method", HOPS)
@pytest.mark.parametrize("seed", range(3))
def test_a_shuffled_chain_is_read_in_place(method: str, seed: int) -> None:
    graph = chain(np.random.default_rng(seed).permutation(16))
    planned = np.tile(np.arange(16), 2).astype(np.int32)
    placed = PLACE_METHODS[method](graph, EDGE, planned, PlaceObjective.MULTICAST, seed)
    stacks = stacks_of(graph, planned)
    assert hop_bytes(stacks, planned) > 0
    assert hop_bytes(stacks, placed) == 0


def random_graph(seed: int) -> tuple[TileGraph, NDArray[np.int32]]:
    """Five tasks of up to 16 tiles on random cores, the third of which reads the second in place."""
    generator = np.random.default_rng(seed)
    sizes: list[int] = generator.integers(2, 17, 5).tolist()
    sizes[2] = sizes[1]
    first = np.cumsum([0, *sizes]).astype(np.int64)
    cores = [generator.permutation(16)[:size] for size in sizes]
    cores[2] = cores[1]
    sent: list[list[tuple[int, list[int]]]] = [[]]
    for task in range(1, 5):
        sent.append([])
        for tile in range(sizes[task]):
            low, high = int(first[task - 1]), int(first[task])
            holder = low + int(generator.integers(high - low))
            sent[task].append((int(generator.integers(1, 1000)), [holder, int(first[task]) + tile]))
    none = rows_of([[]] * 5)
    graph = TileGraph(first, rows_of(sent), none, none, ((1, 2),))
    return graph, np.concatenate(cores).astype(np.int32)


@pytest.mark.parametrize("seed", range(8))
def test_stacks_merge_tiles_read_in_place_and_count_all_bytes_between_cores(seed: int) -> None:
    graph, planned = random_graph(seed)
    stacks = stacks_of(graph, planned)
    second, third = (slice(graph.first[task], graph.first[task + 1]) for task in (1, 2))
    assert (stacks.of_vertex[second] == stacks.of_vertex[third]).all()
    assert (stacks.planned[stacks.of_vertex] == planned).all()
    between = 0
    for entry in range(len(graph.sent.nbytes)):
        holder, reader = graph.sent.vertices[graph.sent.start[entry] : graph.sent.start[entry + 1]]
        if stacks.of_vertex[holder] != stacks.of_vertex[reader]:
            between += int(graph.sent.nbytes[entry])
    assert int(stacks.nbytes.sum()) == between


@pytest.mark.parametrize("seed", range(8))
def test_matching_saves_and_keeps_the_cores_of_each_task(seed: int) -> None:
    graph, planned = random_graph(seed)
    stacks = stacks_of(graph, planned)
    matched = match(stacks.planned, stacks, MESH)
    assert hop_bytes(stacks, matched) <= hop_bytes(stacks, stacks.planned)
    wanted = np.random.default_rng(seed).integers(0, 16, stacks.stacks).astype(np.int32)
    for placed in (matched, nearest_to(wanted, stacks, MESH)):
        for low, high in zip(stacks.first[:-1], stacks.first[1:], strict=True):
            assert sorted(placed[low:high].tolist()) == sorted(stacks.planned[low:high].tolist())
    for method in HOPS:
        cores = PLACE_METHODS[method](graph, EDGE, planned, PlaceObjective.MULTICAST, seed)
        for task in range(5):
            own = slice(graph.first[task], graph.first[task + 1])
            assert sorted(cores[own].tolist()) == sorted(planned[own].tolist())
        assert (cores[graph.first[1] : graph.first[2]] == cores[graph.first[2] : graph.first[3]]).all()


@pytest.mark.parametrize(("seed", "heat"), [(seed, heat) for seed in range(4) for heat in (0.0, 0.5)])
def test_exchanges_equal_those_of_a_sequential_search(seed: int, heat: float) -> None:
    graph, cores = random_graph(seed)
    estimator, tasks = Estimator.of(graph, load_chip("edge")), np.arange(5)
    generator = np.random.default_rng(seed)
    groups = [np.flatnonzero((cores == core) & (np.arange(len(cores)) >= graph.first[1])) for core in range(16)]
    groups = [group.astype(np.int32) for group in groups if len(group)]
    pairs = np.array([generator.choice(len(groups), 2, replace=False) for _ in range(60)])
    draws = generator.random(60)
    placed = cores.copy()
    start = estimator.cycles(tasks, placed)
    first = np.cumsum([0, *map(len, groups)])
    found = estimator.exchange(tasks, placed, first, np.concatenate(groups), pairs, start, heat, draws)
    expected, least, drawn = cores.copy(), start, 0
    for a, b in pairs.tolist():
        tried = expected.copy()
        tried[groups[a]], tried[groups[b]] = expected[groups[b][0]], expected[groups[a][0]]
        cycles = estimator.cycles(tasks, tried)
        better = cycles < least - 1e-9
        if not better and heat:
            better = draws[drawn] < np.exp((least - cycles) / (heat * least))
            drawn += 1
        if better:
            expected, least = tried, cycles
    assert (placed == expected).all()
    assert found[0] == pytest.approx(least)
    assert found[1:] == ((expected != cores).any() or least != start, drawn)

"""Tests of the mapping kernels: the cost changes that they report equal the differences of recomputed costs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from brute_force import Cores, cut, delivered, grid_network, hop_cost, hops_between, meshes, random_network
from hypothesis import given, settings
from hypothesis import strategies as st
from meshloom.mapping.default.anneal import anneal
from meshloom.mapping.default.bisect import bisect
from meshloom.mapping.default.cluster import clusters, heavy_pairs
from meshloom.mapping.default.hop_table import hop_table
from meshloom.mapping.default.links import level_links
from meshloom.mapping.default.multicast_anneal import (
    Distances,
    anneal_multicast,
    delivered_traffic,
    hop_distances,
    traffic_between,
)
from meshloom.mapping.default.nets import merge_nets, nets_of, shared_nets
from meshloom.mapping.default.scan_anneal import anneal_scanning
from meshloom.mapping.default.target import Cooling, Target
from meshloom.mapping.kernels.graph import Graph, induced, merge_steps, merge_vertices
from meshloom.mapping.kernels.heap import heap_fix, heap_make, heap_remove
from meshloom.mapping.kernels.numbered import Numbered
from meshloom.mapping.kernels.random import random_below, random_order, random_state
from meshloom.mapping.kernels.rectangle import choose_rectangle
from meshloom.mapping.literal.coarsen import coarsen
from meshloom.mapping.literal.force import relax
from meshloom.mapping.literal.refine import refine
from meshloom.mapping.mesh import Mesh
from meshloom.mapping.metrics.links import unicast_loads
from meshloom.mapping.topology.topology import Topology
from meshloom.support.errors import MeshloomError

SETTINGS = settings(max_examples=40, deadline=None)


def graph_of(topology: Topology) -> Graph:
    """The undirected graph of a network."""
    return Graph(topology.indptr, topology.indices, topology.data, topology.size)


def some_mapping(topology: Topology, mesh: Mesh, seed: int) -> Cores:
    """A random usable core for each vertex."""
    return np.random.default_rng(seed).choice(mesh.usable_cores, topology.vertices)


@given(mesh=meshes(), seed=st.integers(0, 99))
@SETTINGS
def test_hop_table_has_the_cost_of_each_vertex_on_each_core(mesh: Mesh, seed: int) -> None:
    topology = random_network(seed, 20, 60)
    core_of = some_mapping(topology, mesh, seed)
    table = hop_table(graph_of(topology), core_of, mesh)
    for v in range(20):
        row = range(topology.indptr[v], topology.indptr[v + 1])
        for core in range(mesh.cores):
            cost = sum(topology.data[k] * hops_between(mesh, core, int(core_of[topology.indices[k]])) for k in row)
            assert table[v, core % mesh.width] + table[v, mesh.width + core // mesh.width] == cost


def test_exceeding_capacity_temporarily_saves_hops() -> None:
    topology, mesh, capacity = grid_network(40, 3), Mesh(8, 8), 26
    graph = graph_of(topology)
    start = np.random.default_rng(3).permutation(np.repeat(np.arange(64, dtype=np.int32), 25))

    def hops(seed: int, limits: tuple[int, int] | None) -> int:
        core_of = start.copy()
        target = Target(mesh, mesh.usable_cores, capacity)
        anneal(graph, core_of, target, random_state(seed), Cooling(1, 0.01, 200), limits)
        # The penalty on overfull cores keeps the total excess small.
        assert np.maximum(np.bincount(core_of) - capacity, 0).sum() < 8
        target.fit(graph, core_of)
        return hop_cost(topology, mesh, core_of)

    # A single run may end with the grid twisted over the mesh.
    assert sum(hops(seed, (capacity + 3, capacity)) for seed in range(3)) < sum(hops(seed, None) for seed in range(3))


@given(mesh=meshes(), seed=st.integers(0, 99), hot=st.sampled_from([0.1, 1.0, 10.0]))
@SETTINGS
def test_annealing_reports_the_change_of_cost(mesh: Mesh, seed: int, hot: float) -> None:
    topology = random_network(seed, 50, 200, size=3)
    graph, cores = graph_of(topology), mesh.usable_cores
    start = some_mapping(topology, mesh, seed)
    before = np.bincount(start, topology.size, mesh.cores)
    capacity = int(topology.total_size / len(cores)) + 3
    target, cooling = Target(mesh, cores, capacity), Cooling(hot, 0.01, 20)

    core_of = start.copy()
    change = anneal(graph, core_of, target, random_state(seed), cooling)
    assert hop_cost(topology, mesh, core_of) == hop_cost(topology, mesh, start) + change
    after = np.bincount(core_of, topology.size, mesh.cores)
    assert (after <= np.maximum(before, capacity)).all()
    assert set(core_of.tolist()) <= set(cores.tolist())

    core_of = start.copy()
    limits = (capacity + 9, capacity + 2)
    change = anneal(graph, core_of, target, random_state(seed), cooling, limits)
    assert hop_cost(topology, mesh, core_of) == hop_cost(topology, mesh, start) + change
    after = np.bincount(core_of, topology.size, mesh.cores)
    assert (after <= np.maximum(before, limits[0])).all()
    assert set(core_of.tolist()) <= set(cores.tolist())

    core_of = start.copy()
    apart = 1 - np.eye(mesh.cores, dtype=np.int32)
    change = anneal_scanning(graph, core_of, apart, capacity, random_state(seed), cooling)
    assert cut(topology, core_of) == cut(topology, start) + change
    assert (np.bincount(core_of, topology.size, mesh.cores) <= np.maximum(before, capacity)).all()

    assert topology.src_indptr is not None
    assert topology.src_indices is not None
    assert topology.spikes is not None
    core_of = start.copy()
    nets = nets_of(topology.src_indptr, topology.src_indices, topology.spikes)
    state, cooling = random_state(seed), Cooling(hot / 20, 0.01, 20)
    change = anneal_multicast(nets, topology.size, core_of, hop_distances(mesh), target, state, cooling)
    traffic = delivered_traffic(nets, core_of, mesh)
    assert traffic == delivered_traffic(nets, start, mesh) + change
    assert (np.bincount(core_of, topology.size, mesh.cores) <= np.maximum(before, capacity)).all()

    # With all distances 1, the cost is the traffic between different cores, independent of their positions.
    core_of = start.copy()
    nearness = Distances(1 - np.eye(mesh.cores, dtype=np.int64), np.zeros((1, 1), np.int64))
    change = anneal_multicast(nets, topology.size, core_of, nearness, target, state, cooling)
    sent = [traffic_between(nets, mapping, mesh.cores) for mapping in (start, core_of)]
    every = np.arange(mesh.cores)
    assert (sent[0] * mesh.hops(every[:, None], every)).sum() == delivered_traffic(nets, start, mesh)
    assert sent[1].sum() - np.trace(sent[1]) == sent[0].sum() - np.trace(sent[0]) + change
    assert (np.bincount(core_of, topology.size, mesh.cores) <= np.maximum(before, capacity)).all()


def test_annealing_for_multicast_is_invariant_to_scaled_weights() -> None:
    topology, mesh = random_network(3, 60, 300), Mesh(4, 4)
    assert topology.src_indptr is not None
    assert topology.src_indices is not None
    assert topology.spikes is not None
    nets = nets_of(topology.src_indptr, topology.src_indices, topology.spikes)
    found: list[Cores] = []
    for factor in (1, 1024):
        core_of = some_mapping(topology, mesh, 1)
        scaled = replace(nets, weight=nets.weight * factor)
        target, cooling = Target(mesh, mesh.usable_cores, 60), Cooling(0.3, 0.01, 1000)
        anneal_multicast(scaled, topology.size, core_of, hop_distances(mesh), target, random_state(1), cooling)
        found.append(core_of)
    assert (found[0] == found[1]).all()
    assert (found[0] != some_mapping(topology, mesh, 1)).any()


@given(mesh=meshes(), seed=st.integers(0, 99))
@SETTINGS
def test_traffic_of_nets_equals_the_delivered_traffic(mesh: Mesh, seed: int) -> None:
    # With at most seven different numbers of spikes, no source needs rounding.
    topology = random_network(seed, 30, 300, most=7)
    assert topology.src_indptr is not None
    assert topology.src_indices is not None
    assert topology.spikes is not None
    core_of = some_mapping(topology, mesh, seed)
    nets = nets_of(topology.src_indptr, topology.src_indices, topology.spikes)
    assert delivered_traffic(nets, core_of, mesh) == delivered(topology, mesh, core_of)
    coarse_of, count = shared_nets(nets, topology.size, 4, random_state(seed), within=core_of)
    assert np.bincount(coarse_of, topology.size).max() <= 4
    merged = np.zeros(count, np.int32)
    merged[coarse_of] = core_of
    assert (merged[coarse_of] == core_of).all()
    assert delivered_traffic(merge_nets(nets, coarse_of, count), merged, mesh) == delivered(topology, mesh, core_of)


@pytest.mark.parametrize("directed", [True, False])
def test_load_of_the_busiest_link_falls(directed: bool) -> None:
    topology, mesh = random_network(5, 300, 2000), Mesh(4, 4)
    graph = graph_of(topology)
    assert topology.src_indptr is not None
    assert topology.src_indices is not None
    assert topology.spikes is not None
    rows, columns = topology.src_indices, np.repeat(np.arange(300), np.diff(topology.src_indptr))
    order = np.argsort(rows, kind="stable")
    back = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=300))])
    outgoing = Graph(topology.src_indptr, topology.src_indices, topology.spikes, topology.size)
    incoming = Graph(back, columns[order].astype(np.int32), topology.spikes[order], topology.size)
    if not directed:
        topology = Topology(topology.indptr, topology.indices, topology.data, topology.size)
        outgoing = incoming = graph
    core_of = some_mapping(topology, mesh, 1)
    before = unicast_loads(topology, mesh, core_of).max()
    level_links(outgoing, incoming, core_of, Target(mesh, mesh.usable_cores, 25), random_state(1), 20_000)
    assert unicast_loads(topology, mesh, core_of).max() < 0.8 * before


@given(seed=st.integers(0, 99))
@SETTINGS
def test_merging_keeps_sizes_and_the_cut(seed: int) -> None:
    topology = random_network(seed, 40, 150, size=4)
    coarse, coarse_of = coarsen(graph_of(topology), 6, random_state(seed))
    assert np.bincount(coarse_of).max() <= 2
    assert (coarse.size == np.bincount(coarse_of, topology.size)).all()
    assert (coarse.size[np.bincount(coarse_of) == 2] <= 6).all()
    assert coarse.data.sum() == 2 * cut(topology, coarse_of)
    pairs, count = heavy_pairs(graph_of(topology), 6, random_state(seed))
    assert set(pairs.tolist()) == set(range(count))


@given(seed=st.integers(0, 99))
@SETTINGS
def test_merging_several_steps_at_once_gives_the_same_graph(seed: int) -> None:
    graph = graph_of(random_network(seed, 60, 300, size=3))
    steps: list[Cores] = []
    merged = graph
    for size_limit in (4, 8, 20):
        coarse_of, count = clusters(merged, size_limit, random_state(seed + size_limit))
        steps.append(coarse_of)
        merged = merge_vertices(merged, coarse_of, count)
        at_once = merge_steps(graph, steps)
        for array in ("indptr", "indices", "data", "size"):
            assert getattr(at_once, array).tolist() == getattr(merged, array).tolist()
            assert getattr(at_once, array).dtype == getattr(merged, array).dtype


@given(seed=st.integers(0, 99))
@SETTINGS
def test_renumbered_graph_equals_the_induced_graph(seed: int) -> None:
    graph = graph_of(random_network(seed, 30, 100, size=3))
    numbered = Numbered(graph)
    for number in range(3):
        order = np.random.default_rng([seed, number]).permutation(30).astype(np.int32)
        numbered.number(order)
        expected = induced(graph, order, np.full(30, -1, np.int32))
        assert (numbered.order == order).all()
        for array in ("indptr", "indices", "data", "size"):
            assert getattr(numbered.graph, array).tolist() == getattr(expected, array).tolist()
            assert getattr(numbered.graph, array).dtype == getattr(expected, array).dtype


@given(seed=st.integers(0, 99))
@SETTINGS
def test_refinement_reports_the_reduction_of_the_cut(seed: int) -> None:
    topology = random_network(seed, 40, 150)
    part = np.random.default_rng(seed).integers(0, 5, 40).astype(np.int32)
    before = cut(topology, part)
    gained = refine(graph_of(topology), part, 5, 12, random_state(seed))
    assert cut(topology, part) == before - gained
    assert gained >= 0


def test_bisection_of_two_cliques_cuts_the_bridge() -> None:
    rows = [[v for v in range(20) if v != u and v // 10 == u // 10] for u in range(20)]
    rows[3].append(17)
    rows[17].append(3)
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    indices = np.concatenate(rows).astype(np.int32)
    graph = Graph(indptr, indices, np.ones(indices.size, np.int32), np.ones(20, np.int64))
    side = bisect(graph, np.zeros(20, np.int64), (11, 11), 0.5, random_state(0))
    assert sorted([side[:10].sum(), side[10:].sum()]) == [0, 10]
    # The attraction of an outside vertex assigns the second clique to side 0.
    pull = np.array([0] * 10 + [5] + [0] * 9)
    side = bisect(graph, pull, (11, 11), 0.5, random_state(0))
    assert side.tolist() == [1] * 10 + [0] * 10


def test_forces_untangle_a_line() -> None:
    # A chain 0 - 1 - 2 - 3, in which two neighbours are exchanged.
    indptr, indices = np.array([0, 1, 3, 5, 6]), np.array([1, 0, 2, 1, 3, 2], np.int32)
    groups = Graph(indptr, indices, np.ones(6, np.int32), np.ones(4, np.int64))
    core_of = np.array([0, 2, 1, 3], np.int32)
    assert relax(groups, core_of, Mesh(4, 1)) == 1
    assert core_of.tolist() == [0, 1, 2, 3]


@given(seed=st.integers(0, 99))
@SETTINGS
def test_each_swap_makes_the_two_forces_shorter(seed: int) -> None:
    # One group searches a partner, once: the lengths of the two forces are recomputed before and after.
    topology, mesh = random_network(seed, 12, 40), Mesh(4, 3)
    core_of = np.random.default_rng(seed).permutation(12).astype(np.int32)
    before = core_of.copy()
    swaps = relax(graph_of(topology), core_of, mesh, share=0.01, iterations=1)
    moved = np.flatnonzero(before != core_of)
    assert len(moved) == 2 * swaps

    def lengths(cores: Cores) -> float:
        total = 0.0
        for u in moved:
            row = slice(topology.indptr[u], topology.indptr[u + 1])
            others, weights = cores[topology.indices[row]], topology.data[row].astype(np.int64)
            total += float(np.hypot(*[(weights * (at[others] - at[cores[u]])).sum() for at in (mesh.x, mesh.y)]))
        return total

    if swaps:
        assert lengths(core_of) < lengths(before)


@given(keys=st.lists(st.integers(-9, 9), min_size=1, max_size=30), changes=st.lists(st.integers(-9, 9), max_size=10))
@SETTINGS
def test_heap_gives_the_least_first(keys: list[int], changes: list[int]) -> None:
    n = len(keys)
    heap, place, key = np.arange(n, dtype=np.int32), np.empty(n, np.int32), np.array(keys, np.int64)
    heap_make(heap, place, key, n)
    for i, value in enumerate(changes):
        key[i % n] = value
        heap_fix(heap, place, key, n, i % n)
    found: list[int] = []
    for count in range(n, 0, -1):
        found.append(int(key[heap[0]]))
        heap_remove(heap, place, key, count, int(heap[0]))
    assert found == sorted(key.tolist())


def test_random_numbers_are_spread_evenly() -> None:
    state = random_state(-7)
    counts = np.bincount([random_below(state, 10) for _ in range(10_000)], minlength=10)
    # Expected: 1000 each, with a standard deviation of 30.
    assert counts.min() > 850
    assert counts.max() < 1150
    assert sorted(random_order(state, 100).tolist()) == list(range(100))


def test_rectangle_of_least_extent() -> None:
    #  . X . .
    #  . . . .   Four cores: a square right of the hole, not a row across it.
    mesh = Mesh(4, 2, (1,))
    assert choose_rectangle(mesh, 4).tolist() == [2, 3, 6, 7]
    # Hops between chips are expensive: six cores of one chip are chosen, although they form a narrow column.
    assert set((choose_rectangle(Mesh(3, 2).array(2, 1, 9), 6) % 6).tolist()) == {0, 1, 2}
    with pytest.raises(MeshloomError, match="8 cores are needed"):
        choose_rectangle(mesh, 8)


def test_heavy_pairs_merge_most_vertices_of_a_grid() -> None:
    topology = grid_network(16, seed=2)
    coarse_of, count = heavy_pairs(graph_of(topology), 2, random_state(0))
    coarse = merge_vertices(graph_of(topology), coarse_of, count)
    assert coarse.size.sum() == 256
    assert coarse.vertices < 0.62 * 256

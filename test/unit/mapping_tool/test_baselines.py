"""Tests of the baseline mapping methods: invariants of every mapping, costs, and the orders that they use."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mapping_graphs import random_network
from meshloom.mapping.baselines.anneal_multicast import anneal_multicast, nets_of
from meshloom.mapping.baselines.hilbert import hilbert_order, vertex_order
from meshloom.mapping.kernels.random import random_state
from meshloom.mapping.mesh import Mesh
from meshloom.mapping.method import Effort, MapRequest, Objective, default_capacity
from meshloom.mapping.methods import METHODS, find_method
from meshloom.mapping.metrics.edge_costs import cut, hop_cost
from meshloom.mapping.metrics.multicast import delivered_traffic, directed_edges
from meshloom.mapping.topology.topology import from_directed
from meshloom.support.errors import MeshloomError

BASELINES = tuple(name for name, found in METHODS.items() if isinstance(found, str) and found.startswith("baselines."))
MESHES = (Mesh(3, 4), Mesh(4, 4, unusable=(0, 9)), Mesh(2, 2).array(2, 1, 6), Mesh(6, 6).rectangle(1, 2, 4, 3))


@settings(max_examples=12, deadline=None)
@given(
    st.integers(0, 1000),
    st.sampled_from(MESHES),
    st.sampled_from(BASELINES),
    st.sampled_from(list(Objective)),
    st.booleans(),
)
def test_mappings_keep_the_capacity_and_are_reproducible(
    seed: int, mesh: Mesh, name: str, objective: Objective, sizes: bool
) -> None:
    topology = random_network(seed, largest_size=5 if sizes else 1)
    capacity = default_capacity(topology.total_size, mesh) + (4 if sizes else 0)
    method = find_method(name)
    core_of = method(
        MapRequest(topology, mesh, capacity, objective=objective, effort=Effort.FAST, seed=seed)
    ).core_of_vertex
    assert core_of.shape == (topology.vertices,)
    assert mesh.usable[core_of].all()
    assert np.bincount(core_of, topology.size).max() <= capacity
    again = method(
        MapRequest(topology, mesh, capacity, objective=objective, effort=Effort.FAST, seed=seed)
    ).core_of_vertex
    assert core_of.tobytes() == again.tobytes()


@pytest.mark.parametrize("name", BASELINES)
def test_vertices_without_edges_and_networks_without_vertices(name: str) -> None:
    alone = from_directed([0, 0, 0, 0], [], [])
    assert np.bincount(find_method(name)(MapRequest(alone, Mesh(2, 2), 1)).core_of_vertex, minlength=4).max() == 1
    assert find_method(name)(MapRequest(from_directed([0], [], []), Mesh(2, 2), 1)).core_of_vertex.shape == (0,)


@pytest.mark.parametrize("name", BASELINES)
def test_sizes_that_cannot_be_packed_are_an_error(name: str) -> None:
    # Three vertices of size 2 on two cores of capacity 3: the sum fits, but vertices cannot be divided.
    topology = from_directed([0, 1, 2, 3], [1, 2, 0], [1, 1, 1], [2, 2, 2])
    with pytest.raises(MeshloomError, match="no core"):
        find_method(name)(MapRequest(topology, Mesh(2, 1), 3))


@pytest.mark.parametrize(
    ("objective", "even"),
    [(Objective.HOPS, True), (Objective.CUT, True), (Objective.MULTICAST, True), (Objective.MULTICAST, False)],
)
def test_annealing_improves_its_objective(objective: Objective, even: bool) -> None:
    topology, mesh = random_network(7, 120, even=even), Mesh(4, 4)
    capacity = default_capacity(topology.total_size, mesh)
    start = find_method("hilbert")(MapRequest(topology, mesh, capacity)).core_of_vertex
    found = find_method("anneal")(MapRequest(topology, mesh, capacity, objective=objective)).core_of_vertex

    def cost(core_of: np.ndarray[tuple[int, ...], np.dtype[np.int32]]) -> int:
        if objective is Objective.CUT:
            return cut(topology, core_of)
        if objective is Objective.HOPS:
            return hop_cost(topology, mesh, core_of)
        return delivered_traffic(topology, mesh, core_of)

    assert cost(found) < 0.9 * cost(start)


def test_annealing_finds_the_best_mapping_of_a_chain() -> None:
    # A chain of 16 vertices on 2 x 2 cores of capacity 4: at least three edges cross between cores, one hop each.
    n = 16
    chain = from_directed([*range(n), n - 1], [*range(1, n)], [1] * (n - 1))
    found = find_method("anneal")(MapRequest(chain, Mesh(2, 2), 4, effort=Effort.HIGH)).core_of_vertex
    assert hop_cost(chain, Mesh(2, 2), found) == 3


@pytest.mark.parametrize("even", [True, False])
def test_multicast_annealing_at_zero_moves_changes_nothing(even: bool) -> None:
    topology, mesh = random_network(3, even=even), Mesh(3, 3)
    core_of = np.arange(topology.vertices, dtype=np.int32) % 9
    before = core_of.copy()
    nets = nets_of(*directed_edges(topology))
    anneal_multicast(nets, topology.size, core_of, mesh, 100, 0, random_state(0))
    assert (core_of == before).all()


@pytest.mark.parametrize("side", [2, 4, 8])
def test_hilbert_curve_goes_from_neighbour_to_neighbour(side: int) -> None:
    mesh = Mesh(side, side)
    curve = hilbert_order(mesh)
    assert sorted(curve.tolist()) == list(range(side * side))
    assert (mesh.hops(curve[1:], curve[:-1]) == 1).all()


def test_hilbert_curve_takes_every_usable_core_of_any_mesh() -> None:
    mesh = Mesh(7, 3, unusable=(2, 10))
    assert sorted(hilbert_order(mesh).tolist()) == mesh.usable_cores.tolist()


def test_vertices_come_after_their_sources() -> None:
    # 3 -> 1 -> 0 -> 2
    order = vertex_order(from_directed([0, 1, 2, 2, 3], [2, 0, 1], [1, 1, 1])).tolist()
    assert order == [3, 1, 0, 2]


def test_cycles_are_ordered_breadth_first() -> None:
    ring = from_directed([0, 1, 2, 3, 4], [1, 2, 3, 0], [1] * 4)
    order = vertex_order(ring).tolist()
    assert sorted(order) == [0, 1, 2, 3]
    assert abs(order[0] - order[3]) == 2  # the vertex farthest from the first is last

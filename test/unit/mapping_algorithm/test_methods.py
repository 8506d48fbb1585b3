"""Invariants of mappings for all networks, meshes and objectives."""

from __future__ import annotations

import numpy as np
import pytest
from brute_force import Cores, cut, delivered, grid_network, hop_cost, meshes, networks, random_network
from hypothesis import given, settings
from hypothesis import strategies as st
from meshloom.mapping.default.method import map_default
from meshloom.mapping.literal.method import map_literal
from meshloom.mapping.mesh import Mesh
from meshloom.mapping.method import Effort, MapMethod, MapRequest, Objective, default_capacity
from meshloom.mapping.topology.topology import Topology, make_topology
from meshloom.support.errors import InputError, MeshloomError

METHODS: list[MapMethod] = [map_default, map_literal]


def assert_valid(topology: Topology, mesh: Mesh, capacity: int, core_of: Cores) -> None:
    """Every vertex on one usable core, no core over the capacity."""
    assert core_of.dtype == np.int32
    assert core_of.shape == (topology.vertices,)
    assert set(core_of.tolist()) <= set(mesh.usable_cores.tolist())
    assert np.bincount(core_of, topology.size, mesh.cores).max(initial=0) <= capacity


@pytest.mark.parametrize("method", METHODS)
@given(
    topology=networks(),
    mesh=meshes(),
    spare=st.integers(0, 6),
    objective=st.sampled_from(Objective),
    seed=st.integers(0, 9),
)
@settings(max_examples=25, deadline=None)
def test_within_the_capacity_and_the_same_for_the_same_seed(
    method: MapMethod, topology: Topology, mesh: Mesh, spare: int, objective: Objective, seed: int
) -> None:
    # Capacity for one vertex more than an even share: packing the largest first cannot fail then.
    capacity = default_capacity(topology.total_size, mesh) + int(topology.size.max(initial=1)) + spare
    first, second = (
        method(MapRequest(topology, mesh, capacity, objective=objective, effort=Effort.FAST, seed=seed))
        for _ in range(2)
    )
    assert_valid(topology, mesh, capacity, first.core_of_vertex)
    assert first.core_of_vertex.tobytes() == second.core_of_vertex.tobytes()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("mesh", [Mesh(8, 8), Mesh(8, 8, (0, 9, 27, 28, 35, 36)), Mesh(4, 4).array(2, 2, 5)], ids=str)
def test_capacity_of_an_even_share_rounded_up_is_kept(method: MapMethod, mesh: Mesh) -> None:
    topology = random_network(1, 1000, 6000)
    capacity = -(-topology.total_size // len(mesh.usable_cores))
    assert_valid(
        topology, mesh, capacity, method(MapRequest(topology, mesh, capacity, effort=Effort.FAST)).core_of_vertex
    )


@pytest.mark.parametrize("method", METHODS)
def test_seeds_differ(method: MapMethod) -> None:
    topology, mesh = random_network(1, 500, 3000), Mesh(4, 4)
    results = {
        method(MapRequest(topology, mesh, 40, effort=Effort.FAST, seed=seed)).core_of_vertex.tobytes()
        for seed in range(3)
    }
    assert len(results) == 3


@pytest.mark.parametrize("method", METHODS)
def test_one_core_takes_all(method: MapMethod) -> None:
    topology = random_network(2, 50, 200)
    assert set(method(MapRequest(topology, Mesh(1, 1), 50)).core_of_vertex.tolist()) == {0}


@pytest.mark.parametrize("method", METHODS)
def test_more_cores_than_vertices(method: MapMethod) -> None:
    topology, mesh = random_network(3, 5, 10), Mesh(6, 6)
    core_of = method(MapRequest(topology, mesh, 1)).core_of_vertex
    assert_valid(topology, mesh, 1, core_of)


@pytest.mark.parametrize("method", METHODS)
def test_no_edges_and_no_weight(method: MapMethod) -> None:
    mesh = Mesh(3, 3)
    apart = make_topology(np.zeros(91, np.int64), [])
    assert_valid(apart, mesh, 11, method(MapRequest(apart, mesh, 11)).core_of_vertex)
    weightless = make_topology([0, 1, 2], [1, 0], [0, 0])
    assert_valid(weightless, mesh, 1, method(MapRequest(weightless, mesh, 1)).core_of_vertex)
    nothing = make_topology([0], [])
    assert method(MapRequest(nothing, mesh, 1)).core_of_vertex.size == 0


@pytest.mark.parametrize("method", METHODS)
def test_a_network_that_cannot_fit_is_an_error(method: MapMethod) -> None:
    large = make_topology([0, 0, 0], [], size=[3, 9])
    with pytest.raises(MeshloomError, match="vertex 1 has size 9, a core holds 8"):
        method(MapRequest(large, Mesh(2, 2), 8))
    with pytest.raises(MeshloomError, match="size 12 together, 1 cores hold 9"):
        method(MapRequest(large, Mesh(1, 1), 9))
    # Three vertices of size 2 on two cores of capacity 3: the sum fits, the single vertices do not.
    awkward = make_topology([0, 0, 0, 0], [], size=[2, 2, 2])
    with pytest.raises(MeshloomError, match="no way to pack"):
        method(MapRequest(awkward, Mesh(2, 1), 3))


@pytest.mark.parametrize("method", METHODS)
def test_large_vertices_take_more_cores_than_their_sum_needs(method: MapMethod) -> None:
    """Three vertices of size 3 on cores of capacity 5 use a core each, although two cores could hold their sum."""
    topology, mesh = (
        make_topology([0, 2, 4, 6], [1, 2, 0, 2, 0, 1], [78, 54, 78, 70, 54, 70], size=[3, 3, 3]),
        Mesh(2, 3),
    )
    for objective in (Objective.HOPS, Objective.CUT):
        core_of = method(MapRequest(topology, mesh, 5, objective=objective)).core_of_vertex
        assert_valid(topology, mesh, 5, core_of)
        assert len(set(core_of.tolist())) == 3


def test_cost_of_a_grid_is_close_to_its_best_known_mapping() -> None:
    # 32 x 32 vertices on 4 x 4 cores: squares of 8 x 8 are the best known mapping, with a cut only between neighbours.
    topology, mesh = grid_network(32, seed=5), Mesh(4, 4)
    planted = 3 * 2 * 3 * 32
    core_of = map_default(MapRequest(topology, mesh, 68, seed=1)).core_of_vertex
    assert hop_cost(topology, mesh, core_of) <= 1.4 * planted


def test_each_objective_gives_the_least_of_its_own_cost() -> None:
    topology, mesh = random_network(4, 400, 2400, most=1), Mesh(4, 4)
    found = {
        objective: map_default(MapRequest(topology, mesh, 27, objective=objective)).core_of_vertex
        for objective in (Objective.HOPS, Objective.MULTICAST, Objective.CUT)
    }
    costs = {
        Objective.HOPS: {other: hop_cost(topology, mesh, core_of) for other, core_of in found.items()},
        Objective.MULTICAST: {other: delivered(topology, mesh, core_of) for other, core_of in found.items()},
        Objective.CUT: {other: cut(topology, core_of) for other, core_of in found.items()},
    }
    for objective, by_method in costs.items():
        assert min(by_method.values()) == by_method[objective]


def test_no_more_cores_than_needed() -> None:
    # 100 vertices, capacity 30, 5% reserve: four cores, in a square.
    core_of = map_default(MapRequest(random_network(6, 100, 500), Mesh(8, 8), 30)).core_of_vertex
    cores = np.unique(core_of)
    assert len(cores) <= 4
    assert np.ptp(cores % 8) <= 1
    assert np.ptp(cores // 8) <= 1


def test_numbering_of_vertices_does_not_matter() -> None:
    mesh = Mesh(4, 4)
    costs = {
        labels: [
            hop_cost(
                topology,
                mesh,
                map_default(MapRequest(topology, mesh, 26, effort=Effort.FAST, seed=seed)).core_of_vertex,
            )
            for seed in range(6)
        ]
        for labels in (1, 2)
        for topology in [grid_network(20, seed=labels)]
    }
    assert abs(np.mean(costs[1]) / np.mean(costs[2]) - 1) < 0.15


def test_multicast_needs_directions() -> None:
    undirected = make_topology([0, 1, 2], [1, 0])
    with pytest.raises(InputError, match="directed edges"):
        map_default(MapRequest(undirected, Mesh(2, 1), 1, objective=Objective.MULTICAST))

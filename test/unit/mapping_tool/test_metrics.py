"""Property tests of the costs of mappings against a recount in Python, edge by edge and hop by hop."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from meshloom.mapping.mesh import Mesh
from meshloom.mapping.metrics.costs import costs_of
from meshloom.mapping.metrics.links import unicast_loads
from meshloom.mapping.metrics.multicast import multicast_loads
from meshloom.mapping.topology.topology import Topology, from_directed, make_topology
from meshloom.support.errors import InputError
from numpy.typing import NDArray

Edge = tuple[int, int, int]

COLUMN_GAP, ROW_GAP = 5, 3


def meshes() -> st.SearchStrategy[Mesh]:
    plain = st.builds(Mesh, st.integers(1, 5), st.integers(1, 4))
    return st.one_of(
        plain,
        st.just(Mesh(4, 3, unusable=(0, 5, 11))),
        st.just(Mesh(2, 2, unusable=(1,)).array(2, 2, COLUMN_GAP)),
        st.just(Mesh(4, 4, column_costs=(1, COLUMN_GAP, 1), row_costs=(ROW_GAP, 1, 1)).rectangle(1, 0, 3, 3)),
    )


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[Edge], int, Mesh, list[int]]:
    """Directed edges (source, target, spikes), number of vertices, mesh, core of each vertex."""
    n = draw(st.integers(1, 12))
    vertex = st.integers(0, n - 1)
    edges = draw(st.lists(st.tuples(vertex, vertex, st.integers(0, 9)), max_size=40))
    mesh = draw(meshes())
    usable: list[int] = mesh.usable_cores.tolist()
    return edges, n, mesh, draw(st.lists(st.sampled_from(usable), min_size=n, max_size=n))


def topology_of(edges: list[Edge], n: int) -> Topology:
    edges = sorted((e for e in edges if e[0] != e[1]), key=lambda e: e[:2])
    indptr = np.cumsum([0, *(sum(1 for e in edges if e[0] == u) for u in range(n))])
    return from_directed(indptr, [e[1] for e in edges], [e[2] for e in edges], np.arange(n) % 3)


def xy_route(mesh: Mesh, start: int, end: int) -> list[int]:
    """The routers of the route from one core to another, along the row first."""
    x, y = start % mesh.width, start // mesh.width
    to_x, to_y = end % mesh.width, end // mesh.width
    routers = [start]
    while (x, y) != (to_x, to_y):
        if x != to_x:
            x += 1 if to_x > x else -1
        else:
            y += 1 if to_y > y else -1
        routers.append(y * mesh.width + x)
    return routers


def route_cost(mesh: Mesh, routers: list[int]) -> int:
    total = 0
    for a, b in pairwise(routers):
        costs, at = (
            (mesh.column_costs, min(a, b) % mesh.width)
            if abs(a - b) == 1
            else (mesh.row_costs, min(a, b) // mesh.width)
        )
        total += costs[at] if costs else 1
    return total


def recount(edges: list[Edge], mesh: Mesh, core: list[int]) -> tuple[int, int, int, Counter[Edge], Counter[Edge]]:
    """(cut, hop cost, delivered traffic, unicast loads, multicast loads); loads by (router, next router, 0)."""
    cut = hops = delivered = 0
    unicast: Counter[Edge] = Counter()
    multicast: Counter[Edge] = Counter()
    largest: dict[tuple[int, int], int] = {}
    for u, v, spikes in edges:
        if u == v:
            continue
        route = xy_route(mesh, core[u], core[v])
        cut += spikes * (core[u] != core[v])
        hops += spikes * route_cost(mesh, route)
        for a, b in pairwise(route):
            unicast[a, b, 0] += spikes
        largest[u, core[v]] = max(largest.get((u, core[v]), 0), spikes)
    trees: dict[tuple[int, int, int], int] = {}
    for (u, target), spikes in largest.items():
        route = xy_route(mesh, core[u], target)
        delivered += spikes * route_cost(mesh, route)
        for a, b in pairwise(route):
            trees[u, a, b] = max(trees.get((u, a, b), 0), spikes)
    for (_, a, b), spikes in trees.items():
        multicast[a, b, 0] += spikes
    return cut, hops, delivered, unicast, multicast


def by_link(mesh: Mesh, loads: NDArray[np.number]) -> Counter[Edge]:
    steps = (1, -1, -mesh.width, mesh.width)
    directions, routers = np.nonzero(loads)
    return Counter({(int(r), int(r) + steps[w], 0): int(loads[w, r]) for w, r in zip(directions, routers, strict=True)})


@settings(max_examples=150, deadline=None)
@given(cases())
def test_costs_equal_a_recount(case: tuple[list[Edge], int, Mesh, list[int]]) -> None:
    edges, n, mesh, core = case
    topology, mapping = topology_of(edges, n), np.array(core, np.int32)
    costs = costs_of(topology, mesh, mapping)
    cut, hops, delivered, unicast, multicast = recount(edges, mesh, core)
    assert (costs.cut, costs.hop_cost, costs.delivered_traffic) == (cut, hops, delivered)
    assert by_link(mesh, unicast_loads(topology, mesh, mapping)) == +unicast
    assert by_link(mesh, multicast_loads(topology, mesh, mapping)) == +multicast
    assert costs.max_link_load == max(unicast.values(), default=0)
    assert costs.max_tree_link_load == max(multicast.values(), default=0)
    assert costs.tree_traffic == sum(load * route_cost(mesh, [a, b]) for (a, b, _), load in multicast.items())
    sizes = Counter[int]()
    for vertex in range(n):
        sizes[core[vertex]] += vertex % 3
    assert costs.max_load == max(sizes.values())
    assert costs.used_cores == len(set(core))


def test_undirected_edges_load_both_directions_by_half() -> None:
    # Vertices on the cores 0 and 3 of a 2 x 2 mesh: the routes 0 -> 1 -> 3 and 3 -> 2 -> 0 carry half of 5 each.
    topology = make_topology([0, 1, 2], [1, 0], [5, 5])
    costs = costs_of(topology, Mesh(2, 2), np.array([0, 3], np.int32))
    assert (costs.cut, costs.hop_cost, costs.max_link_load) == (5, 10, 2.5)
    assert costs.delivered_traffic is None
    assert costs.max_tree_link_load is None


def test_delivered_traffic_counts_a_core_once_with_its_largest_spikes() -> None:
    # 0 sends 3 and 7 to two vertices on core 2, two hops away, and 9 to one on its own core.
    topology = from_directed([0, 3, 3, 3, 3], [1, 2, 3], [3, 7, 9])
    costs = costs_of(topology, Mesh(3, 1), np.array([0, 2, 2, 0], np.int32))
    assert costs.delivered_traffic == 7 * 2
    assert costs.hop_cost == (3 + 7) * 2


def test_imbalance_is_fullest_over_mean_of_usable_cores() -> None:
    topology = make_topology([0, 0, 0, 0], [], [], [4, 1, 1])
    costs = costs_of(topology, Mesh(2, 2, unusable=(3,)), np.array([0, 1, 1], np.int32))
    assert costs.imbalance == 4 / 2


@pytest.mark.parametrize(
    ("core", "message"),
    [([0], "expected a core for each"), ([0, 4], "core 4"), ([0, -1], "core -1"), ([0, 3], "vertex 1 on core 3")],
)
def test_invalid_mappings_are_refused(core: list[int], message: str) -> None:
    topology = make_topology([0, 0, 0], [])
    with pytest.raises(InputError, match=message):
        costs_of(topology, Mesh(2, 2, unusable=(3,)), np.array(core, np.int32))

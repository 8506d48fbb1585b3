"""Tests of key nodes: figures, graphs of files, and the definitions by all paths and all orders as oracles."""

from __future__ import annotations

import time
from itertools import permutations

import numpy as np
import pytest
from example_graphs import FIGURE_1, FIGURE_3, FIGURE_4, Edges, edges_of, from_file, named, names_of, random_graphs
from hypothesis import given, settings
from hypothesis import strategies as st
from meshloom.analysis.subgraphs.key_nodes import branch_nodes, cut_nodes, path_cut_nodes
from meshloom.analysis.subgraphs.op_graph import NodeInfo, OpGraph


def topological_orders(graph: OpGraph) -> list[tuple[int, ...]]:
    edges = edges_of(graph)
    return [
        order
        for order in permutations(range(len(graph)))
        if all(order.index(source) < order.index(target) for source, target in edges)
    ]


def all_paths(edges: Edges, starts: list[int], ends: list[int]) -> list[list[int]]:
    found: list[list[int]] = []

    def walk(path: list[int]) -> None:
        if path[-1] in ends:
            found.append(path)
        for source, target in edges:
            if source == path[-1]:
                walk([*path, target])

    for start in starts:
        walk([start])
    return found


def intersection(paths: list[list[int]]) -> list[int]:
    common = set(paths[0] if paths else [])
    for path in paths:
        common &= set(path)
    return sorted(common)


def transitive_reduction(edges: Edges) -> Edges:
    """Edges of the transitive reduction."""

    def reaches(source: int, target: int, but: tuple[int, int]) -> bool:
        return any(
            edge != but and edge[0] == source and (edge[1] == target or reaches(edge[1], target, but)) for edge in edges
        )

    return [edge for edge in edges if not reaches(*edge, edge)]


def test_figure_1() -> None:
    assert names_of(FIGURE_1, cut_nodes(FIGURE_1)) == ["relu", "softmax"]
    assert names_of(FIGURE_1, path_cut_nodes(FIGURE_1)) == ["relu", "softmax"]
    orders = {tuple(FIGURE_1.names[node] for node in order) for order in _orders_by_search(FIGURE_1)}
    assert tuple("relu conv1 matmul mean add1 conv2 axpy sub add2 softmax".split()) in orders
    assert tuple("relu conv2 axpy sub add2 conv1 matmul mean add1 softmax".split()) in orders
    # Two branches of four operators between fixed ends have 8 over 4 orders.
    assert len(orders) == 70


def _orders_by_search(graph: OpGraph) -> list[list[int]]:
    """All topological orders, by depth-first search, because ten nodes have too many permutations."""
    found: list[list[int]] = []

    def extend(order: list[int]) -> None:
        if len(order) == len(graph):
            found.append(order)
        for node in range(len(graph)):
            if node not in order and all(int(before) in order for before in graph.predecessors[node]):
                extend([*order, node])

    extend([])
    return found


def test_figure_3_has_two_orders() -> None:
    assert len(topological_orders(FIGURE_3)) == 2
    assert names_of(FIGURE_3, cut_nodes(FIGURE_3)) == ["conv", "softmax"]


def test_figure_4() -> None:
    for function in (cut_nodes, path_cut_nodes, branch_nodes):
        assert names_of(FIGURE_4, function(FIGURE_4)) == ["k1", "k2", "k3"]


def test_every_node_of_a_chain_is_a_key_node() -> None:
    chain = named("a b", "b c", "c d")
    assert names_of(chain, cut_nodes(chain)) == names_of(chain, path_cut_nodes(chain)) == list("abcd")
    assert len(branch_nodes(chain)) == 0


def test_operators_parallel_to_a_skip_connection_are_on_no_common_path() -> None:
    residual = named("in conv", "conv add", "in add", "add out")
    assert names_of(residual, path_cut_nodes(residual)) == ["in", "add", "out"]
    assert names_of(residual, cut_nodes(residual)) == ["in", "conv", "add", "out"]


@given(graph=random_graphs())
@settings(max_examples=150, deadline=None)
def test_path_cut_nodes_are_the_intersection_of_all_paths(graph: OpGraph) -> None:
    starts, ends = np.flatnonzero(graph.reads_input).tolist(), np.flatnonzero(graph.is_output).tolist()
    assert path_cut_nodes(graph).tolist() == intersection(all_paths(edges_of(graph), starts, ends))


@given(graph=random_graphs())
@settings(max_examples=150, deadline=None)
def test_cut_nodes_are_the_intersection_of_paths_without_implied_edges(graph: OpGraph) -> None:
    edges = transitive_reduction(edges_of(graph))
    starts = [node for node in range(len(graph)) if all(target != node for _, target in edges)]
    ends = [node for node in range(len(graph)) if all(source != node for source, _ in edges)]
    assert cut_nodes(graph).tolist() == intersection(all_paths(edges, starts, ends))
    assert set(path_cut_nodes(graph).tolist()) <= set(cut_nodes(graph).tolist())


@given(graph=random_graphs(most=6))
@settings(max_examples=60, deadline=None)
def test_cut_nodes_have_one_position_in_all_orders(graph: OpGraph) -> None:
    orders = topological_orders(graph)
    fixed = [node for node in range(len(graph)) if len({order.index(node) for order in orders}) == 1]
    assert cut_nodes(graph).tolist() == fixed


@given(graph=random_graphs(), data=st.data())
@settings(max_examples=60, deadline=None)
def test_cut_nodes_of_a_range_are_those_of_its_own_orders(graph: OpGraph, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(graph) - 1))
    stop = data.draw(st.integers(start + 1, min(len(graph), start + 6)))
    edges = [(a - start, b - start) for a, b in edges_of(graph) if start <= a and b < stop]
    inside = OpGraph.build(edges, graph.names[start:stop])
    orders = topological_orders(inside)
    fixed = [node for node in range(len(inside)) if len({order.index(node) for order in orders}) == 1]
    assert cut_nodes(graph, np.arange(start, stop)).tolist() == [start + node for node in fixed]


@given(graph=random_graphs())
@settings(max_examples=100, deadline=None)
def test_branch_nodes_count_neighbours(graph: OpGraph) -> None:
    edges = edges_of(graph)
    expected = [
        node
        for node in range(len(graph))
        if max(sum(a == node for a, _ in edges), sum(b == node for _, b in edges)) > 1
    ]
    assert branch_nodes(graph).tolist() == expected


def test_resnet50_forward_with_and_without_weight_loads() -> None:
    plain = from_file("resnet50", forward=True)
    # 6 operators outside of blocks, 12 blocks with a chain of 10 and a skip connection, 4 with a convolution on it.
    assert len(cut_nodes(plain)) == 6 + 12 * 10 + 4 * 2
    # On every path are those 6, and two of each block (addition and relu).
    assert len(path_cut_nodes(plain)) == 6 + 16 * 2
    loads = from_file("resnet50", forward=True, weight_loads=True)
    assert names_of(loads, cut_nodes(loads)) == names_of(plain, cut_nodes(plain))
    as_operators = OpGraph.build(edges_of(loads), loads.names)
    assert len(cut_nodes(as_operators)) == 1


@pytest.mark.parametrize("name", ["vgg16", "resnet50", "unet", "bert12"])
def test_training_steps_keep_key_nodes_with_updates_contracted(name: str) -> None:
    step = from_file(name, forward=False)
    assert int(step.is_update.sum()) > 20
    apart = OpGraph.build(edges_of(step), step.names, NodeInfo(inputs=np.flatnonzero(step.reads_input).tolist()))
    forward = len(from_file(name, forward=True))
    backward = [node for node in cut_nodes(step) if node >= forward]
    assert len(backward) >= 10
    assert not [node for node in cut_nodes(apart) if node >= forward + 1]
    if name == "vgg16":  # its forward and backward operators are a chain
        assert len(cut_nodes(step)) == len(step) - int(step.is_update.sum())


def test_time_is_linear() -> None:
    def seconds(blocks: int) -> float:
        edges: Edges = []
        for block in range(blocks):
            a = 3 * block
            edges += [(a, a + 1), (a, a + 2), (a + 1, a + 3), (a + 2, a + 3)]
        graph = OpGraph.build(edges, [str(node) for node in range(3 * blocks + 1)])
        start = time.process_time()
        assert len(cut_nodes(graph)) == blocks + 1
        return time.process_time() - start

    seconds(10)
    assert seconds(8000) < 40 * max(seconds(800), 1e-3)

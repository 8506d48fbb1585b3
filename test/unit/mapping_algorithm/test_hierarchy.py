"""Tests of the hierarchies of coarsened graphs: finer graphs are reproduced, and unsuitable mergings are dropped."""

from __future__ import annotations

import numpy as np
from brute_force import grid_network
from meshloom.mapping.default.hierarchy import MERGINGS, hierarchies, hierarchy
from meshloom.mapping.kernels.graph import Graph, merge_vertices
from meshloom.mapping.kernels.random import random_state
from meshloom.mapping.method import Watch
from meshloom.mapping.topology.topology import Topology, from_directed


def graph_of(topology: Topology) -> Graph:
    """The undirected graph of a network."""
    return Graph(topology.indptr, topology.indices, topology.data, topology.size)


def dense_layers(layers: int, width: int) -> Topology:
    """Every vertex sends a spike to each vertex of the next layer, the last layer to the first; numbered at random."""
    number = np.random.default_rng(1).permutation(layers * width).reshape(layers, width)
    targets = np.empty((layers * width, width), np.int64)
    for layer in range(layers):
        targets[number[layer]] = number[(layer + 1) % layers]
    return from_directed(np.arange(layers * width + 1) * width, targets.ravel())


def test_finer_graphs_are_reproduced() -> None:
    network = graph_of(grid_network(60, seed=3))
    for name in MERGINGS:
        merged, last = hierarchy(network, 1200, random_state(4), name, Watch())
        assert len(merged.levels) == 3  # one level lies between the network and the clusters of a sixtieth of a core
        graph = network
        for number, steps in enumerate(merged.levels):
            again = merged.finer(number)
            assert again.indptr.tolist() == graph.indptr.tolist()
            assert again.indices.tolist() == graph.indices.tolist()
            assert again.data.tolist() == graph.data.tolist()
            assert again.size.tolist() == graph.size.tolist()
            for coarse_of in steps:
                graph = merge_vertices(graph, coarse_of, int(coarse_of.max()) + 1)
            assert merged.extents[number] == (graph.vertices, graph.indices.size)
        assert (last.indices == graph.indices).all()


def test_a_merging_that_leaves_more_of_everything_is_dropped() -> None:
    def tried(topology: Topology) -> int:
        return len(hierarchies(graph_of(topology), 900, random_state(2), list(MERGINGS), Watch()))

    # In a random graph no vertices have the same neighbours; in a layer all vertices have.
    rows = np.arange(4001) * 5
    edges = np.random.default_rng(5).integers(0, 4000, 20_000)
    assert tried(from_directed(rows, edges)) == 1
    assert tried(dense_layers(20, 40)) == 2

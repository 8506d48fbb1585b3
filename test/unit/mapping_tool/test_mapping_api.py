"""Tests of the Python API `meshloom.mapping`: arguments and results."""

from __future__ import annotations

from typing import Any

import meshloom.mapping as mapping
import numpy as np
import pytest
from mapping_graphs import random_network
from meshloom.chips import load_chip
from meshloom.support.errors import InputError

sparse: Any = pytest.importorskip("scipy.sparse")


def test_matrices_arrays_and_topologies_are_the_same_network() -> None:
    topology = random_network(1)
    n = topology.vertices
    rows = (topology.indptr, topology.indices, topology.data)
    symmetric = sparse.csr_matrix((topology.data, topology.indices, topology.indptr), shape=(n, n))
    expected = mapping.map_network(topology, "4x4", seed=3)
    assert (mapping.map_network(symmetric, "4x4", seed=3) == expected).all()
    assert (mapping.map_network(rows, "4x4", seed=3) == expected).all()
    assert (mapping.map_network(symmetric.tocoo(), load_chip("edge"), seed=3) == expected).all()
    assert (mapping.map_network(symmetric, "edge", seed=3) == expected).all()
    assert mapping.costs(symmetric, "4x4", expected).hop_cost == mapping.costs(topology, "4x4", expected).hop_cost


def test_a_matrix_that_is_not_symmetric_is_directed() -> None:
    # 0 sends 3 to 1 and 5 to 2, which are both on core 1.
    matrix = sparse.coo_matrix(([3, 5], ([0, 0], [1, 2])), shape=(3, 3))
    found = mapping.costs(matrix, "2x1", [0, 1, 1])
    assert (found.delivered_traffic, found.hop_cost) == (5, 8)
    assert mapping.costs(matrix + matrix.T, "2x1", [0, 1, 1]).delivered_traffic is None


def test_sizes_bound_what_a_core_takes() -> None:
    network = random_network(2, 20)
    rows = (network.indptr, network.indices, network.data)
    size = np.arange(20) % 4
    found = mapping.map_network(rows, "3x2", size=size, capacity=7)
    assert np.bincount(found, size).max() <= 7


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "best"}, "choose one of default, literal"),
        ({"objective": "speed"}, "choose one of hops"),
        ({"effort": "most"}, "choose one of fast"),
        ({"capacity": 0}, "expected 1 or more"),
        ({"size": [1]}, "sizes of its own"),
    ],
)
def test_malformed_arguments(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        mapping.map_network(random_network(1), "4x4", **options)


def test_networks_of_other_kinds_are_refused() -> None:
    with pytest.raises(InputError, match="not list"):
        mapping.map_network([[0, 1], [1, 0]], "4x4")
    with pytest.raises(InputError, match="2 x 3"):
        mapping.map_network(sparse.csr_matrix((2, 3)), "4x4")

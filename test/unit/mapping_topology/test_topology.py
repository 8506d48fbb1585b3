"""Tests of the in-memory topology: checks, normalisation; NumPy archives."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from meshloom.frontend.topology.read import read_topology
from meshloom.mapping.topology.npz import read_npz, write_npz
from meshloom.mapping.topology.topology import from_directed, make_topology
from meshloom.support.errors import InputError

Edges = list[tuple[int, int, int]]


def directed_csr(n: int, edges: Edges) -> tuple[list[int], list[int], list[int]]:
    """Rows by source, in the order of `edges`."""
    rows = [[(v, w) for u, v, w in edges if u == vertex] for vertex in range(n)]
    indptr = [0]
    for row in rows:
        indptr.append(indptr[-1] + len(row))
    return indptr, [v for row in rows for v, _ in row], [w for row in rows for _, w in row]


@st.composite
def networks(draw: st.DrawFn) -> tuple[int, Edges]:
    n = draw(st.integers(1, 8))
    vertex = st.integers(0, n - 1)
    return n, draw(st.lists(st.tuples(vertex, vertex, st.integers(0, 1 << 40)), max_size=30))


@settings(deadline=None)
@given(networks())
def test_from_directed_adds_both_directions(network: tuple[int, Edges]) -> None:
    n, edges = network
    weights: dict[tuple[int, int], int] = {}
    for u, v, w in edges:
        if u != v:
            weights[u, v] = weights.get((u, v), 0) + w
            weights[v, u] = weights.get((v, u), 0) + w
    topology = from_directed(*directed_csr(n, edges))
    expected = directed_csr(n, sorted((u, v, w) for (u, v), w in weights.items()))
    assert (topology.indptr.tolist(), topology.indices.tolist(), topology.data.tolist()) == expected
    assert topology.src_indptr is not None
    assert topology.src_indices is not None
    assert topology.spikes is not None
    rows = directed_csr(n, sorted(edges, key=lambda e: e[1]))
    assert (topology.src_indptr.tolist(), topology.src_indices.tolist(), topology.spikes.tolist()) == rows


@settings(deadline=None)
@given(networks(), st.randoms(use_true_random=False))
def test_rows_in_any_order_with_parallel_edges_and_loops(network: tuple[int, Edges], random: Any) -> None:
    n, edges = network
    both = [*edges, *[(v, u, w) for u, v, w in edges]]
    random.shuffle(both)
    topology = make_topology(*directed_csr(n, both))
    same = from_directed(*directed_csr(n, edges))
    assert topology.indptr.tolist() == same.indptr.tolist()
    assert topology.indices.tolist() == same.indices.tolist()
    assert topology.data.tolist() == same.data.tolist()


def test_defaults_and_counts() -> None:
    topology = make_topology([0, 1, 2, 2], [1, 0])
    assert (topology.vertices, topology.edges, topology.directed_edges) == (3, 1, None)
    assert topology.size.tolist() == [1, 1, 1]
    assert topology.total_size == 3
    assert topology.data.tolist() == [1, 1]
    assert make_topology([0], []).vertices == 0


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"indptr": [0, 1, 1], "indices": [1]}, r"edge \(0, 1\) has no counterpart"),
        ({"indptr": [0, 1, 2], "indices": [1, 0], "data": [3, 4]}, r"of the same weight"),
        ({"indptr": [0, 2, 1], "indices": [1]}, "indptr decreases at entry 2"),
        ({"indptr": [1, 2], "indices": [0]}, "indptr starts at 1"),
        ({"indptr": [], "indices": []}, "indptr is empty"),
        ({"indptr": [0, 1, 2], "indices": [2, 0]}, "indices has values from 0 to 2, expected 0 to 1"),
        ({"indptr": [0, 1, 2], "indices": [1, -1]}, "from -1 to 1"),
        ({"indptr": [0, 1, 2], "indices": [1]}, "indices has 1 entries, its row pointers end at 2"),
        ({"indptr": [0, 1, 2], "indices": [1, 0], "data": [1]}, "data has 1 entries"),
        ({"indptr": [0, 1, 2], "indices": [1, 0], "data": [1.5, 1.5]}, "fractions"),
        ({"indptr": [0, 1, 2], "indices": [1, 0], "data": [float("nan")] * 2}, "data has values"),
        ({"indptr": [0, 1, 2], "indices": [1, 0], "data": [1 << 61] * 2}, "sum of data"),
        ({"indptr": [0, 1, 2], "indices": [1, 0], "data": ["a", "b"]}, "type"),
        ({"indptr": [[0]], "indices": []}, "indptr has 2 dimensions"),
        ({"indptr": [0, 0], "indices": [], "size": [1, 2]}, "size has 2 entries for 1 vertices"),
        ({"indptr": [0, 0], "indices": [], "spikes": []}, "together"),
        ({"indptr": [0, 0], "indices": [], "src_indptr": [0], "src_indices": []}, "src_indptr has 1 entries"),
    ],
)
def test_invalid_topologies_are_refused(arrays: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make_topology(**arrays)


@pytest.mark.parametrize("compressed", [False, True])
def test_npz_as_numpy_writes_it(tmp_path: Path, compressed: bool) -> None:
    save = np.savez_compressed if compressed else np.savez
    save(
        tmp_path / "net.npz", indptr=np.array([0, 1, 2]), indices=np.array([1, 0], np.int32), data=np.array([5.0, 5.0])
    )
    topology = read_topology(tmp_path / "net.npz")
    assert topology.data.tolist() == [5, 5]
    assert topology.src_indptr is None


def test_npz_round_trip_with_the_same_bytes(tmp_path: Path) -> None:
    topology = from_directed([0, 2, 2, 3], [1, 2, 0], [7, 8, 9], [1, 2, 3])
    write_npz(topology, tmp_path / "a.npz")
    again = read_npz(tmp_path / "a.npz")
    write_npz(again, tmp_path / "b.npz")
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    with np.load(tmp_path / "a.npz") as arrays:
        assert arrays["data"].tolist() == [7, 17, 7, 17]
        assert arrays["spikes"].tolist() == [7, 8, 9]
        assert arrays["size"].tolist() == [1, 2, 3]


def test_npz_errors_name_the_file(tmp_path: Path) -> None:
    bad = tmp_path / "bad.npz"
    bad.write_bytes(b"nothing")
    with pytest.raises(InputError, match=r"bad\.npz: the zip directory"):
        read_npz(bad)
    np.savez(bad, indptr=np.array([0, 1, 1]))
    with pytest.raises(InputError, match=r"bad\.npz: no array indices"):
        read_npz(bad)
    np.savez(bad, indptr=np.array([0, 1, 1]), indices=np.array([1]))
    with pytest.raises(InputError, match=r"bad\.npz: the graph is not symmetric"):
        read_npz(bad)
    with zipfile.ZipFile(bad, "w") as archive:
        header = str({"descr": "<i8", "fortran_order": False, "shape": (1 << 50,)}).encode().ljust(117) + b"\n"
        archive.writestr("indptr.npy", b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
        archive.writestr("indices.npy", b"")
    with pytest.raises(InputError, match=r"bad\.npz: indptr\.npy: its header does not agree"):
        read_npz(bad)
    with pytest.raises(InputError, match="no such file"):
        read_topology(tmp_path / "absent.npz")
    with pytest.raises(InputError, match="unknown kind"):
        read_topology(tmp_path / "absent.doc")

"""
Tests of METIS graphs and Matrix Market files: the manuals' examples, round trips, damaged files.

SciPy is the second implementation: it reads files of this project, and this project reads files of SciPy.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from meshloom.mapping.topology.matrix_market import read_matrix_market, write_matrix_market
from meshloom.mapping.topology.metis import read_metis, write_metis
from meshloom.mapping.topology.topology import Topology, from_directed, make_topology
from meshloom.support.errors import InputError
from numpy.typing import NDArray

scipy_io: Any = pytest.importorskip("scipy.io")
scipy_sparse: Any = pytest.importorskip("scipy.sparse")

# The graph of figure 3 of the METIS 5 manual: seven vertices, eleven edges.
NEIGHBOURS = [[5, 3, 2], [1, 3, 4], [5, 4, 2, 1], [2, 3, 6, 7], [1, 3, 6], [5, 4, 7], [6, 4]]
WEIGHTS = [[1, 2, 1], [1, 2, 1], [3, 2, 2, 2], [1, 2, 2, 5], [1, 3, 2], [2, 2, 6], [6, 5]]


def manual(form: str, sizes: list[int], weights: list[int]) -> str:
    """The graph of the manual as a file with the given format code."""
    lines = ["% a comment", f"7 11 {form}".rstrip()]
    for v, (row, each) in enumerate(zip(NEIGHBOURS, WEIGHTS, strict=True)):
        numbers: list[int] = []
        digits = form.zfill(3)
        numbers += [sizes[v]] if digits[0] == "1" else []
        numbers += [weights[v]] if digits[1] == "1" else []
        for neighbour, weight in zip(row, each, strict=True):
            numbers += [neighbour, weight] if digits[2] == "1" else [neighbour]
        lines.append(" ".join(map(str, numbers)))
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("form", ["", "0", "1", "001", "10", "11", "011", "100", "101", "110", "111"])
def test_metis_formats(tmp_path: Path, form: str) -> None:
    file = tmp_path / "net.graph"
    sizes, weights = [7, 6, 5, 4, 3, 2, 1], [4, 2, 5, 3, 1, 6, 2]
    file.write_text(manual(form, sizes, weights))
    topology = read_metis(file)
    digits = form.zfill(3)
    assert topology.size.tolist() == (weights if digits[1] == "1" else sizes if digits[0] == "1" else [1] * 7)
    for v, row in enumerate(NEIGHBOURS):
        each = WEIGHTS[v] if digits[2] == "1" else [1] * len(row)
        span = slice(topology.indptr[v], topology.indptr[v + 1])
        found = zip(topology.indices[span].tolist(), topology.data[span].tolist(), strict=True)
        assert list(found) == sorted((u - 1, w) for u, w in zip(row, each, strict=True))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the first line holds 0 numbers"),
        ("3\n", "the first line holds 1 numbers"),
        ("1 0 0 1 1\n\n", "the first line holds 5 numbers"),
        ("1 0 7\n\n", "format 7"),
        ("1 0 10 2\n1 2\n", "2 weights per vertex"),
        ("3 1\n2\n1\n", "2 lines of vertices, the first line says 3"),
        ("1000000000000000 1\n2\n1\n", "2 lines of vertices"),
        ("1 0\n\n1\n", "2 lines of vertices, the first line says 1"),
        ("2 2\n2\n1\n", "2 neighbours in all lines, the first line says 2 edges"),
        ("2 1 1\n2 5\n1\n", "the line of vertex 2 has 1 numbers"),
        ("2 1 10\n\n1 1\n", "the line of vertex 1 has 0 numbers"),
        ("2 1\n3\n1\n", "vertex 1 has neighbour 3, expected 1 to 2"),
        ("2 1\n2\n0\n", "vertex 2 has neighbour 0, expected 1 to 2"),
        ("2 1 1\n2 5\n1 6\n", r"not symmetric: edge \(0, 1\)"),
        ("2 1\n2\n-1\n", "line 3: '-1' is not a whole number"),
        ("2 1\n2\n1.5\n", "line 3: '1.5' is not a whole number"),
        ("2 1\n2 word\n", "line 2: 'word' is not a whole number"),
        ("2 1\n2\n99999999999999999999\n", "line 3: '99999999999999999999' is not a whole number"),
    ],
)
def test_metis_damage(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "net.graph"
    file.write_text(text)
    with pytest.raises(InputError, match=rf"net\.graph: .*{message}"):
        read_metis(file)


def test_metis_blank_lines_tabs_and_line_ends(tmp_path: Path) -> None:
    file = tmp_path / "net.graph"
    file.write_bytes(b"3 1 \r\n\t3\r\n\r\n%none\r\n1\r\n\r\n")
    assert read_metis(file).indptr.tolist() == [0, 1, 1, 2]
    with pytest.raises(InputError, match=r"no\.graph: No such file"):
        read_metis(tmp_path / "no.graph")


@st.composite
def undirected(draw: st.DrawFn) -> Topology:
    n = draw(st.integers(0, 8))
    vertex = st.integers(0, max(n - 1, 0))
    weight = st.sampled_from([0, 1, 1, 9, 10, 99999, 1 << 50])
    edges = draw(st.dictionaries(st.tuples(vertex, vertex).filter(lambda e: e[0] < e[1]), weight, max_size=12))
    both = sorted([*((u, v, w) for (u, v), w in edges.items()), *((v, u, w) for (u, v), w in edges.items())])
    indptr = np.searchsorted([u for u, _, _ in both], np.arange(n + 1))
    size = draw(st.one_of(st.just([1] * n), st.lists(st.integers(0, 1 << 40), min_size=n, max_size=n)))
    return make_topology(indptr, [v for _, v, _ in both], [w for _, _, w in both], size)


def equal(a: Topology, b: Topology, *names: str) -> bool:
    return all(np.array_equal(getattr(a, name), getattr(b, name)) for name in names)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(undirected())
@example(make_topology([0], []))
def test_metis_round_trip(tmp_path: Path, topology: Topology) -> None:
    write_metis(topology, tmp_path / "net.graph")
    assert equal(read_metis(tmp_path / "net.graph"), topology, "indptr", "indices", "data", "size")


def dense(n: int, indptr: Any, indices: Any, data: Any) -> list[list[int]]:
    matrix = [[0] * n for _ in range(n)]
    for u in range(n):
        for k in range(indptr[u], indptr[u + 1]):
            matrix[u][int(indices[k])] += int(data[k])
    return matrix


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(undirected())
def test_matrix_market_round_trip_and_scipy_reads_it(tmp_path: Path, topology: Topology) -> None:
    ones = make_topology(topology.indptr, topology.indices, topology.data)
    path = tmp_path / "net.mtx"
    write_matrix_market(ones, path)
    assert equal(read_matrix_market(path), ones, "indptr", "indices", "data", "size")
    expected = dense(ones.vertices, ones.indptr, ones.indices, ones.data)
    assert scipy_io.mmread(path).toarray().tolist() == expected


def test_matrix_market_directed(tmp_path: Path) -> None:
    path = tmp_path / "net.mtx"
    topology = from_directed([0, 2, 3, 3], [1, 2, 0], [7, 8, 9])
    write_matrix_market(topology, path)
    again = read_matrix_market(path)
    assert equal(again, topology, *Topology.__dataclass_fields__)
    assert scipy_io.mmread(path).toarray().tolist() == [[0, 7, 8], [9, 0, 0], [0, 0, 0]]
    with pytest.raises(InputError, match="have no sizes"):
        write_matrix_market(make_topology([0, 0], [], size=[2]), path)


@pytest.mark.parametrize("symmetry", ["general", "symmetric"])
@pytest.mark.parametrize("field", ["integer", "real", "pattern"])
def test_matrix_market_as_scipy_writes_it(tmp_path: Path, field: str, symmetry: str) -> None:
    matrix: NDArray[Any] = scipy_sparse.random_array((20, 20), density=0.2, rng=np.random.default_rng(4)).toarray()
    matrix = np.floor(matrix * 50)
    if symmetry == "symmetric":
        matrix += matrix.T
    kind = float if field == "real" else int
    scipy_io.mmwrite(
        tmp_path / "net.mtx", scipy_sparse.coo_array(matrix.astype(kind)), "a comment", field, symmetry=symmetry
    )
    topology = read_matrix_market(tmp_path / "net.mtx")
    expected = np.minimum(matrix, 1) if field == "pattern" else matrix
    if symmetry == "general":
        assert dense(20, topology.src_indptr, topology.src_indices, topology.spikes) == expected.tolist()
        expected = expected + expected.T
    np.fill_diagonal(expected, 0)
    assert dense(20, topology.indptr, topology.indices, topology.data) == expected.tolist()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("7.000000000000000000000", 7),
        ("1.2E+01", 12),
        ("+5", 5),
        ("120e-1", 12),
        ("0.5e1", 5),
        (".5e1", 5),
        ("0e99", 0),
    ],
)
def test_integers_in_any_notation(tmp_path: Path, text: str, value: int) -> None:
    (tmp_path / "net.mtx").write_text(f"%%MatrixMarket matrix coordinate real symmetric\n\n2 2 1\n\n2 1 {text}")
    assert read_matrix_market(tmp_path / "net.mtx").data.tolist() == [value, value]


BANNER = "%%MatrixMarket matrix coordinate integer general\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "does not start with"),
        ("%%MatrixMarket matrix array integer general\n2 2\n1\n0\n0\n1\n", "does not start with"),
        ("%%MatrixMarket matrix coordinate complex general\n", "complex general matrices are not supported"),
        ("%%MatrixMarket matrix coordinate real skew-symmetric\n", "skew-symmetric matrices"),
        (BANNER, "the line of sizes"),
        (BANNER + "2 3 0\n", "the line of sizes"),
        (BANNER + "2 2 2\n1 2 5\n", "expected 2 lines of 3 numbers"),
        (BANNER + "2 2 1\n1 2\n", "expected 1 lines of 3 numbers"),
        (BANNER + "2 2 1\n1 3 5\n", r"an entry \(1 to 3\) outside 1 to 2"),
        (BANNER + "2 2 1\n0 1 5\n", r"an entry \(0 to 1\) outside 1 to 2"),
        (BANNER + "%\n2 2 1\n1 1 0.5\n", "line 4: '0.5' is not a whole number"),
        (BANNER + "2 2 1\n1 2 -5\n", "line 3: '-5' is not a whole number"),
        (BANNER + "2 2 1\n1 2 1e\n", "line 3: '1e' is not a whole number"),
        (BANNER + "2 2 1\n1 2 1e-1\n", "line 3: '1e-1' is not a whole number"),
        (BANNER + "2 2 1\n1 2 1e99\n", "line 3: '1e99' is not a whole number"),
    ],
)
def test_matrix_market_damage(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "net.mtx"
    file.write_text(text)
    with pytest.raises(InputError, match=rf"net\.mtx: .*{message}"):
        read_matrix_market(file)


@settings(deadline=None, max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=60) | st.text("0123456789 \n%.-", max_size=60).map(str.encode))
def test_any_bytes_are_read_or_refused(tmp_path: Path, content: bytes) -> None:
    for reader, start in ((read_metis, b""), (read_metis, b"3 2\n"), (read_matrix_market, BANNER.encode())):
        (tmp_path / "net").write_bytes(start + content)
        try:
            assert reader(tmp_path / "net").vertices < 1 << 40
        except InputError:
            pass

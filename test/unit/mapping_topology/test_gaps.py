"""Tests of compressed graphs: expected bytes, the three ways to read them, compression in chunks and from archives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from archives import varints
from hypothesis import given, settings
from hypothesis import strategies as st
from meshloom.mapping.topology.archive import compress_archive, write_archive
from meshloom.mapping.topology.archive_writer import ArchiveWriter
from meshloom.mapping.topology.gaps import (
    Compressor,
    compress,
    expand,
    first_of,
    neighbours,
    next_of,
    row_into,
)
from meshloom.mapping.topology.topology import from_directed
from meshloom.support.errors import InputError
from numba import njit  # pyright: ignore[reportMissingTypeStubs, reportUnknownVariableType]

Rows = list[list[tuple[int, int]]]
_NO_ALLOCATION: dict[str, Any] = {"_nrt": False}


def csr(rows: Rows) -> tuple[Any, Any, Any]:
    indptr = np.cumsum([0, *map(len, rows)])
    entries = [entry for row in rows for entry in row]
    return indptr, np.array([v for v, _ in entries], np.int32), np.array([w for _, w in entries], np.int64)


@st.composite
def graphs(draw: st.DrawFn) -> Rows:
    n = draw(st.integers(0, 40))
    entry = st.tuples(st.integers(0, max(n - 1, 0)), st.sampled_from([0, 1, 1, 300, 1 << 40]))
    return [sorted(draw(st.lists(entry, max_size=8)), key=lambda e: e[0]) for _ in range(n)]


def test_the_bytes() -> None:
    graph = compress(*csr([[(1, 5), (3, 5), (300, 5)], [(0, 7), (1, 500)], []]))
    uniform = varints(2 * 3 + 1, 5, 2 * 1, 2, 297)  # the difference 1 - 0 is encoded as 2
    mixed = varints(2 * 2, 1, 7, 1, 500)  # the difference 0 - 1 is encoded as 1
    assert graph.code.tobytes() == uniform + mixed + varints(1)
    assert graph.offsets.tolist() == [0, len(uniform), len(uniform + mixed), len(uniform + mixed) + 1]


@pytest.mark.slow
@settings(deadline=None)
@given(graphs(), st.integers(1, 5))
def test_every_way_to_read(rows: Rows, step: int) -> None:
    arrays = csr(rows)
    graph = compress(*arrays)
    assert all(np.array_equal(a, b) for a, b in zip(expand(graph), arrays, strict=True))
    for u, row in enumerate(rows):
        assert list(neighbours(graph, u)) == row
        indices, weights = np.zeros(10, np.int64), np.zeros(10, np.int64)
        assert row_into(graph, u, indices, weights, 1) == 1 + len(row)
        assert list(zip(indices[1:].tolist(), weights[1:].tolist(), strict=True))[: len(row)] == row
        cursor = first_of(graph, u)
        seen: list[tuple[int, int]] = []
        while cursor[0] > 0:
            seen.append((int(cursor[1]), int(cursor[2])))
            cursor = next_of(graph, *cursor)
        assert seen == row
    compressor = Compressor(len(rows))
    for first in range(0, len(rows), step):
        compressor.add(*csr(rows[first : first + step]))
    chunks = compressor.finish()
    assert np.array_equal(chunks.code, graph.code)
    assert np.array_equal(chunks.offsets, graph.offsets)


@njit(**_NO_ALLOCATION)  # pyright: ignore[reportUntypedFunctionDecorator]
def _sum_by_cursor(graph: Any) -> int:
    total = 0
    for u in range(graph.offsets.size - 1):
        left, v, weight, at, uniform = first_of(graph, u)
        while left > 0:
            total += (u + 1) * v * weight
            left, v, weight, at, uniform = next_of(graph, left, v, weight, at, uniform)
    return total


@njit  # pyright: ignore[reportUntypedFunctionDecorator]
def _sum_by_iterator(graph: Any) -> int:
    total = 0
    for u in range(graph.offsets.size - 1):
        for v, weight in neighbours(graph, u):
            total += (u + 1) * v * weight
    return total


def test_inside_numba() -> None:
    rng = np.random.default_rng(2)
    rows = [[(int(v), int(rng.integers(1, 5))) for v in np.sort(rng.integers(0, 200, 7))] for _ in range(200)]
    graph = compress(*csr(rows))
    expected = sum((u + 1) * v * w for u, row in enumerate(rows) for v, w in row)
    assert _sum_by_cursor(graph) == expected
    assert _sum_by_iterator(graph) == expected


def test_archive_to_compressed_graph(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    topology = from_directed(np.arange(0, 801, 8), rng.integers(0, 100, 800), rng.integers(0, 9, 800))
    write_archive(topology, tmp_path / "net.zip")
    graph = compress_archive(tmp_path / "net.zip")
    expected = compress(topology.indptr, topology.indices, topology.data)
    assert np.array_equal(graph.code, expected.code)
    assert np.array_equal(graph.offsets, expected.offsets)
    with ArchiveWriter(tmp_path / "out.zip", "outgoing", [1]) as archive:
        archive.add([0, 0], [], [], 0)
    with pytest.raises(InputError, match=r"out\.zip: edges are stored with their source only"):
        compress_archive(tmp_path / "out.zip")

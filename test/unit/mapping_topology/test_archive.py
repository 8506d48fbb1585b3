"""Tests of topology archives: bytes against the format's description, reading in blocks, damaged files."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from archives import block, header, rows, varints, write_zip
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from meshloom.mapping.topology import archive_format, archive_writer
from meshloom.mapping.topology.archive import read_archive, write_archive
from meshloom.mapping.topology.archive_reader import ArchiveReader
from meshloom.mapping.topology.archive_writer import ArchiveWriter
from meshloom.mapping.topology.npz import read_npz, write_npz
from meshloom.mapping.topology.topology import Topology, from_directed, make_topology
from meshloom.support.errors import InputError, MeshloomError

OUT, IN, UND = 0, 1, 2
# Vertices of sizes 5, 300, 7 and 9, the last without edges; 0 sends 200 to 1, 1 sends 6 to 0 and 4 to 2.
SIZES = [5, 300, 7, 9]
DIRECTED = [
    [(OUT, 1, 300, 200), (IN, 1, 300, 6)],
    [(OUT, 0, 5, 6), (OUT, 2, 7, 4), (IN, 0, 5, 200)],
    [(IN, 1, 300, 4)],
    [],
]


def network() -> Topology:
    return from_directed([0, 1, 3, 3, 3], [1, 0, 2], [200, 6, 4], SIZES)


def same(a: Topology, b: Topology) -> bool:
    return all(
        (getattr(a, name) is None and getattr(b, name) is None) or np.array_equal(getattr(a, name), getattr(b, name))
        for name in Topology.__dataclass_fields__
    )


def members(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@st.composite
def topologies(draw: st.DrawFn) -> Topology:
    """Directed networks, undirected networks, and networks with both, whose undirected weights differ."""
    n = draw(st.integers(1, 7))
    vertex = st.integers(0, n - 1)
    edges = sorted(draw(st.lists(st.tuples(vertex, vertex, st.integers(0, 1 << 35)), max_size=25)))
    size = draw(st.lists(st.integers(0, 1 << 40), min_size=n, max_size=n))
    indptr = np.searchsorted([u for u, _, _ in edges], np.arange(n + 1))
    directed = from_directed(indptr, [v for _, v, _ in edges], [w for _, _, w in edges], size)
    match draw(st.sampled_from(["directed", "undirected", "both"])):
        case "directed":
            return directed
        case "undirected":
            return make_topology(directed.indptr, directed.indices, directed.data, size)
        case _:
            doubled = directed.data.astype(np.int64) * 2
            arrays = (directed.src_indptr, directed.src_indices, directed.spikes)
            return make_topology(directed.indptr, directed.indices, doubled, size, *arrays)


def test_the_bytes_of_an_archive(tmp_path: Path) -> None:
    write_archive(network(), tmp_path / "net.zip")
    assert members(tmp_path / "net.zip") == {
        "block-000000000000": block(0, SIZES, DIRECTED),
        "topology.txt": header("directed", 4, 6, 1),
    }


def test_undirected_and_mixed_edges(tmp_path: Path) -> None:
    t = network()
    undirected = make_topology(t.indptr, t.indices, t.data, t.size)
    write_archive(undirected, tmp_path / "net.zip")
    expected = [[(UND, 1, 300, 206)], [(UND, 0, 5, 206), (UND, 2, 7, 4)], [(UND, 1, 300, 4)], []]
    assert members(tmp_path / "net.zip")["block-000000000000"] == block(0, SIZES, expected)
    assert same(read_archive(tmp_path / "net.zip"), undirected)
    both = make_topology(t.indptr, t.indices, t.data * 2, t.size, t.src_indptr, t.src_indices, t.spikes)
    write_archive(both, tmp_path / "net.zip")
    expected = [
        [(UND, 1, 300, 412), (OUT, 1, 300, 200)],
        [(UND, 0, 5, 412), (UND, 2, 7, 8), (OUT, 0, 5, 6), (OUT, 2, 7, 4)],
        [(UND, 1, 300, 8)],
        [],
    ]
    assert members(tmp_path / "net.zip")["block-000000000000"] == block(0, SIZES, expected)
    assert same(read_archive(tmp_path / "net.zip"), both)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(topologies(), st.integers(1, 40), st.integers(1, 4))
def test_round_trip_in_blocks_of_any_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, topology: Topology, target: int, vertices: int
) -> None:
    monkeypatch.setattr(archive_writer, "BLOCK_TARGET", target)
    monkeypatch.setattr(archive_writer, "BLOCK_VERTICES", vertices)
    path = tmp_path / "net.zip"
    write_archive(topology, path)
    assert same(read_archive(path), topology)
    with ArchiveReader(path) as archive:
        ends = [block.first + block.indptr.size - 1 for block in archive.blocks()]
        assert max(np.diff([0, *ends])) <= vertices
        assert archive.size.tolist() == topology.size.tolist()
        chunks = [block.undirected() for block in archive.blocks()]
    assert np.array_equal(np.concatenate([p[1] for p in chunks]), topology.indices)
    assert np.array_equal(np.concatenate([p[2] for p in chunks]), topology.data)
    assert np.array_equal(np.concatenate([np.diff(p[0]) for p in chunks]), np.diff(topology.indptr))


def test_the_bytes_do_not_depend_on_the_chunks_added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive_writer, "BLOCK_TARGET", 20)
    rng = np.random.default_rng(1)
    degrees = rng.integers(0, 9, 50)
    others = rng.integers(0, 50, int(degrees.sum()))
    weights = rng.integers(0, 1000, others.size)
    indptr = np.concatenate([[0], np.cumsum(degrees)])
    written: set[bytes] = set()
    for step in (1, 7, 50):
        with ArchiveWriter(tmp_path / "net.zip", "outgoing", np.arange(50)) as archive:
            for first in range(0, 50, step):
                low, high = indptr[first], indptr[min(first + step, 50)]
                starts = indptr[first : min(first + step, 50) + 1] - low
                archive.add(starts, others[low:high], weights[low:high], OUT)
        written.add((tmp_path / "net.zip").read_bytes())
    assert len(written) == 1
    topology = read_archive(tmp_path / "net.zip")
    assert same(topology, from_directed(indptr, others, weights, np.arange(50)))


def test_same_bytes_at_another_time_and_place(tmp_path: Path) -> None:
    write_archive(network(), tmp_path / "a.zip")
    code = (
        "from meshloom.mapping.topology import archive, topology;"
        "archive.write_archive(topology.from_directed([0,1,3,3,3],[1,0,2],[200,6,4],[5,300,7,9]), 'b.zip')"
    )
    time.sleep(2)  # times in zip files have a resolution of two seconds
    environment = {**os.environ, "TZ": "Asia/Tokyo", "PYTHONHASHSEED": "7"}
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, check=True)
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()


def test_one_member_a_vertex(tmp_path: Path) -> None:
    path = write_zip(tmp_path / "net.zip", {str(v): rows([row]) for v, row in enumerate(DIRECTED)})
    topology = read_archive(path)
    expected = from_directed(
        [0, 1, 3, 3, 3], [1, 0, 2], [200, 6, 4], [5, 300, 7, 1]
    )  # the last size is not in the file
    assert same(topology, expected)
    undirected = {"0": varints(1, UND, 1, 4, 5), "1": varints(1, UND, 0, 3, 5)}
    assert same(read_archive(write_zip(path, undirected)), make_topology([0, 1, 2], [1, 0], [5, 5], [3, 4]))
    outgoing = {"0": varints(1, OUT, 1, 4, 5), "1": varints(0)}
    assert same(read_archive(write_zip(path, outgoing)), from_directed([0, 1, 1], [1], [5], [1, 4]))
    assert read_archive(write_zip(path, {"0": varints(0)})).vertices == 1


def test_no_vertices(tmp_path: Path) -> None:
    write_archive(make_topology([0], []), tmp_path / "net.zip")
    assert read_archive(tmp_path / "net.zip").vertices == 0


def test_a_refused_write_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def write(*chunks: tuple[list[int], list[int], list[int], int]) -> None:
        with ArchiveWriter(tmp_path / "net.zip", "directed", [1, 1]) as archive:
            for piece in chunks:
                archive.add(*piece)

    with pytest.raises(InputError, match=r"rows of 1 vertices given, there are 2"):
        write(([0, 1], [1], [1], OUT))
    with pytest.raises(InputError, match="others has values from 2 to 2"):
        write(([0, 1], [2], [1], OUT))
    with pytest.raises(InputError, match="a record with a flag"):
        write(([0, 1], [1], [1], UND))
    with pytest.raises(InputError, match="too many vertices"):
        write(([0, 0, 0, 0], [], [], OUT))
    with pytest.raises(InputError, match="weights has values"):
        write(([0, 1], [1], [1 << 61], OUT))
    monkeypatch.setattr(archive_writer, "ROW_MOST", 10)
    with pytest.raises(InputError, match="vertex 0 has too many edges"):
        write(([0, 1 << 20], [1] * (1 << 20), [1] * (1 << 20), OUT))
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(MeshloomError, match="cannot write"), ArchiveWriter(tmp_path / "no" / "x.zip", "directed", []):
        pass


BLOCK = "block-000000000000"
GOOD = {BLOCK: block(0, SIZES, DIRECTED), "topology.txt": header("directed", 4, 6, 1)}


def edited(row: int, record: int, place: int, value: int) -> dict[str, bytes]:
    """GOOD with one number of one record changed."""
    network = [list(r) for r in DIRECTED]
    numbers = list(network[row][record])
    numbers[place] = value
    network[row][record] = (numbers[0], numbers[1], numbers[2], numbers[3])
    return {**GOOD, BLOCK: block(0, SIZES, network)}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({}, r"topology\.txt: this member is missing"),
        ({"0": b"\0", "2": b"\0"}, r"1: this member is missing"),
        ({**GOOD, "topology.txt": header("directed", 5, 6, 2)}, "block-000000000004: this member is missing"),
        ({**GOOD, "topology.txt": header("directed", 3, 6, 1)}, f"{BLOCK}: 4 vertices from 0 on"),
        ({**GOOD, "topology.txt": header("directed", 4, 7, 1)}, r"6 records, topology\.txt says 7"),
        ({**GOOD, "topology.txt": header("directed", 4, 6, 2)}, "other members than the 2 blocks"),
        ({**GOOD, "topology.txt": header("undirected", 4, 6, 1)}, f"{BLOCK}: a flag that"),
        ({**GOOD, "topology.txt": header("directed", 1 << 50, 6, 1)}, "more vertices, records or blocks than fit"),
        ({**GOOD, "topology.txt": header("directed", 4, 1 << 50, 1)}, "more vertices, records or blocks than fit"),
        ({**GOOD, "topology.txt": header("sideways", 4, 6, 1)}, r"topology\.txt: edges 'sideways' is not one of"),
        ({**GOOD, "topology.txt": b"meshloom topology 2\n"}, "starts with 'meshloom topology 2'"),
        ({**GOOD, "topology.txt": b"meshloom topology 1\nedges both\n"}, "expected the lines"),
        ({**GOOD, "topology.txt": header("directed", 4, 6, 1).replace(b"4", b"-4")}, "expected whole numbers"),
        ({**GOOD, "more": b""}, "other members than"),
        ({**GOOD, BLOCK: GOOD[BLOCK] + b"\0"}, f"{BLOCK}: bytes after the last edge"),
        ({**GOOD, BLOCK: GOOD[BLOCK][:-1]}, f"{BLOCK}: a number that is truncated"),
        ({**GOOD, BLOCK: GOOD[BLOCK][:5]}, f"{BLOCK}: a number that is truncated"),
        ({**GOOD, BLOCK: b""}, f"{BLOCK}: a number that is truncated"),
        ({**GOOD, BLOCK: varints(0, 4, 5, *SIZES) + rows(DIRECTED)}, "a number of edges that differs"),
        ({**GOOD, BLOCK: varints(0, 4, 7, *SIZES) + rows(DIRECTED)}, "a number of edges that differs"),
        ({**GOOD, BLOCK: varints(0, 4, 1 << 40, *SIZES) + rows(DIRECTED)}, "edges do not fit"),
        ({**GOOD, BLOCK: varints(1, 4, 6, *SIZES) + rows(DIRECTED)}, "4 vertices from 1 on"),
        ({**GOOD, BLOCK: varints(0, 0, 0)}, "0 vertices from 0 on"),
        ({**GOOD, BLOCK: block(0, [1 << 61, 1, 1, 1], [[], [], [], []])}, "a size that is too large"),
        (edited(0, 0, 0, 2), f"{BLOCK}: a flag that"),
        (edited(0, 0, 0, 77), f"{BLOCK}: a flag that"),
        (edited(0, 0, 1, 4), r"an edge to a vertex that does not exist \(vertex 0\)"),
        (edited(1, 1, 2, 8), r"a size that is too large or differs from another record \(vertex 1\)"),
        (edited(2, 0, 3, 1 << 61), "a weight of 2"),
        (edited(0, 0, 3, 201), "an edge is stored at one of its vertices only"),
        (edited(0, 0, 0, IN), "an edge is stored at one of its vertices only"),
        ({"0": varints(1, OUT, 1, 5, 1), "1": varints(1, OUT, 1, 6, 1)}, "1: a size that is too large or differs"),
        ({"0": varints(1, UND, 1, 5, 1), "1": varints(1, IN, 0, 1, 1)}, "both incoming and undirected edges"),
        ({"0": varints(0), "1": varints(1, IN, 0, 1, 1)}, "an edge is stored at one of its vertices only"),
        ({"0": varints(1 << 50)}, "0: .* edges do not fit"),
    ],
)
def test_damage_is_reported(tmp_path: Path, content: dict[str, bytes], message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        read_archive(write_zip(tmp_path / "net.zip", content))
    assert "net.zip: " in str(caught.value)


def patched(change: Callable[[bytearray], None]) -> Callable[[Path], None]:
    def apply(path: Path) -> None:
        data = bytearray(path.read_bytes())
        change(data)
        path.write_bytes(data)

    return apply


def half(data: bytearray) -> None:
    del data[len(data) // 2 :]


def wrong_crc(data: bytearray) -> None:
    at = data.rindex(b"PK\x01\x02", 0, data.rindex(b"PK\x01\x02"))  # the first of two members in the directory
    data[at + 16] ^= 1
    data[14] ^= 1


def wrong_length(data: bytearray) -> None:
    at = data.index(b"PK\x01\x02")
    data[at + 24 : at + 28] = (10).to_bytes(4, "little")


def encrypted(data: bytearray) -> None:
    data[6] |= 1
    data[data.index(b"PK\x01\x02") + 8] |= 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (half, "the zip directory"),
        (bytearray.clear, "the zip directory"),
        (wrong_crc, f"{BLOCK}: .*CRC"),
        (wrong_length, f"{BLOCK}"),
        (encrypted, f"{BLOCK}: .*encrypted"),
    ],
)
def test_damage_of_the_zip_file(tmp_path: Path, change: Callable[[bytearray], None], message: str) -> None:
    path = write_zip(tmp_path / "net.zip", GOOD)
    patched(change)(path)
    with pytest.raises(InputError, match=message):
        read_archive(path)


def test_members_that_decompress_to_too_many_bytes_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = {**GOOD, BLOCK: varints(0, 4, 6, *SIZES) + bytes(200_000)}
    with pytest.raises(InputError, match=r"bytes after the last edge|a number of edges that differs"):
        read_archive(write_zip(tmp_path / "net.zip", content))
    monkeypatch.setattr(archive_format, "BLOCK_MOST", 100_000)
    monkeypatch.setattr("meshloom.mapping.topology.archive_reader.BLOCK_MOST", 100_000)
    with pytest.raises(InputError, match=f"{BLOCK}: 2000.. bytes out of .* at most 100000 are allowed"):
        read_archive(tmp_path / "net.zip")
    with zipfile.ZipFile(tmp_path / "net.zip", "w", zipfile.ZIP_LZMA) as archive:
        for name, data in GOOD.items():
            archive.writestr(name, data)
    with pytest.raises(InputError, match="another method than deflate"):
        read_archive(tmp_path / "net.zip")
    with pytest.raises(InputError, match="no such file"):
        read_archive(tmp_path / "absent.zip")


@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_mutated_files_are_read_or_refused(tmp_path: Path, data: st.DataObject) -> None:
    """The reader accepts a mutated file or reports it in one line: bytes of the zip file or of a member, CRC valid."""
    path = tmp_path / "net.zip"
    if data.draw(st.booleans()):
        name = data.draw(st.sampled_from(sorted(GOOD)))
        write_zip(path, {**GOOD, name: bytes(mutate(data, bytearray(GOOD[name])))})
    else:
        write_zip(path, GOOD)
        path.write_bytes(mutate(data, bytearray(path.read_bytes())))
    try:
        topology = read_archive(path)
    except InputError as error:
        message = str(error)
    else:
        message = f"{path}: {topology.vertices} vertices"
        assert topology.vertices <= 1000
    assert message.startswith(f"{path}: ")
    assert "\n" not in message


@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_mutated_numpy_archives_are_read_or_refused(tmp_path: Path, data: st.DataObject) -> None:
    path = tmp_path / "net.npz"
    write_npz(network(), path)
    path.write_bytes(mutate(data, bytearray(path.read_bytes())))
    try:
        message = f"{path}: {read_npz(path).vertices} vertices"
    except InputError as error:
        message = str(error)
    assert message.startswith(f"{path}: ")
    assert "\n" not in message


def mutate(data: st.DataObject, content: bytearray) -> bytearray:
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, max(len(content) - 1, 0)))
        match data.draw(st.sampled_from(["change", "cut", "insert", "truncate"])):
            case "change":
                content[at : at + 1] = data.draw(st.binary(min_size=1, max_size=1))
            case "cut":
                del content[at : at + data.draw(st.integers(1, 8))]
            case "insert":
                content[at:at] = data.draw(st.binary(min_size=1, max_size=8))
            case _:
                del content[at:]
    return content

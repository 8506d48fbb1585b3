"""
Topologies on disk and in memory: one JSON line per figure.

`size`: bytes per neighbour in the archive (before and after deflate) and gap-coded, relative to raw CSR with 32-bit
neighbours and weights. `decode`: nanoseconds per neighbour to decode the gaps, relative to inflating the members of the
archive and to a scan of raw CSR. `stream`: a network of `--edges` directed edges is written and read in chunks, each in
a separate process: CPU seconds, and peak memory relative to the bytes of the network as raw CSR.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import numpy as np
from meshloom.frontend.topology.read import read_topology
from meshloom.mapping.topology.archive import compress_archive, write_archive
from meshloom.mapping.topology.archive_reader import ArchiveReader
from meshloom.mapping.topology.archive_writer import ArchiveWriter
from meshloom.mapping.topology.gaps import CompressedGraph, compress, first_of, next_of, row_into
from meshloom.mapping.topology.topology import Topology, from_directed
from numba import njit  # pyright: ignore[reportMissingTypeStubs, reportUnknownVariableType]
from numpy.typing import NDArray

OUTGOING, INCOMING = 0, 1
_OPTIONS: dict[str, Any] = {"cache": True}
_NO_ALLOCATION: dict[str, Any] = {"cache": True, "_nrt": False}
Piece = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32], NDArray[np.uint8]]


@njit(**_OPTIONS)  # pyright: ignore[reportUntypedFunctionDecorator]
def _chance(u: Any, o: Any, seed: Any) -> float:
    """A number in [0, 1) that looks random for every (u, o)."""
    z = np.uint64(u) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(o) * np.uint64(0xD1B54A32D192ED03) + np.uint64(seed)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return float((z ^ (z >> np.uint64(31))) >> np.uint64(11)) / 9007199254740992.0


@njit(**_OPTIONS)  # pyright: ignore[reportUntypedFunctionDecorator]
def _rate(u: Any, seed: Any) -> int:
    """Spikes of a neuron, log-normal (a sum of twelve uniform numbers stands for the normal one)."""
    total = -6.0
    for k in range(12):
        total += _chance(u, 1000003 + k, seed)
    return min(1000, max(1, int(np.exp(2.0 + total))))


@njit(**_OPTIONS)  # pyright: ignore[reportUntypedFunctionDecorator]
def _sheet_rows(side: int, first: int, last: int, dy: Any, dx: Any, p: Any, seed: int) -> tuple[Any, Any, Any, Any]:
    """Edges out of and into the neurons [first, last) of a recurrent sheet that is closed to a torus."""
    room = int((last - first) * (2.2 * p.sum() + 50)) + 1000
    indptr = np.zeros(last - first + 1, np.int64)
    others = np.empty(room, np.int32)
    weights = np.empty(room, np.int32)
    flags = np.empty(room, np.uint8)
    rates = np.zeros(side * side, np.int32)
    k = 0
    for u in range(first, last):
        y, x = u // side, u % side
        rates[u] = _rate(u, seed)
        for way in range(2):
            sign = 1 if way == OUTGOING else -1
            for o in range(p.size):
                v = (y + sign * dy[o]) % side * side + (x + sign * dx[o]) % side
                source = u if way == OUTGOING else v
                if _chance(source, o, seed) < p[o]:
                    if rates[source] == 0:
                        rates[source] = _rate(source, seed)
                    others[k], weights[k], flags[k] = v, rates[source], way
                    k += 1
        indptr[u - first + 1] = k
    return indptr, others[:k].copy(), weights[:k].copy(), flags[:k].copy()


def sheet(side: int, degree: int, sigma: float, seed: int, rows: int = 4096) -> Generator[Piece]:
    """
    A cortex-like sheet of side^2 neurons in pieces of `rows`: probability falls with exp(-distance / sigma), and 5% of
    the `degree` edges a neuron go far. Everything follows from (seed, source, offset): no piece knows of the others.
    """
    reach = int(5 * sigma)
    y, x = np.mgrid[-reach : reach + 1, -reach : reach + 1]
    near = (y != 0) | (x != 0)
    chance = np.exp(-np.hypot(y, x)[near] / sigma)
    chance *= 0.95 * degree / chance.sum()
    far = np.random.default_rng(seed).integers(0, side, (2, 4 * degree))
    dy, dx = np.concatenate([y[near], far[0]]), np.concatenate([x[near], far[1]])
    p = np.concatenate([np.minimum(chance, 1.0), np.full(4 * degree, 0.05 / 4)])
    for first in range(0, side * side, rows):
        yield _sheet_rows(side, first, min(first + rows, side * side), dy, dx, p, seed)


def whole_sheet(side: int, degree: int, sigma: float, seed: int, shuffled: bool) -> Topology:
    """The same in memory; `shuffled`: with ids at random."""
    chunks = list(sheet(side, degree, sigma, seed))
    sources = np.repeat(np.arange(side * side), np.concatenate([np.diff(piece[0]) for piece in chunks]))
    out = np.concatenate([piece[3] for piece in chunks]) == OUTGOING
    sources, targets = sources[out], np.concatenate([piece[1] for piece in chunks])[out]
    weights = np.concatenate([piece[2] for piece in chunks])[out]
    if shuffled:
        ids = np.random.default_rng(seed).permutation(side * side)
        sources, targets = ids[sources], ids[targets]
    order = np.argsort(sources, kind="stable")
    indptr = np.searchsorted(sources[order], np.arange(side * side + 1))
    return from_directed(indptr, targets[order], weights[order])


@njit(**_NO_ALLOCATION)  # pyright: ignore[reportUntypedFunctionDecorator]
def _by_cursor(graph: CompressedGraph) -> int:
    total = 0
    for u in range(graph.offsets.size - 1):
        left, v, weight, at, uniform = first_of(graph, u)
        while left > 0:
            total += v * weight
            left, v, weight, at, uniform = next_of(graph, left, v, weight, at, uniform)
    return total


@njit(**_OPTIONS)  # pyright: ignore[reportUntypedFunctionDecorator]
def _by_row(graph: CompressedGraph, indices: NDArray[Any], weights: NDArray[Any]) -> int:
    total = 0
    for u in range(graph.offsets.size - 1):
        for k in range(row_into(graph, u, indices, weights, 0)):
            total += indices[k] * weights[k]
    return total


@njit(**_OPTIONS)  # pyright: ignore[reportUntypedFunctionDecorator]
def _by_csr(indptr: NDArray[Any], indices: NDArray[Any], data: NDArray[Any]) -> int:
    total = 0
    for u in range(indptr.size - 1):
        for k in range(indptr[u], indptr[u + 1]):
            total += np.int64(indices[k]) * data[k]
    return total


def least_ns(work: Callable[[], object], count: int) -> float:
    """Least CPU time of five calls, in nanoseconds for each of `count`; compiled code is warm."""
    work()
    times: list[float] = []
    for _ in range(5):
        begin = time.process_time()
        work()
        times.append(time.process_time() - begin)
    return min(times) / count * 1e9


def say(bench: str, case: str, **figures: float) -> None:
    """One result, as JSON."""
    rounded = {key: round(value, 3) if isinstance(value, float) else value for key, value in figures.items()}
    print(json.dumps({"bench": f"topology {bench}", "case": case, **rounded}), flush=True)


def compare(name: str, topology: Topology) -> None:
    """Sizes and decoding of one network, whose directions are known."""
    neighbours = topology.indices.size
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "net.zip"
        begin = time.process_time()
        write_archive(topology, path)
        write_ns = (time.process_time() - begin) / neighbours * 1e9
        with zipfile.ZipFile(path) as archive:
            members = archive.namelist()
            raw = sum(info.file_size for info in archive.infolist())
            inflate = least_ns(lambda: [archive.read(member) for member in members], raw)
        stored = path.stat().st_size
    assert topology.src_indices is not None
    records = 2 * topology.src_indices.size
    graph = compress(topology.indptr, topology.indices, topology.data)
    packed = (graph.code.size + graph.offsets.nbytes) / neighbours
    say(
        "size", name, neighbours=neighbours, record_raw=raw / records, record_deflated=stored / records,
        gap_coded=packed, over_csr=packed / 8, deflated_over_csr=stored / records / 8, write_ns=write_ns,
    )  # fmt: skip
    widest = int(np.diff(topology.indptr).max())
    rows = np.empty(widest, np.int64), np.empty(widest, np.int64)
    csr = least_ns(lambda: _by_csr(topology.indptr, topology.indices, topology.data), neighbours)
    cursor = least_ns(lambda: _by_cursor(graph), neighbours)
    row = least_ns(lambda: _by_row(graph, *rows), neighbours)
    per_record = inflate * raw / records
    say(
        "decode", name, ns_cursor=cursor, ns_row=row, ns_csr=csr, ns_inflate=per_record,
        over_inflate=cursor / per_record, over_csr=cursor / csr,
    )  # fmt: skip


def peak_mb() -> float:
    """Peak memory of this process (`ru_maxrss` would count what the parent had before this program started)."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def phase(work: str, path: Path, side: int, degree: int) -> dict[str, float]:
    """One phase of the streaming run, in this process: its CPU seconds and this process's peak memory in MB."""
    before = peak_mb()
    begin = time.process_time()
    edges = 0
    generate = 0.0
    if work == "write":
        with ArchiveWriter(path, "directed", np.ones(side * side, np.int64)) as archive:
            chunks = sheet(side, degree, 6.0, 1)
            while True:
                started = time.process_time()
                piece = next(chunks, None)
                generate += time.process_time() - started
                if piece is None:
                    break
                archive.add(*piece)
                edges += int((piece[3] == OUTGOING).sum())
    elif work == "read":
        with ArchiveReader(path) as archive:
            for block in archive.blocks():
                edges += int((block.flags == OUTGOING).sum())
    else:
        edges = compress_archive(path).code.size
    peak = peak_mb()
    seconds = time.process_time() - begin - generate
    return {"cpu_s": seconds, "generate_s": generate, "peak_mb": peak, "import_mb": before, "edges": edges}


def stream(edges: int, degree: int = 100) -> None:
    """Write, read and compress a network of about `edges` directed edges; the peer is its raw CSR in memory."""
    side = round((edges / degree) ** 0.5)
    found = 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "net.zip"
        for work in ("write", "read", "compress"):
            command = [sys.executable, __file__, "--phase", work, str(path), str(side), str(degree)]
            figures = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
            if work == "write":
                found = figures["edges"]
            csr_mb = 2 * found * 8 / 2**20  # both directions, 32-bit neighbours and weights
            say(
                "stream", work, vertices=side * side, directed_edges=found, cpu_s=figures["cpu_s"],
                ns_per_edge=figures["cpu_s"] / found * 1e9, peak_mb=figures["peak_mb"], import_mb=figures["import_mb"],
                peak_over_csr=figures["peak_mb"] / csr_mb, file_mb=os.path.getsize(path) / 2**20,
                file_bytes_per_record=os.path.getsize(path) / 2 / found,
            )  # fmt: skip
            if work == "compress":
                say("stream", "gap-coded bytes", bytes_per_directed_edge=figures["edges"] / found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--edges", type=int, default=2_000_000, help="directed edges of the streaming run")
    parser.add_argument("--network", type=Path, help="a topology with directions to compare on, besides the sheets")
    parser.add_argument("--phase", nargs=4, metavar=("WORK", "PATH", "SIDE", "DEGREE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.phase:
        work, path, side, degree = options.phase
        print(json.dumps(phase(work, Path(path), int(side), int(degree))))
        return
    for name, degree, sigma in (("sheet, 50 edges a neuron", 50, 4.0), ("sheet, 20 edges a neuron", 20, 2.5)):
        for shuffled in (False, True):
            compare(
                f"{name}, ids {'shuffled' if shuffled else 'in order'}", whole_sheet(256, degree, sigma, 3, shuffled)
            )
    if options.network:
        compare(str(options.network), read_topology(options.network))
    stream(options.edges)


if __name__ == "__main__":
    main()

"""Writer of archives for the tests, written from the description of the format only."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

Record = tuple[int, int, int, int]
"""(flag, other vertex, its size, weight)"""


def varint(value: int) -> bytes:
    """Groups of seven bits, one per byte, the most significant first."""
    groups = [value & 127]
    while value := value >> 7:
        groups.append(128 | value & 127)
    return bytes(reversed(groups))


def varints(*values: int) -> bytes:
    return b"".join(map(varint, values))


def rows(network: Sequence[Sequence[Record]]) -> bytes:
    """Number of records and records of each vertex."""
    return b"".join(varint(len(row)) + b"".join(varints(*record) for record in row) for row in network)


def block(first: int, sizes: Sequence[int], network: Sequence[Sequence[Record]]) -> bytes:
    return varints(first, len(sizes), sum(map(len, network)), *sizes) + rows(network)


def header(kind: str, vertices: int, records: int, blocks: int) -> bytes:
    text = f"meshloom topology 1\nedges {kind}\nvertices {vertices}\nrecords {records}\nblocks {blocks}\n"
    return text.encode()


def write_zip(path: Path, members: Mapping[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path

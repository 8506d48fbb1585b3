"""
The format of a topology's archive: names, flags and limits, and the member `topology.txt`.

docs/reference/topology.md describes the format (spec 4, S1).
"""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from typing import Literal, cast, get_args

from ...support.errors import InputError

Kind = Literal["directed", "undirected", "outgoing", "both"]
"""The kind of an archive, which tells the flags of its records; see `FLAGS`."""

OUTGOING = 0
"""Flag: the edge starts at the vertex that the record belongs to."""

INCOMING = 1
"""Flag: the edge starts at the other vertex."""

UNDIRECTED = 2
"""Flag: an undirected edge; both its ends have a record of it, with the same weight."""

FLAGS: dict[Kind, tuple[int, ...]] = {
    "directed": (OUTGOING, INCOMING),  # both source and target have a record of an edge
    "undirected": (UNDIRECTED,),
    "outgoing": (OUTGOING,),  # only the source has a record of an edge
    "both": (OUTGOING, UNDIRECTED),  # as "outgoing", and an undirected graph of other weights
}

HEADER_MEMBER = "topology.txt"
MAGIC = "meshloom topology 1"
BLOCK_TARGET = 1 << 20
"""Number of bytes of records after which a block is closed."""

BLOCK_VERTICES = 1 << 16
"""The largest number of vertices of a block."""

BLOCK_MOST = 1 << 26
"""The largest number of bytes of a block before compression, which a reader must be able to hold."""

ROW_MOST = BLOCK_MOST - 2 * BLOCK_TARGET
"""The largest number of bytes of the records of one vertex, so that a block can hold them."""

_NAME = "block-{:012d}"
_DATE = (1980, 1, 1, 0, 0, 0)
_MOST_DIGITS = 18


@dataclass(frozen=True, slots=True)
class Header:
    """The contents of `topology.txt`."""

    kind: Kind
    vertices: int
    records: int
    """Number of edge records in all blocks together."""

    blocks: int

    def text(self) -> str:
        """The text of the member."""
        return f"{MAGIC}\nedges {self.kind}\nvertices {self.vertices}\nrecords {self.records}\nblocks {self.blocks}\n"


def parse_header(text: bytes) -> Header:
    """The header that `text` describes. Raises InputError unless `text` is as `Header.text` writes it."""
    lines = text.decode("ascii", "replace").split("\n")
    if lines[0] != MAGIC:
        raise InputError(f"starts with {lines[0][:40]!r}, expected {MAGIC!r}")
    words = [line.partition(" ") for line in lines[1:]]
    if [key for key, _, _ in words] != ["edges", "vertices", "records", "blocks", ""]:
        raise InputError("expected the lines edges, vertices, records, blocks")
    kind, *counts = (value for _, _, value in words[:-1])
    if kind not in get_args(Kind):
        raise InputError(f"edges {kind[:40]!r} is not one of {', '.join(get_args(Kind))}")
    if not all(count.isascii() and count.isdecimal() and len(count) <= _MOST_DIGITS for count in counts):
        raise InputError("expected whole numbers of vertices, records and blocks")
    return Header(cast(Kind, kind), *map(int, counts))


def block_name(first: int) -> str:
    """Name of the block that starts with vertex `first`."""
    return _NAME.format(first)


def member_info(name: str) -> zipfile.ZipInfo:
    """A member's entry in the archive without data that varies from run to run."""
    info = zipfile.ZipInfo(name, _DATE)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = 0o644 << 16
    info.create_system = 3
    return info

"""
The archive of a topology: names, flags and limits, and its member `topology.txt`.

docs/reference/topology.md describes the format (spec 4, S1).
"""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from typing import Literal, cast, get_args

from ...support.errors import InputError

Kind = Literal["directed", "undirected", "outgoing", "both"]
"""Which records there are; see `FLAGS`."""

OUTGOING = 0
"""Flag: the edge starts at the vertex under which the record stands."""

INCOMING = 1
"""Flag: the edge starts at the other vertex."""

UNDIRECTED = 2
"""Flag: an edge without direction; it stands under both its ends, with the same weight."""

FLAGS: dict[Kind, tuple[int, ...]] = {
    "directed": (OUTGOING, INCOMING),  # an edge stands under its source and under its target
    "undirected": (UNDIRECTED,),
    "outgoing": (OUTGOING,),  # an edge stands under its source alone
    "both": (OUTGOING, UNDIRECTED),  # directed edges under their source, and an undirected graph of other weights
}

HEADER_MEMBER = "topology.txt"
MAGIC = "meshloom topology 1"
BLOCK_TARGET = 1 << 20
"""Bytes of records after which a block is closed."""

BLOCK_VERTICES = 1 << 16
"""The most vertices of a block."""

BLOCK_MOST = 1 << 26
"""The most bytes of a block before compression: what a reader must be ready to hold."""

ROW_MOST = BLOCK_MOST - 2 * BLOCK_TARGET
"""The most bytes that the records of one vertex take, so that a block can hold them."""

_NAME = "block-{:012d}"
_DATE = (1980, 1, 1, 0, 0, 0)
_MOST_DIGITS = 18


@dataclass(frozen=True, slots=True)
class Header:
    """What `topology.txt` says."""

    kind: Kind
    vertices: int
    records: int
    """Edge records in all blocks together."""

    blocks: int

    def text(self) -> str:
        """The member's content."""
        return f"{MAGIC}\nedges {self.kind}\nvertices {self.vertices}\nrecords {self.records}\nblocks {self.blocks}\n"


def parse_header(text: bytes) -> Header:
    """Raises InputError unless `text` is as `Header.text` writes it."""
    lines = text.decode("ascii", "replace").split("\n")
    if lines[0] != MAGIC:
        raise InputError(f"starts with {lines[0][:40]!r}, expected {MAGIC!r}")
    words = [line.partition(" ") for line in lines[1:]]
    if [key for key, _, _ in words] != ["edges", "vertices", "records", "blocks", ""]:
        raise InputError("expected the lines edges, vertices, records, blocks")
    kind, *counts = (value for _, _, value in words[:-1])
    if kind not in get_args(Kind):
        raise InputError(f"edges {kind[:40]!r} is none of {', '.join(get_args(Kind))}")
    if not all(count.isascii() and count.isdecimal() and len(count) <= _MOST_DIGITS for count in counts):
        raise InputError("expected whole numbers of vertices, records and blocks")
    return Header(cast(Kind, kind), *map(int, counts))


def block_name(first: int) -> str:
    """Name of the block that starts with vertex `first`."""
    return _NAME.format(first)


def member_info(name: str) -> zipfile.ZipInfo:
    """A member's entry without anything that varies from run to run."""
    info = zipfile.ZipInfo(name, _DATE)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = 0o644 << 16
    info.create_system = 3
    return info

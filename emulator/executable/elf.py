"""The subset of ELF64 for executables: a header, segments for notes and weights, named sections."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

from ...support.errors import InputError
from .compression import decompressed

HEADER_BYTES, SEGMENT_BYTES, SECTION_BYTES = 64, 56, 64
MACHINE = 0x4D4C
"""`e_machine`: "LM" in the file; not the number of a registered architecture."""
PROGBITS, STRTAB, NOTE, LOAD = 1, 3, 7, 1
_PT_NOTE, _READ = 4, 4
_ALLOC, _COMPRESSED = 2, 0x800

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SEGMENT = struct.Struct("<IIQQQQQQ")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_IDENT = b"\x7fELF\x02\x01\x01" + bytes(9)


@dataclass(frozen=True)
class Section:
    """A section to write, with the size of its contents only; with an `address`, it is also a segment."""

    name: str
    size: int
    align: int = 8
    kind: int = PROGBITS
    address: int | None = None
    compressed: bool = False
    """Whether the contents are the result of `compression.compressed`; not for segments."""


@dataclass(frozen=True)
class Layout:
    """The layout of a file: file header and segment table, sections, section names and table, bulk sections."""

    front: bytes
    offsets: tuple[int, ...]
    names: bytes
    """Contents of the section before the bulk sections, the section names."""
    table: bytes
    table_offset: int


def lay_out(sections: Sequence[Section], bulk: int = 1) -> Layout:
    """
    The layout of `sections` in order, with the section names and the section table before the last `bulk` sections.

    These (the weights) are at the end of the file, so that all other data is contiguous.
    """
    first = len(sections) - bulk
    labels = [*(s.name for s in sections[:first]), ".shstrtab", *(s.name for s in sections[first:])]
    names = b"\0" + b"".join(label.encode() + b"\0" for label in labels)
    placed = [*sections[:first], Section(".shstrtab", len(names), 1, STRTAB), *sections[first:]]
    segments = [s for s in placed if s.address is not None or s.kind == NOTE]
    at = HEADER_BYTES + SEGMENT_BYTES * len(segments)
    offsets: list[int] = []
    table_offset = 0
    for section in placed:
        if len(offsets) == first + 1:
            table_offset = _up(at, 8)
            at = table_offset + SECTION_BYTES * (len(placed) + 1)
        at = _up(at, section.align)
        offsets.append(at)
        at += section.size
    ident = _HEADER.pack(
        _IDENT, 2, MACHINE, 1, 0, HEADER_BYTES, table_offset, 0, HEADER_BYTES, SEGMENT_BYTES, len(segments),
        SECTION_BYTES, len(placed) + 1, first + 1,
    )  # fmt: skip
    front = [ident]
    table = [bytes(SECTION_BYTES)]
    name = 1
    for section, offset in zip(placed, offsets, strict=True):
        loaded = section.address is not None
        address = section.address or 0
        if loaded or section.kind == NOTE:
            kind = LOAD if loaded else _PT_NOTE
            front.append(_SEGMENT.pack(kind, _READ, offset, address, address, section.size, section.size, 1))
        flags = (_ALLOC if loaded else 0) | (_COMPRESSED if section.compressed else 0)
        table.append(_SECTION.pack(name, section.kind, flags, address, offset, section.size, 0, 0, section.align, 0))
        name += len(section.name) + 1
    return Layout(b"".join(front), tuple(offsets), names, b"".join(table), table_offset)


def _up(value: int, align: int) -> int:
    return -(-value // align) * align


@dataclass(frozen=True)
class FoundSection:
    """A section of a file."""

    name: str
    content: memoryview
    """The contents, decompressed."""
    stored: memoryview
    """The bytes in the file."""
    compressed: bool


def find_sections(data: memoryview, location: str) -> list[FoundSection]:
    """All sections except the first, in the order of the table. Raises InputError for a damaged file."""
    if len(data) < HEADER_BYTES or bytes(data[:4]) != b"\x7fELF":
        raise InputError(f"{location} is not a Meshloom executable (.mlx): it does not start as an ELF file")
    ident, _, machine, _, _, _, table, _, _, _, _, entry, count, names_index = _HEADER.unpack(data[:HEADER_BYTES])
    if ident != _IDENT or machine != MACHINE or entry != SECTION_BYTES:
        raise InputError(f"{location} is an ELF file, but not a Meshloom executable (.mlx)")
    if table + count * SECTION_BYTES > len(data) or not 0 < names_index < count:
        raise InputError(f"{location} is damaged or truncated: its section table lies outside the file")
    headers: list[tuple[int, ...]] = list(_SECTION.iter_unpack(data[table : table + count * SECTION_BYTES]))
    if sum(header[5] for header in headers) > len(data):
        raise InputError(f"{location} is damaged or truncated: its sections overlap or lie outside the file")
    contents: list[memoryview] = []
    for header in headers:
        offset, size = header[4], header[5]
        if offset + size > len(data):
            raise InputError(f"{location} is damaged or truncated: a section lies outside the file")
        contents.append(data[offset : offset + size])
    names = bytes(contents[int(names_index)])
    found: list[FoundSection] = []
    for header, stored in zip(headers[1:], contents[1:], strict=True):
        end = names.find(b"\0", header[0], header[0] + 256)
        if header[0] >= len(names) or end < 0:
            raise InputError(f"{location} is damaged: a section has no name")
        name, is_compressed = names[header[0] : end].decode("latin-1"), bool(header[2] & _COMPRESSED)
        content = decompressed(stored, f"{location} is damaged: section {name}") if is_compressed else stored
        found.append(FoundSection(name, content, stored, is_compressed))
    return found


def pack_note(owner: str, kind: int, content: bytes) -> bytes:
    """One ELF note."""
    name = owner.encode() + b"\0"
    padded = content + bytes(-len(content) % 4)
    return struct.pack("<III", len(name), len(content), kind) + name + bytes(-len(name) % 4) + padded


def read_notes(data: memoryview, owner: str, location: str) -> dict[int, memoryview]:
    """Contents of the notes of `owner`, by kind. Raises InputError for damaged notes."""
    notes: dict[int, memoryview] = {}
    at = 0
    while at + 12 <= len(data):
        name_size, size, kind = struct.unpack("<III", data[at : at + 12])
        start = at + 12 + _up(name_size, 4)
        if start + size > len(data) or bytes(data[at + 12 : at + 12 + name_size]) != owner.encode() + b"\0":
            raise InputError(f"{location} is damaged: a note is truncated or has an unknown owner")
        notes[kind] = data[start : start + size]
        at = start + _up(size, 4)
    return notes

"""
Executables as `.mlx` files: an ELF64 file with one section per part, and a checksum over the whole file.

    .note.meshloom   checksum, versions, the chip's fingerprint
    .chip            chip (JSON)
    .notes           notes (JSON)
    .words           the distinct words of all programs, in the order of their first appearance: the first byte of all
                     words, then their second, and so on (most significant bytes first), each sorted by those before it;
                     descriptor fields 0 to 2 are indices in `.descs`
    .descs           the distinct access descriptors, in the same way
    .programs        their number, then for each: counts, name, indices of its words in `.words` and of its descriptors
                     in `.descs` (16 bits each, or 32 if these are too few; each minus the previous one), parameters
    .controller      the controller's words
    .core_sets       their number, then for each a bit per core, padded to bytes
    .launches        their number, then for each: program of every core, all parameter values
    .tensors         the tensor table
    .debug.sources   for each program, runs of words with the same source: index of its name, number of words
    .debug.names     the source names
    .weights         a segment; its address is that in DRAM, with bit 60 set (no segment if it is compressed)
    .host_weights    streamed weights, kept in host memory until the controller copies them; their address there, with
                     bit 61 set (as above)

Sections are compressed if that makes them smaller, except the ELF notes and weights of more than `COMPRESSED_WEIGHTS`
bytes, which readers map instead of copying them.

The same executable gives the same bytes, for equal versions of zlib. A reader accepts exactly the bytes that a writer
would produce, except for the bytes of compressed sections: after decoding, it encodes the contents again and compares,
so that a file has no undetected extra bytes.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np

from ...chips.chip import Chip
from ...chips.load import chip_from_table
from ...dialects.coreasm.added_formats import noted_formats
from ...dialects.coreasm.added_instructions import noted
from ...dialects.coreasm.check import canonical_words
from ...dialects.coreasm.isa import ISA_VERSION
from ...support.errors import InputError, MeshloomError
from ...support.input_files import open_regular
from .check import check_executable, check_plugins
from .chip_key_notes import noted_chip_keys
from .compression import compressed
from .elf import NOTE, FoundSection, Section, find_sections, lay_out, pack_note, read_notes
from .executable import Executable, Program, as_view
from .sections import PARTS, ProgramTables, encode_programs
from .shared_rows import by_position

FORMAT_VERSION = 6
OWNER = "Meshloom"
CHECKSUM, VERSION, FINGERPRINT = 1, 2, 3
"""Kinds of ELF notes."""
_VERSION = struct.Struct("<IIQQQQ")
_CHECKSUM_BYTES = 32
_BULK_ALIGN = 64
_WEIGHTS_SEGMENT = 1 << 60
_HOST_SEGMENT = 1 << 61
COMPRESSED_WEIGHTS = 1 << 16
"""Largest number of bytes of weights that are compressed."""


def encode(exe: Executable) -> list[bytes | memoryview]:
    """The file as a sequence of buffers, without a copy of the weights. Raises MeshloomError if `exe` is not valid."""
    exe = _normal(exe)
    try:
        check_executable(exe)
    except InputError as error:
        raise MeshloomError(str(error)) from error
    return _chunks(exe, {})


def _normal(exe: Executable) -> Executable:
    programs = [p for p in exe.programs]
    for index, program in enumerate(programs):
        words = canonical_words(program.words)
        if words is not program.words:
            programs[index] = type(program)(program.name, words, program.descs, program.params, program.sources)
    return Executable(
        chip_from_table(cast("dict[str, Any]", json.loads(json.dumps(exe.chip.table))), f"chip '{exe.chip.name}'"),
        exe.tensors, programs, exe.launches, exe.core_sets, canonical_words(exe.controller), exe.weights,
        exe.weights_address, exe.dram_bytes_used, exe.source_names, _noted(exe.notes, exe.chip, programs),
        exe.host_weights,
        exe.host_weights_address, exe.host_bytes_used,
    )  # fmt: skip


def _noted(notes: Mapping[str, str], chip: Chip, programs: Sequence[Program]) -> dict[str, str]:
    """`notes`, with those of plug-ins' instructions, sparse formats and chip keys that the executable uses."""
    with_instructions = noted(notes, [program.words for program in programs])
    with_formats = noted_formats(with_instructions, [(program.words, program.descs) for program in programs])
    return noted_chip_keys(with_formats, chip)


def _chunks(exe: Executable, read: Mapping[str, FoundSection]) -> list[bytes | memoryview]:
    """The file as buffers; sections `read` from a file remain as they are there if their contents are equal."""
    contents: list[bytes | memoryview] = [_notes(exe, bytes(_CHECKSUM_BYTES))]
    sections = [Section(".note.meshloom", len(contents[0]), 4, NOTE)]

    def add(name: str, blob: bytes, align: int) -> None:
        stored, is_compressed = _stored(blob, align, read.get(name))
        sections.append(Section(name, len(stored), align, compressed=is_compressed))
        contents.append(stored)

    add(".chip", json.dumps(exe.chip.table, sort_keys=True).encode(), 8)
    add(".notes", json.dumps(exe.notes, sort_keys=True).encode(), 8)
    tables, programs = encode_programs(exe.programs)
    add(".words", by_position(tables.words), 8)
    add(".descs", by_position(tables.descs), 8)
    add(".programs", programs, 8)
    for part in PARTS:
        add(part.name, part.encode(exe), 8)

    def add_weights(name: str, content: memoryview, address: int) -> bytes | memoryview:
        stored, is_compressed = content, False
        if len(content) <= COMPRESSED_WEIGHTS:
            stored, is_compressed = _stored(bytes(content), _BULK_ALIGN, read.get(name))
        place, align = (None, 8) if is_compressed else (address, _BULK_ALIGN if len(content) else 8)
        sections.append(Section(name, len(stored), align, address=place, compressed=is_compressed))
        return stored

    weights = add_weights(".weights", as_view(exe.weights), _WEIGHTS_SEGMENT | exe.weights_address)
    held = add_weights(".host_weights", as_view(exe.host_weights), _HOST_SEGMENT | exe.host_weights_address)
    layout = lay_out(sections, 2)
    head = bytearray(layout.offsets[-2])
    gap = bytes(layout.offsets[-1] - layout.offsets[-2] - len(weights))
    head[: len(layout.front)] = layout.front
    for offset, content in zip(layout.offsets, [*contents, layout.names], strict=False):
        head[offset : offset + len(content)] = content
    head[layout.table_offset : layout.table_offset + len(layout.table)] = layout.table
    digest = hashlib.sha256(head)
    for chunk in (weights, gap, held):
        digest.update(chunk)
    notes = layout.offsets[0]
    head[notes : notes + len(contents[0])] = _notes(exe, digest.digest())
    return [bytes(head), weights, gap, held]


def _stored(content: bytes, align: int, read: FoundSection | None) -> tuple[bytes | memoryview, bool]:
    """(bytes in the file, whether they are compressed) for the contents of a section."""
    if read is not None and bytes(read.content) == content:
        return read.stored, read.compressed
    found = compressed(content, align)
    return (content, False) if found is None else (found, True)


def _notes(exe: Executable, checksum: bytes) -> bytes:
    version = _VERSION.pack(
        FORMAT_VERSION, ISA_VERSION, exe.weights_address, exe.dram_bytes_used, exe.host_weights_address,
        exe.host_bytes_used,
    )  # fmt: skip
    return b"".join(
        pack_note(OWNER, kind, content)
        for kind, content in (
            (CHECKSUM, checksum),
            (VERSION, version),
            (FINGERPRINT, bytes.fromhex(exe.chip.fingerprint)),
        )
    )


def map_file(path: str | Path) -> memoryview:
    """The file's bytes, memory-mapped. Raises InputError if it cannot be read."""
    try:
        with open_regular(path) as file:
            if os.fstat(file.fileno()).st_size == 0:
                return memoryview(b"")
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"cannot read {path}: {reason}") from error


def decode(data: bytes | bytearray | memoryview, location: str) -> Executable:
    """The executable in `data`, checked; its weights share memory with `data`. Raises InputError naming `location`."""
    data = memoryview(data).cast("B")
    sections = find_sections(data, location)
    read = {section.name: section for section in sections}
    parts = {name: section.content for name, section in read.items()}
    if ".chips" in parts and ".note.meshloom" not in parts:
        raise InputError(f"{location} contains a network on several chips: read it with meshloom.load or meshloom-run")
    notes = read_notes(_part(parts, ".note.meshloom", location), OWNER, location)
    if not {CHECKSUM, VERSION, FINGERPRINT} <= set(notes) or len(notes[VERSION]) != _VERSION.size:
        raise InputError(f"{location} is damaged: its notes are not complete")
    file_version, isa_version, weights_address, dram_used, host_address, host_used = _VERSION.unpack(notes[VERSION])
    if (file_version, isa_version) != (FORMAT_VERSION, ISA_VERSION):
        raise InputError(
            f"{location} has file version {file_version} and instruction set {isa_version}; this version "
            f"reads {FORMAT_VERSION} and {ISA_VERSION}: compile the network again"
        )
    weights, held = _part(parts, ".weights", location), _part(parts, ".host_weights", location)
    named = _read_notes(_part(parts, ".notes", location), location)
    check_plugins(named, location)  # before the chip is read, as its description may have keys of a plug-in
    chip = _read_chip(_part(parts, ".chip", location), location)
    tables = ProgramTables.read(_part(parts, ".words", location), _part(parts, ".descs", location), location)
    programs = tables.programs(_part(parts, ".programs", location), location)
    exe = Executable(
        chip, [], programs, [], np.zeros((0, chip.cores), np.bool_),
        np.zeros(0), np.frombuffer(weights, np.uint8), weights_address, dram_used, [],
        named, np.frombuffer(held, np.uint8), host_address, host_used,
    )  # fmt: skip
    for part in PARTS:
        part.decode(_part(parts, part.name, location), exe, location)
    check_executable(exe, location)
    _compare(data, _chunks(exe, read), location)
    return exe


def _part(parts: dict[str, memoryview], name: str, location: str) -> memoryview:
    if name not in parts:
        raise InputError(f"{location} is damaged: it has no section {name}")
    return parts[name]


def _compare(data: memoryview, chunks: Sequence[bytes | memoryview], location: str) -> None:
    head, weights, gap, held = chunks
    start = len(head) + len(weights)
    same_size = start + len(gap) + len(held) == len(data)
    if not same_size or bytes(data[: len(head)]) != head or bytes(data[start : start + len(gap)]) != gap:
        raise InputError(f"{location} is damaged: its checksum or layout is wrong; compile or copy it again")


def _json_object(raw: memoryview, what: str, location: str) -> dict[str, Any]:
    try:
        value: object = json.loads(bytes(raw))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{location} is damaged: {what} cannot be read") from error
    if not isinstance(value, dict):
        raise InputError(f"{location} is damaged: {what} cannot be read")
    return cast("dict[str, Any]", value)


def _read_chip(raw: memoryview, location: str) -> Chip:
    return chip_from_table(_json_object(raw, "the chip description", location), f"{location}: chip description")


def _read_notes(raw: memoryview, location: str) -> dict[str, str]:
    notes = _json_object(raw, "the notes", location)
    if not all(isinstance(value, str) for value in notes.values()):
        raise InputError(f"{location} is damaged: the notes must be strings")
    return {key: str(value) for key, value in notes.items()}

"""
Networks on several chips as `.mlx` files: an ELF64 file as for one chip (see `file`), with the sections

    .chips           a checksum over the whole contents of the file, then JSON: version, feeds, inputs and outputs
    .chip.NUMBER     one for each chip: its whole executable

The same pipeline always gives the same bytes, and a reader accepts exactly the bytes that a writer would produce.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from ...support.errors import InputError, MeshloomError
from ...support.files import write_chunks
from .chip_pipeline import ChipPipeline, Feed, check_chip_pipeline
from .elf import Section, find_sections, lay_out
from .executable import Executable, write_executable
from .file import decode, encode, map_file

CHIPS = ".chips"
VERSION = 1
MOST_CHIPS = 1024
"""Maximum number of chips in a file; a chip's program takes kilobytes."""
_KEYS = {"version", "feeds", "inputs", "outputs"}
_DIGEST_BYTES = 32
_ALIGN = 4096

Chunks = list[bytes | memoryview]


def encode_chip_pipeline(pipeline: ChipPipeline) -> Chunks:
    """The file as a sequence of buffers. Raises MeshloomError if `pipeline` is not valid."""
    try:
        check_chip_pipeline(pipeline, "the network on several chips")
    except InputError as error:
        raise MeshloomError(str(error)) from error
    return _chunks(_facts(pipeline), [encode(exe) for exe in pipeline.chips])


def _facts(pipeline: ChipPipeline) -> bytes:
    facts = {
        "version": VERSION,
        "feeds": [{name: [feed.chip, feed.name] for name, feed in sorted(feeds.items())} for feeds in pipeline.feeds],
        "inputs": list(pipeline.inputs),
        "outputs": [[name, chip] for name, chip in pipeline.outputs],
    }
    return json.dumps(facts, sort_keys=True, separators=(",", ":")).encode()


def _chunks(facts: bytes, images: Sequence[Chunks]) -> Chunks:
    """The head of the file, then each image after its padding."""
    sizes = [sum(len(chunk) for chunk in image) for image in images]
    sections = [Section(CHIPS, _DIGEST_BYTES + len(facts))]
    sections += [Section(f".chip.{number}", size, _ALIGN) for number, size in enumerate(sizes)]
    layout = lay_out(sections, len(images))
    # Offsets: the facts, the section names, then the images.
    head = bytearray(layout.offsets[2])
    head[: len(layout.front)] = layout.front
    names_at = layout.offsets[1]
    head[names_at : names_at + len(layout.names)] = layout.names
    head[layout.table_offset : layout.table_offset + len(layout.table)] = layout.table
    digest = hashlib.sha256(facts)
    for image in images:
        for chunk in image:
            digest.update(chunk)
    content = digest.digest() + facts
    head[layout.offsets[0] : layout.offsets[0] + len(content)] = content
    found: Chunks = [bytes(head)]
    end = len(head)
    for offset, size, image in zip(layout.offsets[2:], sizes, images, strict=True):
        found += [bytes(offset - end), *image]
        end = offset + size
    return found


def write_chip_pipeline(pipeline: ChipPipeline, path: str | Path) -> None:
    """Write the pipeline to `path` atomically. Raises MeshloomError if that fails."""
    write_chunks(path, encode_chip_pipeline(pipeline))


def write_any(found: Executable | ChipPipeline, path: str | Path) -> None:
    """Write an executable, for one chip or for several, to `path` atomically. Raises MeshloomError if that fails."""
    if isinstance(found, Executable):
        write_executable(found, path)
    else:
        write_chip_pipeline(found, path)


def read_any(path: str | Path) -> Executable | ChipPipeline:
    """The `.mlx` file at `path`, for one chip or several; weights remain in the file. Raises InputError."""
    return decode_any(map_file(path), str(path))


def decode_any(data: bytes | bytearray | memoryview, location: str) -> Executable | ChipPipeline:
    """The executable in the bytes of a `.mlx` file; `location` names them in errors. Raises InputError."""
    data = memoryview(data).cast("B")
    sections = find_sections(data, location)
    if not sections or sections[0].name != CHIPS:
        return decode(data, location)
    images = [section.stored for section in sections[1:] if section.name != ".shstrtab"]
    content = sections[0].stored
    if not 0 < len(images) <= MOST_CHIPS or len(content) < _DIGEST_BYTES:
        raise InputError(f"{location} is damaged: it has {len(images)} chips, or does not describe their connections")
    facts = bytes(content[_DIGEST_BYTES:])
    _compare(data, _chunks(facts, [[image] for image in images]), location)
    chips = [decode(image, f"{location} (chip {number})") for number, image in enumerate(images)]
    pipeline = _read_facts(facts, chips, location)
    check_chip_pipeline(pipeline, location)
    return pipeline


def _compare(data: memoryview, chunks: Chunks, location: str) -> None:
    at, same = 0, True
    for chunk in chunks:
        # A memoryview is an image, which is a part of the file itself and need not be compared.
        same = same and (isinstance(chunk, memoryview) or bytes(data[at : at + len(chunk)]) == chunk)
        at += len(chunk)
    if same and at == len(data):
        return
    raise InputError(f"{location} is damaged: its checksum or layout is wrong; compile or copy it again")


def _read_facts(facts: bytes, chips: Sequence[Executable], location: str) -> ChipPipeline:
    damaged = InputError(f"{location} is damaged: the connections of its chips cannot be read")
    try:
        read: object = json.loads(facts)
    except (ValueError, RecursionError) as error:
        raise damaged from error
    if not isinstance(read, dict) or set(found := cast("dict[str, Any]", read)) != _KEYS:
        raise damaged
    if (version := found["version"]) != VERSION:
        raise InputError(f"{location} has version {version} of files for several chips: compile the network again")
    try:
        pipeline = ChipPipeline(
            tuple(chips),
            tuple(_read_feeds(one) for one in _list(found["feeds"])),
            tuple(_text(name) for name in _list(found["inputs"])),
            tuple(_pair(one) for one in _list(found["outputs"])),
        )
    except (TypeError, ValueError) as error:
        raise damaged from error
    if _facts(pipeline) != facts:
        raise damaged
    return pipeline


def _read_feeds(value: object) -> dict[str, Feed]:
    if not isinstance(value, dict):
        raise TypeError
    feeds: dict[str, Feed] = {}
    for name, feed in cast("dict[str, object]", value).items():
        source, chip = _pair(_list(feed)[::-1])
        feeds[name] = Feed(chip, source)
    return feeds


def _pair(value: object) -> tuple[str, int]:
    match value:
        case [str(name), int(chip)] if not isinstance(chip, bool):
            return name, chip
        case _:
            raise TypeError


def _list(value: object) -> list[object]:
    if not isinstance(value, list):
        raise TypeError
    return cast("list[object]", value)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value

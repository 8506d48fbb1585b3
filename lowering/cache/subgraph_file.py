"""Compiled subgraphs as bytes, for other processes and the cache: executables with one launch, checked when read."""

from __future__ import annotations

import json
from typing import cast

from ...analysis.planning.sram_layout import SramBuffer
from ...analysis.search import Trial
from ...chips import Chip
from ...emulator.executable.executable import from_bytes, to_bytes
from ...support.errors import InputError
from ..ir.module_text import KeptModule
from ..linker.launch_image import launch_image
from ..linker.relocate import LaunchCode
from .subgraph_code import SubgraphCode

_NOTE = "piece"
_FIGURES = ("segments", "sram_peak", "sram_lower_bound", "task_cycles", "buffers", "digest", "cycles", "trials")
_TILED = "tiled"


def subgraph_to_bytes(compiled: SubgraphCode, chip: Chip) -> bytes:
    """Serialise a compiled subgraph; equal subgraphs give equal bytes."""
    note = json.dumps({name: getattr(compiled, name) for name in _FIGURES} | {_TILED: compiled.tiled.text})
    return to_bytes(launch_image(compiled.code, chip, compiled.tasks, {_NOTE: note}))


def subgraph_from_bytes(data: bytes | memoryview, chip: Chip, place: str) -> SubgraphCode:
    """
    Read a compiled subgraph. Raises InputError naming `place` for bytes that are damaged or were made for another chip.
    """
    exe = from_bytes(data, place)
    if exe.chip != chip or len(exe.launches) != 1 or _NOTE not in exe.notes:
        raise InputError(f"{place} is no part compiled for chip '{chip.name}'")
    try:
        note: object = json.loads(exe.notes[_NOTE])
    except ValueError as error:
        raise InputError(f"{place} is damaged: its note cannot be read") from error
    if not isinstance(note, dict) or set(cast("dict[str, object]", note)) != {*_FIGURES, _TILED}:
        raise InputError(f"{place} is damaged: its note is not complete")
    found = cast("dict[str, list[int]]", note)
    peak, bound = (cast("int", note[name]) for name in ("sram_peak", "sram_lower_bound"))
    return SubgraphCode(
        LaunchCode(exe.programs, exe.launches[0], exe.core_sets),
        tuple(found["segments"]),
        tuple(exe.source_names),
        peak,
        bound,
        tuple(found["task_cycles"]),
        tuple(SramBuffer(*one) for one in cast("list[tuple[str, int, int, int, int, int]]", note["buffers"])),
        KeptModule(str(found[_TILED])),
        str(found["digest"]),
        cast("int | None", note["cycles"]),
        tuple(Trial(*one) for one in cast("list[tuple[str, str]]", note["trials"])),
    )

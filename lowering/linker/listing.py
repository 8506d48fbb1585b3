"""
Executables as listings: readable text that `assemble` turns back into the same bytes.

One directive or instruction a line, `;` starts a comment, strings are JSON. Programs and launches are written as in the
`coreasm` dialect; sets, sources and descriptors are numbered in their order in the text.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Sequence
from typing import Any, Literal

from ...dialects.coreasm.encoding import TYPES
from ...dialects.coreasm.isa import ISA_VERSION
from ...dialects.coreasm.launch_text import ranges, run_lines, runs_of
from ...dialects.coreasm.line_tokens import quote
from ...dialects.coreasm.program_text import code_lines
from ...emulator.executable.executable import Buffer, Executable, Program, TensorInfo, as_view
from .program_code import SourceTable, controller_code, launch_programs

PART_NAMES = ("headers", "tensors", "sets", "sources", "programs", "launches", "controller", "weights")
"""Parts of a listing, in their order."""
BASE64_LINE = 57 * 2
"""Bytes of weights a line."""


def listing(
    exe: Executable,
    parts: Sequence[str] = PART_NAMES,
    program: str | None = None,
    weights: Literal["inline", "file", "none"] = "inline",
    weights_file: str = "",
) -> Iterator[str]:
    """
    The lines of the listing, without newlines.

    Only `parts` (of `PART_NAMES`), only the program called `program` if given; weights as base64, as a reference to
    `weights_file` (which the caller writes: those in DRAM, then those of the host) or by their hash alone.
    """
    for part in PART_NAMES:
        if part not in parts:
            continue
        match part:
            case "headers":
                yield from _headers(exe)
            case "tensors":
                yield from (_tensor(t) for t in exe.tensors)
            case "sets":
                yield from (f".set {ranges(_members(row))}  ; {i}" for i, row in enumerate(exe.core_sets))
            case "sources":
                yield from (f".source {quote(name)}  ; {i}" for i, name in enumerate(exe.source_names))
            case "programs":
                sources = SourceTable(exe.source_names)
                for each in exe.programs:
                    if program is None or each.name == program:
                        yield from _program(each, sources)
            case "launches":
                for number, launch in enumerate(exe.launches):
                    yield f".launch  ; {number}"
                    yield from run_lines(runs_of(launch_programs(exe, number), launch.params_of_core), indent=1)
            case "controller":
                yield ".controller"
                yield from code_lines(controller_code(exe), indent=1)
            case _:
                file = f" file {quote(weights_file)}" if weights == "file" else ""
                yield ""
                yield from _image(f".weights {exe.weights_address:#x}", exe.weights, file, weights)
                if exe.host_weight_bytes or exe.host_bytes_used or exe.host_weights_address:
                    if weights == "none":
                        yield ".end"
                    rest = f" used {exe.host_bytes_used}" + (f"{file} at {exe.weight_bytes}" if file else "")
                    yield from _image(f".host {exe.host_weights_address:#x}", exe.host_weights, rest, weights)


def _headers(exe: Executable) -> Iterator[str]:
    chip = exe.chip
    yield f"; {chip.name}: {chip.rows} x {chip.cols} cores, fingerprint {chip.fingerprint}"
    count = sum(len(p.words) for p in exe.programs)
    yield f"; {len(exe.programs)} programs of {count} words, {len(exe.launches)} launches"
    yield f".meshloom isa {ISA_VERSION}"
    yield f".chip {quote(json.dumps(chip.table, sort_keys=True))}"
    for key in sorted(exe.notes):
        yield f".note {quote(key)} {quote(exe.notes[key])}"
    yield f".dram used {exe.dram_bytes_used}"


def _tensor(t: TensorInfo) -> str:
    host = "" if t.host_address < 0 else f" host {t.host_address:#x}"
    shape = ", ".join(map(str, t.shape))
    return (
        f".tensor {t.role} {quote(t.name)} {TYPES[t.dtype].name} [{shape}]"
        f" dram {t.dram_address:#x} bytes {t.nbytes}{host}"
    )


def _members(row: Any) -> list[int]:
    return row.nonzero()[0].tolist()


def _program(program: Program, sources: SourceTable) -> Iterator[str]:
    yield ""
    yield f".program {quote(program.name)}"
    yield from code_lines(sources.code(program), sources.names, indent=1)


def _image(directive: str, data: Buffer, rest: str, how: str) -> Iterator[str]:
    view = as_view(data)
    yield f"{directive} bytes {len(view)} sha256 {quote(hashlib.sha256(view).hexdigest())}{rest}"
    if how == "inline":
        for at in range(0, len(view), BASE64_LINE):
            yield "  " + base64.b64encode(view[at : at + BASE64_LINE]).decode()
        yield ".end"

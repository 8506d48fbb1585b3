"""
Executables as listings: text that a person reads and `assembly` turns back into the same bytes.

One directive or instruction a line, `;` starts a comment, strings are JSON. Instructions are written as in the
`coreasm` dialect, without its prefix; sets, sources and descriptors are numbered in the order in which they stand.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any, Literal

from ..dialects.coreasm.check import canonical_words
from ..dialects.coreasm.encoding import FIELDS, NO_SOURCE, TYPES
from ..dialects.coreasm.isa import BY_CODE, ISA_VERSION
from ..dialects.coreasm.text import Fields, format_fields
from ..emulator.executable import Executable, Launch, Program, TensorInfo, as_view

PART_NAMES = ("headers", "tensors", "sets", "sources", "programs", "launches", "controller", "weights")
PartName = Literal["headers", "tensors", "sets", "sources", "programs", "launches", "controller", "weights"]
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
                yield from (f".set {_ranges(_members(row))}  ; {i}" for i, row in enumerate(exe.core_sets))
            case "sources":
                yield from (f".source {quote(name)}  ; {i}" for i, name in enumerate(exe.source_names))
            case "programs":
                for each in exe.programs:
                    if program is None or each.name == program:
                        yield from _program(each, exe.source_names)
            case "launches":
                for number, launch in enumerate(exe.launches):
                    yield f".launch  ; {number}"
                    yield from _launch(exe, launch)
            case "controller":
                yield ".controller"
                yield from _words(exe.controller, (), ())
            case _:
                yield from _weights(exe, weights, weights_file)
                if exe.host_weight_bytes or exe.host_bytes_used or exe.host_weights_address:
                    if weights == "none":
                        yield ".end"
                    yield from _host_weights(exe, weights, weights_file)


def quote(text: str) -> str:
    """`text` as a JSON string."""
    return json.dumps(text)


def _headers(exe: Executable) -> Iterator[str]:
    chip = exe.chip
    yield f"; {chip.name}: {chip.rows} x {chip.cols} cores, fingerprint {chip.fingerprint}"
    count = sum(len(p.words) for p in exe.programs)
    yield f"; {len(exe.programs)} programs of {count} words, {len(exe.launches)} launches"
    yield f".meshloom isa {ISA_VERSION}"
    yield f".chip {quote(json.dumps(asdict(chip), sort_keys=True))}"
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


def _ranges(numbers: Sequence[int]) -> str:
    """`0 to 3, 7`"""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][1] + 1 == number:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(str(a) if a == b else f"{a} to {b}" for a, b in runs)


def _program(program: Program, names: Sequence[str]) -> Iterator[str]:
    yield ""
    yield f".program {quote(program.name)}"
    sizes: list[list[int]] = program.descs["size"].tolist()
    strides: list[list[int]] = program.descs["stride"].tolist()
    for number, (size, stride) in enumerate(zip(sizes, strides, strict=True)):
        start = _unused_dims(size, stride)
        yield f"  .desc {size[start:]} {stride[start:]}  ; d{number}"
    params: list[tuple[int, int]] = program.params.tolist()
    for number, (word, code) in enumerate(params):
        yield f"  .param word {word} {FIELDS[code]}  ; {number}"
    yield from _words(program.words, program.sources.tolist(), names)


def _unused_dims(sizes: Sequence[int], strides: Sequence[int]) -> int:
    start = 0
    while start < len(sizes) - 1 and sizes[start] == 1 and strides[start] == 0:
        start += 1
    return start


def _words(words: Any, sources: Sequence[int], names: Sequence[str]) -> Iterator[str]:
    words = canonical_words(words)
    columns = (words[name].tolist() for name in ("op", "dtype", "wait", "signal", "regs", "imm", "addr", "desc"))
    ends: list[int] = []
    for number, (op, *rest) in enumerate(zip(*columns, strict=True)):
        while ends and ends[-1] == number:
            ends.pop()
            yield f"{'  ' * (len(ends) + 1)}}}"
        ins, fields = BY_CODE[op], Fields(*rest)
        source = sources[number] if sources else NO_SOURCE
        line = f"{'  ' * (len(ends) + 1)}{ins.mnemonic} {format_fields(ins, fields)}".rstrip()
        if source != NO_SOURCE:
            line += f" from {source}"
        if ins.mnemonic == "loop":
            line += " {"
            ends.append(number + 1 + fields.addr[1])
        yield f"{line}  ; {number}" + (f" {quote(names[source])}" if source < len(names) else "")


def _launch(exe: Executable, launch: Launch) -> Iterator[str]:
    groups: dict[tuple[int, bytes], list[int]] = {}
    numbers: list[int] = launch.program_of_core.tolist()
    for core, (number, own) in enumerate(zip(numbers, launch.params_of_core, strict=True)):
        groups.setdefault((number, own.tobytes()), []).append(core)
    for (number, _), cores in groups.items():
        values: list[int] = launch.params_of_core[cores[0]].tolist()
        given = f" params {', '.join(map(str, values))}" if values else ""
        yield f"  .run {quote(exe.programs[number].name)} cores {_ranges(cores)}{given}"


def _weights(exe: Executable, how: str, file: str) -> Iterator[str]:
    view = as_view(exe.weights)
    digest = hashlib.sha256(view).hexdigest()
    where = f" file {quote(file)}" if how == "file" else ""
    yield ""
    yield f".weights {exe.weights_address:#x} bytes {len(view)} sha256 {quote(digest)}{where}"
    if how == "inline":
        yield from _base64(view)


def _host_weights(exe: Executable, how: str, file: str) -> Iterator[str]:
    view = as_view(exe.host_weights)
    digest = hashlib.sha256(view).hexdigest()
    where = f" file {quote(file)} at {exe.weight_bytes}" if how == "file" else ""
    yield (
        f".host {exe.host_weights_address:#x} bytes {len(view)} sha256 {quote(digest)}"
        f" used {exe.host_bytes_used}{where}"
    )
    if how == "inline":
        yield from _base64(view)


def _base64(view: memoryview) -> Iterator[str]:
    for at in range(0, len(view), BASE64_LINE):
        yield "  " + base64.b64encode(view[at : at + BASE64_LINE]).decode()
    yield ".end"

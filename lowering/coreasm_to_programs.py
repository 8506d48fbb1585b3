"""Programs as `coreasm` IR and back, without loss: the dialect is their textual view."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from ..dialects.coreasm.check import canonical_words
from ..dialects.coreasm.encoding import FIELDS, NO_SOURCE
from ..dialects.coreasm.isa import BY_CODE
from ..dialects.coreasm.ops import INSTRUCTION_OPS, LoopOp, ProgramOp, access_attr, desc_array, parse_param
from ..dialects.coreasm.text import Fields
from ..emulator.executable import Program


def word_fields(words: NDArray[Any]) -> list[tuple[int, Fields]]:
    """Opcode and fields of every word, as plain numbers."""
    columns = (words[name].tolist() for name in ("op", "dtype", "wait", "signal", "regs", "imm", "addr", "desc"))
    return [(op, Fields(*rest)) for op, *rest in zip(*columns, strict=True)]


def program_to_op(program: Program, source_names: Sequence[str] = ()) -> ProgramOp:
    """The program as IR; its words must make sense (see `executable_check`)."""
    words = word_fields(canonical_words(program.words))
    sources: list[int] = program.sources.tolist()

    def build(start: int, end: int) -> list[Operation]:
        ops: list[Operation] = []
        at = start
        while at < end:
            code, fields = words[at]
            source = source_names[sources[at]] if sources[at] < len(source_names) else None
            mnemonic = BY_CODE[code].mnemonic
            at += 1
            if mnemonic == "loop":
                length = fields.addr[1]
                fields.addr[1] = 0
                ops.append(LoopOp(fields, source, build(at, at + length)))
                at += length
            else:
                ops.append(INSTRUCTION_OPS[mnemonic](fields, source))
        return ops

    rows: list[tuple[int, int]] = program.params.tolist()
    return ProgramOp(
        program.name,
        build(0, len(words)),
        [access_attr(desc) for desc in program.descs],
        [f"{word}.{FIELDS[code]}" for word, code in rows],
    )


def op_to_program(op: ProgramOp, source_names: list[str]) -> Program:
    """The program of the IR; names of sources that are not yet in `source_names` are added there."""
    words, sources = op.words()
    numbers = {name: index for index, name in enumerate(source_names)}
    indices: list[int] = []
    for source in sources:
        if source is not None and source not in numbers:
            numbers[source] = len(source_names)
            source_names.append(source)
        indices.append(NO_SOURCE if source is None else numbers[source])
    params = [parse_param(param.data, len(words)) for param in op.params or ()]
    accesses = [(access.sizes.get_values(), access.strides.get_values()) for access in op.descs or ()]
    return Program(
        op.sym_name.data,
        words,
        desc_array(accesses),
        np.array(params, np.uint32).reshape(-1, 2),
        np.array(indices, np.uint32),
    )


def programs_to_module(programs: Sequence[Program], source_names: Sequence[str] = ()) -> ModuleOp:
    """A module with one `coreasm.program` a program."""
    return ModuleOp([program_to_op(program, source_names) for program in programs])


def module_to_programs(module: ModuleOp) -> tuple[list[Program], list[str]]:
    """The programs of a module (its other ops are passed over) and the names of their sources."""
    names: list[str] = []
    return [op_to_program(op, names) for op in module.ops if isinstance(op, ProgramOp)], names

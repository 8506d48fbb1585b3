"""Streams of all cores to an executable: synchronise, roll, share, and write the controller's program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ..chips.chip import Chip
from ..dialects.coreasm.encoding import new_words
from ..dialects.coreasm.isa import OPCODE
from ..emulator.executable import Buffer, Executable, Launch, Program, TensorInfo, idle_program
from .core_sets import CoreSetTable
from .roll_loops import roll_loops
from .share_programs import share_programs
from .stream import NO_SOURCE, UNUSED, CoreStream, split_address
from .synchronise import synchronise
from .wide_words import WIDE, IsaFacts, isa_facts, wide_words

__all__ = ["CoreSetTable", "controller_program", "core_words", "link"]


def link(
    chip: Chip,
    streams: Sequence[Mapping[int, CoreStream]],
    core_sets: CoreSetTable,
    tensors: Sequence[TensorInfo],
    weights: Buffer = b"",
    weights_address: int = 0,
    dram_bytes_used: int = 0,
    source_names: Sequence[str] = (),
    notes: Mapping[str, str] | None = None,
) -> Executable:
    """The executable of one stream per working core (by core number) for every launch, in order.

    All streams share one descriptor table. Inputs are copied to DRAM before the first launch, outputs back after the
    last. Raises MeshloomError if a program needs more descriptors than it can name.
    """
    facts = isa_facts()
    programs = [idle_program()]
    numbers: dict[bytes, int] = {}
    launches: list[Launch] = []
    for launch, cores in enumerate(streams):
        program_of_core = np.zeros(chip.cores, dtype=np.int32)
        params_of_core = [np.zeros(0, dtype=np.uint32)] * chip.cores
        working = {core: stream for core, stream in cores.items() if len(stream)}
        words = {core: core_words(stream, facts) for core, stream in working.items()}
        if working:
            table = next(iter(working.values())).descriptors
            if any(stream.descriptors is not table for stream in working.values()):
                raise ValueError("the streams of a launch must share one descriptor table")
            for shared in share_programs(words, table, facts, f"launch{launch}"):
                number = _number(shared.program, programs, numbers)
                program_of_core[list(shared.cores)] = number
                for core, values in zip(shared.cores, shared.values, strict=True):
                    params_of_core[core] = values
        launches.append(Launch(program_of_core, params_of_core))
    return Executable(
        chip=chip,
        tensors=list(tensors),
        programs=programs,
        launches=launches,
        core_sets=core_sets.array(),
        controller=controller_program(tensors, len(launches)),
        weights=weights,
        weights_address=weights_address,
        dram_bytes_used=dram_bytes_used,
        source_names=list(source_names),
        notes=dict(notes or {}),
    )


def core_words(stream: CoreStream, facts: IsaFacts) -> NDArray[np.void]:
    """The complete words (WIDE) of one core: synchronised, rolled, and ended by `halt`."""
    arrays = stream.finish()
    wait, signal = synchronise(arrays, facts.unit_of_op)
    rolled = roll_loops(wide_words(arrays, wait, signal), facts)
    halt = np.zeros(1, dtype=WIDE)
    halt["op"], halt["desc"], halt["source"] = facts.halt, UNUSED, NO_SOURCE
    return np.concatenate([rolled, halt])


def _number(program: Program, programs: list[Program], numbers: dict[bytes, int]) -> int:
    """The program's number in `programs`; launches with the same program share it."""
    key = b"".join(array.tobytes() for array in (program.words, program.descs, program.params, program.sources))
    if key not in numbers:
        numbers[key] = len(programs)
        programs.append(program)
    return numbers[key]


def controller_program(tensors: Sequence[TensorInfo], launches: int) -> NDArray[np.void]:
    """Inputs in, every launch after the one before, outputs out (WORD)."""
    steps: list[tuple[str, int, TensorInfo | None]] = []
    for role, copy, tag in (("input", "ctl.h2d", 0), ("output", "ctl.d2h", 1)):
        tensors_of_role = [tensor for tensor in tensors if tensor.role == role and tensor.nbytes]
        steps += [(copy, tag, tensor) for tensor in tensors_of_role]
        if tensors_of_role:
            steps.append(("ctl.wait", tag, None))
        if role == "input":
            steps += [(name, launch, None) for launch in range(launches) for name in ("ctl.launch", "ctl.join")]
    steps.append(("ctl.halt", 0, None))
    words = new_words(len(steps))
    for word, (name, imm, tensor) in zip(words, steps, strict=True):
        word["op"], word["imm"] = OPCODE[name], imm
        if tensor is not None:
            word["addr"] = (*split_address(tensor.dram_address), *split_address(tensor.host_address))
            word["desc"] = [tensor.nbytes >> (16 * k) & 0xFFFF for k in range(4)]
    return words

"""Streams of all cores to an executable: synchronise, roll, share, and write the controller's program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ..chips.chip import Chip
from ..emulator.executable import Buffer, Executable, Launch, Program, TensorInfo, idle_program
from .controller import Boundary, Copy, boundary_actions, controller_words
from .core_sets import CoreSetTable
from .relocate import LaunchCode
from .roll_loops import roll_loops
from .share_programs import share_programs
from .stream import NO_SOURCE, UNUSED, CoreStream
from .synchronise import synchronise
from .wide_words import WIDE, IsaFacts, isa_facts, wide_words

__all__ = ["CoreSetTable", "Programs", "core_words", "launch_code", "link"]


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
    programs = Programs()
    launches: list[Launch] = []
    for launch, cores in enumerate(streams):
        code = launch_code(chip, cores, core_sets.array(), f"launch{launch}")
        launches.append(programs.add(code.programs, code.launch))
    boundaries = [Boundary() for _ in launches]
    if boundaries:
        boundaries[0].before = [_copy(tensor) for tensor in tensors if tensor.role == "input"]
        boundaries[-1].after = [_copy(tensor) for tensor in tensors if tensor.role == "output"]
    return Executable(
        chip=chip,
        tensors=list(tensors),
        programs=programs.all,
        launches=launches,
        core_sets=core_sets.array(),
        controller=controller_words(boundary_actions(boundaries)),
        weights=weights,
        weights_address=weights_address,
        dram_bytes_used=dram_bytes_used,
        source_names=list(source_names),
        notes=dict(notes or {}),
    )


def launch_code(chip: Chip, streams: Mapping[int, CoreStream], core_sets: NDArray[np.bool_], name: str) -> LaunchCode:
    """
    The machine code of one launch from a stream per working core; the programs are called `name`.0 and so on.

    Raises ResourceError if a program needs more descriptors than it can name.
    """
    facts = isa_facts()
    programs = [idle_program()]
    program_of_core = np.zeros(chip.cores, dtype=np.int32)
    params_of_core = [np.zeros(0, dtype=np.uint32)] * chip.cores
    working = {core: stream for core, stream in streams.items() if len(stream)}
    if working:
        table = next(iter(working.values())).descriptors
        if any(stream.descriptors is not table for stream in working.values()):
            raise ValueError("the streams of a launch must share one descriptor table")
        words = {core: core_words(stream, facts) for core, stream in working.items()}
        for shared in share_programs(words, table, facts, name):
            program_of_core[list(shared.cores)] = len(programs)
            programs.append(shared.program)
            for core, values in zip(shared.cores, shared.values, strict=True):
                params_of_core[core] = values
    return LaunchCode(programs, Launch(program_of_core, params_of_core), core_sets)


class Programs:
    """The programs of an executable: launches with the same program share it."""

    def __init__(self) -> None:
        self.all = [idle_program()]
        self._numbers = {_content(self.all[0]): 0}

    def add(self, programs: Sequence[Program], launch: Launch) -> Launch:
        """Take in the programs of a launch; the launch, with their numbers here."""
        numbers: list[int] = []
        for program in programs:
            key = _content(program)
            if key not in self._numbers:
                self._numbers[key] = len(self.all)
                self.all.append(program)
            numbers.append(self._numbers[key])
        program_of_core = np.array(numbers, np.int32)[launch.program_of_core]
        return Launch(program_of_core, launch.params_of_core)


def _content(program: Program) -> bytes:
    return b"".join(array.tobytes() for array in (program.words, program.descs, program.params, program.sources))


def core_words(stream: CoreStream, facts: IsaFacts) -> NDArray[np.void]:
    """The complete words (WIDE) of one core: synchronised, rolled, and ended by `halt`."""
    arrays = stream.finish()
    wait, signal = synchronise(arrays, facts.unit_of_op)
    rolled = roll_loops(wide_words(arrays, wait, signal), facts)
    halt = np.zeros(1, dtype=WIDE)
    halt["op"], halt["desc"], halt["source"] = facts.halt, UNUSED, NO_SOURCE
    return np.concatenate([rolled, halt])


def _copy(tensor: TensorInfo) -> Copy:
    return Copy(tensor.role == "input", tensor.dram_address, tensor.host_address, tensor.nbytes)

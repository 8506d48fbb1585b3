"""Streams of all cores to the machine code of a launch: synchronise, reroll loops, deduplicate programs."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ...chips.chip import Chip
from ...dialects.coreasm.encoding import NO_SOURCE
from ...dialects.coreasm.isa import OPCODE
from ...emulator.executable.executable import Launch, idle_program
from ..codegen.stream import UNUSED, CoreStream
from .deduplicate_programs import deduplicate_programs
from .relocate import LaunchCode
from .reroll_loop_steps import roll_steps
from .reroll_loops import reroll_loops
from .synchronise import synchronise_loops
from .wide_words import WIDE, wide_words


def launch_code(chip: Chip, streams: Mapping[int, CoreStream], core_sets: NDArray[np.bool_], name: str) -> LaunchCode:
    """
    The machine code of one launch from a stream per working core; the programs are called `name`.0 and so on.

    Raises ResourceError if a program needs more descriptors than it can name.
    """
    programs = [idle_program()]
    program_of_core = np.zeros(chip.cores, dtype=np.int32)
    params_of_core = [np.zeros(0, dtype=np.uint32)] * chip.cores
    working = {core: stream for core, stream in streams.items() if len(stream)}
    if working:
        table = next(iter(working.values())).descriptors
        if any(stream.descriptors is not table for stream in working.values()):
            raise ValueError("the streams of a launch must share one descriptor table")
        words = {core: core_words(stream) for core, stream in working.items()}
        for shared in deduplicate_programs(words, table, name):
            program_of_core[list(shared.cores)] = len(programs)
            programs.append(shared.program)
            for core, values in zip(shared.cores, shared.values, strict=True):
                params_of_core[core] = values
    return LaunchCode(programs, Launch(program_of_core, params_of_core), core_sets)


def core_words(stream: CoreStream) -> NDArray[np.void]:
    """The complete words (WIDE) of one core: synchronised, rolled, and ended by `halt`."""
    arrays = stream.finish()
    wait, signal, states = synchronise_loops(arrays)
    words = wide_words(arrays, wait, signal)
    rerolled: list[NDArray[np.void]] = []
    at = 0
    for loop, known in zip(arrays.loops, states, strict=True):
        rerolled.append(reroll_loops(words[at : loop.starts[0]]))
        rerolled.append(roll_steps(words[loop.starts[0] : loop.starts[-1]], loop, known))
        at = loop.starts[-1]
    rerolled.append(reroll_loops(words[at:]))
    halt = np.zeros(1, dtype=WIDE)
    halt["op"], halt["desc"], halt["source"] = OPCODE["halt"], UNUSED, NO_SOURCE
    return np.concatenate([*rerolled, halt])

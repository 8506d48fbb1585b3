"""Link the machine code of all launches of an executable at their DRAM addresses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...chips import Chip
from ...emulator.executable.executable import Launch, Program, idle_program
from ..codegen.core_sets import CoreSetTable
from .relocate import LaunchCode, Relocation, relocated


@dataclass(frozen=True)
class LinkedCode:
    """The linked machine code of all launches."""

    programs: list[Program]
    launches: list[Launch]
    core_sets: NDArray[np.bool_]
    source_names: list[str]


def link_codes(
    chip: Chip, codes: Sequence[LaunchCode], segments: Sequence[NDArray[np.int64]], names: Sequence[Sequence[str]]
) -> LinkedCode:
    """
    Link launches with their segments at the given DRAM addresses; `names`: of the tasks of each.

    Raises ResourceError for more sets of receivers than can be named.
    """
    sets = CoreSetTable(chip.cores)
    numbers = [sets.intern_rows(code.core_sets) for code in codes]
    programs = [idle_program()]
    known = {_content(programs[0]): 0}
    """Program content -> its number; launches share equal programs."""
    launches: list[Launch] = []
    source_names: list[str] = []
    for number, code in enumerate(codes):
        own, launch = relocated(code, Relocation(segments[number], numbers[number], len(source_names)))
        places: list[int] = []
        for index, program in enumerate(own):
            program.name = f"launch{number}.{index - 1}" if index else program.name
            places.append(known.setdefault(_content(program), len(programs)))
            if places[-1] == len(programs):
                programs.append(program)
        launches.append(Launch(np.array(places, np.int32)[launch.program_of_core], launch.params_of_core))
        source_names += names[number]
    return LinkedCode(programs, launches, sets.array(), source_names)


def _content(program: Program) -> bytes:
    return b"".join(array.tobytes() for array in (program.words, program.descs, program.params, program.sources))

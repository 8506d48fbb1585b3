"""Conversion of an executable's programs to and from `Code`, which refers to sources by name if the name is unique."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ...dialects.coreasm.check import canonical_words
from ...dialects.coreasm.code import Code
from ...dialects.coreasm.encoding import NO_SOURCE
from ...dialects.coreasm.launch_text import Run
from ...emulator.executable.executable import Executable, Launch, Program
from ...support.errors import InputError


class SourceTable:
    """Names of the source operations of instruction words; a repeated name refers to its first occurrence."""

    def __init__(self, names: list[str]) -> None:
        """`names` grows when names are added."""
        self.names = names
        self._first: dict[str, int] = {}
        for number, name in enumerate(names):
            self._first.setdefault(name, number)

    def name(self, number: int) -> str | int:
        """The name if it refers to this number; otherwise the number."""
        if number < len(self.names) and self._first[self.names[number]] == number:
            return self.names[number]
        return number

    def number(self, name: str | int) -> int:
        """The number of a name, which is added if it is new."""
        if isinstance(name, int):
            return name
        if name not in self._first:
            self._first[name] = len(self.names)
            self.names.append(name)
        return self._first[name]

    def code(self, program: Program) -> Code:
        """The `Code` of a program, whose words must be valid."""
        used = np.unique(program.sources)
        used = used[used != NO_SOURCE]
        own = np.searchsorted(used, program.sources).astype(np.uint32)
        own[program.sources == NO_SOURCE] = NO_SOURCE
        numbers: list[int] = used.tolist()
        names = tuple(self.name(number) for number in numbers)
        return Code(canonical_words(program.words), program.descs, program.params, own, names)

    def program(self, name: str, code: Code) -> Program:
        """The program; new names of sources are added to the table."""
        return Program(name, code.words, code.descs, code.params, self.sources(code))

    def sources(self, code: Code) -> NDArray[np.uint32]:
        """Per word the number of its source."""
        numbers = np.array([*(self.number(name) for name in code.names), NO_SOURCE], np.uint32)
        none = len(code.names)
        return numbers[np.where(code.sources == NO_SOURCE, none, code.sources).astype(np.int64)]


def controller_code(exe: Executable) -> Code:
    """The controller's program."""
    words = canonical_words(exe.controller)
    return Code(words, sources=np.full(len(words), NO_SOURCE, np.uint32))


def launch_programs(exe: Executable, launch: int) -> list[str]:
    """Per core the name of the program that it runs."""
    numbers: list[int] = exe.launches[launch].program_of_core.tolist()
    return [exe.programs[number].name for number in numbers]


def core_sets_of(sets: Sequence[tuple[Sequence[int], str]], cores: int) -> NDArray[np.bool_]:
    """[sets, cores] from core sets, each with its location in the text. Raises InputError."""
    rows = np.zeros((len(sets), cores), np.bool_)
    for row, (members, where) in zip(rows, sets, strict=True):
        if any(core >= cores for core in members):
            raise InputError(f"{where}: a core set names a core above {cores - 1}")
        row[list(members)] = True
    return rows


def launch_of(runs: Iterable[tuple[Run, str]], numbers: Mapping[str, int], cores: int, location: str) -> Launch:
    """
    The launch from its runs, each with its location in the text, of programs with these `numbers`; `location` is the
    location of the launch. Raises InputError.
    """
    program_of_core = np.full(cores, -1, np.int32)
    params: list[NDArray[np.uint32]] = [np.zeros(0, np.uint32)] * cores
    for run, where in runs:
        if run.program not in numbers:
            raise InputError(f"{where}: there is no program '{run.program}'")
        for core in run.cores:
            if core >= cores or program_of_core[core] >= 0:
                raise InputError(f"{where}: core {core} does not exist or has a program already")
            program_of_core[core] = numbers[run.program]
            params[core] = run.values
    if (program_of_core < 0).any():
        raise InputError(f"{location}: a launch gives core {int(np.argmin(program_of_core))} no program")
    return Launch(program_of_core, params)

"""The interface of observers, which inspect the memories between instructions in a run of the functional engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..executable.executable import Executable
from ..machine.expand import Code, Stream
from ..machine.memory import Bytes

if TYPE_CHECKING:
    from .decode import Steps

Execute: TypeAlias = Callable[[Stream], None]
"""Function that executes the instructions of a chunk, or of a part of it."""
Watch: TypeAlias = Callable[[Stream, Execute], None]
"""Function that is given a chunk, and has all its instructions executed in order, in any number of parts."""


@dataclass
class Machine:
    """The memories of a chip."""

    srams: list[Bytes]
    dram: Bytes


@dataclass(frozen=True)
class LaunchView:
    """A launch at its start: its words, and the memories that they access."""

    number: int
    code: Code
    steps: list[Steps]
    """[cores] decoded programs."""
    machine: Machine

    def words_of(self, exe: Executable, task: str) -> NDArray[np.bool_]:
        """[words of all cores, as in `code`] which of them were generated for a task."""
        found = np.zeros(int(self.code.length.sum()), np.bool_)
        names: dict[int, NDArray[np.bool_]] = {}
        for base, length, steps in zip(self.code.base.tolist(), self.code.length.tolist(), self.steps, strict=True):
            program = steps.program
            if id(program) not in names:
                mine = [source for source, name in enumerate(exe.source_names) if name == task]
                names[id(program)] = np.isin(program.sources, mine)
            found[base : base + length] = names[id(program)]
        return found


class Observer(Protocol):
    """An observer of runs."""

    def launch(self, view: LaunchView) -> Watch | None:
        """Called at the start of a launch. Returns the function that observes its instructions, or None."""
        ...

"""Observers of a run of the functional engine, called between instructions with the state of the memories."""

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
"""Executes the instructions of a chunk, or of a part of one."""
Watch: TypeAlias = Callable[[Stream, Execute], None]
"""Has the instructions of a chunk executed, all of them and in order, in as many parts as it likes."""


@dataclass
class Machine:
    """The memories of a chip."""

    srams: list[Bytes]
    dram: Bytes


@dataclass(frozen=True)
class LaunchView:
    """A launch that begins: its words, and the memories that they work on."""

    number: int
    code: Code
    steps: list[Steps]
    """[cores]"""
    machine: Machine

    def words_of(self, exe: Executable, task: str) -> NDArray[np.bool_]:
        """[words of all cores, as in `code`] which ones were made for a task."""
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
    """Looks at runs."""

    def launch(self, view: LaunchView) -> Watch | None:
        """A launch begins. Returns what is to see its instructions, None for nothing."""
        ...

"""Description of a deadlock in the timing engine: which unit waits for which."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...dialects.coreasm.isa import MNEMONICS, OPCODE, Unit
from ..executable.executable import Executable, Launch, source_name
from ..executable.load import patched_words
from ..machine.errors import location

_SHOWN = 8
_WAITS = (OPCODE["wait"], OPCODE["send.wait"])
_RAISES = (OPCODE["put"], OPCODE["put.z"], OPCODE["signal"], OPCODE["ready"])


@dataclass(frozen=True)
class Blocked:
    """The instruction at the head of a unit's queue, which cannot start."""

    core: int
    unit: int
    word: int
    missing: tuple[int, ...]
    """Units of the core for whose tokens it waits."""
    has: int
    """Current count of the semaphore that it waits for (valid for waits only)."""
    needs: int
    since: int
    """Cycle of the launch from which it could have started, as it was dispatched."""
    rest: int
    """The word that the core's sequencer would dispatch next."""


def describe(exe: Executable, launch: Launch, blocked: list[Blocked]) -> str:
    """
    The message of a deadlock: the blocked units, what each waits for, which could provide it, and a cycle if there is
    one.
    """
    view = _View(exe, launch, blocked)
    cores = sorted({unit.core for unit in blocked})
    lines = [f"deadlock: {len(cores)} of {exe.chip.cores} cores are blocked"]
    lines += [f"  {view.where(unit)}: {view.lacks(unit)}" for unit in blocked[:_SHOWN]]
    if len(blocked) > _SHOWN:
        lines.append(f"  and {len(blocked) - _SHOWN} more units")
    if cycle := view.cycle():
        lines.append("  cycle: " + " waits for ".join(view.short(unit) for unit in cycle))
    return "\n".join(lines)


def unit_name(unit: int) -> str:
    """The name of a unit: MPU, VPU and so on."""
    return Unit(unit).name


class _View:
    def __init__(self, exe: Executable, launch: Launch, blocked: list[Blocked]) -> None:
        self.exe, self.launch, self.blocked = exe, launch, blocked
        self._words: dict[int, NDArray[Any]] = {}
        self._head = {(unit.core, unit.unit): unit for unit in blocked}

    def words(self, core: int) -> NDArray[Any]:
        if core not in self._words:
            program = self.exe.programs[int(self.launch.program_of_core[core])]
            self._words[core] = patched_words(program, self.launch.params_of_core[core])
        return self._words[core]

    def short(self, unit: Blocked) -> str:
        return f"core {unit.core} {unit_name(unit.unit)} word {unit.word}"

    def where(self, unit: Blocked) -> str:
        program = self.exe.programs[int(self.launch.program_of_core[unit.core])]
        mnemonic = MNEMONICS[int(self.words(unit.core)["op"][unit.word])]
        name = location(program.name, unit.word, mnemonic, source_name(self.exe, program, unit.word))
        return f"core {unit.core} {unit_name(unit.unit)}, {name}, since cycle {unit.since}"

    def semaphore(self, unit: Blocked) -> int:
        """The semaphore whose count is too low for this unit; -1 if there is none."""
        word = self.words(unit.core)[unit.word]
        return int(word["imm"]) if word["op"] in _WAITS and unit.has < unit.needs else -1

    def raisers(self, core: int, semaphore: int) -> list[int]:
        """Cores with an instruction, in a blocked queue or not dispatched, that would raise `semaphore` of `core`."""
        found: list[int] = []
        for other in sorted({unit.core for unit in self.blocked}):
            words = self.words(other)
            heads = [unit for unit in self.blocked if unit.core == other]
            start = min([unit.word for unit in heads] + [unit.rest for unit in heads])
            sends = np.isin(words["op"], _RAISES) & (words["imm"] == semaphore)
            sends[:start] = False
            targets = words["desc"][sends, 3].astype(np.int64)
            if np.any(self.exe.core_sets[targets, core]):
                found.append(other)
        return found

    def lacks(self, unit: Blocked) -> str:
        reasons: list[str] = []
        if (semaphore := self.semaphore(unit)) >= 0:
            text = f"waits for semaphore {semaphore}, which has {unit.has} of {unit.needs}"
            cores = self.raisers(unit.core, semaphore)
            some = ", ".join(f"core {core}" for core in cores[:_SHOWN])
            reasons.append(
                f"{text}; "
                + (f"may still be raised by {some}" if cores else "no remaining instruction of any core raises it")
            )
        if unit.missing:
            reasons.append("waits for a token from " + ", ".join(unit_name(v) for v in unit.missing))
        return " and ".join(reasons) or "its queue is blocked"

    def _next(self, unit: Blocked) -> list[Blocked]:
        """The blocked heads for which this one waits: of units whose tokens it needs, of cores that could signal."""
        found = [self._head[unit.core, v] for v in unit.missing if (unit.core, v) in self._head]
        if any((unit.core, v) not in self._head for v in unit.missing):
            # The instruction that would signal is not dispatched: a full queue of this core blocks the sequencer.
            found += [u for u in self.blocked if u.core == unit.core and u is not unit]
        if (semaphore := self.semaphore(unit)) >= 0:
            raisers = set(self.raisers(unit.core, semaphore))
            found += [u for u in self.blocked if u.core in raisers and u is not unit]
        return found

    def cycle(self) -> list[Blocked]:
        """A cycle of waits, with its first unit repeated at the end; empty if there is none."""
        done: set[int] = set()
        for root in self.blocked:
            path = [root]
            choices = [iter(self._next(root))]
            while path:
                step = next(choices[-1], None)
                if step is None:
                    done.add(id(path.pop()))
                    choices.pop()
                elif step in path:
                    return [*path[path.index(step) :], step]
                elif id(step) not in done:
                    path.append(step)
                    choices.append(iter(self._next(step)))
        return []

"""
Which instructions write a task's result, and in which step of a loop: so it is known which write completes a step.

Each unit of a core executes its instructions in order, and the instructions of a task are as many in each step. So of
those that write the result, the number of executions before one says in which step it is, however the linker has rolled
the steps into loops of the hardware.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ...dialects.coreasm.isa import BY_CODE, Family
from ..executable.executable import Executable
from ..executable.task_loop import TaskLoop
from ..executable.task_results import TaskResult
from ..machine.errors import Fault
from ..machine.word_counts import WordCounts, word_counts
from .observer import LaunchView
from .result_region import IN_DRAM, regions_of
from .semantics.base import Access


class ResultWrite(NamedTuple):
    """An operand that may write a part of a result."""

    core: int
    word: int
    """Index in the core's program."""
    access: Access


def result_writes(exe: Executable, view: LaunchView, place: TaskResult) -> Iterator[ResultWrite]:
    """The operands of a task's instructions that may write its result."""
    regions = regions_of(place)
    for core, word in _words(view, view.words_of(exe, place.task).nonzero()[0].tolist()):
        if place.grid is not None and core not in regions:
            continue
        flat = int(view.code.base[core]) + word
        if view.code.kind[flat] != 0 or BY_CODE[_opcode(view, core, word)].family is Family.PUT:
            continue  # of the sequencer, or into other cores, which is never where a task's own tile lies
        try:
            accesses = view.steps[core].decode(word).accesses
        except Fault:  # which the engine tells of, with its place, if the word is ever executed
            continue
        for access in accesses:
            if not access.write or access.dram != (place.grid is None):
                continue
            region = regions[IN_DRAM if access.dram else core]
            fixed = not int(view.code.regs[flat]) >> 4 * access.slot & 15
            if not fixed or region.reached(access, int(view.code.address[flat, access.slot])):
                yield ResultWrite(core, word, access)


class Kind(NamedTuple):
    """Instructions of one task that a core executes in order."""

    core: int
    what: int
    """Their unit, or their operation code."""


@dataclass
class StepClock:
    """Says in which step of a task's loop its instructions are; to be asked about each execution, in order."""

    kind_of: dict[int, Kind]
    """Index of a word among those of all cores -> its kind."""
    per_step: dict[Kind, int]
    """Executions of a kind in each step."""
    done: Counter[Kind] = field(default_factory=Counter[Kind])

    def step(self, flat: int) -> int | None:
        """The step of this execution of a word; None if it belongs to none."""
        kind = self.kind_of.get(flat)
        if kind is None:
            return None
        self.done[kind] += 1
        return (self.done[kind] - 1) // self.per_step[kind]

    def completed(self, core: int) -> int:
        """How many steps a core has done."""
        return min((self.done[kind] // count for kind, count in self.per_step.items() if kind.core == core), default=0)

    @property
    def cores(self) -> set[int]:
        """The cores that have some."""
        return {kind.core for kind in self.per_step}


def step_clock(exe: Executable, view: LaunchView, place: TaskResult) -> StepClock | None:
    """
    For the instructions that write the result of a task in a loop; None if they are not equally many in each step.

    Where an instruction has a wrong address, so that it writes the result in some steps only, all of the task's with
    its operation code count.
    """
    loop = place.loop
    if loop is None:
        return None
    base, unit = view.code.base, view.code.unit
    words = sorted({(one.core, one.word) for one in result_writes(exe, view, place)})
    counts = {core: word_counts(view.code, core) for core in {core for core, _ in words}}

    def clock(some: Iterable[tuple[int, int]], kind: Callable[[int, int], int]) -> StepClock | None:
        kind_of = {(core, word): Kind(core, kind(core, word)) for core, word in some}
        return _clock(view, loop, kind_of, counts)

    found = clock(words, lambda core, word: int(unit[base[core] + word]))
    if found is not None or not words:
        return found
    kinds = {(core, _opcode(view, core, word)) for core, word in words}
    mine = _words(view, view.words_of(exe, place.task).nonzero()[0].tolist())
    alike = [(core, word) for core, word in mine if core in counts and (core, _opcode(view, core, word)) in kinds]
    return clock(alike, lambda core, word: _opcode(view, core, word))


def _clock(
    view: LaunchView, loop: TaskLoop, kind_of: dict[tuple[int, int], Kind], counts: dict[int, WordCounts]
) -> StepClock | None:
    totals: Counter[Kind] = Counter()
    found: dict[int, Kind] = {}
    for (core, word), kind in kind_of.items():
        is_dynamic = bool(counts[core].dynamic[word])
        if is_dynamic and not loop.dynamic:
            return None
        if is_dynamic == loop.dynamic:  # what precedes a dynamic loop is in no step
            totals[kind] += int(counts[core].times[word])
            found[int(view.code.base[core]) + word] = kind
    parts = loop.group if loop.dynamic else loop.steps
    if not totals or any(total < 1 or total % parts for total in totals.values()):
        return None
    return StepClock(found, {kind: total // parts for kind, total in totals.items()})


def _opcode(view: LaunchView, core: int, word: int) -> int:
    return int(view.steps[core].program.words["op"][word])


def _words(view: LaunchView, flat: Iterable[int]) -> Iterator[tuple[int, int]]:
    """(Core, word) of indices among the words of all cores, ascending."""
    ends = np.cumsum(view.code.length)
    for one in flat:
        core = int(np.searchsorted(ends, one, side="right"))
        yield core, one - int(view.code.base[core])

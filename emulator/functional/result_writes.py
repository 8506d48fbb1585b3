"""
The instructions that write a task's result, and the steps of a loop to which their executions belong.

Each unit of a core executes its instructions in order, and a task has equally many instructions in each step.
Therefore the step of an execution follows from the number of earlier executions of instructions that write the result,
no matter how the linker rerolled the steps into hardware loops.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...dialects.coreasm.isa import BY_CODE, Family
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


def result_writes(view: LaunchView, place: TaskResult, words: NDArray[np.bool_]) -> Iterator[ResultWrite]:
    """The operands of a task's instructions, `words` of the launch, that may write its result."""
    regions = regions_of(place)
    for core, word in _positions(view, words):
        if place.grid is not None and core not in regions:
            continue
        flat = int(view.code.base[core]) + word
        if view.code.kind[flat] != 0 or BY_CODE[_opcode(view, core, word)].family is Family.PUT:
            continue  # of the sequencer, or a write to other cores, which is never to the task's own tile
        try:
            accesses = view.steps[core].decode(word).accesses
        except Fault:  # the engine reports it with its location if the word is executed
            continue
        for access in accesses:
            if not access.write or access.dram != (place.grid is None):
                continue
            region = regions[IN_DRAM if access.dram else core]
            fixed = not int(view.code.regs[flat]) >> 4 * access.slot & 15
            if not fixed or region.reached(access, int(view.code.address[flat, access.slot])):
                yield ResultWrite(core, word, access)


class Kind(NamedTuple):
    """A set of instructions of one task that a core executes in order."""

    core: int
    what: int
    """The unit of the instructions, or their operation code."""


@dataclass
class StepClock:
    """Determines the steps of a task's loop to which executions belong; `step` is called for each, in order."""

    kind_of: dict[int, Kind]
    """By index among the words of all cores, the kind of the word."""
    per_step: dict[Kind, int]
    """Number of executions of a kind in each step."""
    done: Counter[Kind] = field(default_factory=Counter[Kind])

    def step(self, flat: int) -> int | None:
        """The step of this execution of a word (index among all cores' words); None if it belongs to no step."""
        kind = self.kind_of.get(flat)
        if kind is None:
            return None
        self.done[kind] += 1
        return (self.done[kind] - 1) // self.per_step[kind]

    def completed(self, core: int) -> int:
        """Number of steps that a core has completed."""
        return min((self.done[kind] // count for kind, count in self.per_step.items() if kind.core == core), default=0)

    @property
    def cores(self) -> set[int]:
        """The cores that execute such instructions."""
        return {kind.core for kind in self.per_step}


def step_clock(view: LaunchView, place: TaskResult, words: NDArray[np.bool_]) -> StepClock | None:
    """
    The clock of the instructions, of `words`, that write the result of a task in a loop; None if steps do not have
    equally many.

    If an instruction writes the result in some steps only, because of a wrong address, all instructions of the task
    with its operation code count instead.
    """
    loop = place.loop
    if loop is None:
        return None
    base, unit = view.code.base, view.code.unit
    writes = sorted({(one.core, one.word) for one in result_writes(view, place, words)})
    counts = {core: word_counts(view.code, core) for core in {core for core, _ in writes}}

    def clock(some: Iterable[tuple[int, int]], kind: Callable[[int, int], int]) -> StepClock | None:
        kind_of = {(core, word): Kind(core, kind(core, word)) for core, word in some}
        return _clock(view, loop, kind_of, counts)

    found = clock(writes, lambda core, word: int(unit[base[core] + word]))
    if found is not None or not writes:
        return found
    return clock(_with_same_opcodes(view, writes, words), lambda core, word: _opcode(view, core, word))


def step_clock_of_executions(
    view: LaunchView, place: TaskResult, words: NDArray[np.bool_], executions: Callable[[int, int], int]
) -> StepClock | None:
    """
    As `step_clock`, for a task whose `words` are executed for other tasks, too: the clock of this task's executions.
    `executions`: from a core and an operation code to their number.
    """
    loop = place.loop
    writes = sorted({(one.core, one.word) for one in result_writes(view, place, words)})
    if loop is None or loop.dynamic or not writes:
        return None
    kind_of: dict[int, Kind] = {}
    for core, word in _with_same_opcodes(view, writes, words):
        kind_of[int(view.code.base[core]) + word] = Kind(core, _opcode(view, core, word))
    totals = {kind: executions(*kind) for kind in kind_of.values()}
    if any(total < 1 or total % loop.steps for total in totals.values()):
        return None
    return StepClock(kind_of, {kind: total // loop.steps for kind, total in totals.items()})


def _with_same_opcodes(
    view: LaunchView, some: Iterable[tuple[int, int]], words: NDArray[np.bool_]
) -> list[tuple[int, int]]:
    """(core, word) of those of `words` that have the operation code of `some` of the same core."""
    kinds = {(core, _opcode(view, core, word)) for core, word in some}
    return [(core, word) for core, word in _positions(view, words) if (core, _opcode(view, core, word)) in kinds]


def _clock(
    view: LaunchView, loop: TaskLoop, kind_of: dict[tuple[int, int], Kind], counts: dict[int, WordCounts]
) -> StepClock | None:
    totals: Counter[Kind] = Counter()
    found: dict[int, Kind] = {}
    for (core, word), kind in kind_of.items():
        is_dynamic = bool(counts[core].dynamic[word])
        if is_dynamic and not loop.dynamic:
            return None
        if is_dynamic == loop.dynamic:  # instructions before a dynamic loop belong to no step
            totals[kind] += int(counts[core].times[word])
            found[int(view.code.base[core]) + word] = kind
    parts = loop.group if loop.dynamic else loop.steps
    if not totals or any(total < 1 or total % parts for total in totals.values()):
        return None
    return StepClock(found, {kind: total // parts for kind, total in totals.items()})


def _opcode(view: LaunchView, core: int, word: int) -> int:
    return int(view.steps[core].program.words["op"][word])


def _positions(view: LaunchView, words: NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
    """(core, word) of each of these words of all cores."""
    ends = np.cumsum(view.code.length)
    for one in np.flatnonzero(words).tolist():
        core = int(np.searchsorted(ends, one, side="right"))
        yield core, one - int(view.code.base[core])

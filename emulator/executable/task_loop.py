"""The loop that a task of a launch runs in, as the note about tasks' results has it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast


@dataclass(frozen=True)
class Rows:
    """A result of which each step of a loop computes one row."""

    count: int
    """Rows of the whole result."""
    first: int
    """The row of the first step."""
    advance: int
    """From the row of a step to that of the next."""


@dataclass(frozen=True)
class TaskLoop:
    """A loop around a task."""

    steps: int
    """How often the task runs; if `dynamic`, at most."""
    dynamic: bool = False
    """Whether the number of steps is known at run time only."""
    group: int = 1
    """Steps of each iteration of a dynamic loop."""
    rows: Rows | None = None
    """None: each step computes the whole result, in place of that of the step before."""

    def row(self, step: int) -> int | None:
        """The row that a step computes; None for no row, or for one that depends on the number of steps."""
        if self.rows is None or (self.dynamic and self.rows.advance < 0):
            return None
        return self.rows.first + step * self.rows.advance

    @property
    def is_possible(self) -> bool:
        """Whether such a loop can be."""
        if self.steps < 1 or self.group < 1 or self.steps % self.group:
            return False
        if self.rows is None:
            return True
        ends = self.rows.first, self.rows.first + (self.steps - 1) * self.rows.advance
        return 0 <= min(ends) and max(ends) < self.rows.count


def loop_as_json(loop: TaskLoop | None) -> object:
    """Null, or [steps, dynamic, group] and, of results in rows, [count, first, advance]."""
    if loop is None:
        return None
    rows = [] if loop.rows is None else [[loop.rows.count, loop.rows.first, loop.rows.advance]]
    return [loop.steps, int(loop.dynamic), loop.group, *rows]


def loop_from_json(note: Any) -> TaskLoop | None:
    """The inverse of `loop_as_json`. Raises TypeError or ValueError for what is none."""
    if note is None:
        return None
    steps, dynamic, group, *rows = cast("list[Any]", note)
    count_first_advance = [Rows(*map(int, cast("list[Any]", one))) for one in rows]
    return TaskLoop(int(steps), bool(dynamic), int(group), *count_first_advance)

"""The loop around a task of a launch, as recorded in the note of tasks' results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast


@dataclass(frozen=True)
class Rows:
    """The order of rows, if each step of a loop computes one row of the result."""

    count: int
    """Number of rows of the whole result."""
    first: int
    """The row of the first step."""
    advance: int
    """Difference between the row of a step and that of the previous step."""


@dataclass(frozen=True)
class TaskLoop:
    """A loop around a task."""

    steps: int
    """Number of executions of the task; if `dynamic`, the maximum."""
    dynamic: bool = False
    """Whether the number of steps is known at run time only."""
    group: int = 1
    """Number of steps in each iteration of a dynamic loop."""
    rows: Rows | None = None
    """None: each step computes the whole result, and overwrites that of the previous step."""

    def row(self, step: int) -> int | None:
        """The row that a step computes; None if there is none, or if it depends on the number of steps."""
        if self.rows is None or (self.dynamic and self.rows.advance < 0):
            return None
        return self.rows.first + step * self.rows.advance

    @property
    def is_possible(self) -> bool:
        """Whether the numbers are consistent."""
        if self.steps < 1 or self.group < 1 or self.steps % self.group:
            return False
        if self.rows is None:
            return True
        ends = self.rows.first, self.rows.first + (self.steps - 1) * self.rows.advance
        return 0 <= min(ends) and max(ends) < self.rows.count


def loop_as_json(loop: TaskLoop | None) -> object:
    """None, or [steps, dynamic, group] and, for results in rows, [count, first, advance]."""
    if loop is None:
        return None
    rows = [] if loop.rows is None else [[loop.rows.count, loop.rows.first, loop.rows.advance]]
    return [loop.steps, int(loop.dynamic), loop.group, *rows]


def loop_from_json(note: Any) -> TaskLoop | None:
    """The inverse of `loop_as_json`. Raises TypeError or ValueError for other values."""
    if note is None:
        return None
    steps, dynamic, group, *rows = cast("list[Any]", note)
    count_first_advance = [Rows(*map(int, cast("list[Any]", one))) for one in rows]
    return TaskLoop(int(steps), bool(dynamic), int(group), *count_first_advance)

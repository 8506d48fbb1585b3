"""
The values on which the time of a run depends, as flat arrays from the functional engine to the timing engine: the work
of instructions whose cost depends on values, and the decisions of sequencers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, field
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ...dialects.coreasm.isa import QUEUES
from .costs_sparse import MappedCost
from .expand import Decisions

COLUMNS = ("cycles", "pairs", "skipped", "index_elements", "map_cycles", "nbytes", "traffic")
"""Columns of `MappedWork.costs`: the fields of `MappedCost`."""


@dataclass(frozen=True)
class RunWork:
    """The work of one run of a launch."""

    times: NDArray[np.int64]
    """The times of all executions, sorted by lane (core * 8 + unit)."""
    first: NDArray[np.int64]
    """[lanes + 1] index of the first execution of each lane."""
    decisions: Decisions | None


@dataclass(frozen=True)
class MappedWork:
    """One row per execution, in the order of the functional run; for each unit of a core, in the order of its queue."""

    run: NDArray[np.int32]
    """Number of the run of a launch, in the controller's order."""
    lane: NDArray[np.int32]
    """core * 8 + unit"""
    word: NDArray[np.int32]
    """Index in the core's program."""
    costs: NDArray[np.int64]
    """[executions, 7], columns as in `COLUMNS`."""
    decisions: Mapping[int, Decisions] = field(default_factory=dict[int, Decisions])
    """By the number of the run of a launch, the decisions of its sequencers, if there were any."""

    @property
    def times(self) -> NDArray[np.int64]:
        """The quantity that determines an execution's time: cycles, or for a put the bytes sent."""
        return self.costs[:, COLUMNS.index("cycles")] + self.costs[:, COLUMNS.index("traffic")]

    def of_run(self, run: int, lanes: int) -> RunWork:
        """The work of one run of a launch."""
        mine = np.flatnonzero(self.run == run)
        order = mine[np.argsort(self.lane[mine], kind="stable")]
        first = np.concatenate([[0], np.cumsum(np.bincount(self.lane[order], minlength=lanes))])
        return RunWork(np.ascontiguousarray(self.times[order]), first.astype(np.int64), self.decisions.get(run))

    @property
    def every_run(self) -> bool:
        """Whether the time of a launch may differ from run to run."""
        return len(self.run) > 0 or len(self.decisions) > 0

    def total(self, column: str) -> int:
        """The sum of a column over all executions; 0 for an empty name."""
        return int(self.costs[:, COLUMNS.index(column)].sum()) if column else 0


@dataclass
class Recorder:
    """Records the costs of executed instructions, and chunk by chunk their locations."""

    pending: list[MappedCost] = field(default_factory=list[MappedCost])
    _decisions: dict[int, Decisions] = field(default_factory=dict[int, Decisions])
    _chunks: list[tuple[NDArray[Any], ...]] = field(default_factory=list[tuple[NDArray[Any], ...]])

    def position(self, run: int, core: NDArray[np.int32], unit: NDArray[np.uint8], word: NDArray[np.int32]) -> None:
        """Record the locations of the pending costs: one core, unit and word each."""
        costs = np.array([astuple(cost) for cost in self.pending], np.int64).reshape(len(self.pending), len(COLUMNS))
        lane = core.astype(np.int32) * QUEUES + unit.astype(np.int32)
        self._chunks.append((np.full(len(lane), run, np.int32), lane, word.astype(np.int32), costs))
        self.pending.clear()

    def decided(self, run: int, decisions: Decisions) -> None:
        """Record the decisions of a run of a launch."""
        if len(decisions.values):
            self._decisions[run] = decisions

    def work(self) -> MappedWork:
        """All recorded work."""
        if not self._chunks:
            none = np.zeros(0, np.int32)
            return MappedWork(none, none, none, np.zeros((0, len(COLUMNS)), np.int64), self._decisions)
        columns = cast("Sequence[Any]", [np.concatenate(parts) for parts in zip(*self._chunks, strict=True)])
        return MappedWork(columns[0], columns[1], columns[2], columns[3], self._decisions)

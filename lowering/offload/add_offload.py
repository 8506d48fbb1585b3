"""Memory saving between existing launches: by thresholds, or in addition to existing memory saving (spec 1)."""

from __future__ import annotations

from dataclasses import replace

from xdsl.dialects.func import FuncOp

from ...support.errors import BudgetError, MeshloomError
from ..session import Session
from .compile_launches import Budget, LaunchCompilation, LaunchSearch, capacity_of, number_launches, peak_of
from .compiled_launches import CompiledLaunches
from .device_layout import DeviceLayout, lay_out
from .read_block import read_block
from .save_memory import Saving, planning_of, save_by_thresholds
from .share_launches import share_launches

UNLIMITED = 1 << 62
"""Bytes of a launch: any number."""


def add_offload(function: FuncOp, session: Session, budget: Budget, unsaved: int | None = None) -> LaunchCompilation:
    """
    Save more memory in a function of launches and operations of `memory`, which are kept.

    With thresholds, the tensors that they choose are offloaded; with a budget, too, this is repeated on the result
    until it fits ([0165]). Otherwise, further tensors are offloaded until it fits. `unsaved`: bytes that the network
    needs without saving; None: the bytes that it needs now. Raises BudgetError for a budget without a plan, naming one
    that has a plan (by thresholds: the fewest bytes that were reached, also above `unsaved`).
    """
    chip = session.chip
    launch_codes = CompiledLaunches(chip, session.cache)
    needed = peak_of(function, launch_codes, chip.dram_bytes)
    unsaved = unsaved or needed
    capacity = capacity_of(budget.amount, unsaved, chip)
    if budget.thresholds is None:
        search = LaunchSearch(function, launch_codes, budget.saving)
        found = search.fit(capacity)
        if found is None:
            enough = search.smallest(capacity, needed)
            raise BudgetError(capacity, search.reason(capacity, enough), enough)
        return LaunchCompilation(*found, capacity, unsaved)
    thresholds = replace(budget.thresholds, slack=int(budget.thresholds.slack * chip.clock_ghz))
    reached: list[int] = []
    while True:
        number_launches(function, launch_codes)
        planning = planning_of(function, launch_codes, budget.saving, capacity)
        added = save_by_thresholds(function, planning, thresholds, budget.saving)
        number_launches(function, launch_codes)
        ways = _Sharing(function, launch_codes)
        if (found := ways.fit(capacity)) is not None:
            return LaunchCompilation(*found, capacity, unsaved)
        reached.append(ways.least(chip.dram_bytes))
        if not added:
            raise BudgetError(capacity, "the thresholds select no further tensor to offload", min(reached))


class _Sharing:
    """
    A function with memory saving, and with launches merged that need not be separate.

    First, no merged launch needs more DRAM than the largest did, so that more can be offloaded when the pass runs
    again. Where that does not fit, all launches between two operations of `memory` are one: values between them are
    then not in DRAM.
    """

    def __init__(self, function: FuncOp, launch_codes: CompiledLaunches) -> None:
        self.function, self.launch_codes = function, launch_codes
        self.largest = LaunchSearch(function, launch_codes, Saving()).largest
        self._merged: dict[int, FuncOp | None] = {}

    def fit(self, capacity: int) -> tuple[FuncOp, DeviceLayout] | None:
        """
        A variant that fits, and its allocation. Launches are merged where that takes neither longer nor more DRAM, or
        where separate ones do not fit.
        """
        apart = self._laid_out(self.function, capacity)
        together = self._together(self.largest, capacity)
        if apart is None:
            return together or self._together(UNLIMITED, capacity)
        if together is None or together[1].planned.time_ns > apart.planned.time_ns or together[1].used > apart.used:
            return self.function, apart
        return together

    def least(self, capacity: int) -> int:
        """The bytes of the variant that needs the fewest; `capacity`: of the chip."""
        variants = self.function, self._merge(self.largest), self._merge(UNLIMITED)
        return min(peak_of(one, self.launch_codes, capacity) for one in variants if one is not None)

    def _together(self, most: int, capacity: int) -> tuple[FuncOp, DeviceLayout] | None:
        merged = self._merge(most)
        layout = None if merged is None else self._laid_out(merged, capacity)
        return None if merged is None or layout is None else (merged, layout)

    def _merge(self, most: int) -> FuncOp | None:
        """A copy with merged launches; None if there are none to merge, or if one of them does not compile."""
        if most not in self._merged:
            merged = self.function.clone()
            try:
                joined = share_launches(merged, most)
                number_launches(merged, self.launch_codes)
            except MeshloomError:
                joined = 0
            self._merged[most] = merged if joined else None
        return self._merged[most]

    def _laid_out(self, function: FuncOp, capacity: int) -> DeviceLayout | None:
        return lay_out(read_block(function, self.launch_codes, capacity), capacity)

"""Saving memory between launches that are there: by thresholds, or more than was saved before (spec 1)."""

from __future__ import annotations

from dataclasses import replace

from xdsl.dialects.func import FuncOp

from ...chips import Chip
from ...support.errors import BudgetError
from ..piece_cache import PieceCache
from .compile_launches import Budget, LaunchCompilation, LaunchSearch, capacity_of, number_launches, peak_of
from .device_layout import lay_out
from .pieces import Pieces
from .read_block import read_block
from .save_memory import planning_of, save_by_thresholds


def insert_again(
    function: FuncOp, chip: Chip, budget: Budget, cache: PieceCache, unsaved: int | None = None
) -> LaunchCompilation:
    """
    A function of launches, and of operations of `memory` that stay, in which more memory is saved.

    With thresholds, what they choose leaves; with a budget, they choose again among what came of it until all fits
    ([0165]). Else, what has not left yet leaves until all fits. `unsaved`: bytes that the network needs if nothing is
    saved; None: what it needs now. Raises BudgetError for a budget that is not kept so, with one that is.
    """
    pieces = Pieces(chip, cache)
    needed = peak_of(function, pieces, chip.dram_bytes)
    unsaved = unsaved or needed
    capacity = capacity_of(budget.amount, unsaved, chip)
    if budget.thresholds is None:
        search = LaunchSearch(function, pieces, budget.saving)
        found = search.fit(capacity)
        if found is None:
            raise BudgetError(capacity, search.reason(capacity), search.smallest(capacity, needed))
        return LaunchCompilation(*found, capacity, unsaved)
    thresholds = replace(budget.thresholds, slack=int(budget.thresholds.slack * chip.clock_ghz))
    while True:
        number_launches(function, pieces)
        planning = planning_of(function, pieces, budget.saving, capacity)
        added = save_by_thresholds(function, planning, thresholds, budget.saving)
        number_launches(function, pieces)
        layout = lay_out(read_block(function, pieces, capacity), capacity)
        if layout is not None:
            return LaunchCompilation(function, layout, capacity, unsaved)
        if not added:
            reason = "the thresholds choose nothing more to leave"
            raise BudgetError(capacity, reason, peak_of(function, pieces, chip.dram_bytes))

"""
The compile driver where device memory is limited: every group of operators is a launch, and tensors leave DRAM while
nobody uses them (spec 1; DESIGN, from network to binary).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from xdsl.dialects.builtin import IntAttr
from xdsl.dialects.func import FuncOp

from ...chips import Chip
from ...dialects.manycore import SubgraphOp
from ...support.errors import BudgetError, InputError, ResourceError
from ..compilation_log import CompilationLog
from ..compile_subgraphs import Driver
from ..outlined import outlined
from ..piece_cache import PieceCache
from ..stages import Progress
from ..subgraph import Subgraph
from ..subgraph_options import SubgraphOptions
from .device_layout import DeviceLayout, lay_out
from .pieces import Pieces
from .read_block import read_block
from .save_memory import LaunchPlanning, Saving, planning_of, save_memory

ATTEMPTS = 8
"""Limits that a plan is made for at most, where places for one have gaps between them."""
SHARES = (1, 2, 4, 8, 16, 64)
"""A launch may need this part of what the whole network does; finer ones are tried until that makes it slower."""
SEARCHES = 6
"""Budgets that are tried between one that is too small and one that works, to name a small one."""


@dataclass(frozen=True)
class Budget:
    """How much device memory there is, and what may be done to need no more."""

    amount: float | None = None
    """Bytes; up to 1 a share of what the network needs without saving; None: all of the chip's DRAM."""
    saving: Saving = field(default_factory=Saving)
    launch_bytes: int | None = None
    """DRAM that one launch may need for itself; None: what makes the network fast (`SHARES`)."""


@dataclass(frozen=True)
class LaunchCompilation:
    """A function as launches with memory saving between them, placed in DRAM."""

    function: FuncOp
    """Subgraphs and operations of `memory`."""
    layout: DeviceLayout
    capacity: int
    """Bytes of DRAM that were there."""
    unsaved_peak: int
    """Bytes of DRAM that the network needs if nothing is saved."""


def save_in_launches(
    function: FuncOp, chip: Chip, options: SubgraphOptions, budget: Budget, cache: PieceCache, progress: Progress
) -> LaunchCompilation:
    """
    A function of `dataflow` operations as launches that save memory, for a chip and a budget.

    The function is cut into launches by what they need for themselves. The same launches give the same bits with every
    budget: other ones may add in another order. Raises ResourceError where the function does not fit in DRAM,
    BudgetError for a budget within which no plan is found: one that works is tried before it is named. Smaller ones may
    work as well, where operators are split for them.
    """
    pieces = Pieces(chip, cache)
    cutter = _Cutter(function, chip, options, progress, cache)
    whole = cutter.cut(chip.dram_bytes, chip.dram_bytes)
    unsaved = _peak(whole, pieces, chip.dram_bytes)
    capacity = _capacity(budget.amount, unsaved, chip)
    sizes = [budget.launch_bytes] if budget.launch_bytes is not None else [unsaved // share for share in SHARES]

    def fastest(limit: int) -> tuple[FuncOp, DeviceLayout] | _Search:
        """Launches that fit in so much DRAM; or the last way to cut that was tried, where none does."""
        search: _Search | None = None
        best: tuple[FuncOp, DeviceLayout] | None = None
        for size in sizes:
            cut = whole if size >= unsaved else cutter.cut(size, limit)
            search = _Search(cut, pieces, budget.saving)
            progress("save memory")
            found = search.fit(limit)
            if best is not None and (found is None or found[1].planned.time_ns >= best[1].planned.time_ns):
                break
            best = found
        assert search is not None
        return search if best is None else best

    best = fastest(capacity)
    if isinstance(best, _Search):
        refusal = best.refusal(capacity)
        # With more memory the network may be cut otherwise: what is named has to do for that, too.
        while isinstance(again := fastest(refusal.enough), _Search):
            enough = max(again.refusal(refusal.enough).enough, refusal.enough + 1)
            refusal = BudgetError(capacity, refusal.reason, enough)
        raise refusal
    return LaunchCompilation(*best, capacity, unsaved)


@dataclass(frozen=True)
class _Cutter:
    """Cuts a function into launches."""

    function: FuncOp
    chip: Chip
    options: SubgraphOptions
    progress: Progress
    cache: PieceCache

    def cut(self, most: int, capacity: int) -> FuncOp:
        """
        A copy of the function in subgraphs that need no more than `most` bytes of DRAM each; operators that need more
        stand alone, those that need more than the capacity are split where that can be done.
        """
        try:
            return self._cut(max(most, 1), capacity)
        except ResourceError:
            if capacity >= self.chip.dram_bytes:
                raise
            return self._cut(max(most, 1), self.chip.dram_bytes)

    def _cut(self, most: int, alone: int) -> FuncOp:
        copy = self.function.clone()
        log = CompilationLog(lambda line: None)
        parts = Driver(copy, self.chip, self.options, log, self.progress, self.cache).compiled(most, alone)
        return outlined(copy, [Subgraph(part.ends[1], part.operators) for part in parts], launches=True)


def placed_launches(function: FuncOp, chip: Chip, cache: PieceCache, capacity: float | None) -> LaunchCompilation:
    """
    A function of launches and of operations of `memory`, placed in DRAM as it stands. `capacity`: as
    `Budget.amount`. Raises ResourceError where it does not fit.
    """
    pieces = Pieces(chip, cache)
    unsaved = _peak(function, pieces, chip.dram_bytes)
    available = _capacity(capacity, unsaved, chip)
    layout = lay_out(read_block(function, pieces, available), available)
    if layout is None:
        raise ResourceError(
            f"the network does not fit in {available} bytes of DRAM with the memory saving that is written in it",
            "DRAM", unsaved, available,
        )  # fmt: skip
    return LaunchCompilation(function, layout, available, unsaved)


def _number(function: FuncOp, pieces: Pieces) -> None:
    """Compile all subgraphs, each of which gets a number that its copies keep."""
    for op in function.body.block.walk():
        if isinstance(op, SubgraphOp):
            op.attributes[Pieces.NUMBER] = IntAttr(pieces.add(op))


def _capacity(amount: float | None, unsaved: int, chip: Chip) -> int:
    if amount is None:
        return chip.dram_bytes
    return min(chip.dram_bytes, int(amount * unsaved) if amount <= 1 else int(amount))


def _peak(function: FuncOp, pieces: Pieces, capacity: int) -> int:
    """Bytes that the function needs as it stands; its subgraphs are compiled for good."""
    _number(function, pieces)
    layout = lay_out(read_block(function, pieces, capacity), 1 << 62)
    assert layout is not None, "everything fits without a limit"
    return layout.used


class _Search:
    """Looks for limits on the planner for which places within a capacity are found."""

    def __init__(self, function: FuncOp, pieces: Pieces, saving: Saving) -> None:
        self.function, self.pieces, self.saving = function, pieces, saving
        _number(function, pieces)

    def fit(self, capacity: int) -> tuple[FuncOp, DeviceLayout] | None:
        """The function with memory saved until it fits, and its places."""
        layout = lay_out(read_block(self.function, self.pieces, capacity), capacity)
        if layout is not None:
            return self.function, layout
        planning = planning_of(self.function, self.pieces, self.saving, capacity)
        room = capacity - planning.launches.resident_bytes
        least = planning.launches.problem.smallest_budget
        best: tuple[FuncOp, DeviceLayout] | None = None
        # The planner knows the time of conversions beside launches only roughly: each kind alone is looked at, too.
        kinds = self.saving.kinds
        for names in (kinds, *(frozenset({name}) for name in sorted(kinds) if len(kinds) > 1)):
            saving = replace(self.saving, kinds=names)
            tried = (self._try(planning, saving, limit, capacity) for limit in _limits(room, least, capacity))
            found = next((one for one in tried if one is not None), None)
            if found is not None and (best is None or found[1].planned.time_ns < best[1].planned.time_ns):
                best = found
        return best

    def _try(
        self, planning: LaunchPlanning, saving: Saving, limit: int, capacity: int
    ) -> tuple[FuncOp, DeviceLayout] | None:
        function = self.function.clone()
        try:
            save_memory(function, planning, limit, saving)
        except InputError:
            return None
        layout = lay_out(read_block(function, self.pieces, capacity), capacity)
        return None if layout is None else (function, layout)

    def refusal(self, capacity: int) -> BudgetError:
        """The error for a capacity that is too small: which launch needs how much, and what would do."""
        planning = planning_of(self.function, self.pieces, self.saving, capacity)
        problem = planning.launches.problem
        worst = int(np.argmax(problem.working_set))
        least = problem.smallest_budget + planning.launches.resident_bytes
        low, high = max(least, capacity + 1), _peak(self.function, self.pieces, capacity)
        for _ in range(SEARCHES):
            if low >= high:
                break
            middle = (low + high) // 2
            if self.fit(middle) is None:
                low = middle + 1
            else:
                high = middle
        name = problem.graph.op_names[worst]
        reason = f"launch '{name}' alone works on {least} bytes, with constants that stay"
        if least <= capacity:
            kinds = ", ".join(sorted(self.saving.kinds))
            reason = f"no plan of the allowed kinds ({kinds}) was found that fits"
        return BudgetError(capacity, reason, high)


def _limits(room: int, least: int, capacity: int) -> list[int]:
    """Limits from all that is there down to the least that can be planned for."""
    step = max(capacity // 64, 64)
    found = [room - step * number for number in range(ATTEMPTS)]
    found = [limit for limit in found if limit > least]
    return [*found, least] if room >= least else []

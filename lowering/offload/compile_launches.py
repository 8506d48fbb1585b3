"""
The compile driver for a budget of device memory: every group of operators is a launch, and tensors are offloaded from
DRAM between their uses (spec 1; DESIGN, from network to binary).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from xdsl.dialects.builtin import IntAttr
from xdsl.dialects.func import FuncOp

from ...chips import Chip
from ...dialects.manycore import SubgraphOp
from ...support.errors import BudgetError, InputError, ResourceError
from ...support.warn import warn
from ...transforms.offload.thresholds import Thresholds
from ..cache.compile_cache import CompileCache
from ..options.compilation_log import CompilationLog
from ..options.effort import EFFORTS
from ..sequence.inline_subgraphs import Group, inline_subgraphs
from ..sequence.launch_sequence import is_operator
from ..session import Session
from ..subgraphs.compile_subgraphs import Driver
from ..subgraphs.outline_function import outline_function
from ..subgraphs.subgraph import Subgraph
from .compiled_launches import CompiledLaunches
from .device_layout import DeviceLayout, lay_out
from .read_block import read_block
from .save_memory import LaunchPlanning, Saving, planning_of, save_memory

ATTEMPTS = 8
"""Largest number of limits that are planned for when the allocation of a plan has gaps."""
SHARES = (1, 2, 4, 8, 16, 64)
"""Largest DRAM of a launch: the network's bytes divided by these numbers; at most half of the budget."""
ALL_ROOM = 0
"""In place of the bytes of a launch: the whole capacity."""
PRECISION = 1 << 10
"""
A budget that is named in place of one that is too small is above the least by at most this fraction (1 / PRECISION) of
the difference between the two.
"""


@dataclass(frozen=True)
class Budget:
    """A budget of device memory, and the kinds of memory saving that are allowed."""

    amount: float | None = None
    """Bytes; up to 1 a share of the bytes that the network needs without saving; None: all of the chip's DRAM."""
    saving: Saving = field(default_factory=Saving)
    launch_bytes: int | None = None
    """Bytes of DRAM that a single launch may need; None: derived from the network and the budget (`SHARES`)."""
    thresholds: Thresholds | None = None
    """Thresholds that choose the offloaded tensors, instead of the search for the least time."""
    names_least: bool = True
    """Whether a refusal names a budget close to the least one, which takes time; otherwise the bytes without saving."""

    @property
    def is_share(self) -> bool:
        """Whether the amount is a share of the bytes that the network needs without saving."""
        return self.amount is not None and self.amount <= 1


@dataclass(frozen=True)
class LaunchCompilation:
    """A function as launches with memory saving between them, allocated in DRAM."""

    function: FuncOp
    """Subgraphs and operations of `memory`."""
    layout: DeviceLayout
    capacity: int
    """Bytes of DRAM that were available."""
    unsaved_peak: int
    """Bytes of DRAM that the network needs if nothing is saved."""


def save_in_launches(function: FuncOp, session: Session, budget: Budget) -> LaunchCompilation | None:
    """
    A function of `dataflow` operations, or of subgraphs, as launches that save memory, for a budget. None,
    with a note, if memory saving has no gain: the function fits without it; or the budget is a share, and no division
    into launches needs less; or the budget is all of the chip's DRAM, and parts of the function (its subgraphs) fit in
    it in turn and take no longer.

    The function is cut into launches by the DRAM that each needs: the fewest launches that leave DRAM for other
    tensors, and the fewest that fit at all; the faster of the two is taken. Subgraphs are the launches if a plan is
    found for them, otherwise they are cut, too. The same launches give the same bits with every budget; other launches
    may add in another order. Raises ResourceError if the function does not fit in DRAM, BudgetError for a budget within
    which no plan is found, with the smallest budget that has one.
    """
    chip = session.chip
    launch_codes = CompiledLaunches(chip, session.cache)
    cutter = _Cutter(function, session)
    unsaved = cutter.needed(launch_codes)
    capacity = capacity_of(budget.amount, unsaved, chip)
    if budget.launch_bytes is None and capacity >= unsaved:
        warn(f"memory saving has no gain: the network needs {unsaved} bytes of DRAM, {capacity} are available")
        return None
    launches = _Launches(cutter, launch_codes, budget, unsaved)
    found = launches.fastest(capacity)
    apart = cutter.cycles_in_turn() if budget.launch_bytes is None and capacity >= chip.dram_bytes else None
    if apart is not None and (found is None or apart <= found[1].planned.time_ns):
        what = "the subgraphs fit" if cutter.in_subgraphs else "parts of the network fit"
        saved = "" if found is None else f", not {found[1].planned.time_ns:,.0f}"
        warn(f"memory saving has no gain: {what} in turn, in {apart:,.0f} cycles{saved}")
        return None
    if found is None and not budget.names_least:
        refused = cutter.refused.get(capacity)
        of_operator = refused is not None and bool(refused.operator)
        raise BudgetError(capacity, launches.reason(capacity, unsaved), unsaved, of_operator)
    if found is None:
        enough = launches.smallest(capacity)
        reason = launches.reason(capacity, enough)
        if enough >= unsaved and budget.launch_bytes is None:
            least = "the given subgraphs need" if cutter.in_subgraphs else "a single launch needs"
            reason = f"memory saving has no gain: {least} the least, {unsaved} bytes"
            if budget.is_share:
                warn(reason)
                return None
        raise BudgetError(capacity, reason, enough)
    return LaunchCompilation(*found, capacity, unsaved)


class _Launches:
    """Divisions of a function into launches, and the capacities of DRAM in which they fit."""

    def __init__(self, cutter: _Cutter, launch_codes: CompiledLaunches, budget: Budget, unsaved: int) -> None:
        self.cutter, self.launch_codes, self.budget, self.unsaved = cutter, launch_codes, budget, unsaved
        self._known: dict[tuple[int, int], LaunchSearch] = {}
        """By bytes of a launch (`ALL_ROOM`: the capacity), and the capacity that the function is cut for."""

    def fastest(self, capacity: int) -> tuple[FuncOp, DeviceLayout] | None:
        """
        The first division that fits, coarser ones first, since these compile the fewest parts; with high effort, finer
        ones as long as they are faster. Launches that leave no DRAM for other tensors are tried, too: they have the
        fewest borders between them.
        """
        best = self._fit(ALL_ROOM, capacity) if self._tries_all_room(capacity) else None
        first, session = best, self.cutter.session
        for size in self._sizes(capacity):
            session.progress("save memory")
            found = self._fit(size, capacity)
            slower = found is None or (best is not None and found[1].planned.time_ns >= best[1].planned.time_ns)
            if slower and best is not first:
                break
            best = best if slower else found
            if found is not None and (self.cutter.in_subgraphs or session.options.effort is not EFFORTS["high"]):
                break
        return best

    def _tries_all_room(self, capacity: int) -> bool:
        """Whether launches of up to the whole capacity are tried; subgraphs are tried in any case."""
        return self.budget.launch_bytes is None and not self.cutter.in_subgraphs and capacity < self.unsaved

    def smallest(self, capacity: int) -> int:
        """
        A budget with a plan, above one without: close to the least one, by 1/1,024 of the difference.

        Budgets are tried with launches that were cut for a larger budget, as long as these fit. If the resulting budget
        has no plan when the function is cut for it, the next larger one that was tried is taken: for some of these,
        launches have been cut.
        """
        refused = self.cutter.refused.get(capacity)
        low, high = capacity, self.unsaved
        if refused is not None and refused.operator and low < refused.needed <= high:
            low = refused.needed - 1
        if self.budget.launch_bytes is not None:
            while self.fastest(high) is None:
                low, high = high, 2 * high

        fitting: list[int] = []

        def fits(budget: int) -> bool:
            sizes = [*self._sizes(budget), *([ALL_ROOM] if self._tries_all_room(budget) else [])]
            found = any(self._fits(size, budget) for size in sizes)
            fitting.extend([budget] if found else [])
            return found

        _bisected(low, high, fits, (high - capacity) // PRECISION)
        return next((budget for budget in reversed(fitting) if self.fastest(budget) is not None), high)

    def reason(self, capacity: int, enough: int) -> str:
        """The reason why a capacity is too small, although `enough` bytes suffice: the largest needs."""
        error = self.cutter.refused.get(capacity)
        if error is not None and error.operator and error.needed <= enough:
            return f"operator '{error.operator}' needs {error.needed} bytes, and is not split any further"
        return self._search(self._sizes(capacity)[-1], capacity).reason(capacity, enough)

    def _sizes(self, capacity: int) -> list[int]:
        """Bytes that a launch may need, to be tried in this order."""
        if self.budget.launch_bytes is not None:
            return [self.budget.launch_bytes]
        if capacity >= self.unsaved:
            return [self.unsaved]
        sizes = [self.unsaved // share for share in SHARES]
        sizes = [size for size in sizes if size <= capacity // 2] or sizes[-1:]
        return [capacity, *sizes] if self.cutter.in_subgraphs else sizes

    def _fit(self, size: int, capacity: int) -> tuple[FuncOp, DeviceLayout] | None:
        """
        Launches of at most `size` bytes that fit; operators are split further if resident constants leave too few
        bytes.
        """
        cut = self._search(size, capacity)
        found = cut.fit(capacity)
        if found is None and (stays := cut.resident_beside_too_much(capacity)):
            found = self._search(size, capacity - stays).fit(capacity)
        return found

    def _fits(self, size: int, capacity: int) -> bool:
        """As `_fit`, but returns whether launches fit, including those cut for a larger capacity (`_alike`)."""
        cut = self._alike(size, capacity)
        if cut.fits(capacity):
            return True
        stays = cut.resident_beside_too_much(capacity)
        return bool(stays) and self._alike(size, capacity - stays).fits(capacity)

    def _alike(self, size: int, capacity: int) -> LaunchSearch:
        """
        As `_search`, but launches that were cut for a larger capacity are used if each of them fits, since they are
        mostly the same.
        """
        for (of_size, cut_for), search in self._known.items():
            if of_size == size and search.largest <= capacity < cut_for:
                return search
        return self._search(size, capacity)

    def _search(self, size: int, capacity: int) -> LaunchSearch:
        """Launches of at most `size` bytes, cut for a capacity."""
        key = size, capacity
        if key not in self._known:
            self._known[key] = self._cut_alike(size, capacity) or LaunchSearch(
                self.cutter.cut(size or capacity, capacity), self.launch_codes, self.budget.saving
            )
        return self._known[key]

    def _cut_alike(self, size: int, capacity: int) -> LaunchSearch | None:
        """Launches with a larger limit, if those of several operators do not exceed this limit."""
        for (of_size, cut_for), search in self._known.items():
            if cut_for == capacity and search.largest_of_several <= (size or capacity) <= (of_size or cut_for):
                return search
        return None


@dataclass(frozen=True)
class _Cutter:
    """Cuts a function into launches: its subgraphs, if it has some, as far as they are small enough."""

    function: FuncOp
    session: Session
    refused: dict[int, ResourceError] = field(default_factory=dict[int, ResourceError])
    """By capacity: the reason why operators could not be split for it."""

    @property
    def in_subgraphs(self) -> bool:
        """Whether the user has defined the launches."""
        return any(isinstance(op, SubgraphOp) for op in self.function.body.block.ops)

    def needed(self, launch_codes: CompiledLaunches) -> int:
        """Bytes of DRAM without memory saving."""
        whole = self.session.chip.dram_bytes
        return peak_of(self.cut(whole, whole), launch_codes, whole)

    def cycles_in_turn(self) -> float | None:
        """
        Cycles of the subgraphs one after another, with host copies of values and of weights that are loaded for each;
        None if that does not fit in the chip's DRAM.
        """
        driver, given = self._driver()
        try:
            return driver.cycles(driver.run(given))
        except ResourceError:
            return None

    def cut(self, most: int, capacity: int) -> FuncOp:
        """
        A copy of the function in subgraphs that need no more than `most` bytes of DRAM each; operators that need more
        are separate subgraphs, those that need more than the capacity are split where possible.
        """
        try:
            return self._cut(max(most, 1), capacity)
        except ResourceError as error:
            if capacity >= self.session.chip.dram_bytes:
                raise
            self.refused[capacity] = error
            return self._cut(max(most, 1), self.session.chip.dram_bytes)

    def _cut(self, most: int, alone: int) -> FuncOp:
        driver, given = self._driver()
        parts = driver.compiled(most, alone, given)
        named = [Subgraph(part.label if given else part.ends[1], part.operators) for part in parts]
        return outline_function(driver.function, named, launches=True)

    def _driver(self) -> tuple[Driver, Sequence[Group]]:
        """The driver for a copy of the function, and the subgraphs of the function."""
        copy = self.function.clone()
        given = inline_subgraphs(copy)
        return Driver(copy, self.session.logged(CompilationLog())), given


def needed_as_one(function: FuncOp, session: Session) -> int:
    """Bytes of DRAM that a function of `dataflow` operations needs without memory saving."""
    return _Cutter(function, session).needed(CompiledLaunches(session.chip, session.cache))


def placed_launches(function: FuncOp, chip: Chip, cache: CompileCache, capacity: float | None) -> LaunchCompilation:
    """
    A function of launches and of operations of `memory`, allocated in DRAM without changes. `capacity`: as
    `Budget.amount`. Raises ResourceError if it does not fit.
    """
    launch_codes = CompiledLaunches(chip, cache)
    unsaved = peak_of(function, launch_codes, chip.dram_bytes)
    available = capacity_of(capacity, unsaved, chip)
    layout = lay_out(read_block(function, launch_codes, available), available)
    if layout is None:
        raise ResourceError(
            f"the network does not fit in {available} bytes of DRAM with the memory saving that it contains",
            "DRAM", unsaved, available,
        )  # fmt: skip
    return LaunchCompilation(function, layout, available, unsaved)


def number_launches(function: FuncOp, launch_codes: CompiledLaunches) -> None:
    """Compile all subgraphs without a number; each gets one, which its copies keep."""
    for op in function.body.block.walk():
        if isinstance(op, SubgraphOp) and CompiledLaunches.NUMBER not in op.attributes:
            op.attributes[CompiledLaunches.NUMBER] = IntAttr(launch_codes.add(op))


def capacity_of(amount: float | None, unsaved: int, chip: Chip) -> int:
    """Bytes of a budget."""
    if amount is None:
        return chip.dram_bytes
    return min(chip.dram_bytes, int(amount * unsaved) if amount <= 1 else int(amount))


def peak_of(function: FuncOp, launch_codes: CompiledLaunches, capacity: int) -> int:
    """Bytes that the function needs without changes; its subgraphs are compiled."""
    number_launches(function, launch_codes)
    layout = lay_out(read_block(function, launch_codes, capacity), 1 << 62)
    assert layout is not None, "everything fits without a limit"
    return layout.used


class LaunchSearch:
    """Searches limits for the planner such that the allocation of its plan is within a capacity."""

    def __init__(self, function: FuncOp, launch_codes: CompiledLaunches, saving: Saving) -> None:
        self.function, self.launch_codes, self.saving = function, launch_codes, saving
        number_launches(function, launch_codes)
        launches = [op for op in function.body.block.ops if isinstance(op, SubgraphOp)]
        needed = {op: launch_codes.of_subgraph(op).code.dram_bytes for op in launches}
        self.largest = max(needed.values(), default=0)
        """Bytes of the largest launch."""
        self._planning: dict[int, LaunchPlanning] = {}
        """By capacity."""
        self._fitted: dict[int, tuple[FuncOp, DeviceLayout] | None] = {}
        """By capacity: cached, because launches of several sizes often have the same cuts."""
        several = [op for op in launches if sum(map(is_operator, list(op.body.block.ops)[:-1])) > 1]
        self.largest_of_several = max((needed[op] for op in several), default=0)
        """Bytes of the largest launch of several operators."""

    def fit(self, capacity: int) -> tuple[FuncOp, DeviceLayout] | None:
        """The function with memory saving for a capacity, and its allocation."""
        if capacity not in self._fitted:
            self._fitted[capacity] = self._fit(capacity)
        return self._fitted[capacity]

    def fits(self, capacity: int) -> bool:
        """Whether `fit` finds a plan; the fastest one is not searched for."""
        if capacity in self._fitted:
            return self._fitted[capacity] is not None
        return next(self._plans(capacity), None) is not None

    def _fit(self, capacity: int) -> tuple[FuncOp, DeviceLayout] | None:
        return min(self._plans(capacity), key=lambda found: found[1].planned.time_ns, default=None)

    def _plans(self, capacity: int) -> Iterator[tuple[FuncOp, DeviceLayout]]:
        """The function as it is if it fits; otherwise plans that fit: one by all kinds together, and one by each."""
        layout = lay_out(read_block(self.function, self.launch_codes, capacity), capacity)
        if layout is not None:
            yield self.function, layout
            return
        planning = self._planned_for(capacity)
        room = capacity - planning.launches.resident_bytes
        least = planning.launches.problem.smallest_budget
        # The planner's estimate of conversions concurrent with launches is rough, so each kind alone is tried, too.
        kinds = self.saving.kinds
        for names in (kinds, *(frozenset({name}) for name in sorted(kinds) if len(kinds) > 1)):
            saving = replace(self.saving, kinds=names)
            for limit in _limits(room, least, capacity):
                try:
                    found = self._try(planning, saving, limit, capacity)
                except InputError:
                    break  # there is no plan for a smaller limit either
                if found is not None:
                    yield found
                    break

    def _planned_for(self, capacity: int) -> LaunchPlanning:
        if capacity not in self._planning:
            self._planning[capacity] = planning_of(self.function, self.launch_codes, self.saving, capacity)
        return self._planning[capacity]

    def _try(
        self, planning: LaunchPlanning, saving: Saving, limit: int, capacity: int
    ) -> tuple[FuncOp, DeviceLayout] | None:
        """The function with a plan for a limit, if its allocation fits. Raises InputError if there is no plan."""
        function = self.function.clone()
        save_memory(function, planning, limit, saving)
        layout = lay_out(read_block(function, self.launch_codes, capacity), capacity)
        return None if layout is None else (function, layout)

    def smallest(self, capacity: int, enough: int) -> int:
        """A budget with a plan, between one without and one with a plan."""
        return _bisected(capacity, enough, self.fits, (enough - capacity) // PRECISION)

    def resident_beside_too_much(self, capacity: int) -> int:
        """
        Bytes of resident constants, if a launch does not fit with them: operators that are split for a smaller capacity
        may. 0 if all launches fit.
        """
        launches = self._planned_for(capacity).launches
        stays = launches.resident_bytes
        return stays if launches.problem.smallest_budget + stays > capacity else 0

    def reason(self, capacity: int, enough: int) -> str:
        """The reason why a capacity is too small, while `enough` bytes suffice: the launch with the largest needs."""
        planning = self._planned_for(capacity)
        problem = planning.launches.problem
        least = problem.smallest_budget + planning.launches.resident_bytes
        if least <= capacity:
            kinds = ", ".join(sorted(self.saving.kinds))
            return f"no plan of the allowed kinds ({kinds}) was found that fits"
        if least > enough:  # for that budget, operators are split differently
            return "its operators cannot be split into launches for this budget"
        name = problem.graph.op_names[int(np.argmax(problem.working_set))]
        return f"launch '{name}' alone needs {least} bytes, with resident constants"


def _bisected(low: int, high: int, works: Callable[[int], bool], within: int) -> int:
    """A number at most `within` above the least for which `works` holds; it holds for `high`, not for `low`."""
    while high - low > max(within, 1):
        middle = (low + high) // 2
        low, high = (low, middle) if works(middle) else (middle, high)
    return high


def _limits(room: int, least: int, capacity: int) -> list[int]:
    """Limits from all available bytes down to the least that the planner accepts."""
    step = max(capacity // 64, 64)
    found = [room - step * number for number in range(ATTEMPTS)]
    found = [limit for limit in found if limit > least]
    return [*found, least] if room >= least else []

"""Memory saving between existing launches: by thresholds, or in addition to existing memory saving (spec 1)."""

from __future__ import annotations

from dataclasses import replace

from xdsl.dialects.func import FuncOp

from ...chips import Chip
from ...support.errors import BudgetError, MeshloomError
from ..cache.compile_cache import CompileCache
from .compile_launches import Budget, LaunchCompilation, LaunchSearch, capacity_of, number_launches, peak_of
from .compiled_launches import CompiledLaunches
from .device_layout import DeviceLayout, lay_out
from .read_block import read_block
from .save_memory import Saving, planning_of, save_by_thresholds
from .share_launches import share_launches


def add_offload(
    function: FuncOp, chip: Chip, budget: Budget, cache: CompileCache, unsaved: int | None = None
) -> LaunchCompilation:
    """
    Save more memory in a function of launches and operations of `memory`, which are kept.

    With thresholds, the tensors that they choose are offloaded; with a budget, too, this is repeated on the result
    until it fits ([0165]). Otherwise, further tensors are offloaded until it fits. `unsaved`: bytes that the network
    needs without saving; None: the bytes that it needs now. Raises BudgetError for a budget without a plan, naming one
    that has a plan.
    """
    launch_codes = CompiledLaunches(chip, cache)
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
    sufficient: list[int] = []
    while True:
        number_launches(function, launch_codes)
        planning = planning_of(function, launch_codes, budget.saving, capacity)
        added = save_by_thresholds(function, planning, thresholds, budget.saving)
        number_launches(function, launch_codes)
        layout = lay_out(read_block(function, launch_codes, capacity), capacity)
        if layout is not None:
            found = _shared(function, launch_codes, capacity, layout)
            return LaunchCompilation(*found, capacity, unsaved)
        sufficient.append(peak_of(function, launch_codes, chip.dram_bytes))
        if not added:
            raise BudgetError(capacity, "the thresholds select no further tensor to offload", min(sufficient))


def _shared(
    function: FuncOp, launch_codes: CompiledLaunches, capacity: int, apart: DeviceLayout
) -> tuple[FuncOp, DeviceLayout]:
    """
    The function with launches merged that need not be separate, if that takes neither longer nor more DRAM; otherwise
    unchanged. No merged launch needs more DRAM than the largest did, so that more can be offloaded when the pass runs
    again.
    """
    together = function.clone()
    if not share_launches(together, LaunchSearch(function, launch_codes, Saving()).largest):
        return function, apart
    try:
        number_launches(together, launch_codes)
    except MeshloomError:
        return function, apart
    layout = lay_out(read_block(together, launch_codes, capacity), capacity)
    if layout is None or layout.planned.time_ns > apart.planned.time_ns or layout.used > apart.used:
        return function, apart
    return together, layout

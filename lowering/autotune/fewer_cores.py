"""Plans that use only some of the cores, for networks that do not run faster on more of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from xdsl.dialects.builtin import ModuleOp

from ...analysis.recurrent_work import recurrent_layers
from ...analysis.search import ACCEPT_RATIO, Trial, over
from ...chips import Chip
from ...dialects.dataflow.entry_function import find_main
from ...emulator.reports.recurrent_time import steps_time
from ...support.errors import MeshloomError
from .autotune_subgraph import AutotunedSubgraph

MAX_BOUND_SHARE = 0.8
"""
Half of the cores is tried only if the lower bound of their cycles is at most this share of the cycles of the plan for
all cores. With 1, most networks would be planned twice. Measured by bench/more_resources.py.
"""
MIN_CORES = 32
"""
Number of usable cores of a chip from which on fewer are tried. Measured with bench/more_resources.py: none of its
networks is faster on half of 16 cores.
"""
MAX_CORES_SHARE = 0.75
"""
The number of cores with the least reference time of the steps is tried only if it is at most this share of all cores:
with more, exchanges take nearly as long as with all. Measured with bench/recurrent.py: 56 of the 64 cores of `grid` are
not faster for `lstm_stack`.
"""
PlanOn: TypeAlias = Callable[[ModuleOp, Chip], AutotunedSubgraph]
"""Tile, place and prefetch the tasks of a module for a chip; the module is rewritten."""


def plan_on_fewer_cores(module: ModuleOp, chip: Chip, plan_on: PlanOn) -> AutotunedSubgraph:
    """
    The fastest of the plans for all cores and for fewer of them. The module is rewritten to that plan. Raises as
    `plan_on` does for all cores.

    Fewer cores may be faster, since they exchange fewer and larger messages. For networks with loops, the number of
    cores with the least reference time of the steps is tried if it is much smaller (`MAX_CORES_SHARE`). For others,
    half of the columns of cores, a quarter and so on, up to the first that is no faster than the one before, are tried
    if the plan for all cores takes many more cycles than the lower bound for half of them (`MAX_BOUND_SHARE`).
    """
    search = _Search(module.clone(), chip, plan_on, plan_on(module, chip))
    usable = len(chip.usable_cores)
    if layers := recurrent_layers(find_main(search.untiled)):
        cores = steps_time(chip, layers)[1]
        if cores <= MAX_CORES_SHARE * usable:
            search.try_cores(cores, f"{cores} of {usable} cores")
    elif _may_be_faster_on_half(search.best, chip):
        columns = chip.cols // 2
        while columns and search.try_cores(columns * chip.rows, f"{columns} of {chip.cols} columns of cores"):
            columns //= 2
    return search.result(module)


class _Search:
    """The best plan so far, and the numbers of cores that were tried."""

    def __init__(self, untiled: ModuleOp, chip: Chip, plan_on: PlanOn, plan: AutotunedSubgraph) -> None:
        self.untiled, self.chip, self.plan_on = untiled, chip, plan_on
        self.best = plan
        self._module: ModuleOp | None = None
        """The module of the best plan, if it is one for fewer cores."""
        self._trials: list[Trial] = []

    def try_cores(self, number: int, name: str) -> bool:
        """Plan for `number` cores, in the columns next to the DRAM ports. Returns whether the plan is faster."""
        part = _first_cores(self.chip, number)
        if not part.usable_cores:
            return False
        before = self.best.placed.emulated_cycles
        variant = self.untiled.clone()
        try:
            found = self.plan_on(variant, part)
        except MeshloomError as error:
            self._trials.append(Trial(name, f"fails: {error}"))
            return False
        cycles = found.placed.emulated_cycles
        taken = cycles < ACCEPT_RATIO * before
        text = f"emulated {cycles:,} cycles, {over(cycles, before)}: {'taken' if taken else 'not taken'}"
        self._trials.append(Trial(name, text))
        if taken:
            self.best, self._module = replace(found, cycles=cycles), variant
        return taken

    def result(self, module: ModuleOp) -> AutotunedSubgraph:
        """The best plan, to which the module is rewritten."""
        if self._module is not None:
            _replace_contents(module, self._module)
        return replace(self.best, trials=(*self.best.trials, *self._trials)) if self._trials else self.best


def _first_cores(chip: Chip, number: int) -> Chip:
    """The chip with at most `number` cores of its mesh, column by column from the DRAM ports."""
    order = sorted(range(chip.cores), key=lambda core: (core % chip.cols, core // chip.cols))
    return replace(chip, unusable_cores=tuple(sorted({*order[number:], *chip.unusable_cores})))


def _may_be_faster_on_half(found: AutotunedSubgraph, chip: Chip) -> bool:
    """Whether the lower bound for half of the cores, which compute twice as long, is far below the plan's cycles."""
    if len(chip.usable_cores) < MIN_CORES:
        return False
    works = [plan.work for plan in found.placed.plan.plans]
    cycles = found.placed.laid_out.estimated_cycles if found.cycles is None else found.cycles
    computing, transfers = sum(work.computing for work in works), sum(work.own_dram for work in works)
    return max(2 * computing, transfers) <= MAX_BOUND_SHARE * cycles


def _replace_contents(module: ModuleOp, other: ModuleOp) -> None:
    """Give a module the operations of another one, which is empty afterwards."""
    for op in reversed(list(module.ops)):
        op.detach()
        op.erase(safe_erase=False)
    for op in list(other.ops):
        op.detach()
        module.body.block.add_op(op)
    module.attributes = other.attributes

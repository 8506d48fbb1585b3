"""Plans that use only some of the columns of cores, for networks that do not run faster on more of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeAlias

from xdsl.dialects.builtin import ModuleOp

from ...analysis.search import ACCEPT_RATIO, Trial, over
from ...chips import Chip
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
PlanOn: TypeAlias = Callable[[ModuleOp, Chip], AutotunedSubgraph]
"""Tile, place and prefetch the tasks of a module for a chip; the module is rewritten."""


def plan_on_fewer_cores(module: ModuleOp, chip: Chip, plan_on: PlanOn) -> AutotunedSubgraph:
    """
    The fastest of the plans for all columns of cores, for half of them, for a quarter and so on, up to the first that
    is no faster than the one before. The module is rewritten to that plan. Raises as `plan_on` does for all cores.

    Fewer cores may be faster, since they exchange fewer and larger messages. Half of them is tried only where the plan
    for all takes many more cycles than the lower bound for half of them (`MAX_BOUND_SHARE`).
    """
    untiled = module.clone()
    best = plan_on(module, chip)
    trials: list[Trial] = []
    for part, columns in _halves(chip) if _may_be_faster_on_half(best, chip) else ():
        before = best.placed.emulated_cycles
        variant, name = untiled.clone(), f"{columns} of {chip.cols} columns of cores"
        try:
            found = plan_on(variant, part)
            cycles = found.placed.emulated_cycles
        except MeshloomError as error:
            trials.append(Trial(name, f"fails: {error}"))
            break
        taken = cycles < ACCEPT_RATIO * before
        text = f"emulated {cycles:,} cycles, {over(cycles, before)}: {'taken' if taken else 'not taken'}"
        trials.append(Trial(name, text))
        if not taken:
            break
        best = replace(found, cycles=cycles)
        _replace_contents(module, variant)
    return replace(best, trials=(*best.trials, *trials)) if trials else best


def _halves(chip: Chip) -> Iterator[tuple[Chip, int]]:
    """The chip with a half, a quarter, ... of its columns, those nearest to the DRAM ports, and their number."""
    columns = chip.cols // 2
    while columns:
        beyond = {core for core in range(chip.cores) if core % chip.cols >= columns}
        part = replace(chip, unusable_cores=tuple(sorted(beyond.union(chip.unusable_cores))))
        if not part.usable_cores:
            return
        yield part, columns
        columns //= 2


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

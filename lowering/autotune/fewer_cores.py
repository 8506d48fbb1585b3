"""Plans on a part of the cores, for networks that more cores do not make faster."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeAlias

from xdsl.dialects.builtin import ModuleOp

from ...analysis.search import ACCEPT_RATIO, Trial, over
from ...chips import Chip
from ...support.errors import MeshloomError
from .autotune_subgraph import AutotunedSubgraph

MOST_NEEDED = 0.8
"""
Half of the cores is tried if these and DRAM need at most this share of the cycles of the plan for all cores. With 1,
most networks would be planned twice; bench/more_resources.py shows what it brings.
"""
MIN_CORES = 32
"""Fewest cores of a chip for which parts are tried: with 16, no network that was measured is faster on half of them."""
PlanOn: TypeAlias = Callable[[ModuleOp, Chip], AutotunedSubgraph]
"""Tile, place and prefetch the tasks of a module for a chip; the module is rewritten."""


def plan_on_fewer_cores(module: ModuleOp, chip: Chip, plan_on: PlanOn) -> AutotunedSubgraph:
    """
    The fastest plan for all cores, for half of the columns of cores, for a quarter and so on, until one is no faster
    than the one before. The module is rewritten to that plan. Raises as `plan_on` does for all cores.

    More cores exchange more and smaller messages. Half of them is tried where the plan is far from what half of them
    need at least, and then half of these as long as that is faster.
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
    """Whether half of the cores, which compute twice as long, and DRAM need at most `MOST_NEEDED` of the cycles."""
    if len(chip.usable_cores) < MIN_CORES:
        return False
    works = [plan.work for plan in found.placed.plan.plans]
    cycles = found.placed.laid_out.estimated_cycles if found.cycles is None else found.cycles
    computing, transfers = sum(work.computing for work in works), sum(work.own_dram for work in works)
    return max(2 * computing, transfers) <= MOST_NEEDED * cycles


def _replace_contents(module: ModuleOp, other: ModuleOp) -> None:
    """Give a module the operations of another one, which is empty afterwards."""
    for op in reversed(list(module.ops)):
        op.detach()
        op.erase(safe_erase=False)
    for op in list(other.ops):
        op.detach()
        module.body.block.add_op(op)
    module.attributes = other.attributes

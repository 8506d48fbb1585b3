"""Pass `manycore-tile`: choose the tiling of each task over cores and time, and the memory of its result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from ..analysis.planning.busy_links import with_busy_links
from ..analysis.planning.network_plan import NetworkPlan
from ..analysis.planning.placement import column_major
from ..analysis.planning.plan_memo import PlanMemo
from ..analysis.planning.plan_network import network_plans
from ..analysis.planning.tiling_beam_search import tiling_beam_search
from ..analysis.semantic_effect import SemanticEffect, reassociating
from ..chips import Chip
from ..dialects.dataflow.entry_function import find_main
from ..dialects.manycore import TilingAttr
from ..dialects.manycore.stage import networks_of
from ..dialects.memory import Space, SpaceAttr
from .shared.chip_option import check_cores, chip_for
from .shared.refuse_subgraphs import refuse_subgraphs


@dataclass(frozen=True)
class ManycoreTilePass(ModulePass):
    """
    Give every task of `@main` a tiling and a placement of its result (`in sram` or `in dram`), by estimated cycles.

    A task that already has a placement keeps it and its tiling; the pass checks that they are possible. Without `chip`,
    the chip is the module's. Sums whose reduced dimension is cut into steps are computed in another order.
    """

    name = "manycore-tile"
    semantic_effect: ClassVar[SemanticEffect] = reassociating(1e-4)

    chip: str | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        refuse_subgraphs(op, self.name)
        for network in networks_of(op):
            chip = chip_for(network, self.chip, f"{self.name}{{chip=NAME}}", keeps_cores=False)
            tile_function(find_main(network), chip)
            check_cores(network)


def tile_function(function: FuncOp, chip: Chip) -> NetworkPlan:
    """
    Plan a function of tasks, and write their tilings and placements to them.

    Raises the errors of `plan_network`; the function is changed only if all tasks fit.
    """
    network = plans_of(function, chip)[0]
    write_tilings(network)
    return network


def plans_of(function: FuncOp, chip: Chip, memo: PlanMemo | None = None) -> list[NetworkPlan]:
    """
    Candidate plans: that of the beam search, if its estimate is lower, and that in which each task is planned
    separately; for networks with loops, also plans with other grids in the loops. For other networks, if links are
    busy, a plan whose prices of tilings count all messages is used if its estimate is lower. `memo` and errors: see
    `plan_network`.
    """
    place = column_major(chip)
    alone, *others = network_plans(function, chip, place, memo)
    if alone.loops:
        return [alone, *others]
    alone = with_busy_links(alone, function, chip, place, memo)
    ahead = tiling_beam_search(alone, chip, place, memo)
    return [alone] if ahead is alone else [ahead, alone]


def write_tilings(network: NetworkPlan) -> None:
    """Write the tilings and placements of a plan to its tasks."""
    for info, plan in zip(network.tasks, network.plans, strict=True):
        info.op.tiling = TilingAttr.of(plan.tiling)
        info.op.placement = SpaceAttr(Space.SRAM if plan.resident else Space.DRAM)
        info.op.set_kept(sorted({plan.reads[number].read.operand for number in plan.kept_reads()}))

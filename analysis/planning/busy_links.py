"""
Planning of networks whose links are busy: tilings are chosen again by prices that count the time of all messages.

Constants that many cores need are forwarded from core to core, mostly while other tasks compute, and then cost little.
If there are so many that links are busy for longer than units, grids that send less are faster.
"""

from __future__ import annotations

from xdsl.dialects.func import FuncOp

from ...chips import Chip
from ...support.errors import ResourceError
from .estimate import Pricing, run_alone
from .network_estimate import TaskWorks
from .network_plan import NetworkPlan
from .plan_memo import PlanMemo
from .plan_network import plan_network
from .plan_specified import is_specified
from .plan_task import PlaceTiles
from .sram_layout import estimated_times, lay_out_sram

BUSY_SHARE = 0.02
"""Links are busy if messages take longer than their tasks, by at least this share of the cycles of all tasks."""

ACCEPT_RATIO = 0.9
"""
A plan by the other prices is accepted below this share of the estimate: it leaves less gain for the beam search, and
estimates of different grids err by some percent.
"""


def with_busy_links(
    network: NetworkPlan, function: FuncOp, chip: Chip, place: PlaceTiles, memo: PlanMemo | None = None
) -> NetworkPlan:
    """
    `network`, or a plan of the same function by `Pricing.BUSY` if links are busy and its estimate is clearly less.

    Networks with loops, and networks with tasks that were tiled before, are returned unchanged.
    """
    if network.loops or any(map(is_specified, network.tasks)) or not _links_are_busy(network, chip):
        return network
    try:
        other = plan_network(function, chip, place, memo, Pricing.BUSY)
        return other if _estimate(other, chip) < ACCEPT_RATIO * _estimate(network, chip) else network
    except ResourceError:
        return network


def _links_are_busy(network: NetworkPlan, chip: Chip) -> bool:
    works = [plan.work for plan in network.plans]
    cycles = run_alone(works, chip)
    late = sum(max(0.0, work.network - time) for work, time in zip(works, cycles, strict=True))
    return late > BUSY_SHARE * sum(cycles)


def _estimate(network: NetworkPlan, chip: Chip) -> int:
    """Cycles with the first prefetch policy."""
    works = TaskWorks(network)
    return sum(estimated_times(network, lay_out_sram(network, chip, works), chip, works))

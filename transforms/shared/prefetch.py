"""Writing the prefetch decisions of a plan to its tasks."""

from __future__ import annotations

from ...analysis.planning.network_plan import NetworkPlan
from ...analysis.planning.sram_layout import SramLayout


def write_prefetch(network: NetworkPlan, sram: SramLayout) -> None:
    """Set for each task of a network how many tasks earlier its constants are loaded, and for how many of its steps."""
    for number, info in enumerate(network.tasks):
        info.op.set_prefetch(number - sram.prefetch_from.get(number, number), sram.multi_buffered.get(number, 1))

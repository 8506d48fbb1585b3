"""Cascading: chains of operators run stripe by stripe, so that the values inside of them stay in SRAM."""

from __future__ import annotations

from functools import partial

from xdsl.dialects.func import FuncOp

from ...analysis.tasks.cascades import choose_cascades
from ...chips import Chip
from ...transforms.dataflow_cascade import run_in_stripes
from .smaller_values import Variation

SHARES = {"with chains in stripes": 0.5, "with chains in finer stripes": 0.25}
"""
Shares of the cores' memory for the values that stay in it, by the name of the variant: the smaller one is tried if
values still pass through DRAM with the larger one.
"""
LEAST_GAIN = 0.2
"""Cascades are compiled if they are estimated to save at least this share of the cycles: estimates are rough."""


def cascades(function: FuncOp, chip: Chip) -> list[Variation]:
    """The network with cascades, in few stripes, then in more; none if their estimate is not good enough."""
    plan = choose_cascades(function.body.block, chip, max(SHARES.values()))
    if plan.cycles >= (1 - LEAST_GAIN) * plan.plain_cycles:
        return []
    return [Variation(name, partial(_run, chip, share)) for name, share in SHARES.items()]


def _run(chip: Chip, share: float, function: FuncOp, names: set[str]) -> bool:
    return bool(run_in_stripes(function, choose_cascades(function.body.block, chip, share).cascades, names))

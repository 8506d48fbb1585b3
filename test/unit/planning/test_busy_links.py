"""Tests of tilings of networks with busy links: grids that send less are chosen if the links limit the network."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from meshloom.analysis.planning import busy_links
from meshloom.analysis.planning.busy_links import with_busy_links
from meshloom.analysis.planning.estimate import Pricing
from meshloom.analysis.planning.network_estimate import TaskWorks
from meshloom.analysis.planning.network_plan import NetworkPlan
from meshloom.analysis.planning.placement import column_major
from meshloom.analysis.planning.plan_network import plan_network
from meshloom.analysis.planning.sram_layout import estimated_times, lay_out_sram
from meshloom.chips import load_chip
from meshloom.dialects.dataflow import Dataflow
from meshloom.dialects.dataflow.entry_function import find_main
from meshloom.lowering.dataflow_to_manycore import lower_block
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin
from xdsl.dialects.func import Func, FuncOp
from xdsl.parser import Parser

EDGE = load_chip("edge")


def convolutions(channels: Sequence[int], height: int, width: int) -> FuncOp:
    """A chain of 1x1 convolutions; `channels` are those of the input and of each result."""
    images = [f"tensor<1x{count}x{height}x{width}xf32>" for count in channels]
    lines = [f"func.func @main(%v0: {images[0]}) -> {images[-1]} {{"]
    for layer, (before, after) in enumerate(pairwise(channels)):
        weights = f"tensor<{after}x{before}x1x1xf32>"
        lines += [
            f"%w{layer} = dataflow.constant dense<{layer + 1}.0> : {weights}",
            f"%v{layer + 1} = dataflow.conv %v{layer}, %w{layer} strides [1, 1] dilations [1, 1] pad [0, 0] to [0, 0] "
            f"groups 1 : ({images[layer]}, {weights}) -> {images[layer + 1]}",
        ]
    context = Context()
    for dialect in (Builtin, Func, Dataflow):
        context.load_dialect(dialect)
    text = "\n".join([*lines, f"func.return %v{len(channels) - 1} : {images[-1]}", "}"])
    function = find_main(Parser(context, text).parse_module())
    lower_block(function.body.block)
    return function


def estimated(network: NetworkPlan) -> int:
    """The sum of the estimated cycles of all tasks."""
    works = TaskWorks(network)
    return sum(estimated_times(network, lay_out_sram(network, EDGE, works), EDGE, works))


NARROW = (192, 96, 96, 192)
"""The second of these convolutions uses links for 376 cycles if cut 4 x 4, for 188 if cut by channels only."""


def test_grids_that_send_less_are_chosen_if_links_are_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(busy_links, "BUSY_SHARE", -1.0)
    monkeypatch.setattr(busy_links, "ACCEPT_RATIO", 0.99)
    function, place = convolutions(NARROW, 4, 4), column_major(EDGE)
    alone = plan_network(function, EDGE, place)
    found = with_busy_links(alone, function, EDGE, place)
    assert (alone.pricing, found.pricing) == (Pricing.HIDDEN, Pricing.BUSY)
    assert estimated(found) < estimated(alone)
    assert sum(plan.work.network for plan in found.plans) < sum(plan.work.network for plan in alone.plans)


def test_plans_are_kept_if_units_take_longer_than_links() -> None:
    function, place = convolutions(NARROW, 4, 4), column_major(EDGE)
    alone = plan_network(function, EDGE, place)
    assert with_busy_links(alone, function, EDGE, place) is alone


def test_a_plan_without_a_clearly_lower_estimate_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """The plan is not taken if its estimate is 6% lower, which is less than the accepted error of estimates."""
    monkeypatch.setattr(busy_links, "BUSY_SHARE", -1.0)
    function, place = convolutions(NARROW, 4, 4), column_major(EDGE)
    alone = plan_network(function, EDGE, place)
    assert with_busy_links(alone, function, EDGE, place) is alone

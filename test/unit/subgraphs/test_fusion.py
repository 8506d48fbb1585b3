"""Tests of fusion strategies: the sequences of attempts in the specification, and invariants of all strategies."""

from __future__ import annotations

from itertools import combinations, pairwise
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from meshloom.analysis.subgraphs.fuse_bidirectional import FuseBidirectional, FuseBidirectionalGrowing
from meshloom.analysis.subgraphs.fuse_doubling import FuseForwardDoubling
from meshloom.analysis.subgraphs.fuse_forward import FuseForward, FuseForwardGrowing
from meshloom.analysis.subgraphs.fuse_grouped import FuseGrouped, FusePairs, GroupBounds, PartSize
from meshloom.analysis.subgraphs.fuse_optimal import FuseOptimal
from meshloom.analysis.subgraphs.fusion import (
    Compiles,
    FuseNothing,
    FusionStrategy,
    Interval,
    Outcome,
)
from meshloom.lowering.options.subgraph_options import Fusion, FusionBounds, SubgraphOptions, parse_fusion
from meshloom.support.errors import InputError

GOOD, BAD = Outcome(1.0), Outcome(None, "too large")


def check_partition(intervals: list[Interval], count: int) -> None:
    """The intervals are nonempty and adjacent, from 0 to `count`."""
    bounds = [0, *(stop for _, stop in intervals)]
    assert bounds[-1] == count
    assert list(pairwise(bounds)) == intervals
    assert all(low < high for low, high in intervals)


class Compiler:
    """A compiler that accepts the given fusions and records the requests; subgraphs are letters."""

    def __init__(self, works: str | None) -> None:
        self.works = None if works is None else works.split()
        self.asked: list[str] = []

    def __call__(self, start: int, stop: int) -> Outcome:
        text = "hijklmno"[start:stop]
        self.asked.append(text)
        return GOOD if self.works is None or text in self.works or len(text) == 1 else BAD


def fuse(strategy: FusionStrategy, letters: str, works: str | None) -> tuple[str, str]:
    """The attempted fusions in order, and the result."""
    compiler = Compiler(works)
    found = strategy(len(letters), compiler)
    check_partition(found, len(letters))
    return " ".join(compiler.asked), " ".join(letters[start:stop] for start, stop in found)


def test_forward() -> None:
    # S62, S63: h and i cannot be fused, so h is a target, and i is tried with j.
    assert fuse(FuseForward(), "hij", "") == ("hi ij", "h i j")
    assert fuse(FuseForward(), "hij", "ij") == ("hi ij", "h ij")
    # S72, S73: h and i are fused, so j, the one after next, is current.
    assert fuse(FuseForward(), "hijk", None) == ("hi jk", "hi jk")
    assert fuse(FuseForward(), "hijkl", "hi kl") == ("hi jk kl", "hi j kl")
    assert fuse(FuseForward(), "h", None) == ("", "h")
    assert fuse(FuseForward(), "", None) == ("", "")


def test_forward_growing() -> None:
    assert fuse(FuseForwardGrowing(), "hijk", None) == ("hi hij hijk", "hijk")
    assert fuse(FuseForwardGrowing(), "hijkl", "hi hij kl") == ("hi hij hijk kl", "hij kl")


def test_forward_doubling() -> None:
    assert fuse(FuseForwardDoubling(), "hijklmno", None) == ("hi hijk hijklmno", "hijklmno")
    # Adding two fails, adding one succeeds.
    assert fuse(FuseForwardDoubling(), "hijklm", "hi hij lm") == ("hi hijk hij kl lm", "hij k lm")
    assert fuse(FuseForwardDoubling(), "hij", "") == ("hi ij", "h i j")


def test_bidirectional() -> None:
    # S81 to S84: h, i from the front, m, l from the end, then j, k where they meet.
    assert fuse(FuseBidirectional(), "hijklm", None) == ("hi lm jk", "hi jk lm")
    # After a failure, the earlier subgraph remains at the front, the later one at the end.
    assert fuse(FuseBidirectional(), "hijklm", "ij kl") == ("hi lm ij kl", "h ij kl m")
    assert fuse(FuseBidirectional(), "hijkl", "") == ("hi kl ij jk", "h i j k l")
    assert fuse(FuseBidirectional(), "hij", "hi") == ("hi", "hi j")


def test_bidirectional_growing() -> None:
    assert fuse(FuseBidirectionalGrowing(), "hijklm", None) == ("hi lm hij klm hijklm", "hijklm")
    assert fuse(FuseBidirectionalGrowing(), "hijklm", "hi lm hij klm") == ("hi lm hij klm hijklm", "hij klm")
    assert fuse(FuseBidirectionalGrowing(), "hij", "ij") == ("hi ij", "h ij")


def test_pairs() -> None:
    assert fuse(FusePairs(), "hijk", None) == ("hi jk", "hi jk")
    assert fuse(FusePairs(), "hijkl", "jk") == ("hi jk", "h i jk l")


def sizes(*amounts: int) -> tuple[PartSize, ...]:
    return tuple(PartSize(amount, 1, 1) for amount in amounts)


def test_grouped_within_bounds() -> None:
    # h + i = 10 and j + k + l = 10 are within 8 to 10; one more would exceed 10.
    strategy = FuseGrouped(sizes(4, 6, 3, 3, 4), GroupBounds(computation=(8, 10)))
    assert fuse(strategy, "hijkl", None) == ("hi jkl", "hi jkl")
    # Groups below the lower bound are not fused.
    assert fuse(FuseGrouped(sizes(1, 1), GroupBounds(computation=(8, 10))), "hi", None) == ("", "h i")
    for bounds in (GroupBounds(weight_bytes=(0, 2)), GroupBounds(mapped_nodes=(2, 2))):
        assert fuse(FuseGrouped(sizes(9, 9, 9, 9), bounds), "hijk", None) == ("hi jk", "hi jk")


def test_a_failing_group_of_three_is_regrouped_smaller() -> None:
    strategy = FuseGrouped(sizes(1, 1, 1), GroupBounds(mapped_nodes=(3, 3)))
    assert fuse(strategy, "hij", "hi") == ("hij hi", "hi j")
    assert fuse(strategy, "hij", "") == ("hij hi", "h i j")
    with pytest.raises(ValueError, match="3 sizes are given for 2 subgraphs"):
        strategy(2, Compiler(None))


def all_partitions(count: int) -> list[list[Interval]]:
    return [
        list(pairwise((0, *cuts, count))) for parts in range(count) for cuts in combinations(range(1, count), parts)
    ]


STRATEGIES: dict[str, FusionStrategy] = {
    "nothing": FuseNothing(),
    "pairs": FusePairs(),
    "forward": FuseForward(),
    "forward growing": FuseForwardGrowing(),
    "forward doubling": FuseForwardDoubling(),
    "bidirectional": FuseBidirectional(),
    "bidirectional growing": FuseBidirectionalGrowing(),
    "grouped": FuseGrouped(sizes(1, 2, 3, 1, 2, 3), GroupBounds(computation=(2, 6))),
    "optimal": FuseOptimal(failures_spread=False),
}


@st.composite
def outcomes(draw: st.DrawFn) -> Compiles:
    """Six subgraphs, all of which compile alone; of the larger candidates some do."""
    table: dict[Interval, Outcome] = {}
    for start in range(6):
        for stop in range(start + 1, 7):
            cost = draw(st.integers(1, 30))
            table[start, stop] = Outcome(cost) if stop == start + 1 or draw(st.booleans()) else BAD
    return lambda start, stop: table[start, stop]


@given(compiles=outcomes(), name=st.sampled_from(sorted(STRATEGIES)))
@settings(max_examples=200, deadline=None)
def test_all_strategies_give_compiled_partitions_and_try_nothing_twice(compiles: Compiles, name: str) -> None:
    asked: list[Interval] = []

    def noting(start: int, stop: int) -> Outcome:
        asked.append((start, stop))
        return compiles(start, stop)

    found = STRATEGIES[name](6, noting)
    check_partition(found, 6)
    assert len(asked) == len(set(asked))
    assert all(compiles(*interval).compiled for interval in found)


@given(compiles=outcomes())
@settings(max_examples=100, deadline=None)
def test_optimal_is_the_least_of_all_partitions(compiles: Compiles) -> None:
    def cost(partition: list[Interval]) -> float:
        return sum(outcome.cost or 0.0 for outcome in (compiles(*interval) for interval in partition))

    best = FuseOptimal(failures_spread=False)(6, compiles)
    usable = [each for each in all_partitions(6) if all(compiles(*interval).compiled for interval in each)]
    assert cost(best) == min(map(cost, usable))
    for strategy in STRATEGIES.values():
        assert cost(best) <= cost(strategy(6, compiles))


def test_optimal_does_not_extend_intervals_that_failed() -> None:
    assert fuse(FuseOptimal(), "hij", "") == ("h hi i ij j", "h i j")
    assert fuse(FuseOptimal(longest=2), "hij", None) == ("h hi i ij j", "h ij")


def test_bounds_of_groups_as_options() -> None:
    """Each bound limits the sums over a group, in execution order, of (macs, weight bytes, tasks)."""
    sizes = [PartSize(10, 100, 1), PartSize(20, 0, 2), PartSize(5, 300, 1), PartSize(0, 50, 4)]
    expected = {
        "grouped": "hijk",
        "grouped,max-macs=30": "hi jk",
        "grouped,min-macs=31": "hijk",
        "grouped,max-weight-bytes=399": "hi jk",
        "grouped,min-weight-bytes=451": "h i j k",
        "grouped,max-tasks=3": "hi j k",
        "grouped,min-tasks=4,max-tasks=5": "hij k",
    }
    for text, groups in expected.items():
        assert fuse(parse_fusion(text).make(sizes), "hijk", None)[1] == groups, text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("best", "no fusion strategy is named 'best'"),
        ("pairs,max-tasks=2", "max-tasks applies to fusion strategy 'grouped' only, not to 'pairs'"),
        ("grouped,tasks=2", "cannot read 'tasks=2'; bounds are min-macs, max-macs"),
        ("grouped,max-tasks=few", "cannot read 'max-tasks=few'"),
        ("grouped,min-tasks=3,max-tasks=2", "min-tasks=3 is above max-tasks=2"),
    ],
)
def test_invalid_fusion_options(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        SubgraphOptions(fuse=text)


def test_a_negative_bound() -> None:
    with pytest.raises(InputError, match="min-macs=-1: expected a number of at least 0"):
        Fusion("grouped", FusionBounds(min_macs=-1))


def test_a_text_is_no_rule() -> None:
    """The Python interface takes a rule, not its text, and says what reads the text."""
    with pytest.raises(InputError, match="rule is of type str, expected a rule; parse_subgraphs reads the text"):
        SubgraphOptions(rule=cast("Any", "fewest-bytes,parts=4"))

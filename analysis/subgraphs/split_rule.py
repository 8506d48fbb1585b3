"""
The interface of rules that cut a segment of operators, and their combinations. A rule is given the graph and a segment
of its serial order and returns the positions of the cuts, inside the segment and increasing; none if it does not cut.
Rules are frozen dataclasses: their fields are their settings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from .op_graph import Ints, OpGraph, Segment, Segments


@runtime_checkable
class SplitRule(Protocol):
    """The cuts of a segment (spec 2, S12 and S31)."""

    def __call__(self, graph: OpGraph, segment: Segment) -> list[int]:
        """Positions p with `segment.start < p < segment.stop`, increasing; a new part begins at p."""
        ...


@dataclass(frozen=True)
class FirstThatSplits:
    """The first of several rules that cuts at all: "by another configured rule"."""

    rules: tuple[SplitRule, ...]

    def __call__(self, graph: OpGraph, segment: Segment) -> list[int]:
        for rule in self.rules:
            if cuts := rule(graph, segment):
                return cuts
        return []


@dataclass(frozen=True)
class AllTogether:
    """All cuts of several rules: "by both"."""

    rules: tuple[SplitRule, ...]

    def __call__(self, graph: OpGraph, segment: Segment) -> list[int]:
        return sorted({cut for rule in self.rules for cut in rule(graph, segment)})


def split(graph: OpGraph, order: Ints, rule: SplitRule) -> Segments:
    """The whole graph cut by a rule."""
    return Segments.cut(order, rule(graph, Segment(order, 0, len(order))))


def split_part(graph: OpGraph, segments: Segments, part: int, rule: SplitRule) -> Segments:
    """The same partition with one part cut again by a rule (spec 2, S31); an equal one if the rule does not cut."""
    return Segments.cut(segments.order, [*segments.cuts, *rule(graph, segments[part])])


def check_cuts(segment: Segment, cuts: Sequence[int]) -> list[int]:
    """The cuts that lie inside a segment, increasing and once each."""
    return sorted({cut for cut in cuts if segment.start < cut < segment.stop})

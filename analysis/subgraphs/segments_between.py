"""Subgraphs between key nodes, and the split rule that cuts there (spec 3, step 2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from .key_nodes import Core, cut_nodes
from .op_graph import Ints, OpGraph, Segment, Segments, positions
from .split_rule import check_cuts


def segments_between(graph: OpGraph, keys: Ints, *, at_least: int = 2, span: int = 1) -> Segments:
    """
    Parts that each end with a key node (the last: with the network). The first part holds two adjacent key nodes and
    all between them, the following ones all after a key node up to the next; with `span` n up to the nth next.

    Parts of fewer than `at_least` nodes join a neighbour (see `merge_small`). Gradients and updates of weights are in
    the part of the operator that they are assigned to; weight loads are in the first part that needs them.
    """
    core = Core.of(graph)
    number = np.full(len(graph), -1)
    of_core = np.searchsorted(core.representative[keys[::span] if span > 1 else keys], np.arange(len(core.nodes)))
    held = core.representative >= 0
    number[held] = of_core[core.representative[held]]
    for node in range(len(graph) - 1, -1, -1):
        if number[node] < 0:
            number[node] = min((number[reader] for reader in graph.successors[node]), default=0)
    order = np.lexsort((np.arange(len(graph)), number)).astype(np.int64)
    cuts = np.flatnonzero(np.diff(number[order])) + 1
    return Segments.cut(order, merge_small(cuts.tolist(), 0, len(graph), at_least))


def merge_small(cuts: Sequence[int], start: int, stop: int, at_least: int) -> list[int]:
    """
    Fewer cuts of the positions `start` to `stop`, so that no part has fewer than `at_least` of them.

    A small part is merged with the one before, at the beginning with the one after. Several consecutive small parts
    that are large enough together are merged with each other, so that a chain does not become one part.
    """
    bounds = [start, *cuts, stop]
    kept = [start]
    run = start  # the start of the small parts that end at `low`
    for low, high in pairwise(bounds):
        if high - low < at_least:
            if high - run >= at_least:
                kept.append(run)
                run = high
            continue
        # A large part begins: small parts before it that are not large enough are merged with those before them.
        kept.append(run if kept[-1] == start and run == start else low)
        run = high
    return [cut for cut in sorted(set(kept)) if start < cut < stop]


@dataclass(frozen=True)
class AtKeyNodes:
    """Cut after cut nodes of the segment, every `span`th, such that no part has fewer than `at_least` operators."""

    at_least: int = 2
    span: int = 1

    def __call__(self, graph: OpGraph, segment: Segment) -> list[int]:
        keys = cut_nodes(graph, segment.nodes)[:: self.span]
        after = positions(segment.order)[keys] + 1
        return merge_small(check_cuts(segment, after.tolist()), segment.start, segment.stop, self.at_least)

"""Deferrable operators: they may run long after their operands are complete; the search for key nodes ignores them."""

from __future__ import annotations

from .op_graph import Adjacency, Ints

SHARE = 16
"""An operator is deferrable if it may wait for more than this fraction (1 / 16) of the longest path."""


def deferrable_nodes(successors: Adjacency, macs: Ints) -> list[int]:
    """
    Operators without products that are read much later than they could be computed, ascending: masks and labels that
    are computed independently of a network, and values that a forward pass keeps for the backward pass. Their position
    in an order is almost arbitrary, so that with them no operator would come before or after all others. The time that
    one may wait is the longest path (in operators) minus the longest path through it.
    """
    count = len(successors.degrees)
    before, after = [1] * count, [1] * count
    for node in range(count):
        for reader in successors[node]:
            before[int(reader)] = max(before[int(reader)], before[node] + 1)
    for node in range(count - 1, -1, -1):
        after[node] += max((after[int(reader)] for reader in successors[node]), default=0)
    longest = max((a + b - 1 for a, b in zip(before, after, strict=True)), default=0)
    return [
        node for node in range(count) if not macs[node] and (longest - before[node] - after[node] + 1) * SHARE > longest
    ]

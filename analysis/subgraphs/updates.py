"""Operators of a training step that compute the gradient of a weight or its update, by the shape of the graph alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

from .op_graph import Adjacency

STATES_OF_A_WEIGHT = 8
"""Largest number of results for one weight: its new value and the optimiser's state for it."""


def state_types(outputs: Sequence[Hashable], inputs: Sequence[Hashable]) -> frozenset[Hashable]:
    """
    The types of weights and of an optimiser's state; none if this is not a training step. A training step returns new
    values of some of its inputs: more than half of its results have the type of an input, each of a different one, and
    at least one result (the loss) has not.
    """
    spare = Counter(inputs)
    spare.subtract(outputs)
    state = frozenset(kind for kind in outputs if spare[kind] >= 0)
    given_back = sum(kind in state for kind in outputs)
    return state if len(outputs) / 2 < given_back < len(outputs) else frozenset()


def update_nodes(
    successors: Adjacency, outputs: Sequence[tuple[int, Hashable]], state: frozenset[Hashable]
) -> list[int]:
    """
    Nodes on which only new values of one weight depend, ascending. `outputs` are the network's as (node, type). New
    values of one weight (such as the weight and its moments) have one type; nodes that lead to results of several types
    are on the backward path to earlier layers.
    """
    count = len(successors.degrees)
    reached = [0] * count
    for number, (node, _) in enumerate(outputs):
        reached[node] |= 1 << number
    others = sum(1 << number for number, (_, kind) in enumerate(outputs) if kind not in state)
    for node in range(count - 1, -1, -1):
        for reader in successors[node]:
            reached[node] |= reached[int(reader)]
    return [node for node in range(count) if reached[node] and _one_weight(reached[node], others, outputs)]


def _one_weight(reached: int, others: int, outputs: Sequence[tuple[int, Hashable]]) -> bool:
    """Whether these results are all new values, few, and of one type."""
    if reached & others or reached.bit_count() > STATES_OF_A_WEIGHT:
        return False
    kinds = {kind for number, (_, kind) in enumerate(outputs) if reached >> number & 1}
    return len(kinds) == 1

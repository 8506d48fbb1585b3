"""Operators of a training step that compute the gradient of a weight or its update, by the shape of the graph alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

from .op_graph import Adjacency

STATES_OF_A_WEIGHT = 8
"""Results at most that belong to one weight: its new value and what an optimiser keeps for it."""


def state_types(outputs: Sequence[Hashable], inputs: Sequence[Hashable]) -> frozenset[Hashable]:
    """
    The types of weights and of what an optimiser keeps; none where this is no training step.

    A training step gives back new values of some of its inputs: more than half of its results have the type of an
    input, each of another one, and some result (the loss) has not.
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
    Nodes that lead to nothing but new values of one weight, ascending. `outputs` are the network's as (node, type).

    New values of one weight (it and its moments, say) have one type; what leads to results of several types is on the
    way back to earlier layers.
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

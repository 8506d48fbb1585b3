"""Covering arrays: sets of combinations that contain each tuple of values of any t axes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations, product
from typing import TypeAlias, TypeVar

Value = TypeVar("Value")
Few: TypeAlias = tuple[tuple[int, int], ...]
"""(axis, number of a value) for t axes, in the order of axes."""


def covering(axes: Sequence[Sequence[Value]], together: int) -> list[tuple[Value, ...]]:
    """
    Combinations of one value per axis, so that each tuple of values of any `together` axes is in at least one of them
    (for 2: all pairs). Raises ValueError if there are fewer axes.

    Greedy: each combination starts with the first tuple that is not covered yet. For each other axis it takes the value
    that covers the most new tuples; among equal ones the value that was used least often with the chosen values, then
    the first.
    """
    if not 0 < together <= len(axes):
        raise ValueError(f"{together} of {len(axes)} axes")
    numbers = [[(axis, value) for value in range(len(values))] for axis, values in enumerate(axes)]
    taken = Counter[Few]()
    found: list[tuple[Value, ...]] = []
    for few in (few for some in combinations(numbers, together) for few in product(*some)):
        if taken[few]:
            continue
        chosen = dict(few)
        for axis, values in enumerate(axes):
            if axis not in chosen:
                ranks = [_rank({**chosen, axis: value}, together, taken) for value in range(len(values))]
                chosen[axis] = ranks.index(min(ranks))
        taken.update(_fews(chosen, together))
        found.append(tuple(values[chosen[axis]] for axis, values in enumerate(axes)))
    return found


def _rank(chosen: Mapping[int, int], together: int, taken: Counter[Few]) -> tuple[int, int]:
    """The cost of a value, lower is better: tuples already covered, then how often they were used."""
    fews = _fews(chosen, together)
    return sum(taken[few] > 0 for few in fews), sum(taken[few] for few in fews)


def _fews(chosen: Mapping[int, int], together: int) -> list[Few]:
    """All tuples of t of the chosen values, in the order of axes."""
    return list(combinations(sorted(chosen.items()), together))

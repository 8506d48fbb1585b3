"""Covering arrays: selections of combinations that contain every tuple of values of any few axes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations, product
from typing import TypeAlias, TypeVar

Value = TypeVar("Value")
Few: TypeAlias = tuple[tuple[int, int], ...]
"""(axis, number of a value), for a few axes in their order."""


def covering(axes: Sequence[Sequence[Value]], together: int) -> list[tuple[Value, ...]]:
    """
    Combinations of one value of each axis, so that any values of `together` axes are in one of them at least: all
    pairs, if that is 2. Raises ValueError if there are fewer axes.

    Each is begun with the first few values that are in none yet. Of the other axes it gets what makes the most new: of
    several such values that which was taken least often beside these, then the first one.
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
    """Less is better: little that was taken before, and seldom."""
    fews = _fews(chosen, together)
    return sum(taken[few] > 0 for few in fews), sum(taken[few] for few in fews)


def _fews(chosen: Mapping[int, int], together: int) -> list[Few]:
    """Any few of the values that were chosen, by axis."""
    return list(combinations(sorted(chosen.items()), together))

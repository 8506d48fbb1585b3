"""Property tests of the division into stages for several chips: costs and cuts against their definitions."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from meshloom.analysis.subgraphs.chip_stages import Carried, Floats, Held, HostWeights, cut_stages, stage_costs

WEIGHTS = HostWeights(capacity=6.0, cycles_per_byte=2.0)


@st.composite
def unit_lists(draw: st.DrawFn) -> tuple[list[int], list[Carried], list[Held]]:
    """Cycles of up to six units, values carried between them, and weights that they hold."""
    count = draw(st.integers(1, 6))
    unit = st.integers(0, count - 1)
    carried: list[Carried] = []
    for _ in range(draw(st.integers(0, 5))):
        producer = draw(st.integers(-1, count - 1))
        readers = sorted(draw(st.sets(unit)))
        later = tuple(reader for reader in readers if reader > producer)
        carried.append(Carried(producer, later, draw(st.booleans()), float(draw(st.integers(1, 9)))))
    held = [Held(tuple(sorted(draw(st.sets(unit)))), draw(st.integers(1, 9))) for _ in range(3)]
    return draw(st.lists(st.integers(0, 20), min_size=count, max_size=count)), carried, held


@given(unit_lists())
def test_costs_of_stages(network: tuple[list[int], list[Carried], list[Held]]) -> None:
    cycles, carried, held = network
    costs = stage_costs(cycles, carried, held, WEIGHTS)
    for start, stop in combinations(range(len(cycles) + 1), 2):
        inside = range(start, stop)
        expected = float(sum(cycles[start:stop]))
        for value in carried:
            read = any(reader in inside for reader in value.readers)
            needed = value.is_output or any(reader >= stop for reader in value.readers)
            expected += value.cycles * (value.producer < start and read)
            expected += value.cycles * (value.producer in inside and needed)
        weights = sum(one.nbytes for one in held if any(reader in inside for reader in one.readers))
        expected += max(0.0, weights - WEIGHTS.capacity) * WEIGHTS.cycles_per_byte
        assert costs[start, stop] == expected


@given(unit_lists(), st.integers(1, 4))
def test_cuts_are_the_best(network: tuple[list[int], list[Carried], list[Held]], most: int) -> None:
    """
    The cuts equal the best of all cuts.

    The criteria, in order, are: the shortest longest stage, the least sum, the fewest stages.
    """
    cycles, carried, held = network
    costs = stage_costs(cycles, carried, held, WEIGHTS)
    inner = range(1, len(cycles))
    every = [cuts for number in range(min(most, len(cycles))) for cuts in combinations(inner, number)]
    assert _worth(costs, cut_stages(costs, most)) == min(_worth(costs, list(cuts)) for cuts in every)


def _worth(costs: Floats, cuts: list[int]) -> tuple[float, float, int]:
    stages = [float(costs[low, high]) for low, high in pairwise([0, *cuts, len(costs) - 1])]
    return max(stages), float(np.sum(stages)), len(stages)


def test_more_chips_than_units() -> None:
    costs = stage_costs([5, 5], [], [], WEIGHTS)
    assert cut_stages(costs, 10) == [1]

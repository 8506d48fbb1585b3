"""Tests of the complete search for offsets, against perfect packings and an exhaustive search over orders."""

from __future__ import annotations

import random
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from meshloom.analysis.allocation import allocation_search
from meshloom.analysis.allocation.allocate import allocate
from meshloom.analysis.allocation.allocation_search import fitting_offsets, most_alive
from numpy.typing import NDArray

Buffers = list[tuple[int, int, int]]
"""(bytes, first step, last step)"""
ENOUGH = 1_000_000_000


def columns(buffers: Buffers) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    size, first, last = (np.array(column, np.int64) for column in zip(*buffers, strict=True))
    return size, first, last


def cut_rectangle(chance: random.Random, bytes_: int, first: int, last: int) -> Buffers:
    """A rectangle of bytes and time steps, cut into buffers that fill it."""
    if bytes_ > 1 and chance.random() < 0.75 * min(1.0, bytes_ / 8):
        part = chance.randint(1, bytes_ - 1)
        return cut_rectangle(chance, part, first, last) + cut_rectangle(chance, bytes_ - part, first, last)
    if last > first and chance.random() < 0.6:
        middle = chance.randint(first, last - 1)
        return cut_rectangle(chance, bytes_, first, middle) + cut_rectangle(chance, bytes_, middle + 1, last)
    return [(bytes_, first, last)]


def assert_apart(buffers: Buffers, offsets: NDArray[np.int64], capacity: int) -> None:
    for index, (size, _, _) in enumerate(buffers):
        assert 0 <= offsets[index] <= capacity - size
    for (a, one), (b, other) in combinations(enumerate(buffers), 2):
        if one[1] <= other[2] and other[1] <= one[2] and one[0] and other[0]:
            assert offsets[a] + one[0] <= offsets[b] or offsets[b] + other[0] <= offsets[a]


def test_perfect_packings_are_found_where_fixed_orders_waste_memory() -> None:
    wasted = 0
    for seed in range(150):
        chance = random.Random(seed)
        buffers = cut_rectangle(chance, 24, 0, 12)
        chance.shuffle(buffers)
        size, first, last = columns(buffers)
        found = fitting_offsets(size, first, last, 24, ENOUGH)
        assert found is not None
        assert_apart(buffers, found, 24)
        assert fitting_offsets(size, first, last, 23, ENOUGH) is None
        wasted += allocate(size.tolist(), first.tolist(), last.tolist(), 1).peak > 24
        assert allocate(size.tolist(), first.tolist(), last.tolist(), 1, 24).peak == 24
    assert wasted > 10


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 6), st.integers(0, 6), st.integers(0, 3)), min_size=1, max_size=6),
    st.integers(0, 3),
)
def test_offsets_are_found_if_and_only_if_some_order_fits(rows: Buffers, more: int) -> None:
    """
    The search finds offsets exactly if the capacity is at least the least peak.

    The oracle places the buffers at their lowest free offsets in every order. One of the orders reaches the least peak,
    as the buffers of any packing can be moved down.
    """
    buffers = [(size, first, first + length) for size, first, length in rows]
    least = min(stacked_peak(order) for order in permutations(buffers))
    for capacity in (least - 1, least + more):
        found = fitting_offsets(*columns(buffers), capacity, ENOUGH)
        assert (found is not None) == (capacity >= least)
        if found is not None:
            assert_apart(buffers, found, capacity)


def stacked_peak(order: tuple[tuple[int, int, int], ...]) -> int:
    placed = list[tuple[int, int, int, int]]()
    for size, first, last in order:
        below = sorted((low, high) for low, high, start, end in placed if start <= last and first <= end)
        offset = 0
        for low, high in below:
            if low >= offset + size:
                break
            offset = max(offset, high)
        placed.append((offset, offset + size, first, last))
    return max(high for _, high, _, _ in placed)


def test_buffers_of_no_bytes_and_no_buffers() -> None:
    found = fitting_offsets(*columns([(0, 0, 5), (4, 2, 3)]), 4, ENOUGH)
    assert found is not None
    assert found.tolist() == [0, 0]
    nothing = np.zeros(0, np.int64)
    assert fitting_offsets(nothing, nothing, nothing, 0, ENOUGH) is not None


@pytest.mark.parametrize("work", [0, 1])
def test_nothing_is_found_without_a_limit_for_work(work: int) -> None:
    buffers = cut_rectangle(random.Random(1), 24, 0, 12)
    assert fitting_offsets(*columns(buffers), 24, work) is None


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 30), st.integers(1, 33)), min_size=1, max_size=30))
def test_most_live_bytes_during_each_lifetime(rows: Buffers) -> None:
    size, begin, width = columns(rows)
    end = begin + width
    live = [sum(bytes_ for bytes_, start, long in rows if start <= moment < start + long) for moment in range(64)]
    most = [max(live[start : start + long]) for _, start, long in rows]
    assert most_alive(size, begin, end).tolist() == most


def test_buffers_of_the_fullest_steps_are_placed_first_if_the_capacity_is_exceeded() -> None:
    """A given capacity changes the order of placing: no result is worse than without, and many are better."""
    chance = random.Random(0)
    gained = 0
    for _ in range(300):
        rows = [(chance.randint(1, 9), chance.randint(0, 9), chance.randint(0, 5)) for _ in range(14)]
        buffers = [(size, first, first + length) for size, first, length in rows]
        size, first, last = ([row[column] for row in buffers] for column in range(3))
        plain = allocate(size, first, last, 1)
        without_search = allocate(size, first, last, 1, plain.lower_bound, 0)
        assert_apart(buffers, without_search.offsets, without_search.peak)
        assert plain.lower_bound <= without_search.peak <= plain.peak
        gained += without_search.peak < plain.peak
    assert gained > 10


def test_results_of_searches_are_reused(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    The result of a search is reused, also if no offsets were found and if all lifetimes are later by the same number.

    A search for another capacity is a different search.
    """
    searched: list[int] = []
    search = allocation_search._search  # pyright: ignore[reportPrivateUsage]

    def noted(*arguments: int) -> tuple[int, int]:
        searched.append(arguments[5])
        return search(*arguments)

    monkeypatch.setattr(allocation_search, "_search", noted)
    size, first, last = columns(cut_rectangle(random.Random(4), 24, 0, 12))
    size *= 179  # no other test has these sizes
    found = fitting_offsets(size, first, last, 24 * 179, ENOUGH)
    assert found is not None
    found[:] = -1  # a caller may change its result
    assert fitting_offsets(size, first, last, 24 * 179 - 1, ENOUGH) is None
    once = list(searched)
    assert set(once) == {24 * 179, 24 * 179 - 1}
    again = fitting_offsets(size, first + 5, last + 5, 24 * 179, ENOUGH)
    assert again is not None
    assert_apart(list(zip(size.tolist(), first.tolist(), last.tolist(), strict=True)), again, 24 * 179)
    assert fitting_offsets(size, first + 7, last + 7, 24 * 179 - 1, ENOUGH) is None
    assert searched == once

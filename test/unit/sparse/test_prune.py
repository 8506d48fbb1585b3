"""Tests of pruning: by groups with both thresholds (claims 11 and 16 of spec 5), by magnitude, balanced, N:M."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from meshloom.formats.sparse.prune import (
    apply,
    balanced_pruning,
    contiguous_groups,
    fiber_groups,
    group_pruning,
    magnitude_pruning,
    n_m_pruning,
)


def test_a_group_with_too_many_small_values_is_pruned() -> None:
    # Three groups of neurons with 1, 2 and 3 values of |x| <= 0.1: only the last has more than two.
    neurons = np.array([1, 0.1, 2, 0.05, -0.1, 3, 0, 0.1, -0.1], np.float32)
    groups = contiguous_groups(9, 3)
    assert groups.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert group_pruning(neurons, groups, 0.1, 2).tolist() == [True] * 6 + [False] * 3
    assert group_pruning(neurons, groups, 0.1, 1).tolist() == [True] * 3 + [False] * 6
    assert group_pruning(neurons, groups, 0.1, 3).all()
    assert apply(neurons, group_pruning(neurons, groups, 0.1, 2)).tolist()[6:] == [0, 0, 0]


@settings(max_examples=60, deadline=None)
@given(
    count=st.integers(1, 40),
    groups=st.integers(1, 8),
    threshold=st.integers(0, 4),
    limit=st.integers(0, 10),
    seed=st.integers(0, 1 << 32),
)
def test_group_pruning_equals_the_definition_of_the_claim(
    count: int, groups: int, threshold: int, limit: int, seed: int
) -> None:
    values = np.random.default_rng(seed).integers(-5, 6, count).astype(np.int8)
    numbers = contiguous_groups(count, groups)
    sizes = [int(np.count_nonzero(numbers == group)) for group in range(groups)]
    assert sum(sizes) == count
    assert max(sizes) - min(sizes) <= 1
    stays = group_pruning(values, numbers, threshold, limit)
    for group in range(groups):
        members = [int(value) for value, number in zip(values, numbers, strict=True) if number == group]
        satisfied = sum(abs(value) <= threshold for value in members) <= limit
        assert all(bool(one) == satisfied for one in stays[numbers == group])


def test_groups_do_not_cross_fibers() -> None:
    assert fiber_groups(2, 5, 2).tolist() == [[0, 0, 1, 1, 2], [3, 3, 4, 4, 5]]


@pytest.mark.parametrize(("density", "kept"), [(0.0, []), (0.4, [1, 3]), (0.6, [0, 1, 3]), (1.0, [0, 1, 2, 3, 4])])
def test_magnitude(density: float, kept: list[int]) -> None:
    values = np.array([2, -5, 1, 4, -2], np.int8)
    assert np.flatnonzero(magnitude_pruning(values, density)).tolist() == kept


def test_balanced() -> None:
    fibers = np.array([[9, -8, 7, 1], [0, 2, -3, 2], [5, 1, 1, -6]], np.int8)
    # 6 of 12: two of each fiber. By magnitude alone, the first would keep three and the second at most one.
    assert balanced_pruning(fibers, 0.5).astype(int).tolist() == [[1, 1, 0, 0], [0, 1, 1, 0], [1, 0, 0, 1]]
    # 5 of 12: one of each fiber, then the two largest of the next ones (8 and 5).
    assert balanced_pruning(fibers, 5 / 12).astype(int).tolist() == [[1, 1, 0, 0], [0, 0, 1, 0], [1, 0, 0, 1]]
    assert not balanced_pruning(fibers, 0).any()
    assert balanced_pruning(fibers, 1).all()
    assert balanced_pruning(np.zeros((0, 4)), 0.5).shape == (0, 4)


@settings(max_examples=60, deadline=None)
@given(count=st.integers(1, 12), length=st.integers(1, 20), density=st.floats(0, 1), seed=st.integers(0, 1 << 32))
def test_balanced_pruning_keeps_the_largest_of_each_neuron(count: int, length: int, density: float, seed: int) -> None:
    fibers = np.random.default_rng(seed).integers(-20, 21, (count, length)).astype(np.int8)
    mask = balanced_pruning(fibers, density)
    kept = mask.sum(axis=1)
    assert kept.sum() == round(density * fibers.size)
    assert kept.max() - kept.min() <= 1
    following: list[int] = []
    for own, stays, many in zip(np.abs(fibers), mask, kept.tolist(), strict=True):
        assert sorted(own[stays].tolist(), reverse=True) == sorted(own.tolist(), reverse=True)[:many]
        following.append(sorted(own.tolist(), reverse=True)[kept.min()] if kept.min() < length else 0)
    # The fibers that keep one more are those whose next value is largest.
    more = kept > kept.min()
    assert min(np.array(following)[more], default=99) >= max(np.array(following)[~more], default=0)


def test_n_of_m() -> None:
    fibers = np.array([[1, -4, 3, 2, 0, 9], [7, 7, 7, 7, 1, 1]], np.int8)
    assert n_m_pruning(fibers, 2, 4).astype(int).tolist() == [[0, 1, 1, 0, 1, 1], [1, 1, 0, 0, 1, 1]]

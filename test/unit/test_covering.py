"""Tests of covering selections of combinations, from which matrices of tests are made."""

from __future__ import annotations

from itertools import combinations, product

import pytest
from covering import covering


@pytest.mark.parametrize("together", [1, 2, 3])
@pytest.mark.parametrize("sizes", [(15, 3, 5), (2, 2, 2), (3, 3, 3, 3), (4, 1, 2)], ids=str)
def test_all_combinations_of_a_few_axes_occur(sizes: tuple[int, ...], together: int) -> None:
    axes = [[f"{name}{number}" for number in range(size)] for name, size in zip("abcd", sizes, strict=False)]
    found = covering(axes, together)
    for some in combinations(range(len(axes)), together):
        assert {tuple(case[axis] for axis in some) for case in found} == {*product(*(axes[axis] for axis in some))}
    assert len({*found}) == len(found)
    assert all(value in axis for case in found for value, axis in zip(case, axes, strict=True))


def test_no_more_combinations_than_are_needed() -> None:
    axes = [range(15), range(3), range(5)]
    assert [len(covering(axes, together)) for together in (1, 2, 3)] == [15, 15 * 5, 15 * 5 * 3]


def test_values_of_short_axes_occur_equally_often() -> None:
    cases = covering([range(15), range(3)], together=1)
    assert [sum(case[1] == value for case in cases) for value in range(3)] == [5, 5, 5]


@pytest.mark.parametrize("together", [0, 3])
def test_a_number_of_axes_out_of_range_is_an_error(together: int) -> None:
    with pytest.raises(ValueError, match="of 2 axes"):
        covering([range(2), range(2)], together)

"""Tests of numbers as options of passes, as a pipeline's text specifies them."""

from __future__ import annotations

import pytest
from meshloom.support.errors import InputError
from meshloom.transforms.shared.options import Number, number, positive


@pytest.mark.parametrize(("value", "expected"), [(2, 2.0), (2.5, 2.5), ("1e-8", 1e-8), ("16e9", 16e9)])
def test_numbers(value: Number, expected: float) -> None:
    assert number("rate", value) == expected
    assert positive("rate", value) == expected


@pytest.mark.parametrize("value", ["x", "nan", "inf", -1, 1.5])
def test_others_are_refused(value: Number) -> None:
    with pytest.raises(InputError, match=f"density={value}: expected a number from 0 to 1"):
        number("density", value, 0, 1)


def test_zero_is_not_positive() -> None:
    with pytest.raises(InputError, match="link=0: expected a positive number"):
        positive("link", 0)

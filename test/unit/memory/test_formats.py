"""Tests of the formats of compressed tensors: rounding against NumPy and ml_dtypes, and error bounds."""

from __future__ import annotations

import numpy as np
import pytest
from meshloom.dialects.memory import formats

FLOATS = np.concatenate(
    [
        np.random.default_rng(0).integers(0, 1 << 32, 200_000, np.uint64).astype(np.uint32).view(np.float32),
        np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 448, 464, 465, 57344, 61440, 65504, 65520], np.float32),
    ]
)
MODERATE = (
    np.random.default_rng(1).standard_normal(200_000) * np.float32(10) ** np.arange(-8, 2).repeat(20_000)
).astype(np.float32)


@pytest.mark.parametrize(
    ("format", "name"),
    [("f16", "float16"), ("bf16", "bfloat16"), ("f8e4m3", "float8_e4m3fn"), ("f8e5m2", "float8_e5m2")],
)
@pytest.mark.parametrize("values", [FLOATS, MODERATE], ids=["any bits", "moderate"])
def test_rounding_equals_other_implementations(format: str, name: str, values: np.ndarray) -> None:
    """Values, signs of zeros and bytes per element equal those of the conversions of NumPy and ml_dtypes."""
    ml_dtypes = pytest.importorskip("ml_dtypes")
    with np.errstate(all="ignore"):
        expected = values.astype(np.float16 if name == "float16" else getattr(ml_dtypes, name)).astype(np.float32)
    data = formats.format_named(format).pack(values)
    assert data.shape == (len(values), np.dtype(np.float16 if name == "float16" else getattr(ml_dtypes, name)).itemsize)
    found = formats.format_named(format).unpack(data)
    np.testing.assert_array_equal(found, expected)
    number = ~np.isnan(expected)
    assert (np.signbit(found) == np.signbit(expected))[number].all()


def test_f24_is_f32_rounded_to_sixteen_bits() -> None:
    """f24 is the nearest value whose last eight bits are zero; of two equally near, the even one."""
    values = FLOATS[np.isfinite(FLOATS)]
    bits = values.view(np.uint32)
    low = bits & np.uint32(0xFFFFFF00)
    rest = bits & np.uint32(0xFF)
    odd = (low >> np.uint32(8)) & np.uint32(1)
    up = (rest > 128) | ((rest == 128) & (odd == 1))
    expected = (low + np.where(up, np.uint32(256), np.uint32(0))).astype(np.uint32).view(np.float32)
    np.testing.assert_array_equal(formats.F24.unpack(formats.F24.pack(values)), expected)
    assert formats.F24.pack(values).shape == (len(values), 3)


@pytest.mark.parametrize("format", formats.FLOATS)
def test_bound(format: formats.FloatFormat) -> None:
    """|x - x'| <= max(relative_error |x|, least / 2) up to the largest value; decoding is exact."""
    values = np.concatenate([FLOATS, MODERATE])
    values = values[np.abs(values) <= format.largest]
    found = format.unpack(format.pack(values)).astype(np.float64)
    exact = values.astype(np.float64)
    bound = np.maximum(format.relative_error * np.abs(exact), format.least / 2)
    assert (np.abs(found - exact) <= bound).all()
    np.testing.assert_array_equal(format.unpack(format.pack(found.astype(np.float32))), found)
    limits = {"f16": 65504.0, "f8e4m3": 448.0, "f8e5m2": 57344.0}
    assert format.largest == limits.get(format.name, format.largest)

"""Constants keep every bit when they are printed and parsed; rounding to bf16 and erf against reference values."""

from __future__ import annotations

import math

import numpy as np
import pytest
from meshloom.dialects.dataflow import ConstantOp, Dataflow, PadOp
from meshloom.dialects.dataflow.constants import (
    Array,
    array_of,
    attribute_of,
    is_number,
    narrow_bf16,
    numpy_type,
    splat_bits,
    widen_bf16,
)
from meshloom.dialects.dataflow.erf import erf
from meshloom.dialects.dataflow.types import tensor
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp, bf16, f16, f32, f64, i1, i8, i64
from xdsl.ir import Attribute, Operation
from xdsl.parser import Parser


def reparse(*ops: Operation) -> ModuleOp:
    """A module of these operations after printing and parsing."""
    context = Context()
    context.load_dialect(Builtin)
    context.load_dialect(Dataflow)
    return Parser(context, str(ModuleOp(list(ops)))).parse_module()


def assert_same_bits(array: Array, element: Attribute) -> None:
    first = next(iter(reparse(ConstantOp.from_array(array, element)).ops))
    assert isinstance(first, ConstantOp)
    assert array_of(first.value).tobytes() == array.tobytes()  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("element", [f32, f16, bf16, f64], ids=str)
def test_text_keeps_every_bit(element: Attribute) -> None:
    """Tests random bit patterns, one per constant (to cover each way of printing), and integers of many digits."""
    rng = np.random.default_rng(1)
    kind = numpy_type(element)
    raw = rng.integers(0, 256, (120, kind.itemsize), np.uint8).view(kind)
    for pattern in raw:
        assert_same_bits(pattern, element)
    if element in (f32, f64):
        for number in (31897098.0, 1e6, 123456789.0, 1.5, 1e30, 0.1, -0.0, math.inf, -math.inf):
            assert_same_bits(np.array([number, 0.5], kind), element)


def test_integer_text_keeps_every_bit() -> None:
    assert_same_bits(np.array([-128, 127, 0], np.int8), i8)
    assert_same_bits(np.array([-(2**63), 2**63 - 1], np.int64), i64)
    assert_same_bits(np.zeros((2, 0), np.int64), i64)


def test_true_is_parsed_as_a_byte_of_one() -> None:
    assert_same_bits(np.array([True, False, True]), i1)
    assert_same_bits(np.array([True, True]), i1)


def test_infinite_pad_value() -> None:
    """A padding value of -inf is still -inf after printing and parsing."""
    x = ConstantOp.splat(1.0, tensor(f32, (2,)))
    pad = list(reparse(x, PadOp(x, [1], [1], value=-math.inf)).ops)[1]
    assert isinstance(pad, PadOp)
    assert pad.number == -math.inf


def test_bf16_rounds_to_nearest_even() -> None:
    values = np.array([1.0, 1.00390625, 1.01171875, np.nan, np.inf, -0.0, 3.4e38], np.float32)
    bits = narrow_bf16(values)
    # 1 + 2^-8 lies between 1 and 1 + 2^-7 and goes to the even 1; 1 + 3 * 2^-8 to 1 + 2^-6; 3.4e38 overflows.
    assert widen_bf16(bits)[:3].tolist() == [1.0, 1.0, 1.015625]
    assert np.isnan(widen_bf16(bits)[3])
    assert bits[4:].tolist() == [0x7F80, 0x8000, 0x7F80]
    assert narrow_bf16(widen_bf16(bits)).tolist() == bits.tolist()


def test_wrong_array_type() -> None:
    with pytest.raises(ValueError, match="array of float64 for a constant of f32: expected float32"):
        attribute_of(np.zeros(3), f32)


def test_equal_elements() -> None:
    assert splat_bits(np.array([0.0, -0.0], np.float32)) is None
    assert splat_bits(np.array([np.nan, np.nan], np.float32)) == np.float32(np.nan).tobytes()
    zero = ConstantOp.splat(0.0, tensor(f32, (3,))).result
    assert is_number(zero, 0.0)
    assert not is_number(zero, -0.0)


def test_erf() -> None:
    """`erf` equals that of the C library to a few units in the last place of f64."""
    x = np.concatenate([np.linspace(-7, 7, 2001), [0.46875, 4.0, np.inf, -np.inf, 1e-300]])
    expected = np.array([math.erf(value) for value in x])
    np.testing.assert_allclose(erf(x), expected, rtol=2e-15, atol=0)
    assert np.isnan(erf(np.array([np.nan])))[0]
    assert np.signbit(erf(np.array([-0.0])))[0]

"""Elementwise operations against numpy, on the emulated core; errors of the emitter."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from meshloom.chips import load_chip
from meshloom.dialects.coreasm.immediates import fits_immediate
from meshloom.dialects.dataflow import elementwise as ew
from meshloom.lowering.codegen.emitter import Emitter
from meshloom.lowering.codegen.kernels import kernel_of
from meshloom.lowering.codegen.stream import CoreStream
from meshloom.lowering.codegen.view import View
from meshloom.support.errors import MeshloomError
from numpy.typing import NDArray
from scipy.special import erf
from xdsl.dialects.builtin import f16, f32, i1, i8, i64
from xdsl.dialects.test import TestOp

Array = NDArray[Any]
RNG = np.random.default_rng(7)
FEW = settings(max_examples=25, deadline=None)
UNARY: dict[type[Any], Callable[[Array], Array]] = {
    ew.NegOp: np.negative,
    ew.AbsOp: np.abs,
    ew.ExpOp: np.exp,
    ew.LogOp: np.log,
    ew.SqrtOp: np.sqrt,
    ew.RsqrtOp: lambda x: 1 / np.sqrt(x),
    ew.ReciprocalOp: lambda x: 1 / x,
    ew.TanhOp: np.tanh,
    ew.SigmoidOp: lambda x: 1 / (1 + np.exp(-x)),
    ew.ErfOp: erf,
    ew.FloorOp: np.floor,
    ew.CeilOp: np.ceil,
    ew.RoundOp: np.round,
    ew.SignOp: np.sign,
    ew.SinOp: np.sin,
    ew.CosOp: np.cos,
    ew.IsNanOp: np.isnan,
    ew.IsInfOp: np.isinf,
    ew.ReluOp: lambda x: np.maximum(x, 0),
}
BINARY: dict[type[Any], Callable[[Array, Array], Array]] = {
    ew.AddOp: np.add,
    ew.SubOp: np.subtract,
    ew.MulOp: np.multiply,
    ew.DivOp: np.divide,
    ew.PowOp: np.power,
    ew.MaximumOp: np.maximum,
    ew.MinimumOp: np.minimum,
    ew.ModOp: np.mod,
    ew.FmodOp: np.fmod,
}
INTEGER: dict[type[Any], Callable[[Array, Array], Array]] = {
    ew.AndOp: np.bitwise_and,
    ew.OrOp: np.bitwise_or,
    ew.XorOp: np.bitwise_xor,
    ew.ShiftLeftOp: np.left_shift,
    ew.ShiftRightOp: np.right_shift,
    ew.AddOp: np.add,
}


def positive(*shape: int) -> Array:
    return RNG.uniform(0.1, 3, shape).astype(np.float32)


@pytest.mark.parametrize("kind", UNARY, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("in_place", [False, True])
def test_unary(run_tiles: Callable[..., Array], ssa: Callable[..., Any], kind: type[Any], in_place: bool):
    x = positive(2, 3, 4)
    op = kind(ssa(x)[0])
    predicate = kind in (ew.IsNanOp, ew.IsInfOp)
    got = run_tiles(op, [x], in_place=in_place and not predicate, parts=[1] if in_place else [2, 1, 2])
    np.testing.assert_allclose(got, UNARY[kind](x), rtol=1e-5)


@pytest.mark.parametrize("kind", BINARY, ids=lambda kind: kind.__name__)
@FEW
@given(
    shape=st.lists(st.integers(1, 4), min_size=1, max_size=7),
    data=st.data(),
    spread=st.booleans(),
)
def test_binary_broadcasts(
    run_tiles: Callable[..., Array], ssa: Callable[..., Any], kind: type[Any], shape: list[int], data: Any, spread: bool
):
    ones = st.lists(st.booleans(), min_size=len(shape), max_size=len(shape))
    spread = spread and len(shape) < 6
    shapes = [[1 if one else size for size, one in zip(shape, data.draw(ones), strict=True)] for _ in range(2)]
    a, b = positive(*shapes[0]), positive(*shapes[1][data.draw(st.integers(0, len(shape) - 1)) :])
    got = run_tiles(kind(*ssa(a, b)), [a, b], spread=spread, parts=[2])
    np.testing.assert_allclose(got, BINARY[kind](a, b), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", BINARY, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("first", [False, True])
def test_immediates(run_tiles: Callable[..., Array], ssa: Callable[..., Any], kind: type[Any], first: bool):
    x = positive(3, 5)
    c = np.full((1,), 1.25, np.float32)
    operands = [c, x] if first else [x, c]
    got = run_tiles(kind(*ssa(*operands)), [1.25, x] if first else [x, 1.25])
    np.testing.assert_allclose(got, BINARY[kind](operands[0], operands[1]), rtol=1e-5)


@pytest.mark.parametrize("kind", INTEGER, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint8])
def test_integers(run_tiles: Callable[..., Array], ssa: Callable[..., Any], kind: type[Any], dtype: type[Any]):
    a, b = RNG.integers(0, 100, (4, 5)).astype(dtype), RNG.integers(0, 5, (5,)).astype(dtype)
    np.testing.assert_array_equal(run_tiles(kind(*ssa(a, b)), [a, b]), INTEGER[kind](a, b))


@pytest.mark.parametrize("predicate", ["eq", "ne", "lt", "le", "gt", "ge"])
def test_compare(run_tiles: Callable[..., Array], ssa: Callable[..., Any], predicate: str):
    names = {"eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal"}
    a, b = RNG.integers(0, 3, (4, 6)).astype(np.float32), RNG.integers(0, 3, (4, 1)).astype(np.float32)
    expected = getattr(np, names[predicate])
    np.testing.assert_array_equal(run_tiles(ew.CompareOp(*ssa(a, b), predicate=predicate), [a, b]), expected(a, b))
    one = np.ones((1,), np.float32)
    np.testing.assert_array_equal(run_tiles(ew.CompareOp(*ssa(a, one), predicate=predicate), [a, 1]), expected(a, one))


def test_select(run_tiles: Callable[..., Array], ssa: Callable[..., Any]):
    condition = RNG.integers(0, 2, (4, 1)).astype(bool)
    a, b = positive(4, 5), positive(5)
    op = ew.SelectOp(*ssa(condition, a, b))
    np.testing.assert_array_equal(run_tiles(op, [condition, a, b]), np.where(condition, a, b))
    assert np.all(run_tiles(op, [condition, a, -1.5])[~condition[:, 0]] == -1.5)
    np.testing.assert_array_equal(run_tiles(op, [True, a, b]), a)


@pytest.mark.parametrize(("source", "element", "target"), [
    ("f4", i64, "i8"), ("i8", f32, "f4"), ("f4", i1, "?"), ("?", f32, "f4"), ("f4", f16, "f2"), ("i4", i8, "i1"),
])  # fmt: skip
def test_cast(run_tiles: Callable[..., Array], ssa: Callable[..., Any], source: str, element: Any, target: str):
    x = (RNG.integers(-3, 4, (3, 7)) * 1.25).astype(source)
    np.testing.assert_array_equal(run_tiles(ew.CastOp(ssa(x)[0], element), [x]), x.astype(target))


def test_fits_immediate():
    assert fits_immediate(0.1, 0)
    assert not fits_immediate(0.1, 3), "0.1 in f64 is not a value of f32"
    assert fits_immediate(0.5, 3)
    assert fits_immediate(-1, 10)
    assert not fits_immediate(1 << 40, 10)
    assert fits_immediate((1 << 32) - 1, 9), "u32 wraps to -1 and back"
    assert not fits_immediate(1 << 31, 11), "but u64 would be extended by its sign"


def test_errors_of_the_emitter():
    emitter = Emitter(CoreStream(), load_chip("tiny"))
    inside = View.dense("sram", 0, 0, (8,))
    with pytest.raises(MeshloomError, match="outside a core's 65536 bytes"):
        emitter.unary("neg", View.dense("sram", 65536 - 16, 0, (8,)), inside)
    with pytest.raises(MeshloomError, match="only loads, stores and gathers"):
        emitter.unary("neg", inside, View.dense("dram", 0, 0, (8,)))
    with pytest.raises(MeshloomError, match="does not fit"):
        emitter.binary("add", View.dense("sram", 0, 10, (8,)), View.dense("sram", 0, 10, (8,)), 1 << 40)
    with pytest.raises(MeshloomError, match="no instructions are known for"):
        kernel_of(TestOp())
    assert len(emitter.stream) == 0


def test_emitting_again_is_cheap():
    emitter = Emitter(CoreStream(), load_chip("edge"))
    x, w = View.dense("sram", 0, 0, (1, 64, 16, 16)), View.dense("sram", 65536, 0, (64, 64))
    out = View.dense("sram", 131072, 0, (1, 64, 16, 16))
    a, b = x.permute((0, 2, 3, 1)), w.permute((1, 0))
    emitter.matmul(out.permute((0, 2, 3, 1)), a, b, (0, 3, 1, 1))
    started = time.process_time()
    for _ in range(2000):
        emitter.matmul(out.permute((0, 2, 3, 1)), a, b, (0, 3, 1, 1))
        emitter.binary("add", out, out, x)
    # About 10 us each; the bound leaves room for a slow, busy machine.
    assert time.process_time() - started < 4000 * 100e-6

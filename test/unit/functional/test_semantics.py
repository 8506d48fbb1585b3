"""Every mnemonic against the same computation in numpy on whole arrays, for all supported types."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from meshloom.chips import load_chip
from meshloom.emulator.executable.build import Assembly, Operand, at
from meshloom.emulator.functional.engine import run_functional
from meshloom.emulator.machine.errors import EmulationError
from meshloom.emulator.machine.memory import (
    BF16,
    BOOL,
    F16,
    F32,
    F64,
    I8,
    I16,
    I32,
    I64,
    STORAGE,
    U8,
    U16,
    U32,
    U64,
    Array,
    round_bf16,
    widen_bf16,
)

FLOATS = (F32, F16, BF16, F64)
INTS = (I8, U8, I16, U16, I32, U32, I64, U64)
TOLERANCE = {F32: 2e-6, F16: 1e-3, BF16: 8e-3, F64: 1e-13}


def encode(values: Array, code: int) -> Array:
    """Values in their representation in memory."""
    return round_bf16(values.astype(np.float32)) if code == BF16 else values.astype(STORAGE[code])


def decoded(bits: Array, code: int) -> Array:
    return widen_bf16(bits) if code == BF16 else bits


class Bench:
    """A core whose memory initially contains given arrays (loaded from a weight segment)."""

    def __init__(self) -> None:
        self.a = Assembly(load_chip("edge"), dram_bytes=1 << 20)
        self.data = bytearray()

    def array(self, values: Array) -> int:
        """Place an array in SRAM at a multiple of 64, return its address."""
        address = len(self.data)
        self.data += np.ascontiguousarray(values).tobytes()
        self.data += bytes(-len(self.data) % 64)
        return address

    def space(self, nbytes: int) -> int:
        return self.array(np.zeros(nbytes, np.uint8))

    def run(self) -> Any:
        self.a.weights = bytes(self.data)
        n = len(self.data)
        self.a.op(0, "load", at(0, (n,), U8), at(0, (n,), U8), source=U8)
        words = self.a.words[0]
        words.insert(0, words.pop())
        return run_functional(self.a.build(), {}).machine

    def result(self, address: int, shape: tuple[int, ...], code: int) -> Array:
        size = math.prod(shape) * STORAGE[code].itemsize
        raw = self.run().srams[0][address : address + size].tobytes()
        return decoded(np.frombuffer(raw, STORAGE[code]).reshape(shape), code)


def compute(mnemonic: str, sources: list[tuple[Array, int]], result: int, source: int, imm: int = 0) -> Array:
    """Run one elementwise instruction on dense arrays."""
    bench = Bench()
    shape = sources[0][0].shape
    places = [at(bench.array(encode(v, code)), v.shape, code) for v, code in sources]
    target = bench.space(math.prod(shape) * 8)
    bench.a.op(0, mnemonic, at(target, shape, result), *places, source=source, result=result, imm=imm)
    return bench.result(target, shape, result)


def sample(code: int, positive: bool = False) -> Array:
    rng = np.random.default_rng(code)
    if code in FLOATS:
        values = rng.uniform(0.1 if positive else -3, 3, (6, 7))
        return np.asarray(decoded(encode(values, code), code), np.float64)
    if code == BOOL:
        return rng.integers(0, 2, (6, 7)).astype(np.bool_)
    info = np.iinfo(STORAGE[code])
    low, high = max(info.min, -100), min(info.max, 100)
    return rng.integers(1 if positive else low, high, (6, 7)).astype(STORAGE[code])


UNARY_FLOAT: dict[str, Callable[[Array], Array]] = {
    "neg": lambda x: -x,
    "abs": np.abs,
    "exp": np.exp,
    "sqrt": np.sqrt,
    "log": np.log,
    "rsqrt": lambda x: x**-0.5,
    "rcp": lambda x: 1 / x,
    "tanh": lambda x: (np.exp(2 * x) - 1) / (np.exp(2 * x) + 1),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "erf": np.vectorize(math.erf),
    "floor": np.floor,
    "ceil": np.ceil,
    "round": lambda x: np.where(np.abs(x - np.floor(x) - 0.5) < 1e-12, 2 * np.round(x / 2), np.floor(x + 0.5)),
    "sign": lambda x: (x > 0) * 1.0 - (x < 0) * 1.0,
    "sin": np.sin,
    "cos": np.cos,
    "relu": lambda x: x * (x > 0),
}


@pytest.mark.parametrize("code", FLOATS)
@pytest.mark.parametrize("name", UNARY_FLOAT)
def test_unary_floats(name: str, code: int) -> None:
    x = sample(code, positive=name in ("sqrt", "log", "rsqrt", "rcp"))
    want = UNARY_FLOAT[name](x)
    got = compute(name, [(x, code)], code, code).astype(np.float64)
    np.testing.assert_allclose(got, want, rtol=TOLERANCE[code], atol=TOLERANCE[code] * 0.1)


@pytest.mark.parametrize("code", INTS)
def test_unary_integers(code: int) -> None:
    x = sample(code)
    wide = x.astype(np.int64)
    for name, want in (
        ("neg", -wide),
        ("abs", np.where(wide < 0, -wide, wide)),
        ("sign", (wide > 0) * 1 - (wide < 0) * 1),
        ("not", -wide - 1),
        ("relu", wide * (wide > 0)),
    ):
        np.testing.assert_array_equal(compute(name, [(x, code)], code, code), want.astype(STORAGE[code]), name)


def test_special_floats() -> None:
    x = np.array([np.nan, np.inf, -np.inf, -0.0, 0.5, 1.5, 2.5, -0.5])
    np.testing.assert_array_equal(compute("isnan", [(x, F32)], BOOL, F32), [1, 0, 0, 0, 0, 0, 0, 0])
    np.testing.assert_array_equal(compute("isinf", [(x, BF16)], BOOL, BF16), [0, 1, 1, 0, 0, 0, 0, 0])
    np.testing.assert_array_equal(compute("round", [(x, F32)], F32, F32)[4:], [0, 2, 2, 0])
    zero = np.zeros(8)
    for name in ("max", "min"):
        assert np.isnan(compute(name, [(x, F32), (zero, F32)], F32, F32)[0])
        assert np.isnan(compute(name, [(zero, F16), (x, F16)], F16, F16)[0])
    assert np.isnan(compute("relu", [(x, F32)], F32, F32)[0])
    assert np.isnan(compute("mov", [(x, F32)], BF16, F32)[0])
    np.testing.assert_array_equal(compute("sigmoid", [(x, F32)], F32, F32)[1:3], [1, 0])


def test_bf16_rounds_to_nearest_even() -> None:
    x = np.array([1 + 2**-8, 1 + 3 * 2**-8, 1 + 2**-8 + 2**-16, 3.4e38, -1 - 2**-8])
    want = [1.0, 1 + 2**-6, 1 + 2**-7, np.inf, -1.0]
    np.testing.assert_array_equal(compute("mov", [(x, F32)], BF16, F32), want)


@pytest.mark.parametrize("source", [*FLOATS, *INTS, BOOL])
@pytest.mark.parametrize("result", [*FLOATS, *INTS, BOOL])
def test_casts(source: int, result: int) -> None:
    x = sample(source)
    if result in (U8, U16, U32, U64) and source in FLOATS:
        x = np.abs(x)
    got = compute("mov", [(x, source)], result, source)
    want: Array = np.trunc(x) if source in FLOATS and result in INTS else x
    want = (x != 0) if result == BOOL else decoded(encode(want, result), result)
    np.testing.assert_array_equal(got, want)


BINARY: dict[str, Callable[[Array, Array], Array]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "pow": lambda a, b: np.exp(b * np.log(a)),
    "max": lambda a, b: np.where(a > b, a, b),
    "min": lambda a, b: np.where(a < b, a, b),
    "mod": lambda a, b: a - np.floor(a / b) * b,
    "fmod": lambda a, b: a - np.trunc(a / b) * b,
}


@pytest.mark.parametrize("code", FLOATS)
@pytest.mark.parametrize("name", BINARY)
def test_binary_floats(name: str, code: int) -> None:
    a = sample(code, positive=name == "pow")
    b = np.roll(sample(code, positive=name in ("div", "mod", "fmod")), 1)
    want = BINARY[name](a, b)
    got = compute(name, [(a, code), (b, code)], code, code).astype(np.float64)
    np.testing.assert_allclose(got, want, rtol=4 * TOLERANCE[code], atol=2 * TOLERANCE[code])


def python_integers(name: str, a: int, b: int) -> int:
    """The result of an integer instruction for one pair of numbers, before wrapping."""
    quotient = 0 if b == 0 else (abs(a) // abs(b)) * (1 if (a < 0) == (b < 0) else -1)
    match name:
        case "add":
            return a + b
        case "sub":
            return a - b
        case "mul":
            return a * b
        case "div":
            return quotient
        case "mod":
            return a % b if b else 0
        case "fmod":
            return a - quotient * b if b else 0
        case "and":
            return a & b
        case "or":
            return a | b
        case "xor":
            return a ^ b
        case "max":
            return max(a, b)
        case _:
            return min(a, b)


@pytest.mark.parametrize("code", INTS)
@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "mod", "fmod", "and", "or", "xor", "max", "min"])
def test_binary_integers(name: str, code: int) -> None:
    a, b = sample(code), np.roll(sample(code), 5)
    a.flat[:3], b.flat[:3] = (np.iinfo(a.dtype).max, np.iinfo(a.dtype).min, 5), (3, 7, 0)
    bits = 8 * a.dtype.itemsize
    numbers = [python_integers(name, int(x), int(y)) % (1 << bits) for x, y in zip(a.flat, b.flat, strict=True)]
    want = np.array(numbers, np.uint64).astype(f"u{bits // 8}").view(a.dtype).reshape(a.shape)
    np.testing.assert_array_equal(compute(name, [(a, code), (b, code)], code, code), want)


def test_integer_powers_and_shifts() -> None:
    a, b = np.array([2, -2, 3, 1, -1, -1, 5, 0]), np.array([10, 3, 0, -4, -3, -2, -1, 0])
    np.testing.assert_array_equal(compute("pow", [(a, I32), (b, I32)], I32, I32), [1024, -8, 1, 1, -1, 1, 0, 1])
    a, b = np.array([1, 3, -8, 255]), np.array([4, 40, 1, 2])
    np.testing.assert_array_equal(compute("shl", [(a, I32), (b, I32)], I32, I32), [16, 0, -16, 1020])
    np.testing.assert_array_equal(compute("shr", [(a, I32), (b, I32)], I32, I32), [0, 0, -4, 63])


@pytest.mark.parametrize("code", [F32, F16, BF16, I8, U64, BOOL])
def test_comparisons(code: int) -> None:
    a, b = sample(code), np.roll(sample(code), 1)
    for name, want in (
        ("eq", a == b), ("ne", a != b), ("lt", a < b), ("le", a <= b), ("gt", a > b), ("ge", a >= b)
    ):  # fmt: skip
        np.testing.assert_array_equal(compute(name, [(a, code), (b, code)], BOOL, code), want)


def test_logic_on_booleans() -> None:
    a, b = sample(BOOL), np.roll(sample(BOOL), 1)
    for name, want in (("and", a & b), ("or", a | b), ("xor", a != b), ("max", a | b), ("min", a & b)):
        np.testing.assert_array_equal(compute(name, [(a, BOOL), (b, BOOL)], BOOL, BOOL), want)
    np.testing.assert_array_equal(compute("not", [(a, BOOL)], BOOL, BOOL), a == 0)


@pytest.mark.parametrize("code", [F32, BF16, I32, I64])
def test_fma_and_select(code: int) -> None:
    a, b, c, p = sample(code), np.roll(sample(code), 1), np.roll(sample(code), 2), sample(BOOL)
    got = compute("fma", [(a, code), (b, code), (c, code)], code, code).astype(np.float64)
    np.testing.assert_allclose(got, a * b + c, rtol=TOLERANCE.get(code, 0), atol=TOLERANCE.get(code, 0) * 10)
    got = compute("select", [(p, BOOL), (b, code), (c, code)], code, code)
    np.testing.assert_array_equal(got, np.where(p, b, c))


@pytest.mark.parametrize("source", [F32, I32])
@pytest.mark.parametrize(("code", "low", "high"), [(I8, -128, 127), (U8, 0, 255)])
def test_quantize(source: int, code: int, low: int, high: int) -> None:
    """Values are rounded to nearest, ties to even, before the zero point is added; the sum is saturated."""
    a = np.array([-3, -1, 0, 1, 3, 5, 7, 1000, -1000, 101, 2**24 + 1])
    scale, zero = np.array([0.5] * 9 + [2.5, 0.25]), np.array([3] * 11)
    got = compute("quantize", [(a, source), (scale, F32), (zero, F32)], code, source)
    want = np.clip([1, 3, 3, 3, 5, 5, 7, 503, -497, 255, 2**22 + 3], low, high)
    np.testing.assert_array_equal(got, want)


def test_broadcasts_and_immediates() -> None:
    bench = Bench()
    x = np.arange(6, dtype=np.float32)
    source, target = bench.array(x), bench.space(4 * 24)
    row = Operand(source, (4, 6), (0, 4))
    bench.a.op(0, "sub", at(target, (4, 6)), 10.0, row)
    np.testing.assert_array_equal(bench.result(target, (4, 6), F32), np.tile(10 - x, (4, 1)))
    for code, value in ((I8, -5), (U8, 250), (I64, -70000), (F16, 0.1), (BF16, 0.1), (BOOL, 1)):
        bench = Bench()
        target = bench.space(64)
        bench.a.op(0, "fill", at(target, (3,), code), value, source=code)
        want = decoded(encode(np.full(3, value), code), code)
        np.testing.assert_array_equal(bench.result(target, (3,), code), want)


REDUCTIONS: dict[str, Any] = {"sum": np.sum, "max": np.max, "min": np.min, "prod": np.prod}


@pytest.mark.parametrize("code", [F32, F16, BF16, F64, I32, I64, U8])
@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("accumulate", [False, True])
@pytest.mark.parametrize("shape", [(5, 8, 3), (2, 3, 100)])
def test_reductions(name: str, code: int, accumulate: bool, shape: tuple[int, int, int]) -> None:
    rng = np.random.default_rng(1)
    x = rng.uniform(0.5, 1.5, shape) if code in FLOATS else rng.integers(0, 3, shape)
    x = decoded(encode(x, code), code).astype(np.float64 if code in FLOATS else np.int64)
    old = np.full(shape[0], 2)
    bench = Bench()
    source, target = bench.array(encode(x, code)), bench.array(encode(old, code))
    mnemonic = f"reduce.{name}{'.acc' if accumulate else ''}"
    bench.a.op(0, mnemonic, at(target, shape[:1], code), at(source, shape, code), source=code, imm=2)
    want = REDUCTIONS[name](x, axis=(1, 2))
    if accumulate:
        want = REDUCTIONS[name](np.stack([want, old]), axis=0)
    got = bench.result(target, shape[:1], code)
    if code in FLOATS:
        np.testing.assert_allclose(got.astype(np.float64), want, rtol=TOLERANCE[code] * 5)
    else:
        np.testing.assert_array_equal(got, want.astype(STORAGE[code]))


@pytest.mark.parametrize(("name", "find"), [("argmax", max), ("argmin", min)])
@pytest.mark.parametrize("code", [F32, BF16, I8])
def test_first_extremum(name: str, find: Any, code: int) -> None:
    x = np.random.default_rng(3).integers(0, 4, (4, 3, 5))
    bench = Bench()
    source, target = bench.array(encode(x, code)), bench.space(32)
    bench.a.op(0, f"reduce.{name}", at(target, (4,), I64), at(source, (4, 3, 5), code), source=code, result=I64, imm=2)
    rows = x.reshape(4, 15).tolist()
    assert bench.result(target, (4,), I64).tolist() == [row.index(find(row)) for row in rows]


@pytest.mark.parametrize("name", ["reduce.max", "reduce.sum", "dot"])
@pytest.mark.parametrize("stride", [1, 2])
def test_overlapping_windows(name: str, stride: int) -> None:
    """3 x 3 windows over two channels of 9 x 9: pooling, and a depthwise convolution with one filter per channel."""
    rng = np.random.default_rng(4)
    x, w = rng.standard_normal((2, 2, 9, 9)).astype(np.float32)[0], rng.standard_normal((2, 3, 3)).astype(np.float32)
    out = (9 - 3) // stride + 1
    bench = Bench()
    source, filters, target = bench.array(x), bench.array(w), bench.space(4 * 2 * out * out)
    windows = Operand(source, (2, out, out, 3, 3), (324, 36 * stride, 4 * stride, 36, 4))
    taps = Operand(filters, (2, out, out, 3, 3), (36, 0, 0, 12, 4))
    operands = (windows, taps) if name == "dot" else (windows,)
    bench.a.op(0, name, at(target, (2, out, out)), *operands, imm=2)
    want = np.zeros((2, out, out))
    for c, i, j in np.ndindex(2, out, out):
        window = x[c, i * stride : i * stride + 3, j * stride : j * stride + 3].astype(np.float64)
        want[c, i, j] = {"reduce.max": window.max(), "reduce.sum": window.sum(), "dot": (window * w[c]).sum()}[name]
    np.testing.assert_allclose(bench.result(target, (2, out, out), F32), want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("source", "result"), [(I8, I32), (U8, I32), (F16, F32), (BF16, F32), (F32, F32), (F64, F64)])
@pytest.mark.parametrize("accumulate", [False, True])
@pytest.mark.parametrize("length", [5, 300])
def test_dot(source: int, result: int, accumulate: bool, length: int) -> None:
    a = sample(source).reshape(-1)[np.arange(8 * length) % 42].reshape(8, length)
    b = np.roll(a, 3)
    old = np.arange(8)
    bench = Bench()
    first, second = bench.array(encode(a, source)), bench.array(encode(b, source))
    target = bench.array(encode(old, result))
    name = "dot.acc" if accumulate else "dot"
    shape = (8, length)
    bench.a.op(
        0, name, at(target, (8,), result), at(first, shape, source), at(second, shape, source),
        source=source, result=result, imm=1,
    )  # fmt: skip
    kind = np.float64 if source in FLOATS else np.int64
    want = (a.astype(kind) * b.astype(kind)).sum(1) + accumulate * old
    np.testing.assert_allclose(bench.result(target, (8,), result), want, rtol=1e-5, atol=1e-4 * (source in FLOATS))


@pytest.mark.parametrize("code", [F32, BF16, I32, I64])
def test_iota_and_cumsum(code: int) -> None:
    bench = Bench()
    target = bench.space(4 * 6 * 8)
    bench.a.op(0, "iota", at(target, (4, 6), code), source=code, raw=(0, 3, 2))
    np.testing.assert_array_equal(bench.result(target, (4, 6), code), 3 + 2 * np.arange(24).reshape(4, 6))
    x = np.arange(24).reshape(4, 6)
    got = compute("cumsum", [(x, code)], code, code)
    np.testing.assert_array_equal(got, [[sum(row[: k + 1]) for k in range(6)] for row in x.tolist()])


@pytest.mark.parametrize("code", [F32, U8, I64])
@pytest.mark.parametrize("index", [I32, I64])
def test_gather_and_scatters(code: int, index: int) -> None:
    x = np.arange(40).reshape(10, 4)
    rows = np.array([[3, -1, 0], [9, 3, -10]])
    bench = Bench()
    table, indices, target = bench.array(encode(x, code)), bench.array(encode(rows, index)), bench.space(24 * 8)
    bench.a.op(
        0, "gather", at(target, (2, 3, 4), code), at(table, (10, 4), code), at(indices, (2, 3), index),
        source=code, result=index, imm=2,
    )  # fmt: skip
    np.testing.assert_array_equal(bench.result(target, (2, 3, 4), code), x[rows % 10])
    for name in ("scatter", "scatter.add", "scatter.max"):
        bench = Bench()
        table, indices = bench.array(encode(x, code)), bench.array(encode(rows, index))
        updates = np.arange(24).reshape(2, 3, 4)
        source = bench.array(encode(updates, code))
        bench.a.op(
            0, name, at(table, (10, 4), code), at(source, (2, 3, 4), code), at(indices, (2, 3), index),
            source=code, result=index, imm=2,
        )  # fmt: skip
        want = x.copy()
        for i, j in np.ndindex(2, 3):
            row, update = rows[i, j] % 10, updates[i, j]
            pairs = {"scatter": update, "scatter.add": want[row] + update, "scatter.max": np.maximum(want[row], update)}
            want[row] = pairs[name]
        np.testing.assert_array_equal(bench.result(table, (10, 4), code), want)


def test_load_gather_and_bad_index() -> None:
    bench = Bench()
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    table, indices, target = bench.array(x), bench.array(np.array([2, 0], np.int64)), bench.space(24)
    bench.a.op(0, "load.gather", at(target, (2, 3)), at(table, (4, 3)), None, at(indices, (2,), I64), result=I64, imm=1)
    np.testing.assert_array_equal(bench.result(target, (2, 3), F32), x[[2, 0]])
    bench = Bench()
    table, indices, target = bench.array(x), bench.array(np.array([2, 4], np.int64)), bench.space(24)
    bench.a.op(0, "gather", at(target, (2, 3)), at(table, (4, 3)), at(indices, (2,), I64), result=I64, imm=1)
    with pytest.raises(EmulationError, match="index 4 is out of range for 4 rows"):
        bench.run()


def test_copies_between_different_shapes_are_row_major() -> None:
    x = np.arange(12, dtype=np.int32)
    bench = Bench()
    source, target = bench.array(x), bench.space(12 * 4)
    # Read as the 4 x 3 transpose of a 3 x 4 matrix, written as a 6 x 2 matrix from its last row to the first.
    bench.a.op(
        0, "copy", Operand(target + 5 * 8, (6, 2), (-8, 4)), Operand(source, (4, 3), (4, 16)), source=I32, result=I32
    )
    walked = [x[4 * column + row] for row in range(4) for column in range(3)]
    want = np.array(walked).reshape(6, 2)[::-1]
    assert bench.result(target, (6, 2), I32).tolist() == want.tolist()


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_random_strided_copies(data: st.DataObject) -> None:
    """Copies of random shapes and strides equal copies of one element at a time."""
    code = data.draw(st.sampled_from([U8, U16, F32, I64]))
    size = STORAGE[code].itemsize
    rank = data.draw(st.integers(1, 5))
    shape = tuple(data.draw(st.lists(st.integers(1, 4), min_size=rank, max_size=rank)))
    of = tuple(data.draw(st.lists(st.integers(-9, 9), min_size=rank, max_size=rank)))
    order = data.draw(st.permutations(range(rank)))
    to, step = [0] * rank, size
    for dim in order:  # a destination whose elements do not overlap, with gaps
        to[dim] = step * data.draw(st.sampled_from([1, -1]))
        step *= shape[dim] + data.draw(st.integers(0, 1))
    bench = Bench()
    rng = np.random.default_rng(0)
    bench.array(rng.integers(0, 256, 2048).astype(np.uint8))
    source, target = 1000, 4096 + step
    bench.space(2048 + 2 * step + 64)
    bench.a.op(0, "copy", Operand(target, shape, tuple(to)), Operand(source, shape, of), source=code)
    want = bytearray(bench.data)
    for point in np.ndindex(*shape):
        read = source + sum(i * s for i, s in zip(point, of, strict=True))
        write = target + sum(i * s for i, s in zip(point, to, strict=True))
        want[write : write + size] = bench.data[read : read + size]
    bench.space(64)
    want += bytes(len(bench.data) - len(want))
    got = bench.run().srams[0][: len(want)].tobytes()
    assert got == bytes(want)


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_random_matmuls(data: st.DataObject) -> None:
    """Products with any split into batch, m, k, n dimensions, any order in memory and all types, against einsum."""
    source, result = data.draw(st.sampled_from([(F32, F32), (F16, F32), (BF16, F32), (I8, I32), (U8, I32)]))
    nb, nm, nk, nn = (data.draw(st.integers(0, high)) for high in (1, 2, 2, 2))
    sizes = [data.draw(st.integers(1, 5)) for _ in range(nb + nm + nk + nn)]
    b, m, k, n = np.split(np.arange(len(sizes)), np.cumsum([nb, nm, nk]))
    rng = np.random.default_rng(data.draw(st.integers(0, 9)))
    bench = Bench()

    def operand(dims: list[int], code: int) -> tuple[Array, Operand]:
        shape = tuple(sizes[d] for d in dims)
        values = rng.uniform(-2, 2, shape) if code in FLOATS else rng.integers(0, 100, shape)
        values = np.asarray(decoded(encode(values, code), code))
        order = data.draw(st.permutations(range(len(dims))))
        address = bench.array(encode(np.transpose(values, order), code))
        strides, step = [0] * len(dims), STORAGE[code].itemsize
        for d in reversed(order):
            strides[d] = step
            step *= shape[d]
        return values, Operand(address, shape, tuple(strides))

    dims = [[*b, *m, *k], [*b, *k, *n], [*b, *m, *n]]
    (x, at_x), (y, at_y), (old, at_d) = (operand(d, c) for d, c in zip(dims, (source, source, result), strict=True))
    accumulate = data.draw(st.booleans())
    name = "matmul.acc" if accumulate else "matmul"
    bench.a.op(0, name, at_d, at_x, at_y, source=source, result=result, imm=nb | nm << 4 | nk << 8 | nn << 12)
    kind = np.float64 if source in FLOATS else np.int64
    letters = ["".join("abcdefgh"[d] for d in group) for group in dims]
    formula = f"{letters[0]},{letters[1]}->{letters[2]}"
    want: Array = np.asarray(np.einsum(formula, x.astype(kind), y.astype(kind)))
    want = want + old if accumulate else want
    sram = bench.run().srams[0]
    got = np.ndarray(at_d.shape, STORAGE[result], sram, at_d.address, at_d.strides)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-4 * (source in FLOATS))


@pytest.mark.parametrize("code", [I8, U8])
def test_long_integer_products_are_exact(code: int) -> None:
    rng = np.random.default_rng(5)
    info = np.iinfo(STORAGE[code])
    a = rng.integers(info.min, info.max + 1, (4, 5000)).astype(STORAGE[code])
    b = rng.integers(info.min, info.max + 1, (5000, 3)).astype(STORAGE[code])
    a[0], b[:, 0] = info.max, info.max
    bench = Bench()
    first, second, target = bench.array(a), bench.array(b), bench.space(64)
    bench.a.op(
        0, "matmul", at(target, (4, 3), I32), at(first, (4, 5000), code), at(second, (5000, 3), code),
        source=code, result=I32, imm=0x1110,
    )  # fmt: skip
    np.testing.assert_array_equal(bench.result(target, (4, 3), I32), a.astype(np.int64) @ b.astype(np.int64))


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("columns", [False, True])
def test_convolution_as_matmul(stride: int, columns: bool) -> None:
    """A describes the windows of an image, B the filters, stored as [o, c, 3, 3]; D is [o, y, x] or [y, x, o]."""
    rng = np.random.default_rng(6)
    x, w = rng.standard_normal((5, 12, 12)).astype(np.float32), rng.standard_normal((7, 5, 3, 3)).astype(np.float32)
    out = (12 - 3) // stride + 1
    bench = Bench()
    image, filters, target = bench.array(x), bench.array(w), bench.space(4 * 7 * out * out)
    a = Operand(image, (out, out, 5, 3, 3), (48 * stride, 4 * stride, 576, 48, 4))
    b = Operand(filters, (5, 3, 3, 7), (36, 12, 4, 180))
    d_strides = (4 * out, 4, 4 * out * out) if columns else (4 * 7 * out, 28, 4)
    bench.a.op(0, "matmul", Operand(target, (out, out, 7), d_strides), a, b, imm=2 << 4 | 3 << 8 | 1 << 12)
    want = np.zeros((out, out, 7))
    for i, j, o in np.ndindex(out, out, 7):
        want[i, j, o] = (x[:, i * stride : i * stride + 3, j * stride : j * stride + 3].astype(np.float64) * w[o]).sum()
    if columns:
        want = want.transpose(2, 0, 1)
    got = bench.result(target, want.shape, F32)
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)

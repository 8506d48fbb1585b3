"""Products of integers are exact: every operator against sums in int64, for random sizes and extreme values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from meshloom.dialects.dataflow.interpreter import interpret_function
from meshloom.frontend.onnx_import import import_onnx
from meshloom.tools.api import compile
from numpy.typing import NDArray
from onnx import helper
from reference import model_of, run_reference

Array = NDArray[Any]

BYTES = (np.int8, np.uint8)
WIDE = (np.int32, np.uint32, np.int64, np.uint64)

PRODUCTS = settings(deadline=None, max_examples=25, derandomize=True)


def extremes(dtype: Any, shape: Any, seed: int) -> Any:
    """Numbers at one end or both ends of a type's range, or anywhere in it, so that sums are large or cancel."""
    rng: Any = np.random.default_rng(seed)
    info = np.iinfo(dtype)
    low, high = int(info.min), int(info.max)
    match seed % 4:
        case 0:
            return np.full(shape, high, dtype)
        case 1:
            return np.full(shape, low, dtype)
        case 2:
            return rng.choice(np.asarray([low, high], dtype), shape)
        case _:
            return rng.integers(low, high, shape, dtype, endpoint=True)


def computed(
    op: str, inputs: dict[str, Array], constants: dict[str, Array], chip: str = "", **attributes: Any
) -> Array:
    """The result of a node, interpreted or on `chip`; operands are sorted by name across both mappings."""
    names = sorted([*inputs, *constants])
    node = helper.make_node(op, names, ["y"], **attributes)
    model = model_of([node], inputs, ["y"], constants, opset=18)
    if chip:
        return compile(model, chip).run(inputs, check=True).outputs["y"]
    return interpret_function(import_onnx(model), inputs)["y"]


def wrapped(total: Array) -> Array:
    """Sums in int64, wrapped to int32."""
    return total.astype(np.int32)


def conv_sums(x: Array, w: Array, groups: int, pad: int, stride: int) -> Array:
    """Convolution of int64 [N, C, H, W] by its definition."""
    x = np.pad(x, [(0, 0), (0, 0), (pad, pad), (pad, pad)])
    height, width = ((size - k) // stride + 1 for size, k in zip(x.shape[2:], w.shape[2:], strict=True))
    result = np.zeros((x.shape[0], w.shape[0], height, width), np.int64)
    inputs, outputs = w.shape[1], w.shape[0] // groups
    for o in range(w.shape[0]):
        part = x[:, o // outputs * inputs :][:, :inputs]
        for i in range(height):
            for j in range(width):
                window = part[:, :, i * stride : i * stride + w.shape[2], j * stride : j * stride + w.shape[3]]
                result[:, o, i, j] = (window * w[o]).sum(axis=(1, 2, 3))
    return result


@PRODUCTS
@given(
    k=st.one_of(st.integers(1, 40), st.integers(250, 2000), st.just(0)),
    m=st.integers(1, 4),
    n=st.integers(1, 4),
    types=st.tuples(st.sampled_from(BYTES), st.sampled_from(BYTES)),
    seed=st.integers(0, 99),
    known=st.booleans(),
    zeros=st.integers(0, 2),
)
@example(k=70_000, m=1, n=1, types=(np.uint8, np.uint8), seed=0, known=True, zeros=0)
def test_matmul_integer(k: int, m: int, n: int, types: tuple[Any, Any], seed: int, known: bool, zeros: int) -> None:
    a, b = extremes(types[0], (m, k), seed), extremes(types[1], (k, n), seed // 4)
    operands = {"a": a, "b": b}
    wide = [a.astype(np.int64), b.astype(np.int64)]
    if zeros:
        row, column = extremes(types[0], m if zeros == 2 else (), seed + 1), extremes(types[1], (), seed + 2)
        operands |= {"c": np.asarray(row), "d": np.asarray(column)}
        wide = [wide[0] - (row.astype(np.int64).reshape(-1, 1)), wide[1] - column.astype(np.int64)]
    given = {name: value for name, value in operands.items() if name == "a" or (name == "b" and not known)}
    constants = {name: value for name, value in operands.items() if name not in given}
    np.testing.assert_array_equal(computed("MatMulInteger", given, constants), wrapped(wide[0] @ wide[1]))


@PRODUCTS
@given(
    channels=st.sampled_from([1, 2, 3, 32, 64, 300]),
    kernel=st.sampled_from([1, 2, 3, 17]),
    groups=st.sampled_from([1, 2]),
    x_type=st.sampled_from(BYTES),
    seed=st.integers(0, 99),
    known=st.booleans(),
    pad=st.integers(0, 2),
    stride=st.integers(1, 2),
)
@example(channels=512, kernel=3, groups=1, x_type=np.uint8, seed=0, known=True, pad=1, stride=1)
@example(channels=32, kernel=3, groups=1, x_type=np.uint8, seed=0, known=False, pad=0, stride=1)
@example(channels=2, kernel=17, groups=2, x_type=np.int8, seed=1, known=False, pad=2, stride=2)
def test_conv_integer(
    channels: int, kernel: int, groups: int, x_type: Any, seed: int, known: bool, pad: int, stride: int
) -> None:
    x = extremes(x_type, (1, channels * groups, kernel + 1, kernel + 2), seed)
    w = extremes(x_type, (2 * groups, channels, kernel, kernel), seed // 4)
    x_zero, w_zero = extremes(x_type, (), seed + 1), extremes(x_type, (), seed + 2)
    given = {"a": x} | ({} if known else {"b": w})
    constants = {"c": np.asarray(x_zero), "d": np.asarray(w_zero)} | ({"b": w} if known else {})
    got = computed("ConvInteger", given, constants, pads=[pad] * 4, strides=[stride] * 2, group=groups)
    wide = x.astype(np.int64) - int(x_zero), w.astype(np.int64) - int(w_zero)
    np.testing.assert_array_equal(got, wrapped(conv_sums(*wide, groups, pad, stride)))


def test_conv_integer_of_large_weights_with_288_and_4608_products() -> None:
    """With inputs of at least 200 and weights of 255, sums exceed 2^24 after a few hundred terms."""
    rng = np.random.default_rng(0)
    for channels, chip in ((32, "tiny"), (512, "edge")):
        x = rng.integers(200, 256, (1, channels, 3, 4), np.uint8)
        w = np.full((2, channels, 3, 3), 255, np.uint8)
        got = computed("ConvInteger", {"a": x}, {"b": w}, chip)
        np.testing.assert_array_equal(got, conv_sums(x.astype(np.int64), w.astype(np.int64), 1, 0, 1))


def quantised(total: Array, factor: Any, scale: float, zero: int, dtype: Any) -> Array:
    """An exact sum scaled in f32, rounded to even and saturated."""
    value = np.rint(total.astype(np.int32).astype(np.float32) * np.float32(factor) / np.float32(scale)) + zero
    info = np.iinfo(dtype)
    return np.clip(value, info.min, info.max).astype(dtype)


@PRODUCTS
@given(
    channels=st.sampled_from([1, 33, 200]),
    kernel=st.sampled_from([1, 3]),
    seed=st.integers(0, 99),
    dtype=st.sampled_from(BYTES),
)
def test_qlinear_conv(channels: int, kernel: int, seed: int, dtype: Any) -> None:
    x = extremes(dtype, (1, channels, kernel + 1, kernel + 1), seed)
    w = extremes(np.int8, (3, channels, kernel, kernel), seed // 4)
    bias = extremes(np.int32, 3, 3) // 4
    scale = 2.0**-8 * channels * kernel**2  # other scales are powers of two: f32 rounds once
    rest: list[Any] = [np.float32(0.5), extremes(dtype, (), seed + 1), w, np.float32(0.25), np.int8(0)]
    rest += [np.float32(scale), dtype(3), bias]
    names = "bcdefghi"
    got = computed("QLinearConv", {"a": x}, {n: np.asarray(v) for n, v in zip(names, rest, strict=True)})
    sums = conv_sums(x.astype(np.int64) - int(rest[1]), w.astype(np.int64), 1, 0, 1)
    total = sums + bias.astype(np.int64).reshape(1, 3, 1, 1)
    np.testing.assert_array_equal(got, quantised(total, 0.125, scale, 3, dtype))


@PRODUCTS
@given(k=st.sampled_from([1, 200, 600, 3000]), seed=st.integers(0, 99), dtype=st.sampled_from(BYTES))
def test_qlinear_matmul(k: int, seed: int, dtype: Any) -> None:
    a, b = extremes(dtype, (2, k), seed), extremes(np.int8, (k, 3), seed // 4)
    rest: list[Any] = [np.float32(0.5), extremes(dtype, (), seed + 1), b, np.float32(0.25), np.int8(-7)]
    rest += [np.float32(k * 2.0**-3), dtype(9)]
    got = computed("QLinearMatMul", {"a": a}, {n: np.asarray(v) for n, v in zip("bcdefgh", rest, strict=True)})
    total = (a.astype(np.int64) - int(rest[1])) @ (b.astype(np.int64) + 7)
    np.testing.assert_array_equal(got, quantised(total, 0.125, k * 2.0**-3, 9, dtype))


@pytest.mark.parametrize("chip", ["", "tiny"])
@pytest.mark.parametrize("scales", [(0.1, 0.1, 0.9), (0.05, 0.1, 0.9), (0.02, 0.03, 0.8), (0.05, 0.02, 0.7)])
@pytest.mark.parametrize("op", ["QLinearMatMul", "QLinearConv"])
def test_requantisation_of_sums_halfway_between_integers(op: str, scales: tuple[float, ...], chip: str) -> None:
    """Results equal ONNX Runtime's: 45 * 0.1 * 0.1 / 0.9 is 0.5, so the integer depends on the order of roundings."""
    a = np.arange(256, dtype=np.uint8).reshape(-1, 1)
    b = np.arange(-60, 60, dtype=np.int8).reshape(1, -1)
    if op == "QLinearConv":
        a, b = a.reshape(1, 1, -1, 1), b.reshape(-1, 1, 1, 1)
    one, other, result = (np.asarray(scale, np.float32) for scale in scales)
    rest = [one, np.asarray(8, np.uint8), b, other, np.asarray(1, np.int8), result, np.asarray(120, np.uint8)]
    constants = dict(zip("bcdefgh", rest, strict=True))
    model = model_of([helper.make_node(op, list("abcdefgh"), ["y"])], {"a": a}, ["y"], constants)
    np.testing.assert_array_equal(computed(op, {"a": a}, constants, chip), run_reference(model, {"a": a})["y"])


@PRODUCTS
@given(k=st.sampled_from([0, 1, 7, 500]), dtype=st.sampled_from(WIDE), seed=st.integers(0, 99))
def test_matmul_gemm_and_einsum_of_integers_wrap(k: int, dtype: Any, seed: int) -> None:
    a, b = extremes(dtype, (3, k), seed), extremes(dtype, (k, 2), seed // 4)
    with np.errstate(all="ignore"):
        expected = a @ b
    constants = {"b": b}
    for op, attributes in (("MatMul", {}), ("Gemm", {}), ("Einsum", {"equation": "ij,jk->ik"})):
        np.testing.assert_array_equal(computed(op, {"a": a}, constants, **attributes), expected)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint16])
def test_einsum_of_narrow_integers_keeps_their_type(dtype: Any) -> None:
    a, b = extremes(dtype, (3, 40), 3), extremes(dtype, (40, 2), 7)
    got = computed("Einsum", {"a": a, "b": b}, {}, equation="ij,jk->ik")
    assert got.dtype == dtype
    np.testing.assert_array_equal(got, (a.astype(np.int64) @ b.astype(np.int64)).astype(dtype))


@pytest.mark.parametrize("alpha", [0.5, 2.0])
def test_gemm_of_integers_requires_whole_factors(alpha: float) -> None:
    a, b = np.arange(6, dtype=np.int32).reshape(2, 3), np.arange(6, dtype=np.int32).reshape(3, 2)
    if alpha == 2:
        np.testing.assert_array_equal(computed("Gemm", {"a": a}, {"b": b}, alpha=alpha), 2 * (a @ b))
    else:
        with pytest.raises(Exception, match=r"operator Gemm .* alpha = 0.5"):
            computed("Gemm", {"a": a}, {"b": b}, alpha=alpha)


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (2, 3))])
def test_on_the_chip(seed: int) -> None:
    """The instructions of the matrix unit and of the vector unit compute exact sums."""
    chip = "edge" if seed % 2 else "tiny"
    a, b = extremes(np.uint8, (3, 700), seed), extremes(np.int8, (700, 4), seed + 1)
    np.testing.assert_array_equal(
        computed("MatMulInteger", {"a": a}, {"b": b}, chip), a.astype(np.int64) @ b.astype(np.int64)
    )
    x, w = extremes(np.uint8, (1, 40, 4, 5), seed), extremes(np.uint8, (4, 40, 3, 3), seed + 2)
    sums = conv_sums(x.astype(np.int64), w.astype(np.int64), 1, 0, 1)
    np.testing.assert_array_equal(computed("ConvInteger", {"a": x, "b": w}, {}, chip), sums)
    for dtype in WIDE:
        left, right = extremes(dtype, (3, 90), seed), extremes(dtype, (90, 4), seed + 1)
        np.testing.assert_array_equal(computed("MatMul", {"a": left, "b": right}, {}, chip), left @ right)


def test_range_of_large_integers_has_the_exact_length() -> None:
    start, limit, delta = (np.asarray(value, np.int64) for value in (0, 2**60 + 1, 2**59))
    model = model_of(
        [helper.make_node("Range", ["a", "b", "c"], ["y"])], {}, ["y"], {"a": start, "b": limit, "c": delta}
    )
    assert interpret_function(import_onnx(model), {})["y"].tolist() == list(range(0, 2**60 + 1, 2**59))

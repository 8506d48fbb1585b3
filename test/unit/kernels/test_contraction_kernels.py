"""Matrix products and convolutions against numpy, on the emulated core."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from meshloom.dialects.dataflow.contraction import ConvOp, MatmulOp
from meshloom.dialects.dataflow.partial_conv import PartialConvOp
from meshloom.dialects.dataflow.partial_matmul import PartialMatmulOp
from numpy.typing import NDArray

Array = NDArray[Any]
RNG = np.random.default_rng(7)
FEW = settings(max_examples=25, deadline=None)


def floats(*shape: int) -> Array:
    return RNG.standard_normal(shape).astype(np.float32)


def convolution(
    x: Array, w: Array, strides: Sequence[int], dilations: Sequence[int], pads: Sequence[tuple[int, int]], groups: int
) -> Array:
    """Convolution by its definition, in f64."""
    x = np.pad(x.astype(np.float64), [(0, 0), (0, 0), *pads])
    kernel = w.shape[2:]
    out_shape = [
        (size - (k - 1) * d - 1) // s + 1 for size, k, d, s in zip(x.shape[2:], kernel, dilations, strides, strict=True)
    ]
    result = np.zeros((x.shape[0], w.shape[0], *out_shape))
    inputs, outputs = w.shape[1], w.shape[0] // groups
    for group in range(groups):
        xs, ws = x[:, group * inputs :][:, :inputs], w[group * outputs :][:outputs]
        for tap in np.ndindex(*kernel):
            window = tuple(
                slice(t * d, t * d + (o - 1) * s + 1, s)
                for t, d, s, o in zip(tap, dilations, strides, out_shape, strict=True)
            )
            result[:, group * outputs :][:, :outputs] += np.einsum(
                "nc...,oc->no...", xs[(slice(None), slice(None), *window)], ws[(slice(None), slice(None), *tap)]
            )
    return result


@FEW
@given(
    batch=st.lists(st.integers(1, 3), max_size=3),
    sizes=st.tuples(st.integers(1, 40), st.integers(1, 40), st.integers(1, 20)),
    flags=st.tuples(st.booleans(), st.booleans(), st.booleans()),
    shared=st.sampled_from(["none", "a", "b", "mixed"]),
    parts=st.lists(st.integers(1, 3), max_size=6),
)
def test_matmul(
    run_tiles: Callable[..., Array],
    ssa: Callable[..., Any],
    batch: list[int],
    sizes: tuple[int, int, int],
    flags: tuple[bool, bool, bool],
    shared: str,
    parts: list[int],
):
    m, n, k = sizes
    transpose_a, transpose_b, spread = flags
    a_batch = [1] * len(batch) if shared == "a" else [1, *batch[1:]] if shared == "mixed" and batch else batch
    b_batch = [] if shared == "b" else batch
    a, b = floats(*a_batch, m, k), floats(*b_batch, k, n)
    expected = np.matmul(a, b)
    a = np.ascontiguousarray(np.swapaxes(a, -1, -2)) if transpose_a else a
    b = np.ascontiguousarray(np.swapaxes(b, -1, -2)) if transpose_b else b
    op = MatmulOp(*ssa(a, b), transpose_a=transpose_a, transpose_b=transpose_b)
    got = run_tiles(op, [a, b], parts=parts[: len(expected.shape) + 1], spread=spread)
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("m", "n"), [(1, 200), (200, 1), (40, 40), (1, 1)])
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.int64, np.float64, np.float16])
def test_matmul_of_other_types(
    run_tiles: Callable[..., Array], ssa: Callable[..., Any], dtype: type[Any], m: int, n: int
):
    a = RNG.integers(0, 100, (m, 50)).astype(dtype)
    b = RNG.integers(0, 100, (50, n)).astype(dtype)
    if dtype is np.float16:
        a, b = (a / 64).astype(dtype), (b / 64).astype(dtype)
    op = MatmulOp(*ssa(a, b))
    got = run_tiles(op, [a, b], parts=[1, 1, 2])
    wide = np.int32 if dtype in (np.int8, np.uint8) else np.float32 if dtype is np.float16 else dtype
    expected = np.matmul(a.astype(wide), b.astype(wide))
    if dtype is np.float16:
        np.testing.assert_allclose(got.astype(np.float32), expected, rtol=3e-3)
    else:
        np.testing.assert_array_equal(got, expected)


@FEW
@given(
    spatial=st.lists(
        st.tuples(
            st.integers(1, 9),
            st.integers(1, 3),
            st.integers(1, 2),
            st.integers(1, 2),
            st.integers(0, 2),
            st.integers(0, 2),
        ),
        min_size=1,
        max_size=3,
    ),
    n=st.integers(1, 2),
    groups=st.integers(1, 4),
    channels=st.tuples(st.integers(1, 3), st.integers(1, 4)),
    parts=st.lists(st.integers(1, 3), max_size=8),
    spread=st.booleans(),
)
def test_conv(
    run_tiles: Callable[..., Array],
    ssa: Callable[..., Any],
    spatial: list[tuple[int, ...]],
    n: int,
    groups: int,
    channels: tuple[int, int],
    parts: list[int],
    spread: bool,
):
    size, kernel, strides, dilations, low, high = (list(column) for column in zip(*spatial, strict=True))
    size = [max(s, (k - 1) * d + 1) for s, k, d in zip(size, kernel, dilations, strict=True)]
    x = floats(n, groups * channels[0], *size)
    w = floats(groups * channels[1], channels[0], *kernel)
    op = ConvOp(*ssa(x, w), strides=strides, dilations=dilations, pad_low=low, pad_high=high, groups=groups)
    expected = convolution(x, w, strides, dilations, list(zip(low, high, strict=True)), groups)
    got = run_tiles(op, [x, w], parts=parts[: 2 * len(size) + 3], spread=spread and x.size < 2000)
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("groups", [1, 8, 32])
@pytest.mark.parametrize("kernel", [1, 3])
def test_conv_by_each_unit(run_tiles: Callable[..., Array], ssa: Callable[..., Any], groups: int, kernel: int):
    x, w = floats(1, 32, 12, 12), floats(32, 32 // groups, kernel, kernel)
    op = ConvOp(*ssa(x, w), groups=groups)
    expected = convolution(x, w, (1, 1), (1, 1), [(0, 0)] * 2, groups)
    np.testing.assert_allclose(run_tiles(op, [x, w], parts=[1, 2]), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("parts", [1, 2])
def test_partial_sums_add_up_to_the_convolution(run_tiles: Callable[..., Array], ssa: Callable[..., Any], parts: int):
    x, w = floats(1, 12, 7, 5), floats(6, 12, 3, 3)
    operand, weights = ssa(x, w)
    op = PartialConvOp(operand, weights, 4, strides=(2, 1), dilations=(1, 1), pad_low=(1, 0), pad_high=(0, 1))
    expected = convolution(x, w, (2, 1), (1, 1), [(1, 0), (0, 1)], 1)
    got = run_tiles(op, [x, w], parts=[parts, 2, 1, 1, 3])
    assert got.shape[0] == 4
    np.testing.assert_allclose(got.sum(0, keepdims=True), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("dtype", [np.float32, np.int8])
@pytest.mark.parametrize("flipped", [False, True])
def test_partial_sums_add_up_to_the_product(
    run_tiles: Callable[..., Array], ssa: Callable[..., Any], parts: int, dtype: Any, flipped: bool
):
    random = np.random.default_rng(1)
    x, w = (random.integers(-128, 128, size).astype(dtype) for size in ((24, 7) if flipped else (7, 24), (24, 10)))
    lhs, rhs = ssa(x, w)
    op = PartialMatmulOp(lhs, rhs, 4, transpose_a=flipped)
    got = run_tiles(op, [x, w], parts=[parts, 2, 3, 2])
    assert got.shape == (4, 7, 10)
    # Sums of integers below 2^24, which f32 holds exactly.
    np.testing.assert_array_equal(got.sum(0), (x.T if flipped else x).astype(np.int64) @ w.astype(np.int64))


@pytest.mark.parametrize("groups", [1, 8, 32])
@pytest.mark.parametrize("kernel", [1, 3])
def test_integer_conv_by_each_unit(run_tiles: Callable[..., Array], ssa: Callable[..., Any], groups: int, kernel: int):
    random = np.random.default_rng(0)
    x, w = (
        random.integers(-128, 128, shape).astype(np.int8)
        for shape in ((1, 32, 9, 9), (32, 32 // groups, kernel, kernel))
    )
    op = ConvOp(*ssa(x, w), groups=groups)
    expected = convolution(x.astype(np.float64), w.astype(np.float64), (1, 1), (1, 1), [(0, 0)] * 2, groups)
    np.testing.assert_array_equal(run_tiles(op, [x, w], parts=[1, 2]), expected.astype(np.int32))

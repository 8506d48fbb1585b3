"""Reductions, windows, positions and running sums against numpy, on the emulated core."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from meshloom.dialects.dataflow.reduction import ArgReduceOp, CumsumOp, ReduceOp, ReduceWindowOp
from numpy.typing import NDArray

Array = NDArray[Any]
RNG = np.random.default_rng(7)
FEW = settings(max_examples=25, deadline=None)
SHAPES = st.lists(st.integers(1, 5), min_size=1, max_size=6)
UFUNCS: dict[str, Any] = {"sum": np.add, "max": np.maximum, "min": np.minimum, "prod": np.multiply}
IDENTITY = {"sum": 0.0, "max": -np.inf, "min": np.inf}


def numbers(shape: tuple[int, ...] | list[int], dtype: str = "f4") -> Array:
    return RNG.integers(-4, 5, shape).astype(dtype)


@FEW
@given(
    shape=SHAPES,
    kind=st.sampled_from(list(UFUNCS)),
    dtype=st.sampled_from(["f4", "i4", "i8", "f8"]),
    data=st.data(),
    spread=st.booleans(),
)
def test_reduce(
    run_tiles: Callable[..., Array],
    ssa: Callable[..., Any],
    shape: list[int],
    kind: str,
    dtype: str,
    data: Any,
    spread: bool,
):
    x = numbers(shape, dtype)
    axes = sorted(data.draw(st.sets(st.integers(0, len(shape) - 1), min_size=1)))
    parts = data.draw(st.lists(st.integers(1, 2), max_size=len(shape)))
    got = run_tiles(ReduceOp(ssa(x)[0], kind, axes), [x], parts=parts, spread=spread)
    np.testing.assert_array_equal(got, UFUNCS[kind].reduce(x, axis=tuple(axes), keepdims=True, dtype=x.dtype))


@FEW
@given(
    dims=st.lists(
        st.tuples(
            st.integers(1, 5),
            st.integers(1, 3),
            st.integers(1, 3),
            st.integers(1, 2),
            st.integers(0, 1),
            st.integers(0, 1),
        ),
        min_size=1,
        max_size=4,
    ),
    kind=st.sampled_from(["sum", "max", "min"]),
    parts=st.lists(st.integers(1, 2), max_size=5),
    spread=st.booleans(),
)
def test_reduce_window(
    run_tiles: Callable[..., Array],
    ssa: Callable[..., Any],
    dims: list[tuple[int, ...]],
    kind: str,
    parts: list[int],
    spread: bool,
):
    size, window, strides, dilations, low, high = (list(column) for column in zip(*dims, strict=True))
    size = [max(s, (k - 1) * d + 1) for s, k, d in zip(size, window, dilations, strict=True)]
    x = numbers(size)
    op = ReduceWindowOp(ssa(x)[0], kind, window, strides=strides, dilations=dilations, pad_low=low, pad_high=high)
    padded = np.pad(x, list(zip(low, high, strict=True)), constant_values=IDENTITY[kind])
    expected = np.full(op.result_shape, IDENTITY[kind])
    for tap in np.ndindex(*window):
        part = tuple(
            slice(t * d, t * d + (o - 1) * s + 1, s)
            for t, d, s, o in zip(tap, dilations, strides, op.result_shape, strict=True)
        )
        expected = UFUNCS[kind](expected, padded[part])
    got = run_tiles(op, [x], parts=parts[: len(op.iteration_space())], spread=spread)
    np.testing.assert_array_equal(got, expected)


@FEW
@given(shape=SHAPES, kind=st.sampled_from(["max", "min"]), data=st.data(), spread=st.booleans())
def test_arg_reduce(
    run_tiles: Callable[..., Array], ssa: Callable[..., Any], shape: list[int], kind: str, data: Any, spread: bool
):
    x = numbers(shape)
    axis = data.draw(st.integers(0, len(shape) - 1))
    find = np.argmax if kind == "max" else np.argmin
    got = run_tiles(ArgReduceOp(ssa(x)[0], kind, axis), [x], spread=spread)
    np.testing.assert_array_equal(got, find(x, axis=axis, keepdims=True))


@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("dtype", ["f4", "i8"])
@FEW
@given(shape=SHAPES, data=st.data(), spread=st.booleans())
def test_cumsum(
    run_tiles: Callable[..., Array],
    ssa: Callable[..., Any],
    exclusive: bool,
    reverse: bool,
    dtype: str,
    shape: list[int],
    data: Any,
    spread: bool,
):
    x = numbers(shape, dtype)
    axis = data.draw(st.integers(0, len(shape) - 1))
    op = CumsumOp(ssa(x)[0], axis, exclusive=exclusive, reverse=reverse)
    y = np.flip(x, axis) if reverse else x
    sums = np.cumsum(y, axis, dtype=x.dtype) - (y if exclusive else 0)
    got = run_tiles(op, [x], spread=spread)
    np.testing.assert_array_equal(got, np.flip(sums, axis) if reverse else sums)

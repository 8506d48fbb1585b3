"""Data movement against numpy, on the emulated core."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from meshloom.dialects.dataflow.movement import (
    BroadcastOp,
    ConcatOp,
    GatherOp,
    IotaOp,
    PadOp,
    SliceOp,
    TransposeOp,
)
from meshloom.dialects.dataflow.reshape import ReshapeOp
from meshloom.dialects.dataflow.types import tensor
from meshloom.lowering.codegen.kernels.flat import copy_flat
from numpy.typing import NDArray
from xdsl.dialects.builtin import f32, i64

Array = NDArray[Any]
FEW = settings(max_examples=25, deadline=None)
SHAPES = st.lists(st.integers(1, 5), min_size=1, max_size=6)
DTYPES = st.sampled_from(["f4", "i8", "u1", "?", "f2"])
PARTS = st.lists(st.integers(1, 3), max_size=3)


def numbers(shape: list[int] | tuple[int, ...], dtype: str = "f4") -> Array:
    return (np.arange(math.prod(shape)) % 97).reshape(shape).astype(dtype)


@FEW
@given(shape=SHAPES, dtype=DTYPES, data=st.data(), parts=PARTS, spread=st.booleans())
def test_transpose(
    run_tiles: Callable[..., Array],
    ssa: Callable[..., Any],
    shape: list[int],
    dtype: str,
    data: Any,
    parts: list[int],
    spread: bool,
):
    x = numbers(shape, dtype)
    order = data.draw(st.permutations(range(len(shape))))
    got = run_tiles(TransposeOp(ssa(x)[0], order), [x], parts=parts[: len(shape)], spread=spread)
    np.testing.assert_array_equal(got, x.transpose(order))


@FEW
@given(
    dims=st.lists(
        st.tuples(st.integers(0, 3), st.integers(1, 4), st.sampled_from([1, 2, -1, -2])), min_size=1, max_size=4
    ),
    parts=PARTS,
    spread=st.booleans(),
)
def test_slice(
    run_tiles: Callable[..., Array],
    ssa: Callable[..., Any],
    dims: list[tuple[int, int, int]],
    parts: list[int],
    spread: bool,
):
    starts = [start if step > 0 else start + (size - 1) * -step for start, size, step in dims]
    sizes, steps = [size for _, size, _ in dims], [step for _, _, step in dims]
    x = numbers([max(s, s + (n - 1) * step) + 2 for s, n, step in zip(starts, sizes, steps, strict=True)])
    expected = x
    for dim, (start, size, step) in enumerate(zip(starts, sizes, steps, strict=True)):
        expected = np.take(expected, start + np.arange(size) * step, axis=dim)
    got = run_tiles(SliceOp(ssa(x)[0], starts, sizes, steps), [x], parts=parts[: len(dims)], spread=spread)
    np.testing.assert_array_equal(got, expected)


@FEW
@given(shape=SHAPES, data=st.data(), parts=PARTS, spread=st.booleans())
def test_concat(
    run_tiles: Callable[..., Array],
    ssa: Callable[..., Any],
    shape: list[int],
    data: Any,
    parts: list[int],
    spread: bool,
):
    axis = data.draw(st.integers(0, len(shape) - 1))
    sizes = data.draw(st.lists(st.integers(0, 4), min_size=1, max_size=4).filter(any))
    arrays = [numbers([*shape[:axis], size, *shape[axis + 1 :]]) + i for i, size in enumerate(sizes)]
    op = ConcatOp(ssa(*arrays), axis)
    got = run_tiles(op, arrays, parts=parts[: len(shape)], spread=spread)
    np.testing.assert_array_equal(got, np.concatenate(arrays, axis))


@FEW
@given(
    dims=st.lists(
        st.tuples(st.integers(1, 4), st.integers(0, 3), st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=4
    ),
    dtype=st.sampled_from(["f4", "i8"]),
    parts=PARTS,
    spread=st.booleans(),
)
def test_pad(
    run_tiles: Callable[..., Array],
    ssa: Callable[..., Any],
    dims: list[tuple[int, ...]],
    dtype: str,
    parts: list[int],
    spread: bool,
):
    shape, low, high, interior = (list(column) for column in zip(*dims, strict=True))
    x = numbers(shape, dtype)
    value = -2 if dtype == "f4" else -(1 << 62)
    op = PadOp(ssa(x)[0], low, high, interior, value)
    expected = np.full(op.result_shape, value, dtype)
    expected[
        tuple(slice(a, a + (n - 1) * (1 + g) + 1, 1 + g) for n, a, g in zip(shape, low, interior, strict=True))
    ] = x
    got = run_tiles(op, [x], parts=parts[: len(shape)], spread=spread)
    np.testing.assert_array_equal(got, expected)


@FEW
@given(shape=SHAPES, lead=st.integers(0, 2), data=st.data(), spread=st.booleans())
def test_broadcast(
    run_tiles: Callable[..., Array], ssa: Callable[..., Any], shape: list[int], lead: int, data: Any, spread: bool
):
    keep = data.draw(st.lists(st.booleans(), min_size=len(shape), max_size=len(shape)))
    x = numbers([size if kept else 1 for size, kept in zip(shape, keep, strict=True)])
    target = [2] * lead + shape
    got = run_tiles(BroadcastOp(ssa(x)[0], target), [x], parts=[2, 2][: len(target)], spread=spread)
    np.testing.assert_array_equal(got, np.broadcast_to(x, target))


@FEW
@given(
    shape=st.lists(st.integers(1, 5), min_size=1, max_size=4),
    index_shape=st.lists(st.integers(1, 4), max_size=3),
    dtype=DTYPES,
    index_type=st.sampled_from(["i4", "i8"]),
    data=st.data(),
    parts=PARTS,
    flags=st.tuples(st.booleans(), st.booleans()),
)
def test_gather(
    run_tiles: Callable[..., Array],
    ssa: Callable[..., Any],
    shape: list[int],
    index_shape: list[int],
    dtype: str,
    index_type: str,
    data: Any,
    parts: list[int],
    flags: tuple[bool, bool],
):
    axis: int = data.draw(st.integers(0, len(shape) - 1))
    x = numbers(shape, dtype)
    seed = data.draw(st.integers(0, 99))
    indices = np.random.default_rng(seed).integers(-shape[axis], shape[axis], index_shape).astype(index_type)
    op = GatherOp(*ssa(x, indices), axis=axis)
    expected = np.take(x, indices, axis=axis)
    spread, dram = flags
    got = run_tiles(op, [x, indices], parts=parts[: expected.ndim], spread=spread, dram=dram)
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize(("name", "element"), [("i8", i64), ("f4", f32)])
@FEW
@given(shape=SHAPES, data=st.data(), parts=PARTS, spread=st.booleans())
def test_iota(
    run_tiles: Callable[..., Array],
    name: str,
    element: Any,
    shape: list[int],
    data: Any,
    parts: list[int],
    spread: bool,
):
    axis: int = data.draw(st.integers(0, len(shape) - 1))
    op = IotaOp(tensor(element, shape), axis)
    expected = np.indices(shape)[axis]
    got = run_tiles(op, [], parts=parts[: len(shape)], spread=spread)
    np.testing.assert_array_equal(got, expected.astype(name))


RESHAPES = [
    ((4, 6), (24,)),
    ((4, 6), (3, 8)),
    ((2, 3, 4), (6, 4)),
    ((6, 4), (2, 3, 4)),
    ((5, 7), (7, 5)),
    ((1, 12, 1), (2, 1, 6)),
    ((4, 9), (6, 6)),
]


@pytest.mark.parametrize("spread", [False, True])
@pytest.mark.parametrize("parts", [1, 2, 3])
@pytest.mark.parametrize(("source", "target"), RESHAPES)
def test_reshape(
    run_tiles: Callable[..., Array],
    ssa: Callable[..., Any],
    source: tuple[int, ...],
    target: tuple[int, ...],
    parts: int,
    spread: bool,
):
    x = numbers(source)
    op = ReshapeOp(ssa(x)[0], target)
    cuts = [parts if dim.kind == "parallel" else 1 for dim in op.iteration_space()]
    np.testing.assert_array_equal(run_tiles(op, [x], parts=cuts, spread=spread), x.reshape(target))


@pytest.mark.parametrize("spread", list(itertools.product([False, True], repeat=2)))
@pytest.mark.parametrize(("source", "target"), RESHAPES)
def test_flat_copies(new_core: type[Any], source: tuple[int, ...], target: tuple[int, ...], spread: tuple[bool, bool]):
    core = new_core()
    x = numbers(source)
    view, out = core.bring(x, spread[0]), core.sram_view(target, 0, spread[1])
    copy_flat(out, view, core.emitter)
    np.testing.assert_array_equal(core.run(out), x.reshape(target))

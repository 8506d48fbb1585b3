"""Scatters against a loop over the updates, on the emulated core."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from meshloom.dialects.dataflow.scatter import ScatterMode, ScatterOp
from numpy.typing import NDArray

Array = NDArray[Any]


def scattered(mode: ScatterMode, data: Array, indices: Array, updates: Array) -> Array:
    """The result of a scatter, computed one update after the other."""
    result = data.copy()
    for place in itertools.product(*(range(size) for size in indices.shape)):
        row = (*place[:-1], indices[place])
        match mode:
            case ScatterMode.SET:
                result[row] = updates[place]
            case ScatterMode.ADD:
                result[row] += updates[place]
            case ScatterMode.MAX:
                result[row] = np.maximum(result[row], updates[place])
    return result


@settings(max_examples=40, deadline=None)
@given(
    shape=st.lists(st.integers(1, 4), min_size=1, max_size=5),
    count=st.integers(1, 7),
    mode=st.sampled_from(ScatterMode),
    dtype=st.sampled_from(["f4", "i4"]),
    index_type=st.sampled_from(["i4", "i8"]),
    parts=st.lists(st.integers(1, 3), max_size=3),
    spread=st.booleans(),
    data=st.data(),
)
def test_scatter(
    run_tiles: Callable[..., Array],
    ssa: Callable[..., Any],
    shape: list[int],
    count: int,
    mode: ScatterMode,
    dtype: str,
    index_type: str,
    parts: list[int],
    spread: bool,
    data: Any,
):
    batch: int = data.draw(st.integers(0, len(shape) - 1))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    x = rng.integers(-9, 9, shape).astype(dtype)
    indices = rng.integers(-shape[batch], shape[batch], (*shape[:batch], count)).astype(index_type)
    updates = rng.integers(-9, 9, (*shape[:batch], count, *shape[batch + 1 :])).astype(dtype)
    whole = [1 if dim == batch else part for dim, part in enumerate(parts[: len(shape)])]
    op = ScatterOp(mode, *ssa(x, indices, updates), batch=batch)
    got = run_tiles(op, [x, indices, updates], parts=whole, spread=spread)
    np.testing.assert_array_equal(got, scattered(mode, x, indices, updates))


def test_large_planes_add_in_order(run_tiles: Callable[..., Array], ssa: Callable[..., Any]):
    """Floats are added in the order of the updates, so that results are equal bit for bit."""
    rng = np.random.default_rng(1)
    x, updates = np.zeros((3, 50), np.float32), rng.standard_normal((3, 400)).astype(np.float32)
    indices = rng.integers(0, 50, (3, 400))
    got = run_tiles(ScatterOp("add", *ssa(x, indices, updates), batch=1), [x, indices, updates])
    np.testing.assert_array_equal(got, scattered(ScatterMode.ADD, x, indices, updates))
    assert math.isclose(float(got.sum()), float(updates.sum()), rel_tol=1e-4)


def test_index_out_of_range(run_tiles: Callable[..., Array], ssa: Callable[..., Any]):
    x, indices, updates = np.zeros(4, np.float32), np.array([4]), np.ones(1, np.float32)
    with pytest.raises(Exception, match="index 4 is out of range for 4 rows"):
        run_tiles(ScatterOp("set", *ssa(x, indices, updates)), [x, indices, updates])

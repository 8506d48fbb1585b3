"""Indices, bounds and amounts at and beyond the ends of an axis, each against ONNX Runtime or ONNX's own definition."""

from __future__ import annotations

import itertools
from typing import Any, cast

import numpy as np
import pytest
from meshloom.dialects.dataflow.interpreter import interpret_function
from meshloom.frontend.onnx_import import import_onnx
from meshloom.frontend.onnx_ops.movement import slice_range
from onnx import helper
from onnx.reference import ReferenceEvaluator
from reference import check_node, ints, model_of, random

BOUNDS = (-100, -8, -7, -6, -5, -1, 0, 1, 5, 6, 7, 100)


@pytest.mark.parametrize("step", [1, 2, 7, -1, -2, -7])
def test_slice_clamps_starts_and_ends(step: int) -> None:
    """For 6 elements: negative bounds count from the end, then all are clamped, as in ONNX's definition of Slice."""
    for start, end in itertools.product(BOUNDS, BOUNDS):
        first, last = (bound + 6 if bound < 0 else bound for bound in (start, end))
        if step > 0:
            first, last = max(0, min(first, 6)), max(0, min(last, 6))
        else:
            first, last = max(0, min(first, 5)), max(-1, min(last, 5))
        expected = list(range(first, last, step))
        assert list(slice_range(6, start, end, step)) == expected, (start, end, step)


@pytest.mark.parametrize("size", [0, 1, 6])
def test_slice_equals_onnx_runtime_at_all_bounds(size: int) -> None:
    for start, end, step in itertools.product((-8, -1, 0, 5, 7), (-100, -8, -6, 0, 3, 100), (-3, -1, 1, 2)):
        check_node("Slice", [random(size, 2)], {1: ints(start), 2: ints(end), 3: ints(0), 4: ints(step)})


@pytest.mark.parametrize(("start", "end"), [*itertools.product((-9, -3, -1, 0, 2, 9), (None, -9, -2, 0, 3, 9))])
def test_shape_clamps_its_bounds(start: int, end: int | None) -> None:
    attributes: dict[str, Any] = {"start": start} | ({} if end is None else {"end": end})
    check_node("Shape", [random(2, 3, 4)], **attributes)


@pytest.mark.parametrize("k", [-9, -1, 0, 2, 9])
@pytest.mark.parametrize("upper", [0, 1])
def test_triangles_beyond_the_corners(k: int, upper: int) -> None:
    check_node("Trilu", [random(3, 4)], {1: np.asarray(k)}, upper=upper)
    check_node("EyeLike", [random(3, 4)], k=k)


@pytest.mark.parametrize(
    ("size", "low", "high"),
    [(0, -1, 2), (0, 1, 0), (2, -3, 5), (2, 5, -3), (4, -1, 3), (3, -3, 0), (3, -2, -1), (1, 4, -5)],
)
def test_pad_that_crops(size: int, low: int, high: int) -> None:
    """The result covers the positions from -low up to size + high of the operand, with padding outside of it."""
    x = random(size, 2)
    model = model_of([helper.make_node("Pad", ["x", "pads"], ["y"])], {"x": x}, ["y"], {"pads": ints(low, 0, high, 0)})
    expected = np.array([x[at] if 0 <= at < size else [0, 0] for at in range(-low, size + high)]).reshape(-1, 2)
    np.testing.assert_array_equal(interpret_function(import_onnx(model), {"x": x})["y"], expected)


@pytest.mark.parametrize("pads", [[-1, 2], [2, -1], [-3, 5]])
def test_convolution_with_padding_that_crops(pads: list[int]) -> None:
    x, w = random(1, 2, 4), random(3, 2, 2)
    model = model_of([helper.make_node("Conv", ["x", "w"], ["y"], pads=pads)], {"x": x}, ["y"], {"w": w})
    wide = np.stack([x[:, :, at] if 0 <= at < 4 else np.zeros((1, 2)) for at in range(-pads[0], 4 + pads[1])], axis=2)
    expected = np.stack(
        [np.tensordot(wide[:, :, at : at + 2], w, ([1, 2], [1, 2])) for at in range(wide.shape[2] - 1)], 2
    )
    np.testing.assert_allclose(interpret_function(import_onnx(model), {"x": x})["y"], expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("axis", [-3, -1, 0, 2])
def test_flatten_and_concat_count_axes_from_either_end(axis: int) -> None:
    check_node("Flatten", [random(2, 3, 4)], axis=axis)
    check_node("Concat", [random(2, 3, 4), random(2, 3, 4, seed=1)], axis=axis)


@pytest.mark.parametrize("shape", [(1, 9), (12, 1), (3, 20), (20, 3), (7, 7)])
def test_center_crop_pad(shape: tuple[int, int]) -> None:
    x = random(8, 7)
    model = model_of([helper.make_node("CenterCropPad", ["x", "s"], ["y"])], {"x": x}, ["y"], {"s": ints(*shape)})
    (expected,) = cast(Any, ReferenceEvaluator(model)).run(None, {"x": x})
    np.testing.assert_array_equal(interpret_function(import_onnx(model), {"x": x})["y"], expected)


@pytest.mark.parametrize("indices", [[0, 3, -1, -4], [5, -5, 4]])
def test_one_hot_of_indices_out_of_range(indices: list[int]) -> None:
    """Indices in [-depth, depth) are valid, negative ones count from the end; others give a row of the value `off`."""
    x = np.asarray(indices, np.int64)
    check_node("OneHot", [x], {1: np.asarray(4), 2: np.array([0.25, 2], np.float32)})

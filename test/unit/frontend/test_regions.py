"""Determinants, regions of images and deformable convolutions against ONNX Runtime, or ONNX's reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from meshloom.dialects.dataflow.interpreter import interpret_function
from meshloom.frontend.onnx_import import import_onnx
from onnx import helper
from onnx.reference import ReferenceEvaluator
from reference import Array, check_node, model_of, random

OPTIONS = settings(deadline=None, max_examples=30, derandomize=True)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 9])
@pytest.mark.parametrize("batch", [(), (3,), (2, 2)])
def test_determinant(size: int, batch: tuple[int, ...]) -> None:
    x = random(*batch, size, size)
    check_node("Det", [x], tolerance=1e-4)


@pytest.mark.parametrize(
    "rows",
    [[[0, 1], [1, 0]], [[0, 2, 1], [0, 3, 4], [5, 6, 7]], [[1, 2], [2, 4]], [[0, 0], [0, 0]], [[1e-20, 1], [1, 1]]],
)
def test_determinant_with_zeros_first(rows: list[list[float]]) -> None:
    check_node("Det", [np.asarray(rows, np.float32)], tolerance=1e-5)


@OPTIONS
@given(
    mode=st.sampled_from(["avg", "max"]),
    aligned=st.sampled_from(["half_pixel", "output_half_pixel", None]),
    ratio=st.integers(1, 3),
    size=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    scale=st.sampled_from([1.0, 0.5]),
    seed=st.integers(0, 99),
)
def test_roi_align(mode: str, aligned: str | None, ratio: int, size: tuple[int, int], scale: float, seed: int) -> None:
    """`aligned` is None for opset 10, which does not have the attribute."""
    rng = np.random.default_rng(seed)
    corners = np.sort(rng.uniform(-2, 12, (4, 2, 2)), axis=1).reshape(4, 4).astype(np.float32)
    attributes: dict[str, Any] = {} if aligned is None else {"coordinate_transformation_mode": aligned}
    check_node(
        "RoiAlign",
        [random(2, 3, 7, 8, seed=seed), corners, rng.integers(0, 2, 4)],
        opset=10 if aligned is None else 16,
        tolerance=1e-4,
        mode=mode,
        sampling_ratio=ratio,
        output_height=size[0],
        output_width=size[1],
        spatial_scale=scale,
        **attributes,
    )


@settings(OPTIONS, max_examples=12)
@given(
    groups=st.sampled_from([1, 2]),
    moved=st.sampled_from([1, 2]),
    mask=st.booleans(),
    bias=st.booleans(),
    strides=st.sampled_from([[1, 1], [2, 1]]),
    pads=st.sampled_from([[0, 0, 0, 0], [1, 0, 1, 2]]),
    dilations=st.sampled_from([[1, 1], [1, 2]]),
    seed=st.integers(0, 99),
)
def test_deformable_convolution(
    groups: int,
    moved: int,
    mask: bool,
    bias: bool,
    strides: list[int],
    pads: list[int],
    dilations: list[int],
    seed: int,
) -> None:
    """Results are compared with ONNX's reference, which computes in f64."""
    sizes = [
        (size + pads[axis] + pads[axis + 2] - ((k - 1) * dilations[axis] + 1)) // strides[axis] + 1
        for axis, (size, k) in enumerate(((6, 3), (7, 2)))
    ]
    inputs: dict[str, Array] = {
        "x": random(2, 4, 6, 7, seed=seed),
        "w": random(4, 4 // groups, 3, 2, seed=seed + 1),
        "offset": random(2, moved * 12, *sizes, seed=seed + 2) * 2,
    }
    if bias:
        inputs["b"] = random(4, seed=seed + 3)
    if mask:
        inputs["mask"] = random(2, moved * 6, *sizes, seed=seed + 4)
    names = [name if name in inputs else "" for name in ("x", "w", "offset", "b", "mask")]
    node = helper.make_node(
        "DeformConv",
        names,
        ["y"],
        group=groups,
        offset_group=moved,
        strides=strides,
        pads=pads,
        dilations=dilations,
        kernel_shape=[3, 2],
    )
    model = model_of([node], inputs, ["y"], opset=19)
    evaluator: Any = ReferenceEvaluator(model)
    expected = evaluator.run(None, inputs)
    got = interpret_function(import_onnx(model), inputs)["y"]
    np.testing.assert_allclose(got, expected[0], rtol=1e-4, atol=1e-4)

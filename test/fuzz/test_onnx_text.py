"""
Tests of cases in which ONNX Runtime differs from the ONNX specification: the importer follows the specification.

Random models (`bench/random_onnx`) contain none of these.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from meshloom.dialects.dataflow.interpreter import interpret_function
from meshloom.frontend.onnx_import import import_onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper
from random_onnx.model import run_reference

Array = NDArray[Any]
RISING = np.arange(10, dtype=np.float32).reshape(1, 1, 10)


@dataclass(frozen=True)
class Case:
    """A node for which ONNX Runtime differs from the specification."""

    name: str
    reason: str
    op: str
    inputs: list[Array]
    expected: list[float]
    """The result by the specification, computed by hand."""
    attributes: dict[str, Any] = field(default_factory=dict[str, Any])
    constants: list[Array] = field(default_factory=list[Array])
    opset: int = 18
    sequence: bool = False
    """Whether the result is a sequence; then the shape of its first tensor is compared."""
    unstable: bool = False
    """Whether ONNX Runtime's result varies, because it reads uninitialised memory."""


CASES = [
    Case(
        "max_pool_same_padding_with_dilations",
        "ONNX: as many positions as ceil(size / stride), padding for the dilated window. ONNX Runtime pads for the"
        " window without its dilation.",
        "MaxPool",
        [RISING],
        [3, 5, 7, 9, 9],
        {"auto_pad": "SAME_UPPER", "dilations": [2], "kernel_shape": [3], "strides": [2]},
    ),
    Case(
        "average_pool_same_padding_with_dilations",
        "As for MaxPool.",
        "AveragePool",
        [RISING],
        [2, 3, 5, 7, 8],
        {"auto_pad": "SAME_UPPER", "dilations": [2], "kernel_shape": [3], "strides": [2]},
        opset=19,
    ),
    Case(
        "pool_of_windows_larger_than_all_there_is",
        "ONNX: floor((2 - 3) / 3 + 1) = 0 positions. ONNX Runtime rounds towards 0 and makes one.",
        "MaxPool",
        [np.zeros((1, 1, 2), np.float32)],
        [],
        {"dilations": [2], "kernel_shape": [2], "strides": [3]},
    ),
    Case(
        "resize_to_what_lies_at_a_whole_coordinate",
        "ONNX: the middle of 15 elements is at (0 + 0.5) / (1 / 15) - 0.5 = 7. ONNX Runtime rounds to just below.",
        "Resize",
        [np.arange(15, dtype=np.float32)],
        [7],
        {"mode": "nearest", "nearest_mode": "floor", "coordinate_transformation_mode": "half_pixel"},
        [np.zeros(0, np.float32), np.zeros(0, np.float32), np.array([1])],
    ),
    Case(
        "resize_of_a_region_whose_axis_keeps_its_size",
        "ONNX: the elements lie from 0.2 * 5 to 0.8 * 5. ONNX Runtime leaves an axis with scale 1 as it is.",
        "Resize",
        [np.arange(6, dtype=np.float32).reshape(1, 6)],
        [1.0, 1.6, 2.2, 2.8, 3.4, 4.0] * 2,
        {"mode": "linear", "coordinate_transformation_mode": "tf_crop_and_resize"},
        [np.array([0, 0.2, 1, 0.8], np.float32), np.array([2, 1], np.float32)],
    ),
    Case(
        "lstm_with_clip_of_the_cell",
        "ONNX: clip is applied to the input of activations, h's included: sigmoid(1) * tanh(1), though the cell holds"
        " 4.2. ONNX Runtime does not clip what h takes.",
        "LSTM",
        [np.full((1, 1, 1), 10, np.float32)],
        [0.5567699411],
        {"hidden_size": 1, "clip": 1.0},
        [
            *(np.ones(shape, np.float32) for shape in ((1, 4, 1), (1, 4, 1))),
            np.zeros((1, 8), np.float32),
            np.ones(1, np.int32),
            np.zeros((1, 1, 1), np.float32),
            np.full((1, 1, 1), 5, np.float32),
        ],
    ),
    Case(
        "instance_normalisation_of_equal_elements",
        "ONNX: the mean is subtracted first, so that the bias is left. ONNX Runtime subtracts what has become large.",
        "InstanceNormalization",
        [np.array([[[2486.1669921875]]], np.float32)],
        [0.2709558],
        {"epsilon": 1e-2},
        [np.array([1.3010325], np.float32), np.array([0.2709558], np.float32)],
    ),
    Case(
        "affine_grid_from_corner_to_corner_of_one_element",
        "ONNX: with align_corners, -1 is the centre of the first element. ONNX Runtime puts the only one elsewhere.",
        "AffineGrid",
        [np.array([[[1, 0, 0], [0, 1, 0]]], np.float32)],
        [-1, -1, 0, -1, 1, -1],
        {"align_corners": 1},
        [np.array([1, 1, 1, 3])],
        opset=20,
    ),
    Case(
        "split_to_sequence_of_given_sizes_without_keepdims",
        "ONNX: keepdims is ignored where the sizes are given. ONNX Runtime heeds it.",
        "SplitToSequence",
        [np.zeros((1, 2), np.float32)],
        [1, 2],
        {"axis": 0, "keepdims": 0},
        [np.asarray(1)],
        sequence=True,
    ),
    Case(
        "mean_variance_normalisation_of_tiny_values",
        "ONNX's function adds 1e-9 to the deviation. ONNX Runtime does not.",
        "MeanVarianceNormalization",
        [np.array([[[[-1e-9, 1e-9]]]], np.float32)],
        [-0.5, 0.5],
    ),
    Case(
        "matmul_integer_over_nothing",
        "A sum of nothing is 0. ONNX Runtime leaves its memory as it finds it.",
        "MatMulInteger",
        [np.zeros((1, 0), np.uint8), np.zeros((0, 2), np.uint8)],
        [0, 0],
        unstable=True,
    ),
    Case(
        "reduce_prod_of_large_integers",
        "The product of integers is one: 5 to the 24th. ONNX Runtime's has passed through a float.",
        "ReduceProd",
        [np.full(24, 5)],
        [5**24],
    ),
    Case(
        "qlinear_matmul_over_nothing",
        "As for MatMulInteger; 0 is quantised to the zero point.",
        "QLinearMatMul",
        [np.zeros((1, 0), np.uint8)],
        [3, 3],
        {},
        [
            *(np.asarray(value) for value in (np.float32(1), np.uint8(5))),
            np.zeros((0, 2), np.uint8),
            *(np.asarray(value) for value in (np.float32(1), np.uint8(5), np.float32(1), np.uint8(3))),
        ],
        unstable=True,
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_importer_follows_the_specification(case: Case) -> None:
    names = [f"x{number}" for number in range(len(case.inputs) + len(case.constants))]
    inputs = dict(zip(names, case.inputs, strict=False))
    constants = [numpy_helper.from_array(value, name) for name, value in zip(names[len(inputs) :], case.constants)]
    infos = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
        for name, value in inputs.items()
    ]
    nodes = [helper.make_node(case.op, names, ["s" if case.sequence else "y"], **case.attributes)]
    if case.sequence:
        constants.append(numpy_helper.from_array(np.asarray(0), "first"))
        nodes += [helper.make_node("SequenceAt", ["s", "first"], ["t"]), helper.make_node("Shape", ["t"], ["y"])]
    graph = helper.make_graph(nodes, "g", infos, [helper.make_empty_tensor_value_info("y")], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", case.opset)], ir_version=8)
    got = interpret_function(import_onnx(model), inputs)["y"].reshape(-1)
    expected = np.asarray(case.expected, got.dtype)
    same = np.array_equal if got.dtype.kind in "iu" else np.allclose
    assert same(got, expected)
    if not case.unstable:  # if both agree, the case must be removed from this list
        other = run_reference(model, inputs)["y"].reshape(-1)
        assert other.shape != got.shape or not same(other, expected)

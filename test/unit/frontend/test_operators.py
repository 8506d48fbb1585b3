"""Operators by family, each against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from reference import check_node, ints, ops_of, random


@pytest.mark.parametrize(
    "op", ["Relu", "Sigmoid", "Tanh", "Erf", "Softplus", "HardSwish", "Mish", "Elu", "Selu", "Celu"]
)
def test_activation(op: str) -> None:
    check_node(op, [random(3, 5)])


RISING = np.array([[-np.inf, -2, -0.0, 0.0, 3, np.inf, np.nan]], np.float32)


@pytest.mark.parametrize(
    ("slopes", "expected"),
    [([0.25, -0.5, 1.0], "maximum"), ([0.25, 1.5, 1.0], "select"), ([0.25, 0.0, 1.0], "select")],
)
def test_prelu_by_its_slopes(slopes: list[float], expected: str) -> None:
    slope = np.array(slopes, np.float32).reshape(3, 1)
    assert expected in ops_of(check_node("PRelu", [RISING], {1: slope}))
    assert "select" in ops_of(check_node("PRelu", [RISING, slope]))


@pytest.mark.parametrize("alpha", [0.1, 0.0, 2.0, -1.0])
def test_leaky_relu(alpha: float) -> None:
    check_node("LeakyRelu", [RISING], alpha=alpha)


@pytest.mark.parametrize(("op", "axis", "opset"), [("Softmax", 1, 11), ("Softmax", 1, 13), ("LogSoftmax", -1, 13)])
def test_softmax_before_and_since_opset_13(op: str, axis: int, opset: int) -> None:
    check_node(op, [random(2, 3, 4)], axis=axis, opset=opset)


@pytest.mark.parametrize("exponent", [2.0, 3.0, 0.5, -1.0, 1.7])
def test_pow_by_constant(exponent: float) -> None:
    module = check_node("Pow", [np.abs(random(4)) + 0.1], {1: np.asarray(exponent, np.float32)})
    assert ("pow" in ops_of(module)) == (exponent == 1.7)


@pytest.mark.parametrize(
    "attributes",
    [
        {},
        {"strides": [2, 1], "pads": [1, 0, 2, 1]},
        {"auto_pad": "SAME_UPPER", "strides": [2, 2]},
        {"auto_pad": "SAME_LOWER", "strides": [2, 2]},
        {"dilations": [2, 2]},
        {"group": 2},
    ],
)
def test_conv(attributes: dict[str, Any]) -> None:
    groups = attributes.get("group", 1)
    check_node(
        "Conv", [random(1, 4, 9, 8)], {1: random(6, 4 // groups, 3, 3, seed=1), 2: random(6, seed=2)}, **attributes
    )


@pytest.mark.parametrize(
    "attributes",
    [
        {},
        {"strides": [2, 3], "pads": [1, 0, 1, 2], "output_padding": [1, 0]},
        {"group": 2, "strides": [2, 2]},
        {"dilations": [2, 1]},
        {"output_shape": [10, 9], "strides": [2, 2]},
        {"auto_pad": "SAME_UPPER", "strides": [2, 2]},
    ],
)
def test_conv_transpose(attributes: dict[str, Any]) -> None:
    check_node("ConvTranspose", [random(1, 4, 4, 4)], {1: random(4, 3, 3, 3, seed=1)}, **attributes)


@pytest.mark.parametrize("op", ["MaxPool", "AveragePool"])
@pytest.mark.parametrize(
    "attributes",
    [
        {},
        {"strides": [2, 2], "pads": [1, 1, 1, 1]},
        {"strides": [2, 2], "ceil_mode": 1},
        {"strides": [2, 2], "auto_pad": "SAME_UPPER"},
    ],
)
def test_pool(op: str, attributes: dict[str, Any]) -> None:
    check_node(op, [random(1, 2, 7, 8)], kernel_shape=[3, 3], **attributes)


def test_average_pool_with_count_include_pad() -> None:
    check_node("AveragePool", [random(1, 1, 5, 5)], kernel_shape=[3, 3], pads=[1] * 4, count_include_pad=1)


def test_max_pool_indices() -> None:
    check_node("MaxPool", [random(2, 2, 6, 6)], outputs=2, kernel_shape=[2, 2], strides=[2, 2])


@pytest.mark.parametrize(("x", "y"), [((3,), (3, 4)), ((2, 3), (3,)), ((2, 5, 3), (3, 4)), ((2, 1, 5, 3), (4, 3, 2))])
def test_matmul(x: tuple[int, ...], y: tuple[int, ...]) -> None:
    check_node("MatMul", [random(*x), random(*y, seed=1)])


@pytest.mark.parametrize("flips", [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_gemm(flips: tuple[int, int]) -> None:
    a, b = (random(4, 3) if flips[0] else random(3, 4)), (random(5, 4) if flips[1] else random(4, 5))
    check_node("Gemm", [a], {1: b, 2: random(5)}, transA=flips[0], transB=flips[1], alpha=0.5, beta=2.0)


@pytest.mark.parametrize("equation", ["bij,bjk->bik", "ij,kj->ik", "bhwc,hkc->bhwk", "ij,ij->", "...ij,...jk->...ik"])
def test_einsum(equation: str) -> None:
    sizes = {"b": 2, "i": 3, "j": 4, "k": 5, "h": 3, "w": 2, "c": 4}
    terms = equation.split("->")[0].split(",")
    shapes = [(2, 2) * t.startswith("...") + tuple(sizes[c] for c in t.replace("...", "")) for t in terms]
    check_node("Einsum", [random(*shape, seed=i) for i, shape in enumerate(shapes)], equation=equation, opset=12)


def test_layer_normalisation() -> None:
    check_node("LayerNormalization", [random(2, 3, 8), random(8, seed=1), random(8, seed=2)], axis=-1)


def test_instance_normalisation() -> None:
    check_node("InstanceNormalization", [random(2, 3, 4, 4), random(3, seed=1), random(3, seed=2)])


@pytest.mark.parametrize("beta", [0.75, 0.5, 0.6])
def test_lrn(beta: float) -> None:
    check_node("LRN", [random(1, 6, 3, 3)], size=3, beta=beta, alpha=0.1)


@pytest.mark.parametrize("op", ["ReduceSum", "ReduceMean", "ReduceMax", "ReduceL2", "ReduceLogSumExp", "ReduceProd"])
@pytest.mark.parametrize("keepdims", [0, 1])
def test_reduce(op: str, keepdims: int) -> None:
    check_node(op, [random(2, 3, 4)], {1: ints(0, -1)}, keepdims=keepdims)


@pytest.mark.parametrize("last", [0, 1])
def test_arg_max(last: int) -> None:
    check_node("ArgMax", [np.round(random(3, 9))], axis=1, select_last_index=last, keepdims=0)


def test_top_k() -> None:
    check_node("TopK", [random(3, 8)], {1: ints(3)}, outputs=2, axis=-1)


def test_slice_with_negative_steps() -> None:
    constants = {1: ints(-1, 4), 2: ints(-100, 1), 3: ints(0, 1), 4: ints(-2, -1)}
    check_node("Slice", [random(5, 6)], constants)


@pytest.mark.parametrize("end", [2**31 - 1, 2**63 - 1, -(2**63)])
def test_slice_backwards_to_the_end(end: int) -> None:
    check_node("Slice", [random(5, 6)], {1: ints(3), 2: ints(end), 3: ints(1), 4: ints(-1)})


@pytest.mark.parametrize("mode", ["constant", "reflect", "edge", "wrap"])
def test_pad(mode: str) -> None:
    check_node("Pad", [random(3, 4)], {1: ints(1, 2, 0, 3)}, mode=mode, opset=19)


def test_pad_with_negative_amounts_crops() -> None:
    check_node("Pad", [random(4, 5)], {1: ints(-1, 1, 0, -2)})


@pytest.mark.parametrize("axis", [0, 1])
def test_gather_elements(axis: int) -> None:
    check_node("GatherElements", [random(3, 4), np.array([[0, -1, 2, 1], [2, 0, -2, 1]], np.int64)], axis=axis)


def test_gather_nd_with_batches() -> None:
    check_node("GatherND", [random(2, 3, 4), np.array([[[1], [-1]], [[0], [2]]], np.int64)], batch_dims=1)


def test_regular_known_gathers_are_slices() -> None:
    module = check_node("Gather", [random(8, 3)], {1: ints(1, 3, 5)}, axis=0)
    assert "gather" not in ops_of(module)


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("reduction", ["none", "add", "max", "min", "mul"])
def test_scatter_elements(known: bool, reduction: str) -> None:
    indices, updates = np.array([[1, 0, 3]], np.int64), random(1, 3, seed=4)
    constants = {1: indices, 2: updates} if known else {2: updates}
    check_node("ScatterElements", [random(4, 3), indices], constants, axis=0, reduction=reduction)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_scatter_elements_of_whole_planes(axis: int) -> None:
    """Indices of the data's sizes in the other dimensions are imported as one scatter, which can be cut along those."""
    shape = [2, 3, 4]
    shape[axis] = 5
    indices = np.random.default_rng(axis).integers(-[2, 3, 4][axis], [2, 3, 4][axis], shape)
    module = check_node(
        "ScatterElements", [random(2, 3, 4), indices, random(*shape, seed=4)], axis=axis, reduction="add"
    )
    assert ops_of(module).count("scatter") == 1
    assert "gather" not in ops_of(module)


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("transform", ["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"])
def test_resize(mode: str, transform: str) -> None:
    scales = np.array([1, 1, 2, 1.5], np.float32)
    check_node(
        "Resize", [random(1, 2, 4, 6)], {2: scales}, mode=mode, coordinate_transformation_mode=transform, opset=13
    )


def test_nearest_upsampling_is_no_gather() -> None:
    scales = np.array([1, 1, 2, 2], np.float32)
    module = check_node(
        "Resize", [random(1, 2, 3, 3)], {2: scales}, coordinate_transformation_mode="asymmetric", nearest_mode="floor"
    )
    assert "gather" not in ops_of(module)


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize(("op", "gates"), [("LSTM", 4), ("GRU", 3), ("RNN", 1)])
def test_recurrent(op: str, gates: int, direction: str) -> None:
    count = 2 if direction == "bidirectional" else 1
    weights = {
        1: random(count, gates * 5, 3, seed=1),
        2: random(count, gates * 5, 5, seed=2),
        3: random(count, 2 * gates * 5, seed=3),
    }
    outputs = 3 if op == "LSTM" else 2
    check_node(op, [random(4, 2, 3)], weights, outputs=outputs, hidden_size=5, direction=direction)


def test_gru_linear_before_reset() -> None:
    weights = {1: random(1, 15, 3, seed=1), 2: random(1, 15, 5, seed=2), 3: random(1, 30, seed=3)}
    check_node("GRU", [random(4, 2, 3)], weights, outputs=2, hidden_size=5, linear_before_reset=1)


def test_lstm_with_states_peepholes_and_lengths() -> None:
    weights = {
        1: random(1, 20, 3, seed=1),
        2: random(1, 20, 5, seed=2),
        3: random(1, 40, seed=3),
        4: np.array([4, 2], np.int32),
        5: random(1, 2, 5, seed=5),
        6: random(1, 2, 5, seed=6),
        7: random(1, 15, seed=7),
    }
    check_node("LSTM", [random(4, 2, 3)], weights, outputs=3, hidden_size=5)


@pytest.mark.parametrize(("op", "gates", "clip"), [("LSTM", 4, 2.0), ("GRU", 3, 0.5), ("RNN", 1, 0.5)])
def test_recurrent_with_clipped_gates(op: str, gates: int, clip: float) -> None:
    """The LSTM's cell stays below the threshold: beyond it, only ONNX clips the cell for the computation of h."""
    state = random(1, 2, 5, seed=5) * 3
    weights = {1: random(1, gates * 5, 3, seed=1), 2: random(1, gates * 5, 5, seed=2), 5: state}
    check_node(op, [random(4, 2, 3) * 3], weights, outputs=3 if op == "LSTM" else 2, hidden_size=5, clip=clip)


def test_quantisation() -> None:
    scale, zero = np.asarray(0.1, np.float32), np.asarray(3, np.uint8)
    check_node("QuantizeLinear", [random(3, 4)], {1: scale, 2: zero})
    check_node("DequantizeLinear", [np.arange(12, dtype=np.uint8).reshape(3, 4)], {1: scale, 2: zero})


def test_integer_products_are_exact() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 256, (3, 700)).astype(np.uint8), rng.integers(0, 256, (700, 4)).astype(np.uint8)
    check_node("MatMulInteger", [a, b], {2: np.asarray(7, np.uint8), 3: np.asarray(9, np.uint8)})


def test_integers_stay_exact() -> None:
    check_node("Add", [ints(2**53 + 1, -(2**62)), ints(1, 1)])
    check_node("Div", [ints(-7, 7, -8), ints(2, -2, 3)])
    check_node("Mod", [ints(-7, 7, -8), ints(2, -2, 3)])

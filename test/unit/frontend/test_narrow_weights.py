"""Weights of 8 bits stay narrow until a core multiplies them: results against ONNX Runtime, types and sizes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
import pytest
from meshloom.frontend.onnx_import import import_onnx
from meshloom.tools.api import compile
from onnx import TensorProto, helper, numpy_helper
from reference import Array, random, run_reference


def codes(shape: tuple[int, ...], dtype: Any = np.int8, seed: int = 0) -> Array:
    """Quantised weights from the whole range of a type."""
    info = np.iinfo(dtype)
    return np.random.default_rng(seed).integers(info.min, info.max + 1, shape).astype(dtype)


def scales(*shape: int) -> Array:
    """Scales, different for each channel."""
    return (np.linspace(0.004, 0.02, int(np.prod(shape))).reshape(shape)).astype(np.float32)


@dataclass(frozen=True)
class Weights:
    """Quantised weights, and the nodes that convert them to floats."""

    values: Array
    scale: Array
    zero: Array | None = None
    axis: int = 1
    by_steps: bool = False
    """Cast, Sub and Mul in place of DequantizeLinear."""

    def nodes(self) -> list[onnx.NodeProto]:
        if not self.by_steps:
            given = ["q", "s", *(["z"] if self.zero is not None else [])]
            return [helper.make_node("DequantizeLinear", given, ["w"], axis=self.axis)]
        nodes = [helper.make_node("Cast", ["q"], ["f"], to=TensorProto.FLOAT)]
        if self.zero is not None:
            nodes.append(helper.make_node("Sub", ["f", "z"], ["c"]))
        return [*nodes, helper.make_node("Mul", [nodes[-1].output[0], "s"], ["w"])]

    def constants(self) -> list[onnx.TensorProto]:
        arrays = {"q": self.values, "s": self.scale} | ({} if self.zero is None else {"z": self.zero})
        return [numpy_helper.from_array(array, name) for name, array in arrays.items()]


def model(weights: Weights, users: list[onnx.NodeProto], x: Array, extra: dict[str, Array] | None = None) -> Any:
    """A model in which `users` compute y from the input x and from w, the weights as floats."""
    more = [numpy_helper.from_array(array, name) for name, array in (extra or {}).items()]
    graph = helper.make_graph(
        [*weights.nodes(), *users], "g",
        [helper.make_tensor_value_info("x", helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], [*weights.constants(), *more],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def node(op: str, *inputs: str, **attributes: Any) -> list[onnx.NodeProto]:
    return [helper.make_node(op, inputs, ["y"], **attributes)]


ROWS = random(3, 100)
IMAGE = random(2, 40, 9, 7)
CASES = {
    "one scale": (Weights(codes((100, 70)), scales(1)[0]), node("MatMul", "x", "w"), ROWS),
    "by steps": (Weights(codes((100, 70)), scales(1)[0], by_steps=True), node("MatMul", "x", "w"), ROWS),
    "zero by steps": (
        Weights(codes((100, 70), np.uint8), scales(70), np.asarray(131, np.float32), by_steps=True),
        node("MatMul", "x", "w"),
        ROWS,
    ),
    "a scale for each column": (Weights(codes((100, 70)), scales(70)), node("MatMul", "x", "w"), ROWS),
    "zero that fits": (
        Weights(codes((100, 70), np.uint8), scales(1)[0], np.asarray(128, np.uint8)), node("MatMul", "x", "w"), ROWS,
    ),
    "zero that does not fit": (
        Weights(codes((100, 70), np.uint8), scales(1)[0], np.asarray(3, np.uint8)), node("MatMul", "x", "w"), ROWS,
    ),
    "zeros of columns": (
        Weights(codes((100, 70)), scales(70), codes((70,), seed=1)), node("MatMul", "x", "w"), ROWS,
    ),
    "weights on the left": (
        Weights(codes((70, 100)), scales(70), codes((70,), seed=1), axis=0), node("MatMul", "w", "x"), random(100, 5),
    ),
    "Gemm with transposed weights": (
        Weights(codes((70, 100)), scales(70), axis=0), node("Gemm", "x", "w", transB=1, alpha=0.5), ROWS,
    ),
    "a batch": (Weights(codes((100, 70)), scales(70)), node("MatMul", "x", "w"), random(2, 3, 4, 100)),
    "a batch of weights": (
        Weights(codes((4, 50, 30)), scales(4), codes((4,), seed=1), axis=0), node("MatMul", "x", "w"), random(4, 3, 50),
    ),
    "convolution": (
        Weights(codes((24, 40, 3, 3)), scales(24), axis=0),
        node("Conv", "x", "w", pads=[1, 0, 1, 2], strides=[2, 1]), IMAGE,
    ),
    "convolution in groups": (
        Weights(codes((24, 20, 3, 3), np.uint8), scales(24), np.full(24, 128, np.uint8), axis=0),
        node("Conv", "x", "w", group=2, pads=[1, 1, 1, 1]), IMAGE,
    ),
    "rows of a table": (
        Weights(codes((200, 30)), scales(200), axis=0), node("Gather", "w", "x"), np.asarray([[3, 199], [-1, 0]]),
    ),
    "columns of a table": (
        Weights(codes((200, 30), np.uint8), scales(200), codes((200,), np.uint8), axis=0),
        node("Gather", "w", "x", axis=1), np.asarray([[3, 29], [-1, 0]]),
    ),
}  # fmt: skip


@pytest.mark.parametrize("chip", ["tiny", pytest.param("edge", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", CASES)
def test_results_with_narrow_weights_equal_onnx_runtimes(name: str, chip: str) -> None:
    weights, users, x = CASES[name]
    proto = model(weights, users, x)
    network = compile(proto, chip)
    (expected,) = run_reference(proto, {"x": x}).values()
    result = network.run({"x": x}, check=True).outputs["y"]
    assert np.abs(result - expected).max() <= 2e-5 * np.abs(expected).max()


@pytest.mark.parametrize("name", CASES)
def test_narrow_weights_are_not_stored_as_floats(name: str) -> None:
    weights, users, x = CASES[name]
    text = str(import_onnx(model(weights, users, x)))
    held = "x".join(map(str, weights.values.shape))
    turned = "x".join(map(str, weights.values.shape[::-1]))
    assert f"tensor<{held}xf32>" not in text
    assert any(f"tensor<{shape}x{kind}>" in text for shape in (held, turned) for kind in ("i8", "ui8"))


@pytest.mark.parametrize(
    ("weights", "users"),
    [
        pytest.param(
            Weights(codes((100, 70)), scales(100), axis=0), node("MatMul", "x", "w"), id="scales along what is summed"
        ),
        pytest.param(Weights(codes((100, 7)), scales(1)[0]), node("MatMul", "x", "w"), id="few"),
    ],
)
def test_weights_that_products_cannot_read_narrow_become_floats(weights: Weights, users: list[onnx.NodeProto]) -> None:
    proto = model(weights, users, ROWS)
    shape = "x".join(map(str, weights.values.shape))
    assert f"tensor<{shape}xf32>" in str(import_onnx(proto))
    (expected,) = run_reference(proto, {"x": ROWS}).values()
    result = compile(proto, "edge").run({"x": ROWS}).outputs["y"]
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-5)


def test_executables_of_narrow_weights_are_about_as_large_as_the_model(tmp_path: Any) -> None:
    x = random(2, 512)
    proto = model(Weights(codes((512, 1024)), scales(1024)), node("MatMul", "x", "w"), x)
    compile(proto, "edge").save(tmp_path / "w.mlx")
    assert (tmp_path / "w.mlx").stat().st_size <= 1.25 * len(proto.SerializeToString())


def in_blocks(rows: tuple[int, ...], depth: int, bits: int, zeros: bool | float) -> tuple[onnx.ModelProto, Array]:
    """A MatMulNBits with blocks of 32, and x. `zeros`: whether there are zero points, or the mean of floating ones."""
    outputs, block = 70, 32
    blocks = -(-depth // block)
    # 8 bits hold values of 8 bits minus their zero point if that is 128, the default.
    packed = codes((outputs, blocks, block * bits // 8), np.uint8)
    known = {"q": packed, "s": scales(outputs * blocks)}
    if isinstance(zeros, float):
        known["z"] = random(outputs * blocks) + np.float32(zeros)
    elif zeros:
        known["z"] = (
            codes((outputs * (-(-blocks * bits // 8)),), np.uint8, 1)
            if bits == 4
            else np.full(outputs * blocks, 128, np.uint8)
        )
    x = random(*rows, depth)
    user = helper.make_node(
        "MatMulNBits", ["x", *known], ["y"], domain="com.microsoft", K=depth, N=outputs, bits=bits, block_size=block
    )
    graph = helper.make_graph(
        [user], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(array, name) for name, array in known.items()],
    )  # fmt: skip
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8), x


def check_in_blocks(proto: onnx.ModelProto, x: Array, chip: str, weights: str) -> None:
    """Compare the chip's result with ONNX Runtime's, and check the type of the weights in the imported module."""
    (expected,) = run_reference(proto, {"x": x}).values()
    result = compile(proto, chip).run({"x": x}, check=True).outputs["y"]
    assert np.abs(result - expected).max() <= 2e-5 * np.abs(expected).max()
    assert weights in str(import_onnx(proto))


@pytest.mark.parametrize("chip", ["tiny", "edge"])
@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("zeros", [False, True])
def test_weights_in_blocks_with_scales_take_8_bits(bits: int, zeros: bool, chip: str) -> None:
    check_in_blocks(*in_blocks((2, 3), 200, bits, zeros), chip, "tensor<7x70x32xi8>")


@pytest.mark.parametrize(
    ("depth", "bits", "zeros", "weights"),
    [
        (256, 4, False, "tensor<4x32x70xui8>"),  # two per byte
        (240, 4, True, "tensor<4x32x70xui8>"),
        (200, 4, True, "tensor<7x32x70xi8>"),  # an odd number of blocks cannot be packed in pairs
        (200, 8, True, "tensor<7x32x70xi8>"),
        (256, 4, 7.5, "tensor<4x32x70xui8>"),
        (256, 4, 300.0, "tensor<4x32x70xui8>"),  # 8 bits do not hold the differences
    ],
)
def test_weights_in_blocks_are_widened_once_for_many_rows(
    depth: int, bits: int, zeros: bool | float, weights: str
) -> None:
    check_in_blocks(*in_blocks((2, 12), depth, bits, zeros), "tiny", weights)

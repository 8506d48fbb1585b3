"""Tests of convolutions that compute blocks of outputs as channels, against ONNX Runtime and NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from meshloom.chips import load_chip
from meshloom.dialects.dataflow import Dataflow, SliceOp, TransposeOp, WeightOp
from meshloom.dialects.dataflow.interpreter import interpret_function
from meshloom.frontend.onnx_import import import_onnx
from meshloom.tools.oracle import Oracle
from meshloom.transforms import dataflow_block_outputs
from meshloom.transforms.dataflow_block_outputs import block_outputs
from onnx import ModelProto, TensorProto, helper, numpy_helper
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.dialects.func import Func
from xdsl.parser import Parser

import meshloom

CHIP = load_chip("tiny")


@pytest.fixture(autouse=True)
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Convolutions are replaced, even if that makes them slower."""
    monkeypatch.setattr(dataflow_block_outputs, "ACCEPT_RATIO", float("inf"))


def conv_model(
    shape: tuple[int, ...],
    weights: tuple[int, ...],
    strides: tuple[int, ...],
    pads: tuple[int, ...],
    dilations: tuple[int, ...],
    groups: int,
    act: str,
) -> ModelProto:
    """A convolution with bias and activation, of small integers, whose sums are exact in any order."""
    generator = np.random.default_rng(sum(shape))
    constants = {"w": generator.integers(-3, 4, weights), "b": generator.integers(-9, 10, weights[0])}
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["c"], strides=strides, pads=pads, dilations=dilations, group=groups),
        helper.make_node(act, ["c"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "conv",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(array.astype(np.float32), name) for name, array in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


@settings(deadline=None, max_examples=60, derandomize=True)
@given(data=st.data())
def test_random_convolutions(data: st.DataObject) -> None:
    rank = data.draw(st.integers(1, 3))
    groups, channels, outputs = data.draw(st.tuples(st.integers(1, 2), st.integers(1, 3), st.integers(1, 3)))
    kernel, strides, dilations, low, high = (
        data.draw(st.tuples(*[st.integers(least, most)] * rank))
        for least, most in ((1, 4), (1, 3), (1, 2), (0, 2), (0, 2))
    )
    size = data.draw(st.tuples(*[st.integers(8, 14)] * rank))
    shape, weights = (2, groups * channels, *size), (groups * outputs, channels, *kernel)
    act = data.draw(st.sampled_from(["Relu", "LeakyRelu", "Abs"]))
    model = conv_model(shape, weights, strides, (*low, *high), dilations, groups, act)
    module = import_onnx(model)
    block_outputs(module, CHIP)
    module.verify()
    x = np.random.default_rng(1).integers(-4, 5, shape).astype(np.float32)
    (expected,) = Oracle(model.SerializeToString()).run({"x": x}).values()
    (got,) = interpret_function(module, {"x": x}).values()
    np.testing.assert_allclose(got, expected, rtol=1e-6, atol=0)


def test_a_filter_takes_fewer_cycles(monkeypatch: pytest.MonkeyPatch) -> None:
    """A convolution whose only output channel fills one of 32 columns is faster with blocks of outputs."""
    model = conv_model((1, 16, 40, 120), (1, 16, 1, 31), (1, 1), (0, 15, 0, 15), (1, 1), 1, "Relu")
    x = {"x": np.random.default_rng(1).integers(-4, 5, (1, 16, 40, 120)).astype(np.float32)}
    (expected,) = Oracle(model.SerializeToString()).run(x).values()
    cycles: list[int] = []
    for most in (0.0, 0.8):
        monkeypatch.setattr(dataflow_block_outputs, "ACCEPT_RATIO", most)
        result = meshloom.compile(model, chip="edge").run(x)
        np.testing.assert_allclose(result.outputs["y"], expected, rtol=1e-6, atol=0)
        cycles.append(result.cycles)
    assert cycles[1] < 0.75 * cycles[0]


def test_integers_with_a_zero_point() -> None:
    """Padding has the value of the zero point, also at positions that only the last outputs of a block read."""
    generator = np.random.default_rng(0)
    weights = generator.integers(-128, 128, (2, 3, 1, 5), np.int8)
    x = generator.integers(-128, 128, (1, 3, 4, 13), np.int8)
    text = f"""
    func.func @main(%x: tensor<1x3x4x13xi8> {{dataflow.name = "x"}}) -> (tensor<1x2x4x8xi32> {{dataflow.name = "y"}}) {{
      %w = dataflow.constant dense<{weights.tolist()}> : tensor<2x3x1x5xi8>
      %y = dataflow.conv %x, %w strides [1, 2] dilations [1, 1] pad [0, 3] to [0, 4] groups 1 pad_value 7
        : (tensor<1x3x4x13xi8>, tensor<2x3x1x5xi8>) -> tensor<1x2x4x8xi32>
      func.return %y : tensor<1x2x4x8xi32>
    }}"""
    module = parsed(text)
    block_outputs(module, CHIP)
    module.verify()
    assert sum(isinstance(op, SliceOp | TransposeOp) for op in module.walk()) > 0
    padded = np.pad(x.astype(np.int64), ((0, 0), (0, 0), (0, 0), (3, 4)), constant_values=7)
    windows = np.lib.stride_tricks.sliding_window_view(padded, 5, axis=3)[:, :, :, ::2]
    expected = np.einsum("ncywk,ock->noyw", windows, weights[:, :, 0])
    np.testing.assert_array_equal(interpret_function(module, {"x": x})["y"], expected)


def test_weights_of_two_convolutions_have_different_names() -> None:
    """Two convolutions with different strides read one weight, which becomes two weights with different names."""
    weights = np.random.default_rng(0).integers(-3, 4, (1, 64, 3, 9)).astype(np.float32)
    inputs = {"x": np.random.default_rng(1).integers(-3, 4, (1, 64, 6, 40)).astype(np.float32)}
    nodes = [helper.make_node("Conv", ["x", "w"], [f"y{stride}"], strides=[1, stride]) for stride in (1, 2)]
    graph = helper.make_graph(
        nodes,
        "shared",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 64, 6, 40])],
        [helper.make_tensor_value_info(f"y{stride}", TensorProto.FLOAT, None) for stride in (1, 2)],
        [numpy_helper.from_array(weights, "w")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    module = import_onnx(model)
    block_outputs(module, CHIP)
    names = [op.sym_name.data for op in module.walk() if isinstance(op, WeightOp)]
    assert sorted(names) == ["w.blocked", "w.blocked.1"]
    expected = Oracle(model.SerializeToString()).run(inputs)
    for name, got in interpret_function(module, inputs).items():
        np.testing.assert_array_equal(got, expected[name])


def parsed(text: str) -> ModuleOp:
    context = Context()
    for dialect in (Builtin, Func, Dataflow):
        context.load_dialect(dialect)
    return Parser(context, text).parse_module()

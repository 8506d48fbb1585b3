"""Tests of `dataflow-remove-zero-channels`: shapes become smaller, results equal those of ONNX Runtime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from meshloom.analysis.execution.interpret import run_main
from meshloom.dialects.dataflow import ConvOp, Dataflow, GatherOp, MatmulOp
from meshloom.dialects.dataflow.types import shape_of
from meshloom.emulator.executable.executable import read_executable
from meshloom.emulator.timing.engine import run_timing
from meshloom.frontend.onnx_import import import_onnx
from meshloom.tools.compile import main as compile_main
from meshloom.tools.opt import MeshloomOpt
from meshloom.tools.run import main as run_main_tool
from meshloom.tools.text_parser import LocatingParser
from meshloom.transforms.canonicalize import CanonicalizePass
from meshloom.transforms.dataflow_remove_zero_channels import remove_zero_channels
from numpy.typing import NDArray
from onnx import ModelProto, TensorProto, helper, numpy_helper
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

Floats = NDArray[np.float32]


def reference(model: ModelProto, inputs: dict[str, Any]) -> dict[str, NDArray[Any]]:
    """The results of ONNX Runtime without optimisations."""
    runtime = pytest.importorskip("onnxruntime")
    options = runtime.SessionOptions()
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = runtime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, inputs), strict=True))


class Network:
    """A random convolutional network of a few layers, in which all weights of some channels are zero."""

    def __init__(self, random: np.random.Generator) -> None:
        self.random = random
        self.nodes: list[Any] = []
        self.weights: list[Any] = []
        self.outputs: list[tuple[str, list[int]]] = []

    def known(self, values: NDArray[Any]) -> str:
        """Add a weight with the given values; its name."""
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(values.astype(np.float32), name))
        return name

    def indices(self, *values: int) -> str:
        """Add a constant of the given integers; its name."""
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.array(values, np.int64), name))
        return name

    def op(self, kind: str, inputs: list[str], **attributes: Any) -> str:
        """Add a node; the name of its result."""
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], **attributes))
        return name

    def numbers(self, *shape: int) -> NDArray[np.float64]:
        """Random nonzero numbers."""
        return self.random.uniform(0.3, 1, shape) * self.random.choice((-1, 1), shape)

    def pruned(self, values: NDArray[np.float64], axis: int, share: float) -> NDArray[np.float64]:
        """The values with some indices along an axis set to +0 or -0."""
        shape = [1] * values.ndim
        shape[axis] = -1
        sizes: tuple[int, ...] = values.shape
        gone: NDArray[np.bool_] = np.asarray(self.random.random(sizes[axis]) < share)
        return values * np.where(gone, self.random.choice((0.0, -0.0)), 1.0).reshape(shape)

    def conv(self, x: str, channels: int, outputs: int, groups: int = 1) -> str:
        """Add a convolution that keeps sizes, with or without padding and a bias."""
        kernel = int(self.random.choice((1, 3)))
        weights = self.numbers(outputs, channels // groups, kernel, kernel)
        weights = self.pruned(self.pruned(weights, 0, 0.5), 1, 0.0 if groups > 1 else 0.4)
        inputs = [x, self.known(weights)]
        if self.random.random() < 0.7:
            inputs.append(self.known(self.pruned(self.numbers(outputs), 0, 0.5)))
        return self.op("Conv", inputs, group=groups, pads=[kernel // 2] * 4)

    def norm(self, x: str, channels: int) -> str:
        """Add a batch normalisation, some of whose scales are zero."""
        scale = self.pruned(self.numbers(channels), 0, 0.3)
        variance = np.abs(self.numbers(channels))
        known = [self.known(one) for one in (scale, self.numbers(channels), self.numbers(channels), variance)]
        return self.op("BatchNormalization", [x, *known])

    def gate(self, x: str, channels: int) -> str:
        """Add the product of x and a factor for each channel, computed from the means of channels."""
        mean = self.op("GlobalAveragePool", [x])
        weights = self.known(self.pruned(self.numbers(channels, channels, 1, 1), 0, 0.3))
        return self.op("Mul", [x, self.op("Sigmoid", [self.op("Conv", [mean, weights])])])

    def step(self, x: str, channels: int) -> tuple[str, int]:
        """Add a layer after x [2, channels, 6, 6]; its result and channels."""
        kind = self.random.choice(
            ["conv", "conv", "grouped", "depthwise", "relu", "sigmoid", "clip", "norm", "residual", "concat", "gate",
             "pool", "mean pool", "pad", "split", "scale", "output", "rows"]
        )  # fmt: skip
        match kind:
            case "conv":
                outputs = int(self.random.integers(1, 9))
                return self.conv(x, channels, outputs), outputs
            case "grouped" if channels % 2 == 0:
                return self.conv(x, channels, 2 * channels, groups=2), 2 * channels
            case "depthwise":
                return self.conv(x, channels, channels, groups=channels), channels
            case "relu" | "sigmoid":
                return self.op("Relu" if kind == "relu" else "Sigmoid", [x]), channels
            case "clip":
                return self.op("Clip", [x, self.known(np.array(0.1)), self.known(np.array(0.5))]), channels
            case "norm":
                return self.norm(x, channels), channels
            case "residual":
                return self.op("Add", [x, self.conv(x, channels, channels)]), channels
            case "concat":
                return self.op("Concat", [x, self.conv(x, channels, 3)], axis=1), channels + 3
            case "gate":
                return self.gate(x, channels), channels
            case "pool":
                return self.op("MaxPool", [x], kernel_shape=[3, 3], pads=[1, 1, 1, 1]), channels
            case "mean pool":
                include = int(self.random.integers(0, 2))
                pool = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "count_include_pad": include}
                return self.op("AveragePool", [x], **pool), channels
            case "pad":
                front = int(self.random.integers(0, 2))
                pads = self.indices(0, front, 0, 0, 0, 1, 0, 0)
                return self.op("Pad", [x, pads, self.known(np.array(0.5))]), channels + front + 1
            case "split" if channels > 2:
                return self.op("Slice", [x, *map(self.indices, (1, channels, 1))]), channels - 1
            case "scale":
                return self.op("Mul", [x, self.known(self.pruned(self.numbers(channels, 1, 1), 0, 0.3))]), channels
            case "output":
                self.outputs.append((x, [2, channels, 6, 6]))
            case "rows":
                weights = self.known(self.pruned(self.numbers(6, 6), int(self.random.integers(0, 2)), 0.3))
                return self.op("MatMul", [x, weights]), channels
            case _:
                pass
        return x, channels

    def model(self, steps: int) -> ModelProto:
        """The complete network, which ends in a matrix product with or without a softmax."""
        x, channels = self.conv("x", 3, 6), 6
        for _ in range(steps):
            x, channels = self.step(x, channels)
        if self.random.random() < 0.5:
            x = self.op("Transpose", [x], perm=[0, 2, 3, 1])
        flat = self.op("Flatten", [x])
        weights = self.numbers(channels * 36, 5)
        weights = self.pruned(self.pruned(weights, 0, 0.3), 1, 0.3)
        x = self.op("Gemm", [flat, self.known(weights), self.known(self.numbers(5))])
        if self.random.random() < 0.3:
            x = self.op("Softmax", [x], axis=1)
        self.outputs.append((x, [2, 5]))
        return self.finished({"x": [2, 3, 6, 6]})

    def finished(self, inputs: dict[str, list[int]]) -> ModelProto:
        """The model of the nodes added so far."""
        made = dict(self.outputs)
        graph = helper.make_graph(
            self.nodes,
            "network",
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs.items()],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in made.items()],
            self.weights,
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def simplify(module: ModuleOp) -> None:
    """Simplify as the compiler does first."""
    context = Context()
    context.load_dialect(Dataflow)
    CanonicalizePass().apply(context, module)
    module.verify()


def read(model: ModelProto) -> ModuleOp:
    """The network as operators, simplified as the compiler does first."""
    module = import_onnx(model.SerializeToString())
    simplify(module)
    return module


def check(model: ModelProto, random: np.random.Generator) -> tuple[dict[str, Any], ModuleOp]:
    """Remove channels and compare all results; the weights with fewer channels, and the module."""
    module = read(model)
    shapes = {one.name: [d.dim_value for d in one.type.tensor_type.shape.dim] for one in model.graph.input}
    inputs = {name: random.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    shrunk = remove_zero_channels(module)
    module.verify()
    simplify(module)
    results = run_main(module, inputs)
    for name, expected in reference(model, inputs).items():
        assert results[name].shape == expected.shape
        atol = 3e-5 * max(1.0, float(np.abs(expected).max()))
        np.testing.assert_allclose(results[name], expected, rtol=0, atol=atol)
    return shrunk, module


@settings(max_examples=120, deadline=None, derandomize=True)
@given(st.integers(0, 2**32 - 1), st.integers(1, 9))
def test_random_networks_keep_their_results(seed: int, steps: int) -> None:
    random = np.random.default_rng(seed)
    check(Network(random).model(steps), random)


def product_of(weights: Floats, name: str = "v", **attributes: Any) -> tuple[ModelProto, np.random.Generator]:
    """A product of x [4, inputs] and weights [inputs, outputs], plus a bias."""
    network = Network(np.random.default_rng(0))
    bias = np.arange(weights.shape[1], dtype=np.float64) - 2
    y = network.op("Gemm", ["x", network.known(weights), network.known(bias)], **attributes)
    network.outputs.append((y, [4, weights.shape[1]]))
    return network.finished({"x": [4, weights.shape[0]]}), network.random


def test_columns_of_a_product_are_removed_and_its_result_keeps_its_shape() -> None:
    weights = np.random.default_rng(1).standard_normal((64, 50)).astype(np.float32)
    weights[:, np.arange(50) % 10 != 3] = 0
    model, random = product_of(weights)
    shrunk, module = check(model, random)
    assert list(shrunk.values()) == [((64, 50), (64, 5))]
    assert [shape_of(op.result) for op in module.walk() if isinstance(op, MatmulOp)] == [(4, 5)]


def test_rows_of_a_product_are_removed_and_its_input_keeps_its_shape() -> None:
    weights = np.random.default_rng(1).standard_normal((50, 64)).astype(np.float32)
    weights[np.arange(50) % 10 != 3] = 0
    model, random = product_of(weights)
    shrunk, module = check(model, random)
    assert list(shrunk.values()) == [((50, 64), (5, 64))]
    (gather,) = (op for op in module.walk() if isinstance(op, GatherOp))
    assert shape_of(gather.data) == (4, 50)


def test_channels_are_kept_if_moving_them_costs_more_than_their_weights() -> None:
    weights = np.ones((3, 2), np.float32)
    weights[1] = 0  # 8 bytes of weights, while x has 48
    model, random = product_of(weights)
    assert check(model, random)[0] == {}


def two_convolutions(first: Floats, bias: Floats, second: Floats, pads: int) -> tuple[ModelProto, np.random.Generator]:
    """A second convolution of relu(conv(x, first) + bias)."""
    network = Network(np.random.default_rng(0))
    y = network.op("Conv", ["x", network.known(first), network.known(bias)])
    y = network.op("Conv", [network.op("Relu", [y]), network.known(second)], pads=[pads] * 4)
    size = 4 + 2 * pads
    network.outputs.append((y, [1, len(second), size, size]))
    return network.finished({"x": [1, first.shape[1], 6, 6]}), network.random


@pytest.mark.parametrize(("bias", "pads", "left"), [(2.0, 0, 3), (2.0, 1, 4), (-2.0, 1, 3), (0.0, 1, 3)])
def test_a_constant_channel_is_added_to_the_next_bias(bias: float, pads: int, left: int) -> None:
    """
    A constant channel is removed and added to the next bias if there is no padding, or its value equals the padding.

    relu(-2) is 0, the value of the padding.
    """
    random = np.random.default_rng(2)
    first = random.standard_normal((4, 2, 1, 1)).astype(np.float32)
    first[1] = 0
    second = random.standard_normal((5, 4, 3, 3)).astype(np.float32)
    model, random = two_convolutions(first, np.array([1, bias, 3, 4], np.float32), second, pads)
    _, module = check(model, random)
    shapes = [shape_of(op.weights) for op in module.walk() if isinstance(op, ConvOp)]
    assert shapes == [(left, 2, 1, 1), (5, left, 3, 3)]


def test_channels_that_only_zero_weights_read_are_removed() -> None:
    random = np.random.default_rng(3)
    first = random.standard_normal((6, 2, 3, 3)).astype(np.float32)
    second = random.standard_normal((5, 6, 1, 1)).astype(np.float32)
    second[:, [0, 2, 5]] = -0.0
    model, random = two_convolutions(first, np.ones(6, np.float32), second, 0)
    _, module = check(model, random)
    shapes = [shape_of(op.weights) for op in module.walk() if isinstance(op, ConvOp)]
    assert shapes == [(3, 2, 3, 3), (5, 3, 1, 1)]


@pytest.mark.parametrize("agree", [True, False])
def test_a_channel_is_removed_only_if_both_operands_of_an_addition_agree(agree: bool) -> None:
    network = Network(np.random.default_rng(4))
    first, second = network.numbers(4, 2, 1, 1), network.numbers(4, 2, 1, 1)
    first[1] = 0
    if agree:
        second[1] = 0
    sides = [network.op("Conv", ["x", network.known(one)]) for one in (first, second)]
    last = network.op("Conv", [network.op("Add", sides), network.known(network.numbers(3, 4, 1, 1))])
    network.outputs.append((last, [1, 3, 6, 6]))
    _, module = check(network.finished({"x": [1, 2, 6, 6]}), network.random)
    left = 3 if agree else 4
    shapes = [shape_of(op.weights) for op in module.walk() if isinstance(op, ConvOp)]
    assert shapes == [(left, 2, 1, 1), (left, 2, 1, 1), (3, left, 1, 1)]


def test_groups_are_removed_as_a_whole_and_depthwise_channels_separately() -> None:
    network = Network(np.random.default_rng(5))
    first, last = network.numbers(8, 2, 1, 1), network.numbers(3, 8, 1, 1)
    first[[2, 3, 6]] = 0  # the second group of two channels, and half of the fourth group
    x = network.op("Conv", ["x", network.known(first)])
    x = network.op("Conv", [x, network.known(network.numbers(8, 2, 1, 1))], group=4)
    x = network.op("Conv", [x, network.known(network.numbers(8, 1, 3, 3))], group=8)
    last[:, 4] = 0  # half of the third group, whose other half is read
    network.outputs.append((network.op("Conv", [x, network.known(last)]), [1, 3, 4, 4]))
    _, module = check(network.finished({"x": [1, 2, 6, 6]}), network.random)
    convs = [(shape_of(op.weights), op.group_count) for op in module.walk() if isinstance(op, ConvOp)]
    assert convs == [((6, 2, 1, 1), 1), ((6, 2, 1, 1), 3), ((6, 1, 3, 3), 6), ((3, 6, 1, 1), 1)]


def test_a_branch_without_weights_is_a_constant() -> None:
    network = Network(np.random.default_rng(6))
    bias = network.numbers(4)
    branch = network.op("Conv", ["y", network.known(np.zeros((4, 4, 3, 3))), network.known(bias)], pads=[1] * 4)
    network.nodes.insert(0, helper.make_node("Conv", ["x", network.known(network.numbers(4, 3, 1, 1))], ["y"]))
    network.outputs.append((network.op("Add", ["y", network.op("Relu", [branch])]), [1, 4, 6, 6]))
    _, module = check(network.finished({"x": [1, 3, 6, 6]}), network.random)
    assert sum(isinstance(op, ConvOp) for op in module.walk()) == 1


def test_all_results_may_be_constant() -> None:
    model, random = product_of(np.zeros((8, 3), np.float32))
    _, module = check(model, random)
    assert not any(isinstance(op, MatmulOp) for op in module.walk())


def test_infinite_activations_are_not_multiplied_by_zero_weights() -> None:
    """Infinite activations of removed channels count as zero, as with encoded weights; products would be NaN."""
    weights = np.ones((40, 40), np.float32)
    weights[:30] = 0
    model, _ = product_of(weights)
    module = read(model)
    assert remove_zero_channels(module)
    x = np.ones((4, 40), np.float32)
    x[:, :30] = np.inf
    x[1, 35] = np.nan
    (got,) = run_main(module, {"x": x}).values()
    expected = np.where(np.arange(4)[:, None] == 1, np.nan, 10 + np.arange(40) - 2.0)
    np.testing.assert_array_equal(got, expected)


def test_integers_are_exact() -> None:
    text = """func.func @main(%x: tensor<1x8x5x5xi8>) -> tensor<1x3x3x3xi32> {{
  %w = dataflow.constant dense<{first}> : tensor<6x8x1x1xi8>
  %v = dataflow.constant dense<{second}> : tensor<3x6x3x3xi8>
  %one = dataflow.constant dense<{bias}> : tensor<1x6x1x1xi32>
  %a = dataflow.conv %x, %w strides [1, 1] dilations [1, 1] pad [0, 0] to [0, 0] groups 1
    : (tensor<1x8x5x5xi8>, tensor<6x8x1x1xi8>) -> tensor<1x6x5x5xi32>
  %b = dataflow.add %a, %one : (tensor<1x6x5x5xi32>, tensor<1x6x1x1xi32>) -> tensor<1x6x5x5xi32>
  %c = dataflow.cast %b : (tensor<1x6x5x5xi32>) -> tensor<1x6x5x5xi8>
  %y = dataflow.conv %c, %v strides [1, 1] dilations [1, 1] pad [0, 0] to [0, 0] groups 1
    : (tensor<1x6x5x5xi8>, tensor<3x6x3x3xi8>) -> tensor<1x3x3x3xi32>
  func.return %y : tensor<1x3x3x3xi32>
}}"""
    random = np.random.default_rng(7)
    first, second = random.integers(-128, 128, (6, 8, 1, 1)), random.integers(-128, 128, (3, 6, 3, 3))
    first[[1, 4]] = 0
    second[:, 3] = 0
    bias = random.integers(-300, 300, (1, 6, 1, 1))  # overflows in the cast
    lists = {"first": first.tolist(), "second": second.tolist(), "bias": bias.tolist()}
    module = LocatingParser(MeshloomOpt(args=[]).ctx, text.format(**lists), "text").parse_module()
    assert remove_zero_channels(module)
    module.verify()
    assert [shape_of(op.weights) for op in module.walk() if isinstance(op, ConvOp)] == [(3, 8, 1, 1), (3, 3, 3, 3)]
    x = random.integers(-128, 128, (1, 8, 5, 5)).astype(np.int8)
    (got,) = run_main(module, {"arg0": x}).values()
    middle = np.einsum("oc,nchw->nohw", first[:, :, 0, 0], x.astype(np.int64)) + bias
    middle = middle.astype(np.int8).astype(np.int64)
    windows = np.lib.stride_tricks.sliding_window_view(middle, (3, 3), axis=(2, 3))
    np.testing.assert_array_equal(got, np.einsum("ochw,ncyxhw->noyx", second, windows))


def test_sparse_compilation_removes_channels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """
    `--sparse` removes the zero channels of two products.

    A tenth of the columns of each is nonzero: a tenth of the first weights and a hundredth of the second are stored.
    """
    network = Network(np.random.default_rng(8))
    first, second = network.numbers(200, 300), network.numbers(300, 200)
    first[:, np.arange(300) % 10 != 0] = 0
    second[:, np.arange(200) % 10 != 0] = 0
    hidden = network.op("Relu", [network.op("Gemm", ["x", network.known(first), network.known(np.zeros(300))])])
    network.outputs.append((network.op("MatMul", [hidden, network.known(second)]), [1, 200]))
    path = tmp_path / "net.onnx"
    path.write_bytes(network.finished({"x": [1, 200]}).SerializeToString())
    dense, sparse = (tmp_path / name for name in ("dense.mlx", "sparse.mlx"))
    assert compile_main([str(path), "--chip", "tiny", "-o", str(dense)]) == 0
    assert compile_main([str(path), "--chip", "tiny", "--sparse", "-o", str(sparse)]) == 0
    printed = capsys.readouterr().out
    assert "zero channels are removed: " in printed
    assert "(200x300, now 200x30)" in printed
    assert "(300x200, now 30x20)" in printed
    assert run_main_tool([str(sparse), "--random", "0", "--validate", "--check", str(path)]) == 0
    cycles = [run_timing(read_executable(one)).cycles for one in (dense, sparse)]
    assert cycles[1] < cycles[0] / 3
    weights = [read_executable(one).weight_bytes for one in (dense, sparse)]
    assert weights[0] >= 4 * (200 * 300 + 300 * 200)
    assert weights[1] < 1.2 * 4 * (200 * 30 + 30 * 20)

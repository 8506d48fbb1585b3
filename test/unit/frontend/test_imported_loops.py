"""Recurrent layers, Scan and Loop are imported as loops, whose text does not grow with the number of steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from meshloom.analysis.execution.interpret import run_main
from meshloom.dialects.dataflow import LoopOp, MatmulOp
from meshloom.dialects.dataflow.unroll_loops import unroll_loops
from meshloom.frontend.onnx_import import import_onnx
from numpy.typing import NDArray
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper
from reference import run_reference
from xdsl.dialects.builtin import ModuleOp

Array = NDArray[Any]
FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def info(name: str, kind: int, shape: list[int] | None) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, shape)


def model_of(
    nodes: list[NodeProto], inputs: dict[str, Array], outputs: list[str], constants: dict[str, Array] | None = None
) -> ModelProto:
    graph = helper.make_graph(
        nodes,
        "loops",
        [info(name, helper.np_dtype_to_tensor_dtype(array.dtype), list(array.shape)) for name, array in inputs.items()],
        [info(name, FLOAT, None) for name in outputs],
        [numpy_helper.from_array(array, name) for name, array in (constants or {}).items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def checked(model: ModelProto, inputs: dict[str, Array]) -> ModuleOp:
    """Import a model, compare it with ONNX Runtime, with loops and with unrolled loops, and return the module."""
    module = import_onnx(model)
    module.verify()
    expected = run_reference(model, inputs)
    unrolled = module.clone()
    unroll_loops(unrolled)
    unrolled.verify()
    assert not loops(unrolled)
    for one in (module, unrolled):
        for name, result in run_main(one, inputs).items():
            np.testing.assert_allclose(result, expected[name], atol=1e-5)
    return module


def loops(module: ModuleOp) -> list[LoopOp]:
    return [op for op in module.walk() if isinstance(op, LoopOp)]


def operations(module: ModuleOp) -> int:
    return sum(1 for _ in module.walk())


def random(*shape: int) -> Array:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize(("kind", "gates"), [("LSTM", 4), ("GRU", 3), ("RNN", 1)])
def test_recurrent_layers_are_a_loop_for_each_direction(kind: str, gates: int, direction: str) -> None:
    ways = 2 if direction == "bidirectional" else 1
    constants = {"w": random(ways, gates * 5, 3), "r": random(ways, gates * 5, 5), "b": random(ways, gates * 10)}
    node = helper.make_node(kind, ["x", "w", "r", "b"], ["y"], hidden_size=5, direction=direction)
    sizes: set[int] = set()
    for steps in (3, 9):
        inputs = {"x": random(steps, 2, 3)}
        module = checked(model_of([node], inputs, ["y"], constants), inputs)
        assert [loop.step_count for loop in loops(module)] == [steps] * ways
        # The products with the inputs are computed for all steps before the loop.
        inside = [op for loop in loops(module) for op in loop.body.block.ops if isinstance(op, MatmulOp)]
        assert sum(isinstance(op, MatmulOp) for op in module.walk()) == len(inside) + ways
        sizes.add(operations(module))
    assert len(sizes) == 1


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_sequence_lengths_and_initial_states(kind: str) -> None:
    gates = {"LSTM": 4, "GRU": 3}[kind]
    constants = {"w": random(2, gates * 4, 3), "r": random(2, gates * 4, 4), "b": random(2, gates * 8)}
    inputs = {"x": random(6, 2, 3), "n": np.array([6, 2], np.int32), "h": random(2, 2, 4)}
    names = ["x", "w", "r", "b", "n", "h"]
    if kind == "LSTM":
        inputs["c"] = random(2, 2, 4)
        names.append("c")
    outputs = ["y", "last", "cell"][: 3 if kind == "LSTM" else 2]
    node = helper.make_node(kind, names, outputs, hidden_size=4, direction="bidirectional")
    module = checked(model_of([node], inputs, outputs, constants), inputs)
    assert len(loops(module)) == 2


@pytest.mark.parametrize(
    ("kind", "activations", "alphas", "betas"),
    [
        ("LSTM", ["Sigmoid", "ScaledTanh", "LeakyRelu", "HardSigmoid", "Tanh", "Elu"], [0.9, 0.2, 0.3, 1], [0.5, 0.4]),
        ("GRU", ["Sigmoid", "LeakyRelu", "HardSigmoid", "Affine"], [0.3, 0.1, 0.8], [0.6, 0.1]),
        ("RNN", ["Softsign", "ThresholdedRelu"], [0.2], []),
    ],
)
def test_parameters_of_activations(kind: str, activations: list[str], alphas: list[float], betas: list[float]) -> None:
    """Functions without a parameter take no element of the lists."""
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[kind]
    constants = {"w": random(2, gates * 4, 3), "r": random(2, gates * 4, 4) / 4, "b": random(2, gates * 8)}
    node = helper.make_node(
        kind, ["x", "w", "r", "b"], ["y"], hidden_size=4, direction="bidirectional", activations=activations,
        activation_alpha=alphas, activation_beta=betas or None,
    )  # fmt: skip
    inputs = {"x": random(4, 2, 3)}
    checked(model_of([node], inputs, ["y"], constants), inputs)


@pytest.mark.parametrize(("kind", "gates"), [("GRU", 3), ("RNN", 1)])
def test_clipped_operands_of_activations(kind: str, gates: int) -> None:
    constants = {"w": random(2, gates * 4, 3), "r": random(2, gates * 4, 4), "b": random(2, gates * 8)}
    node = helper.make_node(kind, ["x", "w", "r", "b"], ["y"], hidden_size=4, direction="bidirectional", clip=0.6)
    inputs = {"x": random(6, 2, 3)}
    checked(model_of([node], inputs, ["y"], constants), inputs)


def test_a_sequence_of_one_step_needs_no_loop() -> None:
    constants = {"w": random(1, 5, 3), "r": random(1, 5, 5)}
    inputs = {"x": random(1, 2, 3)}
    node = helper.make_node("RNN", ["x", "w", "r"], ["y"], hidden_size=5)
    assert not loops(checked(model_of([node], inputs, ["y"], constants), inputs))


def test_scan_along_other_axes_backwards() -> None:
    body = helper.make_graph(
        [
            helper.make_node("Add", ["s", "a"], ["t"]),
            helper.make_node("Mul", ["t", "b"], ["u"]),
            helper.make_node("Add", ["u", "outer"], ["v"]),
        ],
        "body",
        [info("s", FLOAT, [2]), info("a", FLOAT, [2]), info("b", FLOAT, [2])],
        [info("t", FLOAT, [2]), info("u", FLOAT, [2]), info("v", FLOAT, [2])],
    )
    node = helper.make_node(
        "Scan", ["s0", "a", "b"], ["last", "us", "vs"], body=body, num_scan_inputs=2, scan_input_axes=[1, 0],
        scan_input_directions=[0, 1], scan_output_axes=[1, 0], scan_output_directions=[1, 0],
    )  # fmt: skip
    inputs = {"s0": random(2), "a": random(2, 7), "b": random(7, 2), "outer": random(1)}
    module = checked(model_of([node], inputs, ["last", "us", "vs"]), inputs)
    (loop,) = loops(module)
    assert loop.step_count == 7
    assert [(along.axis, along.backwards) for along in loop.scans] == [(1, False), (0, True)]
    assert [(along.axis, along.backwards) for along in loop.stacks] == [(1, True), (0, False)]


def loop_body(nodes: list[NodeProto], going: str = "go") -> GraphProto:
    return helper.make_graph(
        [*nodes, helper.make_node("Identity", [going], ["go2"])],
        "body",
        [info("i", INT64, []), info("go", BOOL, []), info("s", FLOAT, [2])],
        [info("go2", BOOL, []), info("s2", FLOAT, [2]), info("row", FLOAT, [2])],
    )


COUNT = {"count": np.array(5, np.int64), "always": np.array(True)}


def test_a_counted_loop_reads_the_number_of_the_step() -> None:
    nodes = [
        helper.make_node("Gather", ["x", "i"], ["xi"], axis=0),
        helper.make_node("Cast", ["i"], ["f"], to=FLOAT),
        helper.make_node("Add", ["s", "xi"], ["s1"]),
        helper.make_node("Mul", ["s1", "f"], ["s2"]),
        helper.make_node("Neg", ["s2"], ["row"]),
    ]
    node = helper.make_node("Loop", ["count", "always", "s0"], ["last", "rows"], body=loop_body(nodes))
    inputs = {"s0": random(2), "x": random(5, 2)}
    module = checked(model_of([node], inputs, ["last", "rows"], COUNT), inputs)
    (loop,) = loops(module)
    assert loop.step_count == 5


def test_a_loop_that_ends_by_the_number_of_the_step_is_unrolled() -> None:
    nodes = [
        helper.make_node("Add", ["s", "s"], ["s2"]),
        helper.make_node("Identity", ["s2"], ["row"]),
        helper.make_node("Less", ["i", "two"], ["more"]),
    ]
    node = helper.make_node("Loop", ["count", "always", "s0"], ["last", "rows"], body=loop_body(nodes, "more"))
    inputs = {"s0": random(2)}
    module = checked(model_of([node], inputs, ["last", "rows"], {**COUNT, "two": np.array(2, np.int64)}), inputs)
    assert not loops(module)
    assert run_main(module, inputs)["rows"].shape == (3, 2)


def test_a_loop_in_a_loop() -> None:
    inner = helper.make_graph(
        [helper.make_node("Mul", ["t", "xi"], ["t1"]), helper.make_node("Identity", ["again"], ["again2"])],
        "inner",
        [info("j", INT64, []), info("again", BOOL, []), info("t", FLOAT, [2])],
        [info("again2", BOOL, []), info("t1", FLOAT, [2])],
    )
    nodes = [
        helper.make_node("Gather", ["x", "i"], ["xi"], axis=0),
        helper.make_node("Loop", ["three", "always", "s"], ["s2"], body=inner),
        helper.make_node("Identity", ["s2"], ["row"]),
    ]
    node = helper.make_node("Loop", ["count", "always", "s0"], ["last", "rows"], body=loop_body(nodes))
    inputs = {"s0": random(2), "x": random(5, 2)}
    constants = {**COUNT, "three": np.array(3, np.int64)}
    module = checked(model_of([node], inputs, ["last", "rows"], constants), inputs)
    assert sorted(loop.step_count for loop in loops(module)) == [3, 5]


def test_large_constants_of_a_body_are_defined_before_the_loop() -> None:
    """Weights and large constants are defined before the loop, where later operations can read them too."""
    constants = {"w": random(1, 40, 40), "r": random(1, 40, 40), "more": random(40, 40)}
    nodes = [
        helper.make_node("RNN", ["x", "w", "r"], ["y"], hidden_size=40),
        helper.make_node("Squeeze", ["y", "axes"], ["z"]),
        helper.make_node("MatMul", ["z", "more"], ["out"]),
    ]
    inputs = {"x": random(4, 1, 40)}
    model = model_of(nodes, inputs, ["out"], {**constants, "axes": np.array([1], np.int64)})
    (loop,) = loops(checked(model, inputs))
    assert {op.name for op in loop.body.block.ops}.isdisjoint({"dataflow.weight", "dataflow.constant"})

"""Weights of loops stay in the cores where they fit, and as many of them as fit where not all do."""

from __future__ import annotations

import numpy as np
import pytest
from meshloom.emulator.functional.engine import run_functional
from meshloom.emulator.timing.engine import run_timing
from meshloom.tools.api import CompiledNetwork, compile
from meshloom.tools.oracle import Oracle, compare
from onnx import NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper
from recurrent_networks import Recurrent, build

INPUTS = 16
SLOW = pytest.mark.slow


def compiled(kind: str, hidden: int, steps: int) -> CompiledNetwork:
    """The layer compiled for `tiny`; its results equal those of ONNX Runtime."""
    model = build(Recurrent.parse(f"{kind}:1:{hidden}:{INPUTS}:{steps}")).SerializeToString()
    network = compile(model, "tiny")
    inputs = {"x": np.random.default_rng(0).standard_normal((steps, 1, INPUTS)).astype(np.float32)}
    outputs = run_functional(network.executable, inputs, check=True).outputs
    for name, value in Oracle(model).run(inputs).items():
        assert compare(name, outputs[name], value).equal
    return network


@pytest.mark.parametrize(
    ("kind", "gates", "hidden"),
    [("RNN", 1, 280), pytest.param("LSTM", 4, 150, marks=SLOW), pytest.param("GRU", 3, 168, marks=SLOW)],
)
def test_most_weights_are_loaded_once(kind: str, gates: int, hidden: int) -> None:
    """The recurrent weights take more than all SRAM of `tiny`; at least 0.75 of its 256 KiB hold some of them."""
    steps = 12
    network = compiled(kind, hidden, steps)
    recurrent, sram = 4 * gates * hidden**2, 4 * 65536
    assert recurrent > sram
    others = 4 * (gates * hidden * INPUTS + 2 * gates * hidden + steps * (INPUTS + 2 * gates * hidden))
    read = int(run_timing(network.executable).port_read.sum())
    assert read <= 1.05 * (others + steps * recurrent - (steps - 1) * 0.75 * sram)


def test_rows_of_all_steps_leave_the_cores_for_the_weights() -> None:
    """
    The weights take 160,000 of 262,144 bytes, the products with the inputs of all steps 144,000: both do not fit. The
    products are stored and loaded once, by each of four cores 50 columns of a row: 200 bytes, 7 bursts of 32.
    """
    steps, hidden = 180, 200
    network = compiled("RNN", hidden, steps)
    weights, rows = 4 * (hidden**2 + hidden * INPUTS + 2 * hidden), steps * 4 * 7 * 32
    read = int(run_timing(network.executable).port_read.sum())
    assert read <= 1.1 * (weights + rows + 4 * steps * INPUTS)


def test_a_step_before_the_loop_reads_the_same_weights() -> None:
    """Of 262,144 bytes of weights, which are all of the SRAM of `tiny`, no core can keep its part."""
    size, steps, rng = 256, 12, np.random.default_rng(0)
    weights = (rng.standard_normal((size, size)) / 16).astype(np.float32)

    def value(name: str, *shape: int) -> ValueInfoProto:
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)

    def step(state: str, row: str, result: str) -> list[NodeProto]:
        product, total = f"{result}_product", f"{result}_sum"
        return [
            helper.make_node("MatMul", [state, "w"], [product]),
            helper.make_node("Add", [product, row], [total]),
            helper.make_node("Tanh", [total], [result]),
        ]

    inner = [*step("h", "t", "next"), helper.make_node("Identity", ["next"], ["out"])]
    takes, gives = [value("h", 1, size), value("t", 1, size)], [value("next", 1, size), value("out", 1, size)]
    body = helper.make_graph(inner, "step", takes, gives)
    nodes = [
        *step("h0", "x0", "h1"),
        helper.make_node("Scan", ["h1", "x"], ["last", "y"], num_scan_inputs=1, body=body),
    ]
    shapes = {"h0": (1, size), "x0": (1, size), "x": (steps, 1, size)}
    ends = [value(name, *shape) for name, shape in shapes.items()], [value("y", steps, 1, size)]
    graph = helper.make_graph(nodes, "network", *ends, [numpy_helper.from_array(weights, "w")])
    opset = helper.make_opsetid("", 17)
    model = helper.make_model(graph, opset_imports=[opset], ir_version=8).SerializeToString()
    inputs = {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    outputs = run_functional(compile(model, "tiny").executable, inputs, check=True).outputs
    for name, expected in Oracle(model).run(inputs).items():
        assert compare(name, outputs[name], expected).equal

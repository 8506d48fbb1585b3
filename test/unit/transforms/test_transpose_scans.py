"""Test that sequences whose first dimension is the batch become loops."""

from __future__ import annotations

import numpy as np
import pytest
from meshloom.tools.api import compile
from meshloom.tools.oracle import Oracle
from onnx import ModelProto, TensorProto, ValueInfoProto, helper, numpy_helper

BATCH, INPUTS, UNITS = 2, 3, 4


def batch_first_scan(steps: int) -> ModelProto:
    """An Elman cell in a Scan along axis 1 of x [batch, steps, inputs], with y [batch, steps, units]."""
    random = np.random.default_rng(0)

    def info(name: str, *shape: int) -> ValueInfoProto:
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)

    arrays = {"w": random.standard_normal((INPUTS, UNITS)), "r": 0.5 * random.standard_normal((UNITS, UNITS))}
    weights = [numpy_helper.from_array(array.astype(np.float32), name) for name, array in arrays.items()]
    body = helper.make_graph(
        [
            helper.make_node("MatMul", ["row", "w"], ["p"]),
            helper.make_node("MatMul", ["h", "r"], ["q"]),
            helper.make_node("Add", ["p", "q"], ["s"]),
            helper.make_node("Tanh", ["s"], ["next"]),
            helper.make_node("Identity", ["next"], ["shown"]),
        ],
        "cell",
        [info("h", BATCH, UNITS), info("row", BATCH, INPUTS)],
        [info("next", BATCH, UNITS), info("shown", BATCH, UNITS)],
    )
    scan = helper.make_node(
        "Scan", ["h0", "x"], ["last", "y"], body=body, num_scan_inputs=1, scan_input_axes=[1], scan_output_axes=[1]
    )
    inputs = [info("x", BATCH, steps, INPUTS), info("h0", BATCH, UNITS)]
    outputs = [info("y", BATCH, steps, UNITS), info("last", BATCH, UNITS)]
    graph = helper.make_graph([scan], "batch first", inputs, outputs, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def test_steps_along_an_inner_axis_stay_a_loop() -> None:
    """The code does not grow with the number of steps, and results equal those of ONNX Runtime."""
    random = np.random.default_rng(1)
    instructions: list[int] = []
    for steps in (8, 16):
        model = batch_first_scan(steps)
        compiled = compile(model.SerializeToString(), "tiny")
        instructions.append(sum(len(one.words) for one in compiled.executable.programs))
        shapes = {"x": (BATCH, steps, INPUTS), "h0": (BATCH, UNITS)}
        inputs = {name: random.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
        outputs = compiled.run(inputs).outputs
        for name, expected in Oracle(model.SerializeToString()).run(inputs).items():
            np.testing.assert_allclose(outputs[name], expected, rtol=1e-4, atol=1e-5)
    assert instructions[1] == pytest.approx(instructions[0], rel=0.2)

"""Recurrent layers with sequence lengths as an input run for the number of steps of the longest sequence."""

from __future__ import annotations

import numpy as np
import pytest
from meshloom.dialects.dataflow import LoopOp
from meshloom.frontend.onnx_import import import_onnx
from meshloom.support.errors import InputError
from meshloom.tools.oracle import Oracle
from onnx import TensorProto, helper, numpy_helper

import meshloom

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


def layer(kind: str, direction: str, steps: int | str, batch: int, size: int) -> bytes:
    """A layer of `size` units that reads `size` numbers in each step."""
    random = np.random.default_rng(0)
    ways = 2 if direction == "bidirectional" else 1
    rows = GATES[kind] * size
    shapes: dict[str, tuple[int, ...]] = {"w": (ways, rows, size), "r": (ways, rows, size), "b": (ways, 2 * rows)}
    weights = [
        numpy_helper.from_array((random.standard_normal(shape) / 4).astype(np.float32), name)
        for name, shape in shapes.items()
    ]
    node = helper.make_node(
        kind, ["x", "w", "r", "b", "lengths"], ["y", "last"], name="layer", hidden_size=size, direction=direction
    )
    inputs = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, [steps, batch, size]),
        helper.make_tensor_value_info("lengths", TensorProto.INT32, [batch]),
    ]
    outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ("y", "last")]
    graph = helper.make_graph([node], "network", inputs, outputs, weights)
    opsets = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()


def check(model: bytes, chip: str, cases: list[list[int]], validate: bool = False) -> list[int]:
    """Compare the outputs for these lengths with ONNX Runtime's, and return the cycles."""
    compiled, oracle = meshloom.compile(model, chip), Oracle(model)
    (steps, batch, size) = next(tuple(info.shape) for info in compiled.executable.inputs if info.name == "x")
    x = np.random.default_rng(1).standard_normal((steps, batch, size)).astype(np.float32)
    cycles: list[int] = []
    for case in cases:
        inputs = {"x": x, "lengths": np.array(case, np.int32)}
        result = compiled.run(inputs, check=validate)
        for name, value in oracle.run(inputs).items():
            np.testing.assert_allclose(result.outputs[name], value, rtol=1e-4, atol=1e-5)
        cycles.append(result.cycles)
    return cycles


def test_cycles_follow_the_longest_sequence() -> None:
    cycles = check(layer("LSTM", "forward", 32, 1, 16), "edge", [[0], [8], [16], [32]])
    assert cycles[1] - cycles[0] < cycles[2] - cycles[0] < cycles[3] - cycles[0]
    assert cycles[3] - cycles[2] == 2 * (cycles[2] - cycles[1])


@pytest.mark.parametrize(("kind", "direction"), [("GRU", "bidirectional"), ("RNN", "reverse")])
def test_directions(kind: str, direction: str) -> None:
    """Lengths that are no multiple of a group of steps and differ between sequences; layers that start at the end."""
    model = layer(kind, direction, 18, 2, 16)
    (loop, *_) = [op for op in import_onnx(model).walk() if isinstance(op, LoopOp)]
    assert loop.masked is not None
    cycles = check(model, "tiny", [[18, 3], [1, 1], [7, 2], [0, 0]], validate=True)
    assert cycles[1] < cycles[2] < cycles[0]


def test_lengths_out_of_range_are_refused() -> None:
    compiled = meshloom.compile(layer("RNN", "forward", 18, 2, 16), "tiny")
    x = np.zeros((18, 2, 16), np.float32)
    for length in (19, -1):
        message = f"input 'lengths' has the length {length} for sequence 1: expected 0 to 18"
        with pytest.raises(InputError, match=message):
            compiled.run({"x": x, "lengths": np.array([3, length], np.int32)})


def test_lengths_of_sequences_in_an_input_of_any_length() -> None:
    """The loop runs for the longest sequence, of which the input may hold fewer steps than the network supports."""
    model = layer("GRU", "bidirectional", "T", 2, 16)
    compiled, oracle = meshloom.compile(model, "tiny", shapes={"x": ("1..18", 2, 16)}), Oracle(model)
    for steps, lengths in ((18, (18, 3)), (11, (4, 11)), (11, (2, 1)), (1, (1, 1))):
        x = np.random.default_rng(steps).standard_normal((steps, 2, 16)).astype(np.float32)
        inputs = {"x": x, "lengths": np.array(lengths, np.int32)}
        result = compiled.run(inputs, check=True)
        for name, value in oracle.run(inputs).items():
            assert result.outputs[name].shape == value.shape
            np.testing.assert_allclose(result.outputs[name], value, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
def test_loops_that_are_unrolled_run_all_steps() -> None:
    assert len(set(check(layer("LSTM", "bidirectional", 4, 2, 8), "tiny", [[4, 1], [1, 1]]))) == 1

"""Networks for inputs of any length up to a bound: one executable against ONNX Runtime; cycles grow with the length."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from meshloom.dialects.dataflow import LoopOp
from meshloom.emulator.executable.encoded_interface import HostInterface
from meshloom.frontend.onnx_import import import_onnx
from meshloom.support.errors import InputError
from meshloom.support.sizes import UpTo
from meshloom.tools.api import CompiledNetwork
from meshloom.tools.chips_api import CompiledPipeline
from meshloom.tools.compile import main as compile_main
from meshloom.tools.oracle import Oracle
from meshloom.tools.run import main as run_main
from onnx import NodeProto, TensorProto, helper, numpy_helper

import meshloom

UNITS = 16
MOST = 24
node = helper.make_node


def network(nodes: Sequence[NodeProto], outputs: Sequence[str], batch: int = 1, ways: int = 1) -> bytes:
    """A network of y, y_last = GRU(relu(x)) and `nodes`; x has shape [T, batch, units], the weights d [units, 5]."""
    random = np.random.default_rng(0)
    gates = (ways, 3 * UNITS, UNITS)
    shapes = {"w": gates, "r": gates, "d": (ways * UNITS, 5), "w2": gates, "r2": gates}
    weights = [
        numpy_helper.from_array((random.standard_normal(shape) / 4).astype(np.float32), name)
        for name, shape in shapes.items()
    ]
    weights.append(numpy_helper.from_array(np.array([0, 0, -1]), "joined"))
    weights.append(numpy_helper.from_array(np.array(-1), "at_end"))
    weights.append(numpy_helper.from_array(np.array([1]), "ways"))
    direction = "bidirectional" if ways == 2 else "forward"
    first = [
        node("Relu", ["x"], ["positive"]),
        node("GRU", ["positive", "w", "r"], ["y", "y_last"], hidden_size=UNITS, direction=direction, name="layer"),
    ]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["T", batch, UNITS])]
    results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
    graph = helper.make_graph([*first, *nodes], "network", inputs, results, weights)
    opsets = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()


CLASSIFY = [
    node("Transpose", ["y"], ["turned"], perm=[0, 2, 1, 3]),
    node("Reshape", ["turned", "joined"], ["rows"]),
    node("MatMul", ["rows", "d"], ["scores"]),
    node("Softmax", ["scores"], ["z"], axis=-1),
]
"""z [T, batch, 5]; each step is computed independently."""


@pytest.mark.parametrize(("ways", "batch"), [pytest.param(1, 1, marks=pytest.mark.slow), (2, 2)])
def test_one_executable_for_all_lengths(ways: int, batch: int) -> None:
    model = network(CLASSIFY, ["z", "y_last"], batch, ways)
    compiled = meshloom.compile(model, "edge", shapes={"x": (f"1..{MOST}", batch, UNITS)})
    assert f"x f32[1..{MOST}, {batch}, 16] -> z f32[1..{MOST}, {batch}, 5]" in repr(compiled)
    oracle, cycles = Oracle(model), list[int]()
    for length in (1, 9, 17, MOST):
        x = np.random.default_rng(length).standard_normal((length, batch, UNITS)).astype(np.float32)
        result = compiled.run({"x": x}, check=length == 9)
        for name, value in oracle.run({"x": x}).items():
            assert result.outputs[name].shape == value.shape
            np.testing.assert_allclose(result.outputs[name], value, rtol=1e-4, atol=1e-6)
        cycles.append(result.cycles)
    assert cycles[2] - cycles[1] == cycles[1] - cycles[0] > 0
    for length in (0, MOST + 1):
        with pytest.raises(InputError, match=rf"input 'x' has shape \[{length}, .*expected \[1..{MOST}, "):
            compiled.run({"x": np.zeros((length, batch, UNITS), np.float32)})


TWO_LAYERS = [
    node("Squeeze", ["y", "ways"], ["between"]),
    node("GRU", ["between", "w2", "r2"], ["z", "z_last"], hidden_size=UNITS),
]


@pytest.mark.parametrize(
    "options",
    [{"chips": 2}, {"budget": 0.7}, pytest.param({"budget": 0.9, "chips": 2}, marks=pytest.mark.slow)],
    ids=str,
)
def test_any_length_on_chips_and_with_memory_saving(options: dict[str, Any]) -> None:
    model = network(TWO_LAYERS, ["z", "z_last"])
    compiler = cast("Callable[..., CompiledNetwork | CompiledPipeline]", meshloom.compile)
    compiled = compiler(model, "tiny", shapes={"x": (f"1..{MOST}", 1, UNITS)}, **options)
    oracle, cycles = Oracle(model), list[int]()
    for length in (3, MOST):
        x = np.random.default_rng(length).standard_normal((length, 1, UNITS)).astype(np.float32)
        result = compiled.run({"x": x}, check=True)
        for name, value in oracle.run({"x": x}).items():
            assert result.outputs[name].shape == value.shape
            np.testing.assert_allclose(result.outputs[name], value, rtol=1e-4, atol=1e-6)
        cycles.append(result.cycles)
    assert cycles[0] < cycles[1]
    with pytest.raises(InputError, match=rf"input 'x' has shape \[{MOST + 1}, .*expected \[1..{MOST}, "):
        compiled.run({"x": np.zeros((MOST + 1, 1, UNITS), np.float32)})


def bounded(model: bytes) -> None:
    import_onnx(model, {"x": (UpTo(MOST), 1, UNITS)})


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ([node("ReduceMean", ["y"], ["z"], axes=[0])], "'dataflow.reduce' mixes rows"),
        ([node("Gather", ["y", "at_end"], ["z"], axis=0)], "'dataflow.slice' mixes rows"),
        ([node("CumSum", ["y", "joined_0"], ["z"])], "'dataflow.cumsum' mixes rows"),
        ([node("MatMul", ["square", "squared"], ["z"])], "'dataflow.matmul' mixes rows"),
        ([node("Shape", ["x"], ["size"]), node("Cast", ["size"], ["z"], to=1)], "a number depends on the length"),
    ],
)
def test_operations_that_mix_rows_are_refused(nodes: list[NodeProto], message: str) -> None:
    before = [
        node("Constant", [], ["joined_0"], value_int=0),
        node("Squeeze", ["y_rows"], ["square"]),
        node("Transpose", ["square"], ["squared"], perm=[1, 0]),
        node("Identity", ["y"], ["y_rows"]),
    ]
    order = [before[0], before[3], before[1], before[2]]
    with pytest.raises(InputError, match=message):
        bounded(network([*order, *nodes], ["z"]))


def test_loops_run_for_the_number_of_steps_of_the_input() -> None:
    module = import_onnx(network([], ["y", "y_last"]), {"x": (UpTo(MOST), 1, UNITS)})
    (loop,) = [op for op in module.walk() if isinstance(op, LoopOp)]
    assert loop.step_count == MOST
    assert loop.count is not None
    assert loop.count.name_hint == "length"


def test_invalid_shapes_are_refused() -> None:
    with pytest.raises(InputError, match="expected at most one such axis per input, of the same length in all inputs"):
        import_onnx(network([], ["y"]), {"x": (UpTo(MOST), UpTo(8), UNITS)})
    for text in ("0..4", "4..4", "5..4", "a..4", "1..", "1...4"):
        with pytest.raises(InputError, match=r"or '1..64' for a length"):
            meshloom.compile(network([], ["y"]), "tiny", shapes={"x": (text, 1, UNITS)})


def test_the_tools(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, executable, given = tmp_path / "net.onnx", tmp_path / "net.mlx", tmp_path / "x.npy"
    model.write_bytes(network(CLASSIFY, ["z", "y_last"]))
    shape = f"x=1..{MOST}x1x{UNITS}"
    assert compile_main([str(model), "--chip", "tiny", "--shape", shape, "-o", str(executable), "-q"]) == 0
    np.save(given, np.random.default_rng(0).standard_normal((5, 1, UNITS)).astype(np.float32))
    out = tmp_path / "out"
    arguments = [str(executable), "--input", f"x={given}", "--check", str(model), "--output", str(out)]
    assert run_main(arguments) == 0
    assert "OK: all outputs equal" in capsys.readouterr().out
    assert np.load(out / "z.npy").shape == (5, 1, 5)
    assert compile_main([str(model), "--chip", "tiny", "--shape", "x=4..2x1x16", "-o", str(executable), "-q"]) == 2
    assert "or 1..64x1x32 for any length" in capsys.readouterr().err


DAMAGED = (
    "{",
    "[]",
    '{"rows":{"z":[7,"x.length"]}}',
    '{"rows":{"z":[0,"nobody"]}}',
    '{"lengths":{"x":[9,1,"x.length"]}}',
    '{"lengths":{"x":[0,99,"x.length"]}}',
    '{"lengths":{"q":[0,1,"x.length"]}}',
    '{"rows":{"z":{}},"most":{"x":[]}}',
)


def test_damaged_notes_are_ignored() -> None:
    executable = meshloom.compile(network(CLASSIFY, ["z"]), "tiny", shapes={"x": (f"1..{MOST}", 1, UNITS)}).executable
    z = np.zeros((MOST, 1, 5), np.float32)
    for note in DAMAGED:
        interface = HostInterface.of(replace(executable, notes=executable.notes | {"steps": note}))
        assert [tuple(info.shape) for info in interface.outputs] == [z.shape]
        assert interface.read({"z": z}, {})[0]["z"].shape == z.shape

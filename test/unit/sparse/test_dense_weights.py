"""What `meshloom-compile --sparse` says of weights that stay dense, and where it does not apply at all."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from meshloom.chips import load_chip
from meshloom.lowering.sparse_weights import SparseNetwork, compile_encoded
from meshloom.support.errors import InputError
from meshloom.tools.compile import main
from meshloom.tools.dense_weights import dense_weights_text
from meshloom.tools.read_module import read_module
from meshloom.transforms.manycore_outline_subgraphs import ManycoreOutlineSubgraphsPass
from onnx import TensorProto, helper, numpy_helper
from xdsl.context import Context

SHAPES = {"w": (16, 8, 3, 3), "d": (16, 1, 3, 3), "v": (16, 512), "s": (512, 96)}


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A convolution, a depthwise one and two products, the last of them with one weight in ten that is not zero."""
    generator = np.random.default_rng(0)
    values = {name: generator.standard_normal(shape).astype(np.float32) for name, shape in SHAPES.items()}
    values["s"] *= generator.random(SHAPES["s"]) < 0.1
    values["v"][0, 0] = 0
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"]),
        helper.make_node("Conv", ["a", "d"], ["b"], group=16),
        helper.make_node("ReduceMean", ["b"], ["c"], axes=[2, 3], keepdims=0),
        helper.make_node("MatMul", ["c", "v"], ["e"]),
        helper.make_node("Relu", ["e"], ["f"]),
        helper.make_node("MatMul", ["f", "s"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 8, 9, 9])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 96])],
        [numpy_helper.from_array(value, name) for name, value in values.items()],
    )
    path = tmp_path / "net.onnx"
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    path.write_bytes(made.SerializeToString())
    return path


def test_each_dense_tensor_has_its_reason(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(model), "--chip", "edge", "--sparse", "-o", str(model.with_suffix(".mlx"))]) == 0
    lines = capsys.readouterr().out.splitlines()
    told = lines[lines.index("weights that stay dense:") + 1 :]
    assert "  none of them is zero: w (16x8x3x3)" in told
    assert "  vector units compute depthwise convolutions, and skip nothing: constant of b (16x1x3x3)" in told
    assert any(
        line.startswith("  the best encoding (direct) takes ") and line.endswith(": v (16x512)") for line in told
    )
    assert not any("s (512x96)" in line for line in told)
    assert not any("not faster" in line for line in lines)


def test_quiet_says_nothing(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(model), "--chip", "edge", "--sparse", "-q", "-o", str(model.with_suffix(".mlx"))]) == 0
    assert capsys.readouterr().out == ""


def test_the_network_is_called_not_faster_only_where_that_was_measured(model: Path) -> None:
    module = read_module(model, {})
    chip = load_chip("edge")
    cycles = iter([1000, 999, 998])
    timed: SparseNetwork[object] = compile_encoded(module.clone(), chip, lambda one: one, lambda one: next(cycles))
    assert not timed.taken
    assert "is not faster (1,000 cycles, dense 998)" in dense_weights_text(timed)


def test_nothing_is_timed_where_nothing_has_zeros(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    weights = np.ones((64, 64), np.float32)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 64])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, 64])],
        [numpy_helper.from_array(weights, "w")],
    )
    path = tmp_path / "ones.onnx"
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    path.write_bytes(made.SerializeToString())

    def never(one: object) -> int:
        raise AssertionError("timed")

    network = compile_encoded(read_module(path, {}), load_chip("edge"), lambda one: one, never)
    assert dense_weights_text(network) == "all weights stay dense:\n  none of them is zero: constant of y (64x64)"
    assert main([str(path), "--chip", "edge", "--sparse", "-o", str(path.with_suffix(".mlx"))]) == 0
    out = capsys.readouterr().out
    assert "all weights stay dense:" in out
    assert "faster" not in out


@pytest.mark.parametrize(
    ("passes", "operation"),
    [
        ("canonicalize,dataflow-to-manycore,manycore-tile{chip=tiny}", "manycore.task"),
        ("manycore-outline-subgraphs{rule=fewest-bytes parts=2}", "manycore.subgraph"),
    ],
)
def test_sparse_with_passes_that_reach_manycore_is_an_error(
    model: Path, passes: str, operation: str, capsys: pytest.CaptureFixture[str]
) -> None:
    program = model.with_suffix(".mlx")
    assert main([str(model), "--chip", "tiny", "--sparse", "-p", passes, "-o", str(program)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "--sparse encodes the weights of whole operators" in line
    assert f"'{operation}'" in line
    assert not program.exists()


def test_compile_encoded_refuses_tasks_and_subgraphs(model: Path) -> None:
    module = read_module(model, {})
    ManycoreOutlineSubgraphsPass(rule=("fewest-bytes",), parts=2).apply(Context(), module)
    with pytest.raises(InputError, match="at level 'manycore' already"):
        compile_encoded(module, load_chip("tiny"), lambda one: one, lambda one: 0)

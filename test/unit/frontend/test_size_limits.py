"""Small models and texts that declare huge tensors are refused before memory is allocated for them."""

from __future__ import annotations

import re
import tracemalloc
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from meshloom.frontend.onnx_import import import_onnx
from meshloom.support.errors import InputError
from meshloom.support.limits import LARGEST_TENSOR, MOST_DIMENSIONS, size_problem
from meshloom.tools import compile as compile_tool
from meshloom.tools import opt as opt_tool
from onnx import TensorProto, helper, numpy_helper

ROOT = Path(__file__).resolve().parents[3]
F32, I64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
ALLOWED = 32 << 20
"""Bytes that an import may allocate until it refuses a declared size."""

Shape = Sequence[int]


@contextmanager
def little_memory() -> Generator[None]:
    """Check the allocated bytes; NumPy reports its allocations whether they are touched or not."""
    tracemalloc.start()
    try:
        yield
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < ALLOWED


def model(
    op: str,
    inputs: dict[str, Shape],
    known: dict[str, Any] | None = None,
    opset: int = 22,
    kind: int = F32,
    outputs: int = 1,
    **attributes: Any,
) -> onnx.ModelProto:
    """A model of one node, whose operands are inputs, then known values (None for an omitted one)."""
    known = known or {}
    names = [f"y{number}" for number in range(outputs)]
    node = helper.make_node(op, [*inputs, *("" if value is None else name for name, value in known.items())], names)
    node.attribute.extend(helper.make_attribute(name, value) for name, value in attributes.items())
    graph = helper.make_graph(
        [node],
        "claim",
        [helper.make_tensor_value_info(name, kind, shape) for name, shape in inputs.items()],
        [helper.make_empty_tensor_value_info(name) for name in names],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in known.items() if value is not None],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def i64(*values: int) -> Any:
    """A tensor of integers."""
    return np.asarray(values, np.int64)


def f32(*values: float) -> Any:
    """A tensor of floats."""
    return np.asarray(values, np.float32)


BIG = 1 << 40
scalar = np.int64(BIG)
on_off = f32(0, 1)
CLAIMS: dict[str, Callable[[], onnx.ModelProto]] = {
    "input": lambda: model("Relu", {"x": [1 << 20, 1 << 20]}),
    "input of many dimensions": lambda: model("Relu", {"x": [1] * (MOST_DIMENSIONS + 1)}),
    "EyeLike": lambda: model("EyeLike", {"x": [1 << 20, 1 << 12]}, kind=BOOL, dtype=F32),
    "OneHot": lambda: model("OneHot", {"x": [4]}, {"d": scalar, "v": on_off}, kind=I64),
    "OneHot of known values": lambda: model("OneHot", {}, {"x": i64(1, 2), "d": scalar, "v": on_off}),
    "RoiAlign": lambda: model(
        "RoiAlign",
        {"x": [1, 1, 2, 2]},
        {"r": f32(0, 0, 1, 1).reshape(1, 4), "b": i64(0)},
        output_height=BIG,
        sampling_ratio=1,
    ),
    "TfIdfVectorizer": lambda: model(
        "TfIdfVectorizer",
        {"x": [4]},
        kind=I64,
        mode="TF",
        min_gram_length=1,
        max_gram_length=1,
        max_skip_count=0,
        ngram_counts=[0],
        ngram_indexes=[BIG],
        pool_int64s=[1],
    ),
    "HannWindow": lambda: model("HannWindow", {}, {"n": scalar}),
    "HammingWindow": lambda: model("HammingWindow", {}, {"n": scalar}),
    "BlackmanWindow": lambda: model("BlackmanWindow", {}, {"n": scalar}),
    "MelWeightMatrix": lambda: model(
        "MelWeightMatrix", {}, {"b": scalar, "n": scalar, "r": scalar, "l": np.float32(0), "h": np.float32(9)}
    ),
    "DFT": lambda: model("DFT", {"x": [1, 1 << 17, 1]}, opset=17),
    "Range": lambda: model("Range", {}, {"a": np.int64(0), "b": scalar, "c": np.int64(1)}),
    "ConstantOfShape": lambda: model("ConstantOfShape", {}, {"s": i64(1 << 20, 1 << 20)}),
    "ConstantOfShape without elements": lambda: model("ConstantOfShape", {}, {"s": i64(0, BIG)}),
    "Expand": lambda: model("Expand", {"x": [1]}, {"s": i64(1 << 20, 1 << 20)}),
    "Expand of a known value": lambda: model("Expand", {}, {"x": f32(1), "s": i64(1 << 20, 1 << 20)}),
    "Tile": lambda: model("Tile", {"x": [1, 1]}, {"r": i64(1 << 20, 1 << 20)}),
    "Tile of a known value": lambda: model("Tile", {}, {"x": f32(1), "r": i64(BIG)}),
    "Pad": lambda: model("Pad", {"x": [1]}, {"p": i64(0, BIG)}),
    "Pad of a known value": lambda: model("Pad", {}, {"x": f32(1), "p": i64(BIG, BIG)}),
    "Pad by reflection": lambda: model("Pad", {"x": [2]}, {"p": i64(1 << 19, 0)}, mode="reflect"),
    "CenterCropPad": lambda: model("CenterCropPad", {"x": [1]}, {"s": i64(BIG)}),
    "Resize by scales": lambda: model("Resize", {"x": [1, 1, 2, 2]}, {"r": None, "s": f32(1, 1, 1e9, 1)}),
    "Resize by sizes": lambda: model("Resize", {"x": [1, 1, 2, 2]}, {"r": None, "s": None, "n": i64(1, 1, 2, BIG)}),
    "Resize, linear": lambda: model("Resize", {"x": [1, 1, 2, 2]}, {"r": None, "s": f32(1, 1, 1, 1e9)}, mode="linear"),
    "Resize of opset 10": lambda: model("Resize", {"x": [1, 1, 2, 2]}, {"s": f32(1, 1, 1e9, 1)}, opset=10),
    "Upsample": lambda: model("Upsample", {"x": [1, 1, 2, 2]}, {"s": f32(1, 1, 1e9, 1e9)}, opset=9),
    "Upsample of opset 7": lambda: model("Upsample", {"x": [1, 1, 2, 2]}, scales=[1.0, 1.0, 1e9, 1.0], opset=7),
    "ConvTranspose": lambda: model(
        "ConvTranspose", {"x": [1, 1, 2, 2]}, {"w": np.ones((1, 1, 2, 2), np.float32)}, strides=[1 << 30, 1 << 30]
    ),
    "Conv with padding": lambda: model(
        "Conv", {"x": [1, 1, 2, 2]}, {"w": np.ones((1, 1, 1, 1), np.float32)}, pads=[1 << 30] * 4
    ),
    "MaxPool with padding": lambda: model(
        "MaxPool", {"x": [1, 1, 2, 2]}, kernel_shape=[1, 1], pads=[1 << 29] * 4
    ),
    "MaxPool with indices": lambda: model(
        "MaxPool", {"x": [1, 1, 1 << 10, 1 << 10]}, kernel_shape=[1 << 10, 1 << 10], outputs=2
    ),
    "AveragePool with padding": lambda: model(
        "AveragePool", {"x": [1, 1, 2, 2]}, kernel_shape=[1 << 19, 1], pads=[1 << 19, 0, 1 << 19, 0]
    ),
    "MaxUnpool": lambda: model(
        "MaxUnpool", {"x": [1, 1, 2, 2]}, {"i": np.zeros((1, 1, 2, 2), np.int64)}, kernel_shape=[2, 2],
        strides=[1 << 30, 1 << 30],
    ),
    "Col2Im": lambda: model("Col2Im", {"x": [1, 1, 1]}, {"i": i64(BIG, 1), "b": i64(1, 1)}),
    "Trilu": lambda: model("Trilu", {"x": [1 << 16, 1 << 17]}, kind=BOOL),
    "Dropout in training": lambda: model(
        "Dropout", {"x": [1 << 30]}, {"r": np.float32(0.5), "t": np.asarray(True)}, seed=1
    ),
    "LSTM over time": lambda: model(
        "LSTM",
        {"x": [1 << 24, 1, 1]},
        {"w": np.zeros((1, 4, 1), np.float32), "r": np.zeros((1, 4, 1), np.float32)},
        hidden_size=1,
    ),
    "SplitToSequence": lambda: model("SplitToSequence", {"x": [1 << 24]}),
    "Split": lambda: model("Split", {"x": [4]}, num_outputs=1 << 40, opset=18),
    "outer product": lambda: model("Mul", {"x": [1 << 20, 1], "y": [1, 1 << 20]}),
    "MatMul": lambda: model("MatMul", {"x": [1 << 20, 1], "y": [1, 1 << 20]}),
    "MatMul without inner elements": lambda: model("MatMul", {"x": [1 << 20, 0], "y": [0, 1 << 20]}),
}  # fmt: skip


@pytest.mark.parametrize("claim", CLAIMS)
def test_declared_sizes_in_models(claim: str) -> None:
    proto = CLAIMS[claim]()
    assert proto.ByteSize() < 400
    with little_memory(), pytest.raises(InputError, match=r"at most [\d,]+ are"):
        import_onnx(proto)


def test_known_values_that_repeat_one_number(tmp_path: Path) -> None:
    """A known shape of 2^31 bytes, one number repeated, is refused before a list of its elements is created."""
    nodes = [
        helper.make_node("ConstantOfShape", ["n"], ["s"], value=helper.make_tensor("v", I64, [1], [1])),
        helper.make_node("Expand", ["x", "s"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", F32, [1])],
        [helper.make_empty_tensor_value_info("y")],
        [numpy_helper.from_array(i64(1 << 28), "n")],
    )
    with little_memory(), pytest.raises(InputError, match="268,435,456 numbers in the shape are not supported"):
        import_onnx(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8))


def test_shapes_given_on_the_command_line(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    proto = model("Relu", {"x": ["n", "m"]})  # pyright: ignore[reportArgumentType]
    (tmp_path / "net.onnx").write_bytes(proto.SerializeToString())
    assert opt_tool.main([str(tmp_path / "net.onnx"), "--shape", "x=1048576x1048576"]) == 2
    assert "takes 4,398,046,511,104 bytes, at most 4,294,967,296 are supported" in capfd.readouterr().err


TEXT = {
    "argument": "func.func @main(%x: tensor<1048576x1048576xf32>) { func.return }",
    "argument of a computation": """func.func @main(%x: tensor<1048576x1048576xf32>) -> tensor<1048576x1048576xf32> {
      %0 = dataflow.relu %x : (tensor<1048576x1048576xf32>) -> tensor<1048576x1048576xf32>
      func.return %0 : tensor<1048576x1048576xf32> }""",
    "constant": """func.func @main() -> tensor<1099511627776xf32> {
      %0 = dataflow.constant dense<0.0> : tensor<1099511627776xf32>
      func.return %0 : tensor<1099511627776xf32> }""",
    "broadcast": """func.func @main(%x: tensor<1xf32>) -> tensor<1099511627776xf32> {
      %0 = dataflow.broadcast %x : (tensor<1xf32>) -> tensor<1099511627776xf32>
      func.return %0 : tensor<1099511627776xf32> }""",
    "pad": """func.func @main(%x: tensor<1xf32>) -> tensor<1099511627777xf32> {
      %0 = dataflow.pad %x low [0] high [1099511627776] : (tensor<1xf32>) -> tensor<1099511627777xf32>
      func.return %0 : tensor<1099511627777xf32> }""",
}


@pytest.mark.parametrize("claim", TEXT)
@pytest.mark.parametrize("tool", ["opt", "interpret", "compile"])
def test_declared_sizes_in_textual_ir(claim: str, tool: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "claim.mlir"
    path.write_text(TEXT[claim])
    with little_memory():
        if tool == "compile":
            status = compile_tool.main([str(path), "--chip", "tiny", "-o", str(tmp_path / "out.mlx")])
        else:
            status = opt_tool.main(
                [str(path), *(["-t", "interpret"] if tool == "interpret" else ["-p", "canonicalize"])]
            )
    errors = capfd.readouterr().err
    # The message, and the line of the text with a caret.
    assert (status, errors.count("\n")) == (2, 3), errors
    assert "at most 4,294,967,296 are supported" in errors


@pytest.mark.parametrize(
    ("shape", "element", "problem"),
    [
        ((), 4, False),
        ((1 << 30,), 4, False),
        ((1 << 30, 1), 4, False),
        (((1 << 30) + 1,), 4, True),
        ((1 << 32,), 1, False),
        ((0, 1 << 32), 1, False),
        ((0, 1 << 33), 1, True),
        ((1,) * MOST_DIMENSIONS, 1, False),
        ((1,) * (MOST_DIMENSIONS + 1), 1, True),
    ],
)
def test_the_limit_to_the_byte(shape: tuple[int, ...], element: int, problem: bool) -> None:
    assert LARGEST_TENSOR == 1 << 32
    assert (size_problem(shape, element) is not None) == problem


def test_importers_create_arrays_by_functions_that_check_sizes() -> None:
    """Importers create arrays of declared sizes by frontend/arrays.py, not by NumPy."""
    for path in sorted((ROOT / "frontend" / "onnx_ops").rglob("*.py")):
        found = re.findall(
            r"np\.(?:arange|zeros|full|eye|identity|empty|tile|repeat|linspace|outer)\((?!1,)", path.read_text()
        )
        assert not found, f"{path.name}: {found}"

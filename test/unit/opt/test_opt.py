"""Tests of `meshloom-opt`: errors, output files and options."""

from __future__ import annotations

import time
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest
from meshloom.support.errors import InputError
from meshloom.tools.cli import parse_shapes, run_tool
from meshloom.tools.opt import main

GOOD = "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n  func.return %x : tensor<4xf32>\n}\n"


def run(tmp_path: Path, text: str | bytes, *args: str) -> int:
    path = tmp_path / "in.mlir"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return main([str(path), *args])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("func.func @main(%x: tensor<4xf32>", "in.mlir:1:34: error: "),
        (b"\xff\xfe", "in.mlir:1:1: error: not UTF-8 text"),
        ('"test.op"() {a = #manycore.chip<"none">} : () -> ()', "in.mlir:1:33: error: no chip named 'none'"),
        (
            '"test.op"() {a = #manycore.tiling<grid = [0], cores = [], steps = [1], order = [0]>} : () -> ()',
            "at least 1",
        ),
        (GOOD.replace("4xf32> {", "5xf32> {"), "Expected arguments to have the same types"),
        ("[" * 3000, "in.mlir:1:1: error: "),
        ("", "in.mlir contains no IR"),
        ("// a comment\n\n", "in.mlir contains no IR"),
    ],
)
def test_bad_input_is_one_error_and_status_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str | bytes, message: str
) -> None:
    assert run(tmp_path, text) == 2
    lines = capsys.readouterr().err.splitlines()
    assert message in lines[0]
    assert [" error: " in f" {line}" for line in lines] == [True] + [False] * (len(lines) - 1)
    # If the location is known, the line of the text and a caret follow.
    assert len(lines) in (1, 3)
    assert len(lines) == 1 or lines[2].strip() == "^"


@pytest.mark.parametrize("options", [["--shape", "x=4"], ["--parameters"]])
def test_options_of_onnx_models_are_refused_for_text(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str]
) -> None:
    assert run(tmp_path, GOOD, *options) == 2
    assert capsys.readouterr().err.startswith(f"error: {options[0]} is for ONNX models")


@pytest.mark.parametrize("arguments", [[], ["-"]], ids=["nothing", "dash"])
def test_without_a_file_text_comes_from_standard_input(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(GOOD.encode())))
    assert main(arguments) == 0
    assert "func.func @main" in capsys.readouterr().out


def test_unterminated_strings_fail_fast(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    start = time.perf_counter()
    assert run(tmp_path, '"test.op"() {a = "' + "a" * 5000 + "\n") == 2
    assert time.perf_counter() - start < 1.0
    assert "in.mlir:1:18" in capsys.readouterr().err


def test_a_failing_run_leaves_the_output_file_alone(tmp_path: Path) -> None:
    out = tmp_path / "out.mlir"
    out.write_text("before")
    assert run(tmp_path, "nonsense", "-o", str(out)) == 2
    assert out.read_text() == "before"
    assert run(tmp_path, GOOD, "-o", str(out)) == 0
    assert "func.func @main" in out.read_text()
    assert run(tmp_path, GOOD, "-o", str(tmp_path / "no" / "folder.mlir")) == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.mlir", "out.mlir"]


def test_shapes() -> None:
    assert parse_shapes(["x=1x3x224x224", "a=b=2", "s="]) == {"x": (1, 3, 224, 224), "a=b": (2,), "s": ()}
    for wrong in ("x", "=1x2", "x=1x", "x=-1", "x=axb", "x=²"):
        with pytest.raises(InputError, match="expected NAME=SHAPE"):
            parse_shapes([wrong])


def test_exit_statuses(capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    def defect() -> None:
        raise KeyError("x")

    assert run_tool(interrupted) == 130
    assert run_tool(defect) == 1
    assert "internal error: KeyError: 'x'" in capsys.readouterr().err
    assert run_tool(lambda: None) == 0


def test_onnx_in_text_out_and_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An ONNX model and its textual IR, with weights stored as typed and as raw data, give the same values."""
    import numpy as np
    from onnx import TensorProto, helper, numpy_helper

    typed = helper.make_tensor("typed", TensorProto.INT32, [2048], list(range(2048)))
    raw = numpy_helper.from_array(np.arange(6144, dtype="f4").reshape(2048, 3), "raw")
    nodes = [
        helper.make_node("Cast", ["typed"], ["numbers"], to=TensorProto.FLOAT),
        helper.make_node("Add", ["x", "numbers"], ["sum"]),
        helper.make_node("MatMul", ["sum", "raw"], ["y"]),
    ]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 2048])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 3])
    graph = helper.make_graph(nodes, "g", [x], [y], [typed, raw])
    model, text = tmp_path / "net.onnx", tmp_path / "net.mlir"
    model.write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]).SerializeToString())
    assert main([str(model), "--shape", "x=1x2048", "-o", str(text)]) == 0
    assert (tmp_path / "net.mlir.weights").stat().st_size >= 8192
    capsys.readouterr()
    assert main([str(model), "--shape", "x=1x2048", "-t", "interpret"]) == 0
    direct = capsys.readouterr().out
    assert main([str(text), "-t", "interpret"]) == 0
    assert capsys.readouterr().out == direct
    assert direct.startswith("y: tensor<1x3xf32> = [[")
    assert main([str(model), "--shape", "x=1x7"]) == 2

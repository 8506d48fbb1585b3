"""Tests of failures of passes: one line with the name of the pass, and a reproducer."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import pytest
from meshloom.tools import compile as compile_tool
from meshloom.tools.opt import main
from meshloom.transforms.dataflow_fold_affine import DataflowFoldAffinePass
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

NETWORK = """func.func @main(%x: tensor<4xf32> {dataflow.name = "x"}) -> (tensor<4xf32> {dataflow.name = "y"}) {
  %a = dataflow.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  %unused = dataflow.neg %x : (tensor<4xf32>) -> tensor<4xf32>
  func.return %a : tensor<4xf32>
}
"""
DATA = Path(__file__).resolve().parents[2] / "data"


def replace_pass(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    """Replace the pass by one that changes the module and then raises `error`."""

    def apply(self: DataflowFoldAffinePass, ctx: Context, op: ModuleOp) -> None:
        op.attributes["changed"] = op.get_attr_or_prop("sym_name") or next(iter(op.ops)).properties["sym_name"]
        raise error

    monkeypatch.setattr(DataflowFoldAffinePass, "apply", apply)


@pytest.fixture(autouse=True)
def temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of reproducers of runs without an output file."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.delenv("MESHLOOM_DEBUG", raising=False)
    return folder


def reproducer_in(line: str) -> Path:
    found = re.search(r"\(reproducer: (.*?\.mlir)[;)]", line)
    assert found, line
    return Path(found[1])


@pytest.mark.parametrize(
    "error",
    [KeyError("a\nb"), ValueError("bad"), AssertionError(), RecursionError("deep"), ZeroDivisionError("zero"),
     MemoryError(), OSError(5, "no device")],
    ids=lambda error: type(error).__name__,
)  # fmt: skip
def test_any_exception_of_a_pass_gives_its_name_and_a_reproducer(
    error: Exception, tmp_path: Path, temporary_folder: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    (tmp_path / "in.mlir").write_text(NETWORK)
    replace_pass(monkeypatch, error)
    assert main([str(tmp_path / "in.mlir"), "-p", "canonicalize,dataflow-fold-affine,cse"]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    (line,) = printed.err.splitlines()
    assert "error: pass 'dataflow-fold-affine' failed: " in line
    if str(error) and not isinstance(error, OSError):
        assert type(error).__name__ in line
    file = reproducer_in(line)
    assert file.parent == temporary_folder
    text = file.read_text()
    # The module is that after canonicalize (without %unused) and before the failing pass (without its attribute).
    assert "%unused" not in text
    assert "changed" not in text
    assert 'pipeline: "builtin.module(dataflow-fold-affine,cse)"' in text
    assert re.search(r"^// meshloom \S+ \(xdsl \S+\), Python 3\.", text, re.MULTILINE)

    # It fails in the same way, and succeeds when the pass is restored.
    assert main([str(file), "--run-reproducer"]) == 1
    assert capsys.readouterr().err.startswith("error: pass 'dataflow-fold-affine' failed: ")
    monkeypatch.undo()
    assert main([str(file), "--run-reproducer"]) == 0
    assert "dataflow.relu" in capsys.readouterr().out


def test_reproducers_are_written_to_the_folder_of_the_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "in.mlir").write_text(NETWORK)
    folder = tmp_path / "out"
    folder.mkdir()
    replace_pass(monkeypatch, KeyError("x"))
    assert main([str(tmp_path / "in.mlir"), "-p", "dataflow-fold-affine", "-o", str(folder / "out.mlir")]) == 1
    file = reproducer_in(capsys.readouterr().err)
    assert list(folder.iterdir()) == [file]
    arguments = [str(tmp_path / "in.mlir"), "--chip", "tiny", "-o", str(folder / "net.mlx"), "-p"]
    assert compile_tool.main([*arguments, "dataflow-fold-affine"]) == 1
    error = capsys.readouterr().err
    assert "error: pass 'dataflow-fold-affine' failed: KeyError: 'x' (reproducer: " in error
    assert len(list(folder.iterdir())) == 2


def test_a_pass_that_leaves_an_invalid_module_leaves_a_reproducer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def apply(self: DataflowFoldAffinePass, ctx: Context, op: ModuleOp) -> None:
        function = next(iter(op.ops))
        last = function.regions[0].block.last_op
        assert last is not None
        last.detach()

    monkeypatch.setattr(DataflowFoldAffinePass, "apply", apply)
    (tmp_path / "in.mlir").write_text(NETWORK)
    assert main([str(tmp_path / "in.mlir"), "-p", "dataflow-fold-affine"]) == 1
    line = capsys.readouterr().err.splitlines()[0]
    assert "error: pass 'dataflow-fold-affine' failed: " in line
    assert "func.return" in reproducer_in(line).read_text()


def test_reproducers_keep_options_of_passes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Quotation marks within options are escaped in the reproducer."""
    (tmp_path / "in.mlir").write_text(NETWORK)
    replace_pass(monkeypatch, KeyError("x"))
    pipeline = 'dataflow-fold-affine,manycore-tile{chip="no such chip"}'
    assert main([str(tmp_path / "in.mlir"), "-p", pipeline]) == 1
    file = reproducer_in(capsys.readouterr().err)
    assert 'manycore-tile{chip=\\"no such chip\\"}' in file.read_text()
    monkeypatch.undo()
    assert main([str(file), "--run-reproducer"]) == 2
    assert "pass 'manycore-tile': " in capsys.readouterr().err


def test_refusals_name_the_pass_and_leave_nothing(
    tmp_path: Path, temporary_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Errors that the user can correct have no reproducer."""
    (tmp_path / "in.mlir").write_text(NETWORK)
    assert main([str(tmp_path / "in.mlir"), "-p", "canonicalize,manycore-tile"]) == 2
    assert capsys.readouterr().err.startswith("error: pass 'manycore-tile': no chip is given")
    assert list(temporary_folder.iterdir()) == []


def test_a_file_without_a_pipeline_is_no_reproducer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "in.mlir").write_text(NETWORK)
    assert main([str(tmp_path / "in.mlir"), "--run-reproducer"]) == 2
    assert "--run-reproducer: the file does not end with the pipeline of a reproducer" in capsys.readouterr().err
    assert main([str(tmp_path / "in.mlir"), "--run-reproducer", "-p", "cse"]) == 2
    assert "leave out -p" in capsys.readouterr().err


@pytest.mark.parametrize("number", [1, 2])
def test_operations_outside_of_tasks_are_refused_by_name(
    number: int, temporary_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    passes = "dataflow-to-manycore,manycore-tile{chip=tiny},manycore-to-memory"
    assert main([str(DATA / f"to_memory_sparse_left_{number}.mlir"), "-p", passes]) == 2
    line = capsys.readouterr().err.splitlines()[0]
    assert "error: pass 'manycore-to-memory': operation 'sparse.encode' is in no task: run sparse-to-" in line
    assert list(temporary_folder.iterdir()) == []


TASK = """%y = manycore.task @t(%a = %x : tensor<4xf32>) -> tensor<4xf32>
    tiled <grid = [1], cores = [0], steps = [1], order = [0]> {
  %0 = dataflow.relu %a : (tensor<4xf32>) -> tensor<4xf32>
  manycore.yield %0 : tensor<4xf32>
}
"""


@pytest.mark.parametrize("level", ["dataflow-to-manycore", "manycore-inline-subgraphs"])
def test_the_refusal_names_the_pass_that_is_missing(
    level: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    body = {
        "dataflow-to-manycore": "%y = dataflow.relu %x : (tensor<4xf32>) -> tensor<4xf32>\n",
        "manycore-inline-subgraphs": "%y = manycore.subgraph @s(%a = %x : tensor<4xf32>) -> tensor<4xf32> {\n"
        "manycore.yield %a : tensor<4xf32>\n}\n",
    }[level]
    (tmp_path / "in.mlir").write_text(
        f"func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {{\n{body}func.return %y : tensor<4xf32>\n}}\n"
    )
    assert main([str(tmp_path / "in.mlir"), "-p", "manycore-tile{chip=tiny},manycore-to-memory"]) == 2
    assert level in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ((DATA / "schedule_forward_value.mlir").read_text(), "operand 0 of manycore.task is not defined"),
        (
            "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
            "  %z = dataflow.neg %inner : (tensor<4xf32>) -> tensor<4xf32>\n"
            f"{TASK.replace('%0', '%inner')}func.return %z : tensor<4xf32>\n}}\n",
            "operand 0 %inner of dataflow.neg is defined in a region that does not contain the operation",
        ),
        (
            "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n"
            "  %y = sparse.decode %e : tensor<2xf32, #sparse.index<direct>> -> tensor<2xf32>\n"
            "  %e = sparse.encode %x : tensor<2xf32> -> tensor<2xf32, #sparse.index<direct>>\n"
            "  func.return %y : tensor<2xf32>\n}\n",
            "operand 0 %e of sparse.decode is used before sparse.encode defines it",
        ),
        (
            '"func.func"() <{sym_name = "main"}> ({\n^bb0(%x: tensor<4xf32>):\n'
            '  "func.return"(%x) : (tensor<4xf32>) -> ()\n}) : () -> ()',
            "an operation has no 'function_type'",
        ),
        (
            "func.func @main(%x: tensor<1073741825xf32>) -> tensor<1073741825xf32> {\n"
            "  func.return %x : tensor<1073741825xf32>\n}\n",
            "a tensor of 1073741825 elements takes 4,294,967,300 bytes, at most 4,294,967,296 are supported",
        ),
        ('"test.op"() {a = dense<1> : tensor<9999x9999xi8>} : () -> ()', "at most 67,108,864 elements"),
    ],
    ids=["own-region", "other-region", "order-of-sparse", "no-property", "size", "dense"],
)  # fmt: skip
def test_text_that_passes_cannot_process_is_refused_when_read(
    text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "in.mlir").write_text(text)
    assert main([str(tmp_path / "in.mlir"), "-p", "manycore-schedule"]) == 2
    line = capsys.readouterr().err.splitlines()[0]
    assert message in line

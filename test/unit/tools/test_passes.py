"""Tests of `meshloom-compile -p`: passes before those of the compiler, which continues from the resulting level."""

from __future__ import annotations

from pathlib import Path

import pytest
from meshloom.tools.compile import main as compile_main
from meshloom.tools.run import main as run_main

TILED = "canonicalize,dataflow-to-manycore,manycore-tile{chip=tiny}"
ARGUMENTS = ["small.onnx", "--chip", "tiny", "--shape", "x=3x6", "-q", "-o"]


@pytest.fixture(autouse=True)
def folder(model: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, which has only `small.onnx`."""
    monkeypatch.chdir(model.parent)
    return model.parent


def test_down_to_tiled_tasks() -> None:
    assert compile_main([*ARGUMENTS, "net.mlx", "-p", TILED, "--print-ir-after-all", "ir", "--report", "a.html"]) == 0
    files = {path.name.partition("-")[2]: path for path in sorted(Path("ir").iterdir())}
    assert list(files)[:3] == [
        "import.mlir",
        "dataflow-to-manycore.mlir",
        "manycore-tile.mlir",
    ]  # the first pass changes nothing
    assert "in dram tiled" not in files["dataflow-to-manycore.mlir"].read_text()
    assert "in dram tiled" in files["manycore-tile.mlir"].read_text()
    page = Path("a.html").read_text()
    assert all(f">{name}<" in page for name in ("canonicalize", "dataflow-to-manycore", "manycore-tile"))
    assert run_main(["net.mlx", "--random", "0", "--check", "small.onnx", "-q"]) == 0


def test_passes_of_the_compiler_itself_change_nothing() -> None:
    assert compile_main([*ARGUMENTS, "plain.mlx"]) == 0
    assert compile_main([*ARGUMENTS, "same.mlx", "-p", "canonicalize,dataflow-fold-affine"]) == 0
    assert Path("plain.mlx").read_bytes() == Path("same.mlx").read_bytes()


@pytest.mark.parametrize("last", ["manycore-to-memory", "manycore-to-memory,memory-to-coreasm"])
def test_compilation_continues_from_every_level(last: str) -> None:
    assert compile_main([*ARGUMENTS, "net.mlx", "-p", f"{TILED},{last}"]) == 0
    assert run_main(["net.mlx", "--random", "0", "--check", "small.onnx", "-q"]) == 0


BAD = [
    (["--report", "no/folder/a.html"], "there is no folder no/folder"),
    (["--report", "."], "is a folder"),
    (["-p", "manycore-tiles"], "unknown pass 'manycore-tiles'; did you mean 'manycore-tile'?"),
    (["-p", "qqqqqqqq"], "unknown pass 'qqqqqqqq'; `meshloom-opt --list-passes` names all"),
    (["-p", "canonicalize{"], "Expected argument name here"),
    (["-p", "manycore-tile{chops=1}"], "there is no option 'chops'; the options are 'chip'"),
    (
        ["-p", "manycore-to-memory{chip=tiny}"],
        "there is no option 'chip'; the options are 'effort', 'order', 'stop_at', 'placement'",
    ),
    (["-p", "manycore-inline-subgraphs{chip=tiny}"], "there is no option 'chip'; there are none"),
    (["-p", "dataflow-to-manycore,manycore-tile"], "no chip is given"),
    (["-p", "dataflow-to-manycore,manycore-tile{chip=edge}"], "the module is for chip 'edge'"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD, ids=lambda value: str(value)[:40])
def test_bad_usage_leaves_one_error_and_no_file(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert compile_main([*ARGUMENTS, "net.mlx", *arguments]) == 2
    error = capsys.readouterr().err
    # The error of an operation begins with the name of its node.
    assert error.removeprefix('loc("MatMul:p"): ').startswith("error: ")
    assert error.count("\n") == 1
    assert message in error
    assert [path.name for path in Path().iterdir()] == ["small.onnx"]


def test_operations_of_other_dialects(capsys: pytest.CaptureFixture[str]) -> None:
    Path("other.mlir").write_text("func.func @main() {\n%0 = arith.constant 1 : i32\nfunc.return\n}")
    assert compile_main(["other.mlir", "--chip", "tiny", "-o", "net.mlx"]) == 2
    assert "operation 'arith.constant' belongs to dialect 'arith'" in capsys.readouterr().err


def test_reports_of_runs_need_a_folder(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_main(["net.mlx", "--random", "0", "--report", "no/folder.html"]) == 2
    assert capsys.readouterr().err == "error: no/folder.html: there is no folder no\n"

"""Tests of `meshloom-compile` and `meshloom-run`: results, files, errors, exit statuses."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

CHIPS = Path(__file__).resolve().parents[3] / "chips"
Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def executable(model: Path, run: Run) -> Path:
    done = run("meshloom-compile", model, "--chip", "tiny", "--shape", "x=3x6", "-o", "net.mlx")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "net.mlx:" in done.stdout
    assert "SRAM allocated" in done.stdout
    return model.with_name("net.mlx")


def test_allocated_and_touched_memory_have_different_names(model: Path, run: Run) -> None:
    """The run touches no more than the compiler has allocated, and the two figures have different names."""
    compiled = run("meshloom-compile", model, "--chip", "tiny", "--shape", "x=3x6", "-o", "net.mlx").stdout
    ran = run("meshloom-run", "net.mlx", "--random", 0, "--stats", "stats.json").stdout
    (allocated,) = re.findall(r"SRAM allocated ([\d,]+) of", compiled)
    (touched,) = re.findall(r"SRAM touched up to ([\d,]+) of", ran)
    assert int(touched.replace(",", "")) <= int(allocated.replace(",", ""))
    assert "SRAM peak" not in compiled + ran
    stats = json.loads(model.with_name("stats.json").read_text())
    assert f"{stats['peak_sram']['max']:,}" == touched


def test_check_and_outputs(executable: Path, model: Path, start: Run) -> None:
    x = np.random.default_rng(5).standard_normal((3, 6)).astype(np.float32)
    np.save(executable.with_name("x.npy"), x)
    arguments = ["--input", "x=x.npy", "--output", "results", "--stats", "stats.json", "--validate"]
    done = start("meshloom-run", executable, "--check", model, *arguments, "--trace", "trace.json")
    assert done.returncode == 0, done.stderr
    assert "OK: all outputs equal" in done.stdout
    folder = executable.with_name("results")
    assert sorted(path.name for path in folder.iterdir()) == ["out_best_0.npy", "y.npy"]
    (initializer,) = onnx.load(str(model)).graph.initializer  # pyright: ignore[reportUnknownMemberType]
    expected = np.maximum(x @ numpy_helper.to_array(initializer), 0)
    assert np.allclose(np.load(folder / "y.npy"), expected, rtol=1e-5, atol=1e-6)
    assert np.load(folder / "out_best_0.npy").tolist() == expected.argmax(axis=1).tolist()
    assert json.loads(executable.with_name("stats.json").read_text())["cycles"] > 0
    assert json.loads(executable.with_name("trace.json").read_text())["traceEvents"]


def test_quiet_prints_nothing(executable: Path, model: Path, run: Run) -> None:
    done = run("meshloom-run", executable, "--random", "0", "--check", model, "-q")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_same_bytes_twice(executable: Path, model: Path, start: Run) -> None:
    assert start("meshloom-compile", model, "--chip", "tiny", "--shape", "x=3x6", "-o", "2.mlx", "-q").stdout == ""
    assert executable.read_bytes() == executable.with_name("2.mlx").read_bytes()


def test_another_model_is_detected(executable: Path, model: Path, run: Run) -> None:
    other = onnx.load(str(model))  # pyright: ignore[reportUnknownMemberType]
    weights = numpy_helper.to_array(other.graph.initializer[0]).copy()
    weights[2, 3] += 1
    other.graph.initializer[0].CopyFrom(numpy_helper.from_array(weights, "w"))
    model.with_name("other.onnx").write_bytes(other.SerializeToString())
    done = run("meshloom-run", executable, "--random", "0", "--check", "other.onnx")
    assert done.returncode == 1
    assert "error: outputs differ from ONNX Runtime's: y" in done.stderr
    assert "the executable is from another model, damaged or miscompiled" in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["meshloom-compile", "{}", "--chip", "tiny", "-o", "net.mlx"],
        ["meshloom-plan", "{}", "--units"],
        ["meshloom-topology", "convert", "{}", "net.npz"],
        ["meshloom-map", "{}", "--mesh", "2x2", "-o", "map.npy"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_an_assumed_batch_size_is_reported(model: Path, run: Run, arguments: list[str]) -> None:
    # The maxima are removed, as the unrolling to neurons does not support them.
    if arguments[0] in ("meshloom-topology", "meshloom-map"):
        network = onnx.ModelProto.FromString(model.read_bytes())
        del network.graph.node[2], network.graph.output[1]
        model.write_bytes(network.SerializeToString())
    arguments = [one.format(model) for one in arguments]
    done = run(*arguments)
    assert done.returncode == 0, done.stderr
    assumed = "input 'x' is [batch, 6], dimension 'batch' is taken as 1"
    remedy = "set it with --shape x=1x6 (in Python: shapes=)"
    assert done.stderr == f"note: {model}: {assumed}; {remedy}\n"


@pytest.mark.parametrize("options", [["-q"], ["--shape", "x=1x6"]], ids=lambda options: options[0])
def test_an_assumed_batch_size_is_not_reported(model: Path, run: Run, options: list[str]) -> None:
    assert run("meshloom-plan", model, "--units", *options).stderr == ""


def other_shape(model: onnx.ModelProto) -> None:
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 7


def unknown_operator(model: onnx.ModelProto) -> None:
    model.graph.node[1].op_type = "Nonsense"


def future_opset(model: onnx.ModelProto) -> None:
    model.opset_import[0].version = 99


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (other_shape, "invalid dimensions"),
        (unknown_operator, "No Op registered for Nonsense"),
        (future_opset, "Opset 99 is under development"),
    ],
)
def test_errors_of_onnx_runtime_are_reported_in_words_for_users(
    executable: Path, model: Path, run: Run, change: Callable[[onnx.ModelProto], None], message: str
) -> None:
    other = onnx.load(str(model))  # pyright: ignore[reportUnknownMemberType]
    change(other)
    model.with_name("other.onnx").write_bytes(other.SerializeToString())
    done = run("meshloom-run", executable, "--random", "0", "-q", "--check", "other.onnx")
    assert done.returncode == 2
    assert message in done.stderr
    for word in ("ONNXRuntimeError", "::", ".h:", ".cc:"):
        assert word not in done.stderr


def test_ir_after_each_stage(model: Path, run: Run) -> None:
    done = run(
        "meshloom-compile", model, "--chip", "tiny", "--shape", "x=3x6", "-o", "n.mlx", "--print-ir-after-all", "d"
    )
    assert done.returncode == 0, done.stderr
    texts = {path.name: path.read_text() for path in model.with_name("d").glob("*.mlir")}
    names = ["00-import.mlir", "01-simplify.mlir", "02-manycore.mlir", "03-memory.mlir", "04-coreasm.mlir"]
    assert sorted(texts) == names
    import_, _, tiled, lowered, instructions = (texts[name] for name in names)
    assert "dataflow.matmul" in import_
    assert "manycore.task" in tiled
    assert " in dram tiled <" in tiled
    assert " prefetch " in tiled
    assert "memory.load" in lowered
    assert "coreasm.program" in instructions


def test_textual_ir_compiles(model: Path, run: Run) -> None:
    body = "%y = dataflow.neg %x : (tensor<5xf32>) -> tensor<5xf32>\n func.return %y : tensor<5xf32>"
    text = f"func.func @main(%x : tensor<5xf32>) -> tensor<5xf32> {{\n{body}\n}}\n"
    model.with_name("net.mlir").write_text(text)
    assert run("meshloom-compile", "net.mlir", "--chip", "tiny", "-o", "m.mlx").returncode == 0
    assert run("meshloom-run", "m.mlx", "--random", "1").returncode == 0


BAD_COMPILE = [
    (["absent.onnx"], "absent.onnx"),
    (["small.onnx", "--chip", "nochip"], "no chip named 'nochip'"),
    (["small.onnx", "--shape", "x=3y6"], "expected NAME=SHAPE"),
    (["small.onnx", "--shape", "z=3x6"], "'z'"),
    (["small.onnx", "-o", "no/folder/out.mlx"], "there is no folder no/folder"),
    (["text.txt"], "unknown kind of file '.txt'"),
    (["broken.onnx"], "broken.onnx"),
    (["broken.mlir"], "broken.mlir:1:18: error: "),
    (["types.mlir"], "types.mlir:2:8: error: result has type tensor<5xf32>"),
    (["empty.mlir"], "empty.mlir contains no IR"),
    (["types.mlir", "--shape", "x=4"], "--shape is for ONNX models"),
    (["small.onnx", "--chip", "large.toml"], "large.toml: 'dram_bytes' is 2000000000000000000, at most"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD_COMPILE, ids=lambda value: str(value)[:40])
def test_bad_input_of_compile(model: Path, run: Run, arguments: list[str], message: str) -> None:
    model.with_name("text.txt").write_text("hello")
    model.with_name("broken.onnx").write_bytes(model.read_bytes()[:77])
    model.with_name("broken.mlir").write_text("func.func @main( {")
    model.with_name("empty.mlir").write_text("")
    model.with_name("types.mlir").write_text(
        "func.func @main(%x : tensor<4xf32>) -> tensor<5xf32> {\n"
        "  %y = dataflow.neg %x : (tensor<4xf32>) -> tensor<5xf32>\n  func.return %y : tensor<5xf32>\n}\n"
    )
    chip = (CHIPS / "tiny.toml").read_text()
    model.with_name("large.toml").write_text(re.sub(r"(?m)^dram_bytes = .*", "dram_bytes = 2" + "0" * 18, chip))
    before = set(model.parent.iterdir())
    defaults = ["--chip", "tiny", "-o", "out.mlx"]
    if arguments[0] == "small.onnx" and "--shape" not in arguments:
        defaults += ["--shape", "x=3x6"]
    done = run("meshloom-compile", *defaults, *arguments)
    assert done.returncode == 2
    # One error; if it has a location in a text, the line and a caret follow.
    place, _, _ = done.stderr.partition("error: ")
    assert re.fullmatch(r"(\w+\.mlir:\d+:\d+: )?", place)
    assert done.stderr.count("\n") == (3 if place else 1)
    assert message in done.stderr
    assert set(model.parent.iterdir()) == before


BAD_RUN: list[tuple[list[str], str]] = [
    ([], "input 'x' is missing"),
    (["--input", "x"], "expected NAME=FILE.npy"),
    (["--input", "x=absent.npy"], "absent.npy"),
    (["--input", "x=small.onnx"], "not a valid .npy file"),
    (["--input", "x=shape.npy"], "has shape [6, 3], expected [3, 6]"),
    (["--input", "x=type.npy"], "has type float64"),
    (["--input", "q=type.npy"], "unknown input 'q'"),
    (["--random", "-1"], "seed of 0 or more"),
    (["--random", "0", "--check", "absent.onnx"], "absent.onnx: no such file"),
    (["--random", "0", "--stats", "no/folder.json"], "there is no folder"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD_RUN, ids=lambda value: str(value)[:40])
def test_bad_input_of_run(executable: Path, run: Run, arguments: list[str], message: str) -> None:
    np.save(executable.with_name("shape.npy"), np.zeros((6, 3), np.float32))
    np.save(executable.with_name("type.npy"), np.zeros((3, 6)))
    before = set(executable.parent.iterdir())
    done = run("meshloom-run", executable, *arguments)
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    assert message in done.stderr
    assert set(executable.parent.iterdir()) == before


def test_damaged_executable(executable: Path, run: Run) -> None:
    raw = bytearray(executable.read_bytes())
    raw[len(raw) // 2] ^= 16
    executable.write_bytes(raw)
    done = run("meshloom-run", executable, "--random", "0")
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")

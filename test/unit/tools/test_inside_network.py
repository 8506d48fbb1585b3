"""Tests of the inspection of runs: intermediate tensors, results of tasks compared with the IR, memory at a task."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from meshloom.dialects.coreasm.isa import OPCODE
from meshloom.emulator.executable.executable import Executable, Program, read_executable, write_executable
from meshloom.emulator.executable.task_results import NOTE, task_results
from meshloom.support.errors import InputError
from meshloom.tools import compile as compile_tool
from meshloom.tools import run as run_tool
from meshloom.tools.tensor_files import random_inputs
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

import meshloom

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def layers() -> dict[str, NDArray[np.float32]]:
    random = np.random.default_rng(3)
    return {"w": random.standard_normal((24, 40)).astype("f"), "v": random.standard_normal((40, 12)).astype("f")}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model of two layers, whose tensors have unusual names, its executable, and its levels."""
    folder = tmp_path_factory.mktemp("inside")
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["1"]),
        helper.make_node("Relu", ["1"], ["h/a:0"]),
        helper.make_node("MatMul", ["h/a:0", "v"], ["out_1"]),
        helper.make_node("Reshape", ["out_1", "shape"], ["out_2"]),
        helper.make_node("Softmax", ["out_2"], ["y"], axis=-1),
    ]
    ends = [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in (("x", [8, 24]), ("y", [4, 24]))]
    constants = [numpy_helper.from_array(value, name) for name, value in layers().items()]
    constants.append(numpy_helper.from_array(np.array([4, 24]), "shape"))
    graph = helper.make_graph(nodes, "layers", ends[:1], ends[1:], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    (folder / "net.onnx").write_bytes(model.SerializeToString())
    options = ["--chip", "tiny", "-q", "--print-ir-after-all", str(folder / "stages")]
    assert compile_tool.main([str(folder / "net.onnx"), "-o", str(folder / "net.mlx"), *options]) == 0
    return folder


def expected(x: NDArray[Any]) -> dict[str, NDArray[np.float64]]:
    w, v = (value.astype(np.float64) for value in layers().values())
    hidden = np.maximum(x.astype(np.float64) @ w, 0)
    out = (hidden @ v).reshape(4, 24)
    powers = np.exp(out - out.max(axis=1, keepdims=True))
    return {"h/a:0": hidden, "out_1": hidden @ v, "out_2": out, "y": powers / powers.sum(axis=1, keepdims=True)}


def test_tensors_have_the_names_of_the_model_and_the_right_values(built: Path) -> None:
    network = meshloom.load(built / "net.mlx")
    assert isinstance(network, meshloom.CompiledNetwork)
    x = np.random.default_rng(0).standard_normal((8, 24)).astype("f")
    result = network.run({"x": x})
    right = expected(x)
    assert {"h/a:0", "out_2", "y"} <= set(result.tensors) <= set(right)
    for name, value in result.tensors.items():
        assert value.dtype == np.float32
        np.testing.assert_allclose(value, right[name], rtol=1e-5, atol=1e-5)
    assert np.array_equal(result.tensors["y"], result.outputs["y"])


@pytest.mark.parametrize("level", ["import", "memory", "coreasm"])
def test_the_text_of_every_level_keeps_the_names(built: Path, tmp_path: Path, level: str) -> None:
    (stage,) = (built / "stages").glob(f"*-{level}.mlir")
    out = tmp_path / "again.mlx"
    chip = ["--chip", "tiny"] if level == "import" else []
    assert compile_tool.main([str(stage), *chip, "-q", "-o", str(out)]) == 0
    assert out.read_bytes() == (built / "net.mlx").read_bytes()


def test_tables_and_files(built: Path, run: Run, tmp_path: Path) -> None:
    model, net = built / "net.onnx", built / "net.mlx"
    done = run("meshloom-run", net, "--random", 0, "--check", model, "--check-tensors", "--save-tensors", "all")
    assert done.returncode == 0, done.stderr
    table = done.stdout[done.stdout.index("intermediate tensors") :].splitlines()[2:-1]
    names = [line.split()[0] for line in table]
    assert names == [name for name in ("h/a:0", "out_1", "out_2", "y") if name in names]
    assert "h/a:0" in names
    assert all(line.endswith("OK") for line in table)
    inputs = random_inputs(read_executable(net).inputs, 0)
    right = expected(inputs["x"])
    np.testing.assert_allclose(np.load(tmp_path / "all" / "h_a_0.npy"), right["h/a:0"], rtol=1e-5, atol=1e-5)
    done = run("meshloom-run", net, "--random", 0, "--save-tensors", "one", "--tensor", "out_2", "-q")
    assert done.returncode == 0
    assert [path.name for path in (tmp_path / "one").iterdir()] == ["out_2.npy"]


def wrong_operand(exe: Executable) -> tuple[Executable, str]:
    """An executable with a matrix product whose operand is read 4 bytes too far, and the task of the product."""
    for number, program in enumerate(exe.programs):
        for word in np.flatnonzero(program.words["op"] == OPCODE["matmul"]).tolist():
            if (program.params[:, 0] == word).any():
                continue
            words = program.words.copy()
            words["addr"][word, 1] += 4
            programs = list(exe.programs)
            programs[number] = Program(program.name, words, program.descs, program.params, program.sources)
            return replace(exe, programs=programs), exe.source_names[int(program.sources[word])]
    raise AssertionError("the network has matrix products")


def test_a_wrong_address_is_found_in_its_task(built: Path, run: Run, tmp_path: Path) -> None:
    (stage,) = (built / "stages").glob("*-memory.mlir")
    inside = ["--random", 0, "--validate=tensors", "--ir", stage]
    done = run("meshloom-run", built / "net.mlx", *inside)
    assert done.returncode == 0, done.stderr
    assert "equal the interpreter's" in done.stdout
    damaged, task = wrong_operand(read_executable(built / "net.mlx"))
    write_executable(damaged, tmp_path / "wrong.mlx")
    done = run("meshloom-run", "wrong.mlx", *inside)
    assert done.returncode == 1
    first = done.stderr.splitlines()[1]
    assert f"task '{task}' of launch 0: byte " in first
    assert f"(from {task})" in first
    done = run("meshloom-run", "wrong.mlx", "--random", 0, "--check", built / "net.onnx")
    assert done.returncode == 1
    assert "the first tensor that differs in memory is 'h/a:0' (operator Relu)" in done.stderr


def test_memory_at_a_task(built: Path, run: Run, tmp_path: Path) -> None:
    exe = read_executable(built / "net.mlx")
    place = next(one for one in task_results(exe) if "h/a:0" in one.tensors)
    done = run("meshloom-run", built / "net.mlx", "--random", 0, "--break", place.task, "--dump", "memories")
    assert done.returncode == 0, done.stderr
    assert f"stopped after task '{place.task}'" in done.stdout
    right = expected(random_inputs(exe.inputs, 0)["x"])["h/a:0"]
    found = np.zeros((8, 40), np.float32)
    for core, tile in place.tiles().items():
        content = np.fromfile(tmp_path / "memories" / f"core{core}.bin", np.uint8)
        assert len(content) == exe.chip.sram_bytes
        nbytes = 4 * int(np.prod(tile.sizes))
        found[tile.index] = content[place.address : place.address + nbytes].view("<f4").reshape(tile.sizes)
    if place.grid is None:
        content = np.fromfile(tmp_path / "memories" / "dram.bin", np.uint8)
        found = content[place.address : place.address + place.nbytes].view("<f4").reshape(8, 40)
    np.testing.assert_allclose(found, right, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--tensor", "y"], "--save-tensors DIR"),
        (["--save-tensors", "d", "--tensor", "none"], "no tensor of this name is completely in memory; available are"),
        (["--check-tensors"], "give --check MODEL.onnx"),
        (["--validate=tensors"], "--ir MODULE.mlir"),
        (["--break", "none"], "no task 'none': the executable's tasks are"),
        (["--break", "y", "--stats", "s.json"], "--stats needs a complete run"),
        (["--cores", "0"], "also give --break"),
        (["--validate=tensors", "--ir", "IMPORT"], "is not at the memory level"),
    ],
)
def test_invalid_options(built: Path, run: Run, tmp_path: Path, options: list[str], words: str) -> None:
    (stage,) = (built / "stages").glob("*-import.mlir")
    given = [str(stage) if one == "IMPORT" else one for one in options]
    done = run("meshloom-run", built / "net.mlx", "--random", 0, *given)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert not [path for path in tmp_path.iterdir() if path.is_file()]


@pytest.mark.parametrize(
    "note",
    ["", "[]", "{}", '{"orders":[[0]],"results":[[0,"t",0,[4],0,[2],0,0,{}]]}', '{"orders":[[]],"results":[[9]]}',
     '{"orders":[[]],"results":[[0,"t",0,[1e400],0,null,0,0,{}]]}',
     '{"orders":[[]],"results":[[0,"t",0,[99999999999],0,null,0,0,{}]]}'],
)  # fmt: skip
def test_a_damaged_note_is_an_error(built: Path, note: str) -> None:
    exe = read_executable(built / "net.mlx")
    with pytest.raises(InputError, match="damaged"):
        task_results(replace(exe, notes={**exe.notes, NOTE: note}))
    with pytest.raises(InputError, match="compile the network again"):
        task_results(replace(exe, notes={}))


def test_representations_in_notebooks(built: Path) -> None:
    network = meshloom.load(built / "net.mlx")
    assert isinstance(network, meshloom.CompiledNetwork)
    assert network.inputs == {"x": (8, 24)}
    assert repr(network).startswith("<CompiledNetwork for tiny, ")
    assert repr(network).endswith(" tasks: x f32[8, 24] -> y f32[4, 24]>")
    result = network.run({"x": np.zeros((8, 24), np.float32)})
    assert repr(result) == f"<RunResult: {result.cycles:,} cycles; y float32[4, 24]>"
    for shown, words in (
        (network._repr_html_(), ("24", "matmul")),  # pyright: ignore[reportPrivateUsage]
        # The softmax of 24 zeros is 1 / 24.
        (result._repr_html_(), ("0.04167", "host")),  # pyright: ignore[reportPrivateUsage]
    ):
        text = "".join(ElementTree.fromstring(shown).itertext())
        assert f"{result.cycles:,}" in text
        assert all(word in text for word in words)


def test_no_default_in_the_signature_is_a_function() -> None:
    code = "import inspect, meshloom; print(inspect.signature(meshloom.compile)); help(meshloom.compile)"
    text = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "lambda" not in text
    assert "<function" not in text
    assert "plugins: 'Sequence[str]' = ()" in text


def test_a_pipeline_replaces_that_of_the_compiler(built: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compile_tool.main([str(built / "net.onnx"), "--chip", "tiny", "--print-pipeline"]) == 0
    pipeline = capsys.readouterr().out.strip()
    network = meshloom.compile(built / "net.onnx", chip="tiny", pipeline=pipeline)
    network.save(path := built / "by_pipeline.mlx")
    assert path.read_bytes() == (built / "net.mlx").read_bytes()
    with pytest.raises(InputError, match="names chip 'tiny', option chip is 'edge'"):
        meshloom.compile(built / "net.onnx", chip="edge", pipeline=pipeline)
    with pytest.raises(InputError, match="does not end at level 'coreasm'"):
        meshloom.compile(built / "net.onnx", chip="tiny", pipeline="canonicalize")
    with pytest.raises(InputError, match="leave out budget"):
        meshloom.compile(built / "net.onnx", chip="tiny", pipeline=pipeline, budget=0.5)
    with pytest.raises(InputError, match="no_such_plugin"):
        meshloom.compile(built / "net.onnx", chip="tiny", plugins=["no_such_plugin"])


def test_run_takes_its_options_in_any_order() -> None:
    """`--validate` before the executable does not take it as a value; `--validate=tensors` is a separate option."""
    parsed = run_tool._parser().parse_args(["--validate", "net.mlx"])  # pyright: ignore[reportPrivateUsage]
    assert (parsed.validate, parsed.validate_tensors, parsed.executable) == (True, False, Path("net.mlx"))

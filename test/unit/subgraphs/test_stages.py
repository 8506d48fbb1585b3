"""Tests of networks on several chips as IR: printed levels compile to the same bytes; edited ones are checked."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from dense_networks import dense_layers
from meshloom.analysis.execution.interpret import run_main
from meshloom.dialects.manycore.stage import stages_of
from meshloom.emulator.executable.chip_pipeline import ChipPipeline
from meshloom.emulator.executable.chip_pipeline_file import read_any
from meshloom.emulator.machine.costs import host_cycles
from meshloom.tools import assemble, objdump, opt
from meshloom.tools import compile as compile_tool
from meshloom.tools.chips_api import CompiledPipeline
from meshloom.tools.oracle import Oracle
from meshloom.tools.read_module import read_module

import meshloom


def run(main_of: object, *arguments: object) -> None:
    """Run a tool, and check that it succeeds."""
    assert callable(main_of)
    assert main_of([str(argument) for argument in arguments]) == 0


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a network of four layers, its executable for two chips, and its levels."""
    made = tmp_path_factory.mktemp("chips")
    (made / "layers.onnx").write_bytes(dense_layers([96] * 5, taps=(1,)).SerializeToString())
    options = "--chip=tiny", "--chips=2", "-q", "-o", made / "layers.mlx", "--print-ir-after-all", made / "levels"
    run(compile_tool.main, made / "layers.onnx", *options)
    return made


def level(folder: Path, name: str) -> Path:
    (path,) = (folder / "levels").glob(f"*-{name}.mlir")
    return path


@pytest.mark.parametrize("name", ["stages", "manycore", "memory", "coreasm"])
def test_each_level_compiles_to_the_same_bytes(folder: Path, name: str, tmp_path: Path) -> None:
    run(compile_tool.main, level(folder, name), "-q", "-o", tmp_path / "again.mlx")
    assert (tmp_path / "again.mlx").read_bytes() == (folder / "layers.mlx").read_bytes()


def test_values_that_stay_in_dram(tmp_path: Path) -> None:
    """
    Values between chips may stay in the DRAM of the chip that computes them.

    They are not copied to the host, and the next chip starts earlier by that time. The chip that holds them takes no
    further input until they are copied to the next chip.
    """
    model = tmp_path / "layers.onnx"
    model.write_bytes(dense_layers([96] * 5).SerializeToString())
    options = "--chip=tiny", "--chips=2", "-q", "-o", tmp_path / "goes.mlx", "--print-ir-after-all", tmp_path / "levels"
    run(compile_tool.main, model, *options)
    text, edited = level(tmp_path, "stages").read_text(), tmp_path / "levels" / "edited.mlir"
    edited.write_text(text.replace("residence = #memory.space<host>", "residence = #memory.space<dram>"))
    run(compile_tool.main, edited, "-q", "-o", tmp_path / "stays.mlx")
    before, after = meshloom.load(tmp_path / "goes.mlx"), meshloom.load(tmp_path / "stays.mlx")
    assert isinstance(before, CompiledPipeline)
    assert isinstance(after, CompiledPipeline)
    crossing = [info for info in after.pipeline.chips[0].outputs if info.host_address < 0]
    nbytes = sum(info.nbytes for info in crossing)
    assert crossing
    (first, second), was = after.timings, before.timings[0]
    assert was.host_out_bytes - first.host_out_bytes == nbytes
    chip = after.pipeline.chip
    assert was.total_cycles - first.total_cycles == sum(host_cycles(chip, info.nbytes) for info in crossing)
    taken = max(copy.end for copy in second.copies if copy.to_device)
    assert after.schedule.start == (0, first.total_cycles)
    assert after.schedule.interval == max(second.total_cycles, first.total_cycles + taken)
    assert after.schedule.latency == before.schedule.latency - (was.total_cycles - first.total_cycles)
    rng = np.random.default_rng(5)
    inputs = [{"x": rng.standard_normal((2, 96)).astype(np.float32)} for _ in range(3)]
    found = after.run_stream(inputs, check=True)
    for one, outputs in zip(inputs, found.outputs, strict=True):
        for key, value in Oracle(model).run(one).items():
            np.testing.assert_allclose(outputs[key], value, rtol=1e-4, atol=1e-4)
    assert found.cycles == after.schedule.total(3)


def test_list_of_passes(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(compile_tool.main, "any.onnx", "--chip=tiny", "--chips=2", "--print-pipeline")
    passes = capsys.readouterr().out.strip()
    run(opt.main, folder / "layers.onnx", "-p", passes, "-o", tmp_path / "layers.mlir")
    run(assemble.main, tmp_path / "layers.mlir", "-o", tmp_path / "layers.mlx")
    assert (tmp_path / "layers.mlx").read_bytes() == (folder / "layers.mlx").read_bytes()


def test_executable_as_ir_and_back(folder: Path, tmp_path: Path) -> None:
    run(objdump.main, "--mlir", folder / "layers.mlx", "-o", tmp_path / "layers.mlir")
    run(assemble.main, tmp_path / "layers.mlir", "-o", tmp_path / "layers.mlx")
    assert (tmp_path / "layers.mlx").read_bytes() == (folder / "layers.mlx").read_bytes()


@pytest.mark.parametrize("name", ["manycore", "memory", "coreasm"])
def test_each_level_computes_the_network(folder: Path, name: str) -> None:
    inputs = {"x": np.random.default_rng(2).standard_normal((2, 96)).astype(np.float32)}
    module = read_module(level(folder, name), {})
    assert len(stages_of(module)) == 2
    expected = Oracle(folder / "layers.onnx").run(inputs)
    for key, value in run_main(module, inputs).items():
        np.testing.assert_allclose(value, expected[key], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ["manycore", "memory", "coreasm"])
def test_python_takes_each_level(folder: Path, name: str) -> None:
    network = meshloom.compile(read_module(level(folder, name), {}), "tiny")
    assert isinstance(network, CompiledPipeline)
    whole = read_any(folder / "layers.mlx")
    assert isinstance(whole, ChipPipeline)
    assert [exe.controller.tobytes() for exe in network.pipeline.chips] == [
        exe.controller.tobytes() for exe in whole.chips
    ]
    assert network.pipeline.feeds == whole.feeds


@pytest.mark.parametrize(
    ("name", "old", "new", "words"),
    [
        ("memory", "manycore.stage @chip1", "manycore.stage @chip2", "there is no module @chip2"),
        ("memory", "manycore.stage @chip1", "manycore.stage @chip0", "@chip0 has two stages"),
        ("coreasm", "manycore.stage @chip0(%x) : (tensor<2x96xf32>)", "manycore.stage @chip0() : ()", "has inputs"),
        ("manycore", '{dataflow.name = "r1"}, ', '{dataflow.name = "other"}, ', "result 'other' of @main is 'r1'"),
    ],
)
def test_stages_edited_wrongly(
    folder: Path, name: str, old: str, new: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = level(folder, name).read_text()
    assert old in text
    edited, result = folder / "levels" / "edited.mlir", tmp_path / "edited.mlx"
    edited.write_text(text.replace(old, new, 1))
    assert compile_tool.main([str(edited), "-q", "-o", str(result)]) != 0
    error = capsys.readouterr().err
    assert words in error
    assert "edited.mlir:" in error
    assert not result.exists()


@pytest.mark.parametrize("option", [("--chips", "3"), ("--sparse",)])
def test_options_for_networks_that_are_already_cut(
    folder: Path, option: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [level(folder, "manycore"), *option, "-o", tmp_path / "again.mlx"]
    assert compile_tool.main([str(argument) for argument in arguments]) == 2
    assert "already cut for several chips" in capsys.readouterr().err

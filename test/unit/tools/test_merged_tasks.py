"""Tests of `--validate=tensors` where the linker has merged the instructions of several tasks."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from meshloom.analysis.execution.compare_results import Comparison, compare_results
from meshloom.dialects.coreasm.isa import OPCODE
from meshloom.emulator.executable.chip_pipeline_file import write_any
from meshloom.emulator.executable.executable import Executable, read_executable
from meshloom.emulator.functional.engine import run_functional
from meshloom.emulator.functional.execution_order import task_words
from meshloom.emulator.functional.observer import LaunchView
from meshloom.emulator.machine.expand import DATA
from meshloom.lowering.linker.execution_order import execution_orders
from meshloom.tools import compile as compile_tool
from meshloom.tools.validate_tensors import modules_of, recorder_of
from numpy.typing import NDArray

Run = Callable[..., "subprocess.CompletedProcess[str]"]

TASKS = 12
TYPE = "tensor<8x16xf32>"
IN_LOOP = 10


def task(name: str, operand: str, result: str, space: str = "sram") -> str:
    """A task that computes tanh."""
    return f"""
  %{result} = manycore.task @{name}(%a = %{operand} : {TYPE}) -> {TYPE}
      in {space} tiled <grid = [2, 1], cores = [0, 1], steps = [1, 1], order = [0, 1]> {{
    %0 = dataflow.tanh %a : ({TYPE}) -> {TYPE}
    manycore.yield %0 : {TYPE}
  }}"""


def main(body: str) -> str:
    return f"func.func @main(%x: {TYPE}) -> {TYPE} {{{body}\n  func.return %y : {TYPE}\n}}"


def chain() -> str:
    """Tasks that differ in nothing but their buffers; all results but the last stay in the cores."""
    names = ["x", *(f"v{number}" for number in range(TASKS - 1)), "y"]
    spaces = [*["sram"] * (TASKS - 1), "dram"]
    return main("".join(task(f"t{n}", names[n], names[n + 1], space) for n, space in enumerate(spaces)))


def loop(steps: int, tasks: int) -> str:
    """A loop of such tasks."""
    inside = "".join(task(f"t{number}", f"v{number}", f"v{number + 1}") for number in range(tasks))
    whole = f"""{task("first", "x", "h")}
  %last = dataflow.loop {steps} steps carry(%v0 = %h : {TYPE}) {{{inside}
    dataflow.yield %v{tasks} : {TYPE}
  }}{task("last", "last", "y", "dram")}"""
    return f'module attributes {{manycore.chip = #manycore.chip<"tiny">}} {{{main(whole)}}}'


def compared(exe: Executable, stage: Path, inputs: dict[str, NDArray[Any]]) -> tuple[Comparison, NDArray[Any]]:
    """The comparison of a run with the interpreter, and its output."""
    (module,) = modules_of(exe, stage)
    recorder = recorder_of(exe, module)
    outputs = run_functional(exe, inputs, observer=recorder).outputs
    return compare_results(module, inputs, recorder), next(iter(outputs.values()))


@pytest.fixture(scope="module")
def merged(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The folder and the module of a chain whose tasks are one loop."""
    folder = tmp_path_factory.mktemp("chain")
    (folder / "net.mlir").write_text(chain())
    given = [folder / "net.mlir", "--chip", "tiny", "-q", "--print-ir-after-all", folder / "stages"]
    assert compile_tool.main([*map(str, given), "-o", str(folder / "net.mlx")]) == 0
    (stage,) = (folder / "stages").glob("*-memory.mlir")
    return folder, stage


def test_merged_tasks_are_compared_one_by_one(merged: tuple[Path, Path]) -> None:
    folder, stage = merged
    exe = read_executable(folder / "net.mlx")
    assert max(int((one.words["op"] == OPCODE["tanh"]).sum()) for one in exe.programs) < TASKS
    x = np.random.default_rng(0).normal(size=(8, 16)).astype(np.float32)
    found, y = compared(exe, stage, {"arg0": x})
    assert found == Comparison(tasks=TASKS)
    for _ in range(TASKS):
        x = np.tanh(x)
    assert np.allclose(y, x, atol=1e-6)


def test_a_fault_in_merged_tasks_names_each_task(run: Run, merged: tuple[Path, Path], tmp_path: Path) -> None:
    """An instruction that is executed for every second task computes another function."""
    folder, stage = merged
    exe = read_executable(folder / "net.mlx")
    programs = list(exe.programs)
    program = int(exe.launches[0].program_of_core[0])
    words = programs[program].words.copy()
    loop = int(np.flatnonzero(words["op"] == OPCODE["loop"])[0])
    words["op"][loop + 2] = OPCODE["sigmoid"]
    programs[program] = replace(programs[program], words=words)
    write_any(replace(exe, programs=programs), tmp_path / "net.mlx")
    done = run("meshloom-run", tmp_path / "net.mlx", "--random", 0, "--validate=tensors", "--ir", stage)
    assert done.returncode == 1
    wrong = re.findall(
        r"task '(t\d+)' of launch 0: byte 0 of its result, 0x[0-9a-f]+ in the SRAM of core 0", done.stderr
    )
    assert wrong == ["t2", "t4", "t6"]
    assert "and 2 more tasks" in done.stderr


def test_changed_numbers_of_instructions(merged: tuple[Path, Path]) -> None:
    """If an executable has more or fewer instructions than its module, merged tasks are not compared."""
    folder, stage = merged
    exe = read_executable(folder / "net.mlx")
    programs = list(exe.programs)
    program = int(exe.launches[0].program_of_core[0])
    words = programs[program].words.copy()
    words["addr"][words["op"] == OPCODE["loop"], 0] -= 1
    programs[program] = replace(programs[program], words=words)
    found, _ = compared(replace(exe, programs=programs), stage, {"arg0": np.ones((8, 16), np.float32)})
    assert found.shared == [f"t{number}" for number in range(1, TASKS - 1)]


def in_loop(run: Run, folder: Path, steps: int, tasks: int = IN_LOOP) -> tuple[Executable, Path]:
    """The executable, and the module at the `memory` level, of a loop that is not unrolled."""
    (folder / "net.mlir").write_text(loop(steps, tasks))
    stage = folder / "memory.mlir"
    for tool, *options in (
        ["meshloom-opt", folder / "net.mlir", "-p", "manycore-to-memory", "-o", stage],
        ["meshloom-compile", stage, "-q", "-o", folder / "net.mlx"],
    ):
        done = run(tool, *options)
        assert done.returncode == 0, done.stderr
    return read_executable(folder / "net.mlx"), stage


@pytest.mark.parametrize("steps", [5, 24])
def test_merged_tasks_in_loops(run: Run, tmp_path: Path, steps: int) -> None:
    """Each step of each task is compared, and a wrong one is named."""
    exe, stage = in_loop(run, tmp_path, steps)
    program = int(exe.launches[0].program_of_core[0])
    words = exe.programs[program].words.copy()
    assert (words["op"] == OPCODE["tanh"]).sum() < IN_LOOP
    x = np.random.default_rng(0).normal(size=(8, 16)).astype(np.float32)
    found, y = compared(exe, stage, {"arg0": x})
    assert found == Comparison(tasks=IN_LOOP + 2, steps=steps * IN_LOOP)
    for _ in range(steps * IN_LOOP + 2):
        x = np.tanh(x)
    assert np.allclose(y, x, atol=1e-6)
    # The tasks of the inner loop begin with the results of each other: from the second step on, of other ones.
    outer, inner = np.flatnonzero(words["op"] == OPCODE["loop"]).tolist()
    begin = int(np.flatnonzero(words["op"] == OPCODE["li"])[0])
    assert outer < begin < inner
    words[[outer, begin]] = words[[begin, outer]]
    words["addr"][outer + 1, 1] -= 1
    programs = [replace(one, words=words) if at == program else one for at, one in enumerate(exe.programs)]
    found, _ = compared(replace(exe, programs=programs), stage, {"arg0": np.ones((8, 16), np.float32)})
    first = found.differences[0]
    assert (first.task, first.step, first.core, first.byte) == ("t0", 1, 0, 0)


def test_order_of_execution(run: Run, tmp_path: Path) -> None:
    """Of tasks that are not merged, the order gives the tasks that the words are named after."""
    exe, stage = in_loop(run, tmp_path, 24, 4)
    (module,) = modules_of(exe, stage)
    order_of = execution_orders(module, exe.chip)
    views: list[LaunchView] = []

    class Views:
        def launch(self, view: LaunchView) -> None:
            views.append(view)

    run_functional(exe, {"arg0": np.ones((8, 16), np.float32)}, observer=Views())
    (view,) = views
    order = order_of(0)
    assert order is not None
    known = task_words(exe, view, order)
    assert known is not None
    assert not known.mixed.any()
    data = view.code.kind == DATA
    assert set(known.words) == {"first", "last", *(f"t{number}" for number in range(4))}
    for name, words in known.words.items():
        assert words.any()
        assert np.array_equal(words, view.words_of(exe, name) & data)

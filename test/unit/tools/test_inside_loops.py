"""Tests of the inspection of loops and of several chips: `--break [chipN:]TASK[@STEP]` and `--validate=tensors`."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from meshloom.analysis.execution.compare_results import compare_results
from meshloom.dialects.coreasm.encoding import new_words
from meshloom.dialects.coreasm.isa import OPCODE
from meshloom.emulator.executable.chip_pipeline import ChipPipeline
from meshloom.emulator.executable.chip_pipeline_file import read_any, write_any
from meshloom.emulator.executable.executable import Executable, Program
from meshloom.emulator.executable.task_loop import Rows, TaskLoop, loop_as_json, loop_from_json
from meshloom.emulator.executable.task_results import NOTE, TaskResult, task_results
from meshloom.emulator.functional.engine import run_functional
from meshloom.emulator.functional.record_results import ResultRecorder
from meshloom.support.errors import InputError
from meshloom.tools import compile as compile_tool
from meshloom.tools.oracle import Oracle
from meshloom.tools.validate_tensors import modules_of
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper
from recurrent_networks import Recurrent, build

Run = Callable[..., "subprocess.CompletedProcess[str]"]
Floats = NDArray[np.float32]

STEPS, LOW, HIGH = 24, -9.0, 9.0
"""Steps of each loop, and bounds of values, which are integers, so that all orders of addition give equal bits."""


WIDE, TWO = (12, 32), (12, 16, 16)
"""Sizes of the input and of the layers."""


@dataclass(frozen=True)
class Layer:
    """A layer that computes h' = clip(x_t w + h r) for each row of x."""

    w: Floats
    r: Floats

    def run(self, rows: Floats) -> Floats:
        """The state h after each step."""
        h, found = np.zeros((1, len(self.r)), np.float32), list[Floats]()
        for row in rows:
            h = np.clip(row @ self.w + h @ self.r, LOW, HIGH).astype(np.float32)
            found.append(h)
        return np.stack(found)


def layers(sizes: Sequence[int]) -> list[Layer]:
    random = np.random.default_rng(0)
    return [
        Layer(*(random.integers(-1, 2, (one, size)).astype("f") for one in (before, size)))
        for before, size in pairwise(sizes)
    ]


def inputs(size: int) -> Floats:
    return np.random.default_rng(1).integers(-2, 3, (STEPS, 1, size)).astype("f")


def network(sizes: Sequence[int], kind: int = TensorProto.FLOAT) -> ModelProto:
    """A chain of layers, each a Scan."""

    def constant(name: str, value: Any) -> Any:
        return helper.make_tensor(name, kind, np.shape(value), np.asarray(value, np.float32).reshape(-1).tolist())

    def value(name: str, *shape: int) -> Any:
        return helper.make_tensor_value_info(name, kind, shape)

    nodes, constants, x = list[NodeProto](), [constant("low", LOW), constant("high", HIGH)], "x"
    for n, layer in enumerate(layers(sizes)):
        size, hidden = layer.w.shape
        body = [
            helper.make_node("MatMul", [f"t{n}", f"w{n}"], [f"a{n}"]),
            helper.make_node("MatMul", [f"h{n}", f"r{n}"], [f"b{n}"]),
            helper.make_node("Add", [f"a{n}", f"b{n}"], [f"s{n}"]),
            helper.make_node("Clip", [f"s{n}", "low", "high"], [f"k{n}"]),
            helper.make_node("Identity", [f"k{n}"], [f"o{n}"]),
        ]
        takes = [value(f"h{n}", 1, hidden), value(f"t{n}", 1, size)]
        graph = helper.make_graph(body, "step", takes, [value(f"k{n}", 1, hidden), value(f"o{n}", 1, hidden)])
        outputs = [f"last{n}", f"y{n}"]
        nodes.append(helper.make_node("Scan", [f"zero{n}", x], outputs, num_scan_inputs=1, body=graph))
        constants += [
            constant(f"w{n}", layer.w),
            constant(f"r{n}", layer.r),
            constant(f"zero{n}", np.zeros((1, hidden))),
        ]
        x = f"y{n}"
    ends = [value("x", STEPS, 1, sizes[0])], [value(x, STEPS, 1, sizes[-1])]
    graph = helper.make_graph(nodes, "layers", *ends, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def compiled(folder: Path, model: ModelProto, *options: str) -> Path:
    """The folder, with the compiled net.mlx, and the module at each level in `stages`."""
    (folder / "net.onnx").write_bytes(model.SerializeToString())
    given = ["--chip", "tiny", "-q", "--print-ir-after-all", str(folder / "stages"), "-o", str(folder / "net.mlx")]
    assert compile_tool.main([str(folder / "net.onnx"), *given, *options]) == 0
    return folder


def arguments(folder: Path, **values: NDArray[Any]) -> list[object]:
    """The arguments of `meshloom-run`: the executable and its inputs."""
    given: list[object] = []
    for name, array in values.items():
        np.save(folder / f"{name}.npy", array)
        given += ["--input", f"{name}={folder / name}.npy"]
    return [folder / "net.mlx", *given]


def stage(folder: Path) -> Path:
    (found,) = (folder / "stages").glob("*-memory.mlir")
    return found


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A layer whose state is distributed over four cores."""
    return compiled(tmp_path_factory.mktemp("wide"), network(WIDE))


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two layers, each on a separate chip."""
    return compiled(tmp_path_factory.mktemp("two"), network(TWO), "--chips", "2")


def of_chip(folder: Path, chip: int = 0) -> Executable:
    target = read_any(folder / "net.mlx")
    return target if isinstance(target, Executable) else target.chips[chip]


def place_of(exe: Executable, tensor: str) -> TaskResult:
    """The last task in a loop that computes the tensor."""
    return [one for one in task_results(exe) if tensor in one.tensors and one.loop is not None][-1]


def dumped(folder: Path, place: TaskResult, row: int | None = None) -> Floats:
    """A result in SRAM, or one of its rows, from the dumps of the cores."""
    rows = 1 if row is None or place.loop is None or place.loop.rows is None else place.loop.rows.count
    shape = place.shape if row is None else place.shape[1:]
    found = np.zeros(shape, np.float32)
    for core, tile in place.tiles().items():
        content = np.fromfile(folder / f"core{core}.bin", np.float32)
        size = int(np.prod(tile.sizes)) // rows
        at = place.address // 4 + (row or 0) * size
        index, sizes = (tile.index, tile.sizes) if row is None else (tile.index[1:], tile.sizes[1:])
        found[index] = content[at : at + size].reshape(sizes)
    return found


@pytest.mark.parametrize("step", [0, 1, 6, STEPS - 1])
def test_memory_after_a_step(wide: Path, run: Run, tmp_path: Path, step: int) -> None:
    x = inputs(WIDE[0])
    expected = layers(WIDE)[0].run(x)
    state = place_of(of_chip(wide), "last0")
    assert sorted(state.tiles()) == [0, 1, 2, 3]
    done = run("meshloom-run", *arguments(wide, x=x), "--break", f"{state.task}@{step}", "--dump", "memories")
    assert done.returncode == 0, done.stderr
    assert f"stopped after task '{state.task}' in step {step}" in done.stdout
    assert np.array_equal(dumped(tmp_path / "memories", state), expected[step])
    first = " ".join(f"{byte:02x}" for byte in expected[step][0, :4].tobytes())
    assert first in next(line for line in done.stdout.splitlines() if line.split()[:2] == ["0", "0,0"])


def test_rows_of_steps_in_sram(wide: Path, run: Run, tmp_path: Path) -> None:
    x = inputs(WIDE[0])
    (place,) = [one for one in task_results(of_chip(wide)) if one.loop is not None and one.loop.rows is not None]
    done = run("meshloom-run", *arguments(wide, x=x), "--break", f"{place.task}@7", "--dump", "memories")
    assert done.returncode == 0, done.stderr
    assert f"result {STEPS}x1x32 in SRAM, row 7 of {STEPS}" in done.stdout
    assert np.array_equal(dumped(tmp_path / "memories", place, 7), layers(WIDE)[0].run(x)[7])


def test_rows_of_steps_in_dram(run: Run, tmp_path: Path) -> None:
    compiled(tmp_path, network((12, 64)))
    x = inputs(12)
    place = place_of(of_chip(tmp_path), "y0")
    done = run("meshloom-run", *arguments(tmp_path, x=x), "--break", f"{place.task}@7")
    assert done.returncode == 0, done.stderr
    row = layers((12, 64))[0].run(x)[7].tobytes()
    assert f"in DRAM, row 7 of {STEPS} at {place.address + 7 * len(row):#x}, {len(row)} bytes" in done.stdout
    assert row[:16].hex(" ") in done.stdout


@pytest.mark.parametrize("chip", [0, 1])
def test_memory_of_one_of_several_chips(two: Path, run: Run, tmp_path: Path, chip: int) -> None:
    x = rows = inputs(TWO[0])
    for layer in layers(TWO)[: chip + 1]:
        rows = layer.run(rows)
    state = place_of(of_chip(two, chip), f"last{chip}")
    done = run("meshloom-run", *arguments(two, x=x), "--break", f"chip{chip}:{state.task}@4", "--dump", "memories")
    assert done.returncode == 0, done.stderr
    assert f"stopped after task '{state.task}' on chip {chip} in step 4" in done.stdout
    assert np.array_equal(dumped(tmp_path / "memories", state), rows[4])


def test_a_name_on_one_chip_needs_no_chip(two: Path, run: Run) -> None:
    chips = [{one.task for one in task_results(of_chip(two, chip))} for chip in range(2)]
    (task, *_) = sorted(chips[0] - chips[1])
    done = run("meshloom-run", *arguments(two, x=inputs(TWO[0])), "--break", task)
    assert done.returncode == 0, done.stderr
    assert f"stopped after task '{task}' on chip 0\n" in done.stdout


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("chip2:carried", "no chip 2: the executable is for chips 0 to 1"),
        ("carried@3", "task 'carried' is on 2 chips: give --break chip0:carried@3 or --break chip1:carried@3"),
        ("chip0:none", "no task 'none' on chip 0: its tasks are matmul, cast, matmul.1, carried, stacked, matmul.2"),
        ("none@1", "no task 'none': the tasks are on chip 0 matmul, cast"),
        ("chip0:carried@24", "task 'carried' has no step 24: its loop has steps 0 to 23"),
        (
            "chip0:matmul@0",
            "task 'matmul' is not in a loop: leave out @0; tasks in loops are matmul.1, carried, stacked",
        ),
        ("chip0:carried@last", "step 'last' is not a number: expected 0 or more, as in carried@0"),
        ("chip0:carried@-1", "step '-1' is not a number"),
        ("chip0:", "no task '' on chip 0"),
    ],
)
def test_invalid_tasks_chips_and_steps_are_reported(
    two: Path, run: Run, tmp_path: Path, place: str, words: str
) -> None:
    done = run("meshloom-run", *arguments(two, x=inputs(TWO[0])), "--break", place, "--dump", "memories")
    assert done.returncode == 2
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "memories").exists()


def test_an_executable_for_one_chip_has_no_other_chip(wide: Path, run: Run) -> None:
    given = arguments(wide, x=inputs(WIDE[0]))
    done = run("meshloom-run", *given, "--break", "chip1:carried@1")
    assert "no chip 1: the executable is for chip 0 only" in done.stderr
    assert run("meshloom-run", *given, "--break", "chip0:carried@1", "-q").returncode == 0


def test_every_step_on_every_chip_is_compared(wide: Path, two: Path, run: Run) -> None:
    for folder, sizes in ((wide, WIDE), (two, TWO)):
        chips = range(len(sizes) - 1)
        places = [one for chip in chips for one in task_results(of_chip(folder, chip))]
        steps = STEPS * sum(one.loop is not None for one in places)
        given = arguments(folder, x=inputs(sizes[0]))
        done = run("meshloom-run", *given, "--validate=tensors", "--ir", stage(folder))
        assert done.returncode == 0, done.stderr
        where = " on 2 chips" if len(chips) == 2 else ""
        words = f"OK: the results of {len(places)} tasks{where} equal the interpreter's, step by step in loops"
        assert done.stdout.splitlines()[-1] == f"{words} ({steps} steps)"


def changed(exe: Executable, program: int, words: NDArray[Any]) -> Executable:
    """The executable with the words of a program replaced."""
    programs, old = list(exe.programs), exe.programs[program]
    programs[program] = Program(old.name, words, old.descs, old.params, old.sources)
    return replace(exe, programs=programs)


def faulty_read(exe: Executable, task: str, core: int) -> tuple[Executable, int]:
    """
    An executable with a wrong address in a loop, and the first step that this hardware loop computes.

    On one core, an instruction in the loop reads a weight at an address that is 4 bytes too large. Steps before the
    hardware loop are peeled.
    """
    number = int(exe.launches[0].program_of_core[core])
    program = exe.programs[number]
    words = program.words.copy()
    source = exe.source_names.index(task)
    dots = np.flatnonzero((words["op"] == OPCODE["dot.acc"]) & (program.sources == source))
    (loop,) = np.flatnonzero(words["op"] == OPCODE["loop"]).tolist()
    inside = [at for at in dots.tolist() if loop < at <= loop + int(words["addr"][loop, 1])]
    peeled = sum(at < loop for at in dots.tolist()) // len(inside)
    words["addr"][inside[0], 2] += 4
    return changed(exe, number, words), peeled


def first_wrong(outputs: Floats, expected: Floats) -> tuple[int, list[int]]:
    """The first step whose row is wrong, and the wrong columns."""
    step = int(np.flatnonzero((outputs != expected).any(axis=(1, 2)))[0])
    return step, np.flatnonzero(outputs[step, 0] != expected[step, 0]).tolist()


def test_a_fault_in_a_loop_is_found_in_its_step(wide: Path, run: Run, tmp_path: Path) -> None:
    exe, x = of_chip(wide), inputs(WIDE[0])
    place = next(one for one in task_results(exe) if one.task == "matmul.1")
    core = 1
    damaged, peeled = faulty_read(exe, place.task, core)
    step, columns = first_wrong(run_functional(damaged, {"x": x}).outputs["y0"], layers(WIDE)[0].run(x))
    assert step >= peeled > 0
    low, size = place.tiles()[core].offsets[1], place.tiles()[core].sizes[1]
    column = next(one for one in columns if low <= one < low + size)
    write_any(damaged, tmp_path / "net.mlx")
    given = arguments(tmp_path, x=x)
    done = run("meshloom-run", *given, "--validate=tensors", "--ir", stage(wide))
    assert done.returncode == 1
    byte = 4 * (column - low)
    words = (
        f"task 'matmul.1' of launch 0, step {step}: byte {byte} of its result, {place.address + byte:#x} in the SRAM"
    )
    assert f"{words} of core {core}, element [0, {column}]" in done.stderr
    assert done.stderr.count("task '") == 1  # the other tasks are right for the operands that this one has computed


def test_a_fault_on_a_chip_is_reported_with_the_chip(two: Path, run: Run, tmp_path: Path) -> None:
    pipeline, x = read_any(two / "net.mlx"), inputs(TWO[0])
    assert isinstance(pipeline, ChipPipeline)
    damaged, _ = faulty_read(pipeline.chips[1], "matmul", 0)
    first, second = layers(TWO)
    rows = first.run(x)
    (info,) = damaged.inputs
    outputs = run_functional(damaged, {info.name: (rows @ second.w).reshape(info.shape)}).outputs
    step, columns = first_wrong(outputs["y1"], second.run(rows))
    write_any(replace(pipeline, chips=(pipeline.chips[0], damaged)), tmp_path / "net.mlx")
    given = arguments(tmp_path, x=x)
    done = run("meshloom-run", *given, "--validate=tensors", "--ir", stage(two))
    assert done.returncode == 1
    assert f"chip 1: task 'matmul' of launch 0, step {step}: byte {4 * columns[0]} of its result" in done.stderr
    assert "chip 0" not in done.stderr


def test_a_module_for_another_number_of_chips(wide: Path, two: Path, run: Run) -> None:
    done = run("meshloom-run", *arguments(two, x=inputs(TWO[0])), "--validate=tensors", "--ir", stage(wide))
    assert (done.returncode, "is for 1 chip, and the executable for 2 chips" in done.stderr) == (2, True)


def test_tasks_that_cannot_be_compared_are_reported(wide: Path, run: Run, tmp_path: Path) -> None:
    exe, x = of_chip(wide), inputs(WIDE[0])
    (module,) = modules_of(exe, stage(wide))
    some = ResultRecorder(exe, [one for one in task_results(exe) if one.task != "carried"], all_steps=True)
    run_functional(exe, {"x": x}, observer=some)
    assert compare_results(module, {"x": x}, some).left_out == ["carried"]
    # If some steps lack an instruction, the step of a write is unknown.
    program = int(exe.launches[0].program_of_core[0])
    words = exe.programs[program].words.copy()
    source = exe.source_names.index("matmul.1")
    at = np.flatnonzero((words["op"] == OPCODE["dot.acc"]) & (exe.programs[program].sources == source))[-1]
    nop = new_words(1)
    nop["op"] = OPCODE["nop"]
    words[at] = nop[0]
    write_any(changed(exe, program, words), tmp_path / "net.mlx")
    done = run("meshloom-run", *arguments(tmp_path, x=x), "--validate=tensors", "--ir", stage(wide))
    assert done.returncode == 1
    note = (
        "1 task was compared in the last step only, because the number of instructions differs between steps: matmul.1"
    )
    assert note in done.stderr


def test_tasks_with_common_instructions_are_not_compared(wide: Path) -> None:
    """
    Tasks with common instructions are reported as shared, and not compared.

    This occurs if the linker makes one loop of repeated tasks: their instructions have the name of the first task.
    """
    exe, x = of_chip(wide), inputs(WIDE[0])
    (module,) = modules_of(exe, stage(wide))
    one, other = (exe.source_names.index(name) for name in ("matmul.1", "carried"))
    programs = [
        Program(old.name, old.words, old.descs, old.params, np.where(old.sources == other, one, old.sources))
        for old in exe.programs
    ]
    recorder = ResultRecorder(replace(exe, programs=programs), all_steps=True)
    run_functional(recorder.executable, {"x": x}, observer=recorder)
    found = compare_results(module, {"x": x}, recorder)
    assert (found.differences, found.left_out, found.only_last) == ([], [], [])
    assert {"matmul.1", "carried"} <= set(found.shared)
    assert found.tasks == len(recorder.recorded) - len(found.shared) > 0


def test_dynamic_loops(run: Run, tmp_path: Path) -> None:
    """A loop that computes h' = clip(h r) n times, at most 9, can be inspected in each of its n steps."""
    r = layers((4, 16))[0].r
    value = helper.make_tensor_value_info
    body = helper.make_graph(
        [
            helper.make_node("MatMul", ["h", "r"], ["p"]),
            helper.make_node("Clip", ["p", "low", "high"], ["k"]),
            helper.make_node("Identity", ["k"], ["row"]),
            helper.make_node("Identity", ["go"], ["on"]),
        ],
        "step",
        [value("i", TensorProto.INT64, []), value("go", TensorProto.BOOL, []), value("h", TensorProto.FLOAT, [1, 16])],
        [
            value("on", TensorProto.BOOL, []),
            value("k", TensorProto.FLOAT, [1, 16]),
            value("row", TensorProto.FLOAT, [1, 16]),
        ],
    )
    graph = helper.make_graph(
        [helper.make_node("Loop", ["n", "", "x"], ["last", "all"], body=body)],
        "loop",
        [value("n", TensorProto.INT64, []), value("x", TensorProto.FLOAT, [1, 16])],
        [value("last", TensorProto.FLOAT, [1, 16]), value("all", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.asarray(one, "f"), name) for name, one in (("r", r), ("low", LOW), ("high", HIGH))],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    compiled(tmp_path, model, "--max-steps", "9")
    x = inputs(16)[0]
    given = arguments(tmp_path, x=x, n=np.array(5))
    state = place_of(of_chip(tmp_path), "last")
    h = x
    for step in range(5):
        h = np.clip(h @ r, LOW, HIGH)
        done = run("meshloom-run", *given, "--break", f"{state.task}@{step}", "--dump", "memories")
        assert done.returncode == 0, done.stderr
        assert np.array_equal(dumped(tmp_path / "memories", state), h)
    done = run("meshloom-run", *given, "--break", f"{state.task}@5")
    assert (done.returncode, "has no step 5 with these inputs: it runs 5 times" in done.stderr) == (2, True)
    done = run("meshloom-run", *given, "--break", f"{state.task}@9")
    assert "has no step 9: its loop has steps 0 to 8, at most" in done.stderr
    done = run("meshloom-run", *given, "--validate=tensors", "--ir", stage(tmp_path))
    assert done.returncode == 0, done.stderr
    steps = 5 * sum(one.loop is not None for one in task_results(of_chip(tmp_path)))
    assert f"({steps} steps)" in done.stdout


@pytest.mark.slow
def test_bf16_between_chips(run: Run, tmp_path: Path) -> None:
    compiled(tmp_path, network(TWO, TensorProto.BFLOAT16), "--chips", "2")
    x = inputs(TWO[0])
    given = arguments(tmp_path, x=(x.view(np.uint32) >> 16).astype(np.uint16))
    done = run("meshloom-run", *given, "--validate=tensors", "--ir", stage(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "on 2 chips equal the interpreter's, step by step in loops" in done.stdout
    state = place_of(of_chip(tmp_path), "last0")
    done = run("meshloom-run", *given, "--break", f"chip0:{state.task}@7")
    row = layers(TWO)[0].run(x)[7]
    assert (row.view(np.uint32) >> 16).astype(np.uint16).tobytes()[:16].hex(" ") in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("text", ["LSTM:2:16:8:12", "GRU:1:16:8:12:both", "Loop:1:16:8:12"])
def test_recurrent_networks(run: Run, tmp_path: Path, text: str) -> None:
    """All steps of all tasks are right; states after a step equal the rows of ONNX Runtime's output."""
    model = build(Recurrent.parse(text))
    compiled(tmp_path, model, "--chips", "2")
    target = read_any(tmp_path / "net.mlx")
    (info,) = target.inputs if isinstance(target, Executable) else target.input_tensors()
    x = np.random.default_rng(2).standard_normal(info.shape).astype(np.float32)
    given = arguments(tmp_path, x=x)
    done = run("meshloom-run", *given, "--validate=tensors", "--ir", stage(tmp_path))
    assert done.returncode == 0, done.stderr
    ((name, expected),) = Oracle(model.SerializeToString()).run({"x": x}).items()
    chips = [target] if isinstance(target, Executable) else target.chips
    rows = [
        (chip, one)
        for chip, exe in enumerate(chips)
        for one in task_results(exe)
        if one.loop is not None and one.loop.rows is not None and one.grid is None and name in one.tensors
    ]
    for chip, place in rows:
        for step in (0, 5, 11):
            done = run("meshloom-run", *given, "--break", f"chip{chip}:{place.task}@{step}", "--dump", "memories")
            assert done.returncode == 0, done.stderr
            content = np.fromfile(tmp_path / "memories" / "dram.bin", np.float32)[place.address // 4 :]
            found = content[: expected.size].reshape(expected.shape)[step]
            np.testing.assert_allclose(found, expected[step], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("loop", [None, TaskLoop(7), TaskLoop(8, True, 4), TaskLoop(3, True, 1, Rows(5, 4, -2))])
def test_loops_in_the_note(loop: TaskLoop | None) -> None:
    assert loop_from_json(loop_as_json(loop)) == loop


@pytest.mark.parametrize(
    "loop", ["[0,0,1]", "[6,1,4]", "[3,0,1,[3,1,1]]", "[3,0,1,[7,2,1]]", "[3]", "[3,0,1,[3]]", "7"]
)
def test_damaged_loops_in_the_note_are_errors(wide: Path, loop: str) -> None:
    """Errors: no steps, groups that do not divide them, rows out of range or not dividing the result, few numbers."""
    exe = of_chip(wide)
    note = f'{{"orders":[[]],"results":[[0,"t",0,[3,2],0,null,0,{loop},{{}}]]}}'
    with pytest.raises(InputError, match="damaged"):
        task_results(replace(exe, notes={**exe.notes, NOTE: note}))

"""
Tests that the controller's waits are sufficient if launches and copies take other times than planned.

Each step is executed atomically at its start or its end on such a chip, and the results must be those of the network.
This shows that no value is overwritten before its last read, and none is read before it is written.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from meshloom.chips import Chip
from meshloom.emulator.executable.executable import Executable
from meshloom.emulator.executable.host import ControllerStep, controller_steps
from meshloom.emulator.functional import engine
from meshloom.emulator.reports.device_memory import device_memory
from meshloom.emulator.timing.engine import TimingResult, run_timing
from meshloom.lowering.offload.compile_launches import Budget
from meshloom.lowering.offload.save_memory import Saving
from meshloom.tools.interpreted import Interpreted
from meshloom.tools.read_module import read_module
from numpy.typing import NDArray

import meshloom

Arrays = dict[str, NDArray[Any]]
LAYERS, BATCH, WIDTH = 4, 64, 32
SHARE = 0.8


def training_step() -> str:
    """Four layers tanh(h w), and the gradients of their weights, written by hand."""
    values, weights = f"tensor<{BATCH}x{WIDTH}xf32>", f"tensor<{WIDTH}x{WIDTH}xf32>"
    arguments = [f'%h0: {values} {{dataflow.name = "x"}}', f'%g: {values} {{dataflow.name = "g"}}']
    arguments += [f'%w{n}: {weights} {{dataflow.name = "w{n}"}}' for n in range(LAYERS)]
    lines: list[str] = []
    for n in range(LAYERS):
        lines.append(f"%m{n} = dataflow.matmul %h{n}, %w{n} : ({values}, {weights}) -> {values}")
        lines.append(f"%h{n + 1} = dataflow.tanh %m{n} : ({values}) -> {values}")
    slope, one = "%g", "%one = dataflow.constant dense<1.0> : tensor<f32>"
    lines.append(one)
    for n in reversed(range(LAYERS)):
        lines.append(f"%q{n} = dataflow.mul %h{n + 1}, %h{n + 1} : ({values}, {values}) -> {values}")
        lines.append(f"%t{n} = dataflow.sub %one, %q{n} : (tensor<f32>, {values}) -> {values}")
        lines.append(f"%s{n} = dataflow.mul {slope}, %t{n} : ({values}, {values}) -> {values}")
        lines.append(f"%d{n} = dataflow.matmul %h{n}, %s{n} transpose_a : ({values}, {values}) -> {weights}")
        if n:
            lines.append(f"%b{n} = dataflow.matmul %s{n}, %w{n} transpose_b : ({values}, {weights}) -> {values}")
        slope = f"%b{n}"
    results = ", ".join(f'{weights} {{dataflow.name = "d{n}"}}' for n in range(LAYERS))
    returned = ", ".join(f"%d{n}" for n in range(LAYERS)), ", ".join([weights] * LAYERS)
    lines.append(f"func.return {returned[0]} : {returned[1]}")
    body = "\n  ".join(lines)
    return f"func.func @main({', '.join(arguments)}) -> ({results}) {{\n  {body}\n}}\n"


def slower(chip: Chip, host: float, dram: float, latency: int) -> Chip:
    """A chip whose host link and DRAM have other rates."""
    return replace(
        chip,
        host_bytes_per_cycle=max(1, int(chip.host_bytes_per_cycle * host)),
        dram_bytes_per_cycle=max(1, int(chip.dram_bytes_per_cycle * dram)),
        host_latency=latency,
    )


OTHERS = [(0.25, 1.0, 1000), (0.25, 4.0, 20_000), (16.0, 0.25, 0), (64.0, 1.0, 1), (1.0, 0.125, 5)]
"""Share of the planned rates of host link and DRAM; cycles before a copy begins."""


@dataclass(frozen=True)
class Program:
    executable: Executable
    inputs: Arrays
    expected: Arrays


@pytest.fixture(
    scope="module",
    params=[*(pytest.param(one, marks=pytest.mark.slow) for one in ("swap", "recompute")), "compress,swap"],
)
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Program:
    path: Path = tmp_path_factory.mktemp("step") / "step.mlir"
    path.write_text(training_step())
    generator = np.random.default_rng(0)
    inputs: Arrays = {name: generator.standard_normal((BATCH, WIDTH)).astype(np.float32) for name in ("x", "g")}
    inputs |= {f"w{n}": generator.standard_normal((WIDTH, WIDTH)).astype(np.float32) / 6 for n in range(LAYERS)}
    budget = Budget(SHARE, Saving(frozenset(str(request.param).split(","))))
    made = meshloom.compile(read_module(path, {}), "tiny", budget=budget, effort="fast")
    assert made.report["memory"]["actions"]
    return Program(made.executable, inputs, dict(Interpreted(path).run(inputs)))


def steps_with_times(exe: Executable, timing: TimingResult) -> list[tuple[ControllerStep, int, int]]:
    """Launches and copies, in the controller's order."""
    launches, copies = iter(timing.launches), iter(timing.copies)
    found: list[tuple[ControllerStep, int, int]] = []
    for step in controller_steps(exe):
        if step.mnemonic == "ctl.launch":
            _, start, end = next(launches)
            found.append((step, start, end))
        elif step.mnemonic in ("ctl.h2d", "ctl.d2h"):
            copy = next(copies)
            found.append((step, copy.start, copy.end))
    return found


def in_time(steps: Sequence[tuple[ControllerStep, int, int]], at_end: Sequence[bool]) -> list[ControllerStep]:
    """The steps ordered in time, each at its start or its end; at equal times, ends come first."""
    keys = [(end, 0) if late else (start, 1) for (_, start, end), late in zip(steps, at_end, strict=True)]
    return [steps[number][0] for number in sorted(range(len(steps)), key=lambda number: (keys[number], number))]


def results(program: Program, order: Sequence[ControllerStep], patch: pytest.MonkeyPatch) -> Arrays:
    def given(exe: Executable) -> Iterator[ControllerStep]:
        return iter(order)

    with patch.context() as inside:
        inside.setattr(engine, "controller_steps", given)
        return engine.run_functional(program.executable, program.inputs).outputs


def is_right(program: Program, found: Arrays) -> bool:
    return all(np.allclose(found[name], value, rtol=0, atol=0.02) for name, value in program.expected.items())


def test_results_and_peak_are_right_for_all_durations(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    generator = random.Random(0)
    exe, orders = program.executable, set[tuple[int, ...]]()
    for other in OTHERS:
        changed = replace(exe, chip=slower(exe.chip, *other))
        timing = run_timing(changed)
        memory = device_memory(changed, timing)
        assert memory is not None
        assert memory.stray == 0
        assert memory.peak <= memory.planned.capacity
        steps = steps_with_times(changed, timing)
        for when in ("start", "end", "either", "either"):
            late = [when == "end" or (when == "either" and generator.random() < 0.5) for _ in steps]
            order = in_time(steps, late)
            orders.add(tuple(step.word for step in order))
            assert is_right(program, results(program, order, monkeypatch)), (other, when)
    assert len(orders) > len(OTHERS)


def test_an_order_that_ignores_waits_gives_wrong_results(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Results differ if every copy to the device comes before the copy to the host that it depends on.

    This shows that the other test can fail.
    """
    steps = [step for step, _, _ in steps_with_times(program.executable, run_timing(program.executable))]
    order = sorted(steps, key=lambda step: step.mnemonic != "ctl.h2d")
    assert not is_right(program, results(program, order, monkeypatch))

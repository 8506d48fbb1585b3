"""Tests of a perceptron's training step within budgets: the same bits as without, and the planned peak and cycles."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from meshloom.dialects.memory.formats import F16, Format, format_named
from meshloom.emulator.executable.executable import read_executable
from meshloom.emulator.functional.engine import run_functional
from meshloom.emulator.reports.device_memory import DeviceMemory, device_memory
from meshloom.emulator.timing.engine import run_timing
from meshloom.lowering.offload.compile_launches import Budget
from meshloom.lowering.offload.save_memory import Saving
from meshloom.lowering.options.subgraph_options import SubgraphOptions
from meshloom.support.errors import InputError, MeshloomError
from meshloom.tools.api import CompiledNetwork, compile
from meshloom.tools.compile import main as compile_main
from meshloom.tools.read_module import read_module
from meshloom.transforms.dataflow_differentiate import DataflowDifferentiatePass
from numpy.typing import NDArray
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

LAYERS, BATCH, WIDTH = 4, 128, 32
LAUNCH_BYTES = 20_000
"""Small enough that each operator is a separate launch under every budget."""


@pytest.fixture(scope="module")
def step(tmp_path_factory: pytest.TempPathFactory) -> ModuleOp:
    """Forward, loss, backward and update of LAYERS layers."""
    square = f"tensor<{WIDTH}x{WIDTH}xf32>"
    values = f"tensor<{BATCH}x{WIDTH}xf32>"
    weights = ", ".join(
        f'%w{n}: {square} {{dataflow.name = "w{n}", dataflow.parameter}}' for n in range(LAYERS)
    )  # fmt: skip
    lines = [f"func.func @main(%h0: {values}, {weights}) -> {values} {{"]
    for n in range(LAYERS):
        lines.append(f"  %m{n} = dataflow.matmul %h{n}, %w{n} : ({values}, {square}) -> {values}")
        lines.append(f"  %h{n + 1} = dataflow.tanh %m{n} : ({values}) -> {values}")
    lines += [f"  func.return %h{LAYERS} : {values}", "}"]
    path = tmp_path_factory.mktemp("step") / "step.mlir"
    path.write_text("\n".join(lines))
    module = read_module(path, {})
    DataflowDifferentiatePass(loss="mean-squared-error", optimizer="sgd", rate=0.1).apply(Context(), module)
    return module


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Cache of compiled launches, which are the same for all budgets."""
    return tmp_path_factory.mktemp("cache")


@cache
def compiled(step: ModuleOp, folder: Path, amount: float, kinds: str, format: Format = F16) -> CompiledNetwork:
    """The step under a budget."""
    saving = Saving(frozenset(kinds.split(",")), format)
    budget = Budget(amount, saving, LAUNCH_BYTES)
    return compile(step, "tiny", subgraphs=SubgraphOptions(cache=folder), budget=budget)


@cache
def inputs() -> dict[str, NDArray[Any]]:
    """A batch and weights."""
    rng = np.random.default_rng(0)
    shapes = {"arg0": (BATCH, WIDTH), "target": (BATCH, WIDTH)} | {f"w{n}": (WIDTH, WIDTH) for n in range(LAYERS)}
    return {name: (rng.standard_normal(shape) / np.sqrt(WIDTH)).astype(np.float32) for name, shape in shapes.items()}


def memory(network: CompiledNetwork) -> DeviceMemory:
    """Bytes of DRAM in use over time, from the accesses of the run."""
    found = device_memory(network.executable, network.timing)
    assert found is not None
    return found


UNLIMITED = 1e9


@pytest.mark.parametrize(
    ("kinds", "share"),
    [
        pytest.param("swap", 0.75, marks=pytest.mark.slow),
        ("swap", 0.5),
        pytest.param("recompute", 0.8, marks=pytest.mark.slow),
        ("swap,recompute", 0.6),
    ],
)
def test_budgets_do_not_change_any_bit(step: ModuleOp, folder: Path, kinds: str, share: float) -> None:
    unlimited = compiled(step, folder, UNLIMITED, kinds)
    needed = unlimited.report["memory"]["peak_bytes"]
    network = compiled(step, folder, int(share * needed), kinds)
    figures = network.report["memory"]
    assert sum(figures["actions"].values())
    expected, result = unlimited.run(inputs()).outputs, network.run(inputs(), check=True).outputs
    for name, value in expected.items():
        np.testing.assert_array_equal(result[name], value, err_msg=name)
    # The emulator has no more DRAM than the budget; cycles and peak are the planned ones.
    assert network.executable.dram_bytes_used <= share * needed
    run = memory(network)
    assert run.stray == 0
    assert run.peak == figures["peak_bytes"] <= share * needed
    assert network.timing.total_cycles == figures["planned_cycles"]
    np.testing.assert_array_equal(run.planned.profile()[1], run.held)


def test_results_are_those_of_numpy(step: ModuleOp, folder: Path) -> None:
    network = compiled(step, folder, UNLIMITED, "swap")
    values = inputs()
    held = [values["arg0"].astype(np.float64)]
    for n in range(LAYERS):
        held.append(np.tanh(held[-1] @ values[f"w{n}"].astype(np.float64)))
    error = held[-1] - values["target"]
    gradient = 2 * error / error.size
    outputs = network.run(values).outputs
    np.testing.assert_allclose(outputs["loss"], (error**2).mean(), rtol=1e-5)
    for n in reversed(range(LAYERS)):
        gradient = gradient * (1 - held[n + 1] ** 2)
        np.testing.assert_allclose(
            outputs[f"new.w{n}"], values[f"w{n}"] - 0.1 * held[n].T @ gradient, rtol=1e-4, atol=1e-6
        )
        gradient = gradient @ values[f"w{n}"].T


def test_copies_run_concurrently_with_launches(step: ModuleOp, folder: Path) -> None:
    needed = compiled(step, folder, UNLIMITED, "swap").report["memory"]["peak_bytes"]
    timing = compiled(step, folder, int(0.6 * needed), "swap").timing
    concurrent = [
        copy
        for copy in timing.copies
        if any(start < copy.end and copy.start < end for _, start, end in timing.launches)
    ]
    assert {copy.to_device for copy in concurrent} == {True, False}


@pytest.mark.parametrize(
    ("format", "share"),
    [
        pytest.param("f16", 0.85, marks=pytest.mark.slow),
        pytest.param("bf16", 0.85, marks=pytest.mark.slow),
        pytest.param("f24", 0.9, marks=pytest.mark.slow),
        pytest.param("f8e4m3", 0.75, marks=pytest.mark.slow),
        ("f8e5m2", 0.75),
    ],
)
def test_compression_keeps_its_bound(step: ModuleOp, folder: Path, format: str, share: float) -> None:
    unlimited = compiled(step, folder, UNLIMITED, "compress")
    budget = int(share * unlimited.report["memory"]["peak_bytes"])
    network = compiled(step, folder, budget, "compress", format_named(format))
    assert memory(network).peak <= budget
    assert network.report["memory"]["actions"]["compress"]
    expected, result = unlimited.run(inputs()).outputs, network.run(inputs(), check=True).outputs
    for n in range(LAYERS):
        change = np.abs(expected[f"new.w{n}"] - inputs()[f"w{n}"]).max()
        # The relative error of each factor of a gradient is bounded, and a gradient has at most four factors per layer.
        error = np.abs(result[f"new.w{n}"] - expected[f"new.w{n}"]).max()
        assert error <= 4 * format_named(format).relative_error * LAYERS * change
    assert memory(network).peak == network.report["memory"]["peak_bytes"]


@pytest.mark.slow
def test_too_small_a_budget_is_refused(step: ModuleOp, folder: Path) -> None:
    """The operation that is reported as too large fits the reported smallest budget."""
    with pytest.raises(InputError, match="a budget of 9000 bytes of DRAM is too small: ") as refused:
        compiled(step, folder, 9000, "swap")
    found = re.search(r"(?:launch|operator) '\S+' needs (\d+) bytes, .*; (\d+) bytes are enough", str(refused.value))
    assert found is not None, refused.value
    assert 9000 < int(found[1]) <= int(found[2])


@pytest.mark.slow
def test_without_a_budget_the_network_in_one_launch_does_not_fit(step: ModuleOp, folder: Path) -> None:
    from dataclasses import replace

    from meshloom.chips import load_chip

    chip = replace(load_chip("tiny"), name="small", dram_bytes=60_000)
    options = SubgraphOptions(split_failures=False, cache=folder)
    with pytest.raises(
        MeshloomError, match=r"does not fit chip 'small': it needs [\d,]+ bytes of DRAM, 60,000 are available"
    ):
        compile(step, chip, subgraphs=options)
    network = compile(step, chip, subgraphs=SubgraphOptions(cache=folder), budget=Budget())
    assert network.executable.dram_bytes_used <= 60_000


@pytest.mark.slow
def test_offloads_of_the_pass_are_compiled_unchanged(step: ModuleOp, folder: Path, tmp_path: Path) -> None:
    """With the pass on the command line, its offloads are kept, and the results do not depend on the budget."""
    (tmp_path / "step.mlir").write_text(str(step))
    outputs: list[dict[str, NDArray[Any]]] = []
    for share in (0.9, 0.6):
        saving = f"memory-insert-offload{{chip=tiny budget={share} launch-bytes={LAUNCH_BYTES} kinds=swap,recompute}}"
        out = tmp_path / "step.mlx"
        assert compile_main([str(tmp_path / "step.mlir"), "--chip", "tiny", "-p", saving, "-o", str(out), "-q"]) == 0
        outputs.append(dict(run_functional(read_executable(out), inputs(), check=True).outputs))
    unlimited = compiled(step, folder, UNLIMITED, "swap")
    # The launches without a budget have other operations, which may add in another order.
    for name, value in unlimited.run(inputs()).outputs.items():
        np.testing.assert_array_equal(outputs[0][name], outputs[1][name], err_msg=name)
        np.testing.assert_allclose(outputs[1][name], value, rtol=1e-5, atol=1e-6, err_msg=name)
    found = device_memory(read_executable(out), run_timing(read_executable(out)))
    assert found is not None
    assert found.peak < memory(unlimited).peak

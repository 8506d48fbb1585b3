"""Tests of the digits example: learning within a memory budget reaches the accuracy of learning without one."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from meshloom.dialects.memory import formats
from meshloom.emulator.reports.device_memory import device_memory

import meshloom

EXAMPLE = Path(__file__).parents[2] / "examples" / "learn_digits.py"


def example() -> ModuleType:
    """The example as a module."""
    spec = importlib.util.spec_from_file_location("learn_digits", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_output_of_the_example(capsys: pytest.CaptureFixture[str]) -> None:
    example().main(["--epochs", "4", "--twice"])
    printed = capsys.readouterr().out
    needed = re.search(r"does not fit chip 'small': it needs ([\d,]+) bytes of DRAM, 580,000 are available", printed)
    assert needed is not None
    assert int(needed[1].replace(",", "")) > 580_000
    assert "it learns the same, bit by bit" in printed
    share = float(printed.partition("it reads ")[2].partition("%")[0])
    assert share > 90


@pytest.mark.slow
@pytest.mark.parametrize("kinds", ["swap", "recompute", "swap,compress,recompute"])
def test_a_step_with_each_kind_of_saving(kinds: str) -> None:
    digits = example()
    step, state = digits.training_step()
    images, labels = digits.digits()
    inputs = {"image": images[: digits.BATCH], "target": labels[: digits.BATCH]} | state
    from meshloom.lowering.offload.save_memory import Saving

    saving = Saving(frozenset(kinds.split(",")))
    amounts = (1e9, 750_000)
    full, small = (
        meshloom.compile(step, "tiny", budget=meshloom.Budget(amount, saving, digits.LAUNCH_BYTES))
        for amount in amounts
    )
    expected, outputs = full.run(inputs).outputs, small.run(inputs, check=True).outputs
    compressed = small.report["memory"]["actions"]["compress"]
    for name, value in expected.items():
        if compressed:
            np.testing.assert_allclose(outputs[name], value, rtol=2e-2, atol=2e-3, err_msg=name)
        else:
            np.testing.assert_array_equal(outputs[name], value, err_msg=name)
    memory = device_memory(small.executable, small.timing)
    assert memory is not None
    assert memory.stray == 0
    assert memory.peak == small.report["memory"]["peak_bytes"] <= amounts[1]
    assert small.timing.total_cycles == small.report["memory"]["planned_cycles"]


@pytest.mark.slow
@pytest.mark.parametrize(("format", "budget"), [("f24", 860_000), ("f8e4m3", 750_000), ("f8e5m2", 750_000)])
def test_a_step_with_each_narrow_format(format: str, budget: int) -> None:
    """f8 keeps a budget that f16 does not; weights change as without compression, except for the format's rounding."""
    digits = example()
    step, state = digits.training_step()
    images, labels = digits.digits()
    inputs = {"image": images[: digits.BATCH], "target": labels[: digits.BATCH]} | state
    from meshloom.lowering.offload.save_memory import Saving
    from meshloom.support.errors import InputError

    def compiled(amount: float, kind: formats.Format) -> Any:
        saving = Saving(frozenset({"compress"}), kind)
        return meshloom.compile(step, "tiny", budget=meshloom.Budget(amount, saving, digits.LAUNCH_BYTES))

    full, small = compiled(1e9, formats.F16), compiled(budget, formats.format_named(format))
    if budget == 750_000:
        with pytest.raises(InputError, match="is too small"):
            compiled(budget, formats.F16)
    expected, outputs = full.run(inputs).outputs, small.run(inputs, check=True).outputs
    assert small.report["memory"]["actions"]["compress"]
    for name, value in state.items():
        change = np.abs(expected[f"new.{name}"] - value).max()
        error = np.abs(outputs[f"new.{name}"] - expected[f"new.{name}"]).max()
        assert error <= 4 * formats.format_named(format).relative_error * change, name
    memory = device_memory(small.executable, small.timing)
    assert memory is not None
    assert memory.peak == small.report["memory"]["peak_bytes"] <= budget
    assert small.timing.total_cycles == small.report["memory"]["planned_cycles"]

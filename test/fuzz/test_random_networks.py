"""Tests of random networks on chips with little memory: the emulator gives the results of the interpreter."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from meshloom.chips import load_chip
from meshloom.dialects.dataflow.interpreter import interpret_function
from meshloom.emulator.functional.engine import run_functional
from meshloom.lowering.driver.compile_module import compile_module

from meshloom.testing import RandomNetwork

QUICK = (*range(12), 220)
"""Seeds of the fast test; 220 has a kernel of which single columns are entirely in the padding."""
SRAM = (8 << 10, 16 << 10, 64 << 10)


def check(seed: int) -> None:
    network = RandomNetwork(seed, operations=4 + seed % 9)
    network.module.verify()
    chip = load_chip("edge" if seed % 3 == 0 else "tiny")
    chip = replace(chip, sram_bytes=SRAM[seed % len(SRAM)], unusable_cores=(1,) if seed % 5 == 0 else ())
    x = network.input()
    expected = interpret_function(network.module, {"x": x})
    executable = compile_module(network.module, chip).executable
    outputs = run_functional(executable, {"x": x}, check=True).outputs
    assert list(outputs) == list(expected)
    for name, value in expected.items():
        np.testing.assert_allclose(
            outputs[name], value, rtol=0, atol=1e-4 * float(np.abs(value).max(initial=0)) + 1e-5, err_msg=f"seed {seed}"
        )


@pytest.mark.parametrize("seed", QUICK)
def test_emulated_equals_interpreted(seed: int) -> None:
    check(seed)


@pytest.mark.slow
@pytest.mark.campaign(200, without=QUICK)
def test_many_emulated_equal_interpreted(seed: int) -> None:
    check(seed)

"""Weights of loops stay in the cores where they fit, and as many of them as fit where not all do."""

from __future__ import annotations

import numpy as np
import pytest
from meshloom.emulator.functional.engine import run_functional
from meshloom.emulator.timing.engine import run_timing
from meshloom.tools.api import CompiledNetwork, compile
from meshloom.tools.oracle import Oracle, compare
from recurrent_networks import Recurrent, build

INPUTS = 16
SLOW = pytest.mark.slow


def compiled(kind: str, hidden: int, steps: int) -> CompiledNetwork:
    """The layer compiled for `tiny`; its results equal those of ONNX Runtime."""
    model = build(Recurrent.parse(f"{kind}:1:{hidden}:{INPUTS}:{steps}")).SerializeToString()
    network = compile(model, "tiny")
    inputs = {"x": np.random.default_rng(0).standard_normal((steps, 1, INPUTS)).astype(np.float32)}
    outputs = run_functional(network.executable, inputs, check=True).outputs
    for name, value in Oracle(model).run(inputs).items():
        assert compare(name, outputs[name], value).equal
    return network


@pytest.mark.parametrize(
    ("kind", "gates", "hidden"),
    [("RNN", 1, 280), pytest.param("LSTM", 4, 150, marks=SLOW), pytest.param("GRU", 3, 168, marks=SLOW)],
)
def test_most_weights_are_loaded_once(kind: str, gates: int, hidden: int) -> None:
    """The recurrent weights take more than all SRAM of `tiny`; at least 0.75 of its 256 KiB hold some of them."""
    steps = 12
    network = compiled(kind, hidden, steps)
    recurrent, sram = 4 * gates * hidden**2, 4 * 65536
    assert recurrent > sram
    others = 4 * (gates * hidden * INPUTS + 2 * gates * hidden + steps * (INPUTS + 2 * gates * hidden))
    read = int(run_timing(network.executable).port_read.sum())
    assert read <= 1.05 * (others + steps * recurrent - (steps - 1) * 0.75 * sram)


def test_rows_of_all_steps_leave_the_cores_for_the_weights() -> None:
    """
    The weights take 160,000 of 262,144 bytes, the products with the inputs of all steps 144,000: both do not fit. The
    products are stored and loaded once, by each of four cores 50 columns of a row: 200 bytes, 7 bursts of 32.
    """
    steps, hidden = 180, 200
    network = compiled("RNN", hidden, steps)
    weights, rows = 4 * (hidden**2 + hidden * INPUTS + 2 * hidden), steps * 4 * 7 * 32
    read = int(run_timing(network.executable).port_read.sum())
    assert read <= 1.1 * (weights + rows + 4 * steps * INPUTS)

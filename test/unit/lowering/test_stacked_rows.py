"""Results that a loop stacks stay in the cores if the steps are short."""

from __future__ import annotations

from meshloom.chips import load_chip
from meshloom.emulator.timing.engine import run_timing
from meshloom.tools.api import compile
from recurrent_networks import Recurrent, build


def test_short_steps_do_not_wait_for_stores() -> None:
    """
    The rows of 1,500 steps take 288,000 bytes, and so do the products with the inputs: one core of `edge` cannot keep
    both beside the weights, several can. With a store in each step, 1,500 times the latency of DRAM would pass.
    """
    edge = load_chip("edge")
    model = build(Recurrent.parse("RNN:1:48:20:1500")).SerializeToString()
    assert run_timing(compile(model, edge).executable).cycles < 1500 * edge.dram_latency / 2

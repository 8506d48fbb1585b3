"""Tests of estimates of tasks: overlap and waits, against numbers computed by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from meshloom.analysis.planning.clock_kernels import CLOCKS, run_task
from meshloom.analysis.planning.estimate import (
    HANDSHAKE,
    MESSAGE,
    Pricing,
    StepWork,
    TaskWork,
    alone,
    clock_rates,
    op_cycles,
    run_alone,
    task_arrays,
)
from meshloom.analysis.planning.reads import burst_bytes
from meshloom.chips import Chip, load_chip
from meshloom.chips.cycles import STARTUP, matmul_cycles, vector_cycles
from meshloom.dialects.dataflow import ConvOp
from meshloom.dialects.dataflow.tiling import Box
from meshloom.dialects.dataflow.types import tensor
from xdsl.dialects.builtin import f32
from xdsl.utils.test_value import create_ssa_value

TINY = load_chip("tiny")
BARE = replace(TINY, dram_latency=0, hop_cycles=0)
"""A chip without latency of DRAM and hops."""
NO_SPANS = np.empty((0, 3))
NOTHING = TaskWork(StepWork("MPU", 0, 0, 0), 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0)


class Clocks:
    """Clocks of the units, network and DRAM of a chip, for tasks that run one after the other."""

    def __init__(self, chip: Chip) -> None:
        self.clock, self.rates = np.zeros(CLOCKS), clock_rates(chip, HANDSHAKE, HANDSHAKE, MESSAGE)

    def run(self, task: TaskWork, inputs: float) -> float:
        """The cycle at which the result of a task is complete if its operands are complete at `inputs`."""
        works, crossing = task_arrays([task])
        return run_task(self.clock, self.rates, works[0], crossing, inputs, 0.0, 0.0, NO_SPANS)[0]


def alone_on(chip: Chip, task: TaskWork) -> float:
    return Clocks(chip).run(task, 0)


def test_steps_and_the_vector_unit_overlap() -> None:
    """40 cycles of the vector unit after each of four steps of 100 overlap with the next step, except for the last."""
    task = NOTHING._replace(step=StepWork("MPU", 100, 40, 0), steps=4, outputs=4)
    assert alone_on(BARE, task) == 4 * 100 + 40


def test_a_reduction_in_steps_ends_once() -> None:
    task = NOTHING._replace(step=StepWork("MPU", 100, 40, 0), steps=4, outputs=1)
    assert alone_on(BARE, task) == 4 * 100 + 40
    same = NOTHING._replace(step=StepWork("VPU", 100, 40, 0), steps=4, outputs=1)
    assert alone_on(BARE, same) == 4 * 100 + 40


@pytest.mark.parametrize(("later", "cycles"), [(60, 60 + 4 * 100), (150, 60 + 3 * 150 + 100)])
def test_loads_of_the_next_step_overlap_with_this_one(later: float, cycles: float) -> None:
    """Each step takes the longer of the two times: that of computing, or that of DRAM."""
    task = NOTHING._replace(step=StepWork("MPU", 100, 0, 0), steps=4, outputs=4, values=60, later=later)
    assert alone_on(BARE, task) == pytest.approx(cycles)


def test_a_part_waits_for_the_buffer_of_the_part_two_before() -> None:
    """
    The third of four parts starts when the first one has left its buffer.

    The first part is computed in 10 cycles and stored in 5; its last bytes arrive in DRAM 200 cycles later.
    """
    task = NOTHING._replace(step=StepWork("MPU", 10, 0, 0), steps=4, outputs=4, stored=5)
    third = 10 + 5 + 200
    assert alone_on(replace(BARE, dram_latency=200), task) == third + 2 * 10 + 5


@pytest.mark.parametrize(("loads", "arrives"), [(0, 150), (120, 170), (1000, 200)])
def test_stores_share_ports_with_earlier_loads(loads: float, arrives: float) -> None:
    """A store of 50 cycles that starts at cycle 100 waits for earlier loads, but takes at least half of the rate."""
    clocks = Clocks(BARE)
    clocks.clock[-1] = loads  # of DRAM
    assert clocks.run(NOTHING._replace(step=StepWork("MPU", 100, 0, 0), stored=50), 0) == arrives


def test_exchanges_wait_for_the_values_that_they_send() -> None:
    task = NOTHING._replace(step=StepWork("MPU", 100, 0, 0), gather=50)
    assert Clocks(BARE).run(task, 1000) == 1000 + HANDSHAKE + MESSAGE + 50 + HANDSHAKE + 100


def test_independent_tasks_share_units_and_dram() -> None:
    clocks = Clocks(BARE)
    first = clocks.run(NOTHING._replace(step=StepWork("MPU", 100, 0, 0), values=80), 0)
    second = clocks.run(NOTHING._replace(step=StepWork("MPU", 100, 0, 0), values=80), 0)
    assert (first, second) == (80 + 100, 80 + 100 + 100)


def test_many_steps_continue_as_the_first_ones() -> None:
    def cycles(steps: int) -> float:
        task = NOTHING._replace(step=StepWork("MPU", 100, 30, 0), steps=steps, outputs=steps, values=10, later=120)
        return alone_on(BARE, task)

    assert cycles(1000) == pytest.approx(10 + 999 * 120 + 100 + 30)


@pytest.mark.parametrize(("frames", "high", "wide", "times"), [(4, 24, 12, 4), (6, 4, 3, 3)])
def test_a_walk_over_more_than_five_dimensions_becomes_a_loop(frames: int, high: int, wide: int, times: int) -> None:
    """
    A convolution over six dimensions costs a product for each frame or column.

    The dimensions are frames, rows, columns, channels, and the rows and columns of a kernel.
    """
    chip = load_chip("edge")

    def cycles(frames: int, size: int) -> int:
        shapes = (frames, 3, high + size - 1, wide + size - 1), (32, 3, size, size)
        conv = ConvOp(*(create_ssa_value(tensor(f32, shape)) for shape in shapes))
        return op_cycles(conv.cost(Box.whole([dim.size for dim in conv.iteration_space()])), chip, 4)[1]

    def product(rows: int, depth: int) -> int:
        return min(matmul_cycles(chip, 1, 1, rows, depth, 32), matmul_cycles(chip, 1, 1, 32, depth, rows))

    assert cycles(1, 3) == product(high * wide, 3 * 9)
    assert cycles(frames, 3) == times * product(frames * high * wide // times, 3 * 9)
    assert cycles(frames, 1) == product(frames * high * wide, 3)


def test_formulas_accept_integers_and_arrays() -> None:
    """One weight-stationary array of 8 x 8: 2 x 3 blocks of weights, each 8 cycles to load, 20 + 8 + 6 to compute."""
    assert matmul_cycles(TINY, 1, 1, 20, 16, 24) == 6 * (8 + 20 + 14) - 1
    many = matmul_cycles(TINY, 1, np.array([1, 2]), np.array([20, 1]), np.array([16, 8]), np.array([24, 8]))
    assert many.tolist() == [6 * 42 - 1, 2 * 23 - 1]
    assert vector_cycles(TINY, 1, 100, 4, 0) == STARTUP + 13 * 4
    assert vector_cycles(TINY, 1, 8, 1, 1000) == STARTUP + 32


def test_forwarding_does_not_delay_the_next_load() -> None:
    """Loading cores run ahead: 90 cycles of DRAM, then 20 of the network and its latency, overlap with steps of 100."""
    steps = 10
    task = NOTHING._replace(
        step=StepWork("MPU", 100, 0, 0), steps=steps, outputs=steps, values=90, later=90, passed_values=20
    )
    first = 90 + HANDSHAKE + MESSAGE + 20 + HANDSHAKE
    assert alone_on(BARE, task) == pytest.approx(first + steps * 100)


def test_short_runs_cost_whole_bursts() -> None:
    """With bursts of 32 bytes, reading 4 of 64 columns costs twice the bytes read, reading whole rows no more."""
    assert burst_bytes((128, 64), (128, 4), 4, TINY) == 128 * 32
    assert burst_bytes((128, 64), (16, 64), 4, TINY) == 16 * 64 * 4
    assert burst_bytes((8, 5, 3), (2, 4, 3), 4, TINY) == 2 * 64


def test_run_alone_estimates_each_task_separately() -> None:
    """Each task ends as on separate clocks and links."""
    first = NOTHING._replace(step=StepWork("MPU", 100, 40, 0), steps=4, outputs=4)
    second = first._replace(gather=500.0, arriving=30.0, values=40.0, later=20.0, crossing=((0.25, 1.0), (0.5, 0.2)))
    third = second._replace(stored=70.0, crossing=((1.0, 0.3),))
    expected = [alone_on(TINY, task) for task in (first, second, third)]
    assert run_alone([first, second, third], TINY) == expected
    assert len(set(expected)) == 3
    assert run_alone([], TINY) == []


def test_with_busy_links_a_task_costs_at_least_the_time_of_its_messages() -> None:
    """
    With busy links, the cost of a task includes the whole time of its messages.

    Constants that every core receives arrive before the task starts, but occupy the links for 900 cycles. The default
    price assumes that these overlap with other tasks and adds 0.7 of the 100 cycles of computing; the price for busy
    links is the 900 cycles plus the same share.
    """
    computing = NOTHING._replace(step=StepWork("MPU", 100, 0, 0))
    passing = computing._replace(passed_constants=900.0)
    assert run_alone([computing, passing], TINY) == [100, 100]
    assert alone([computing, passing], TINY) == [100, pytest.approx(100 + 0.7 * 100)]
    assert alone([computing, passing], TINY, Pricing.BUSY) == [100, pytest.approx(900 + 0.7 * 100)]

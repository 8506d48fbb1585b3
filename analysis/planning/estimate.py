"""Estimated cycles of a task from its tiles alone, by the same formulas that the emulator charges."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ...chips import RATES, Chip
from ...dialects.dataflow.tiling import Box, OpCost, Unit
from ..sparse.product_cycles import dense_weights_cycles, product_cycles
from ..task_info import TaskInfo, value_bytes
from .reads import ReadSize

VPU_STARTUP = 4
MESSAGE_CYCLES = 30
"""Hand-shake and latency of a transfer between cores or from DRAM, beside its bytes."""

EXPOSED_SHARE = 0.5
"""Of what arrives during the steps of a task, what others' loads and exchanges leave no time to hide."""


def op_cycles(cost: OpCost, chip: Chip, item_bytes: int) -> int:
    """Cycles of one tile on its unit."""
    if cost.encoded is not None:
        rate = {2: RATES["f16"], 1: RATES["i8"]}.get(item_bytes, 1)
        return round(cost.encoded.products * product_cycles(chip, cost.encoded, rate))
    if cost.matmul is not None:
        batch, m, k, n = cost.matmul
        rate = {2: RATES["f16"], 1: RATES["i8"]}.get(item_bytes, 1)
        folds = math.ceil(k / (chip.mpu_rows * rate)) * math.ceil(n / chip.mpu_cols)
        swapped = math.ceil(k / (chip.mpu_rows * rate)) * math.ceil(m / chip.mpu_cols)
        fill = 2 * chip.mpu_rows + chip.mpu_cols - 2
        dense = batch * min(folds * (m + fill), swapped * (n + fill))
        if cost.nonzero.has_zeros:
            skipping = dense_weights_cycles(chip, cost.matmul, rate, cost.nonzero, cost.bytes_moved)
            return min(dense, round(skipping))
        return dense
    if cost.unit == "DAU":
        return VPU_STARTUP + math.ceil(cost.bytes_moved / 2 / chip.sram_bytes_per_cycle)
    return VPU_STARTUP + math.ceil(cost.vpu_ops / chip.vpu_lanes)


def compute_cycles(info: TaskInfo, step: Box, chip: Chip) -> dict[Unit, int]:
    """Cycles of the operations of a task's body for one step, by unit."""
    if step.volume == 0:
        return {}
    first = value_bytes(info.root.operands[0]) if info.root.operands else 4
    busy: dict[Unit, int] = {}
    for number in range(len(info.body)):
        cost = info.cost(number, step)
        cycles = op_cycles(cost, chip, info.value_bytes[number] if number else first)
        busy[cost.unit] = busy.get(cost.unit, 0) + cycles
    return busy


def begun_cycles(info: TaskInfo, step: Box, chip: Chip) -> int:
    """Cycles of the operations that do not wait for the root (`TaskInfo.addends`), of one step."""
    numbers = [number for number, _ in info.addends] if step.volume else []
    return sum(op_cycles(info.cost(number, step), chip, info.value_bytes[number]) for number in numbers)


def dram_bandwidth(chip: Chip, cores: Sequence[int]) -> float:
    """Bytes a cycle that these cores get from DRAM together: each port serves the rows that are nearest to it."""
    ports = {core // chip.cols * chip.dram_ports // chip.rows for core in cores}
    port = min(chip.dram_bytes_per_cycle / chip.dram_ports, chip.link_bytes_per_cycle)
    return min(len(ports) * port, len(cores) * chip.link_bytes_per_cycle)


class TaskCycles(NamedTuple):
    """Estimated cycles of a task."""

    expected: float
    least: float
    """However it is cut into steps."""


def task_cycles(
    chip: Chip,
    compute: Mapping[Unit, int],
    begun: int,
    steps: int,
    exchange: float,
    arriving: float,
    reads: Sequence[ReadSize],
    result_dram_bytes: int,
    cores: Sequence[int],
) -> TaskCycles:
    """
    Cycles of a task: values are gathered, then steps follow each other, in which units overlap.

    `compute` is of one step: its units follow each other there, but for `begun` cycles that overlap, and those of
    neighbouring steps overlap. `exchange` is the time of gathering what the first step needs, `arriving` of what comes
    during the steps; `result_dram_bytes` is 0 where the result stays in the cores.
    """
    longest = max(compute.values(), default=0)
    work = longest * steps + max(0, sum(compute.values()) - longest - begun)
    dram = sum(read.dram_bytes for read in reads) + result_dram_bytes
    dram_cycles = dram / dram_bandwidth(chip, cores)
    shared_cycles = sum(read.received_bytes for read in reads) / chip.link_bytes_per_cycle + arriving
    times = (float(work), dram_cycles, shared_cycles)
    messages = sum(read.versions for read in reads if read.buffer_bytes) + (steps if result_dram_bytes else 0)
    waits = sum(read.parts - 1 for read in reads)
    exposed = 0.2 * (sum(times) - max(times)) + EXPOSED_SHARE * arriving
    expected = exchange + max(times) + exposed + MESSAGE_CYCLES * (2 + waits + 0.25 * messages)
    return TaskCycles(expected, max(float(longest * steps), dram_cycles, shared_cycles + exchange))

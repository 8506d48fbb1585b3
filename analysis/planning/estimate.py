"""Estimated cycles of a task from its tiles alone, by the same formulas that the emulator charges."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...chips import RATES, Chip
from ...dialects.dataflow.tiling import Box, OpCost
from ..task_info import TaskInfo, value_bytes
from .reads import ReadSize

VPU_STARTUP = 4
MESSAGE_CYCLES = 60
"""Hand-shake and latency of a transfer between cores or from DRAM, beside its bytes."""


def op_cycles(cost: OpCost, chip: Chip, item_bytes: int) -> int:
    """Cycles of one tile on its unit."""
    if cost.matmul is not None:
        batch, m, k, n = cost.matmul
        rate = {2: RATES["f16"], 1: RATES["i8"]}.get(item_bytes, 1)
        folds = math.ceil(k / (chip.mpu_rows * rate)) * math.ceil(n / chip.mpu_cols)
        swapped = math.ceil(k / (chip.mpu_rows * rate)) * math.ceil(m / chip.mpu_cols)
        fill = 2 * chip.mpu_rows + chip.mpu_cols - 2
        return batch * min(folds * (m + fill), swapped * (n + fill))
    if cost.unit == "DAU":
        return VPU_STARTUP + math.ceil(cost.bytes_moved / 2 / chip.sram_bytes_per_cycle)
    return VPU_STARTUP + math.ceil(cost.vpu_ops / chip.vpu_lanes)


def compute_cycles(info: TaskInfo, step: Box, chip: Chip) -> int:
    """Cycles of all operations of a task's body for one step."""
    if step.volume == 0:
        return 0
    first = value_bytes(info.root.operands[0]) if info.root.operands else 4
    total = op_cycles(info.cost(0, step), chip, first)
    for number in range(1, len(info.body)):
        total += op_cycles(info.cost(number, step), chip, info.value_bytes[number])
    return total


def task_cycles(
    chip: Chip, compute: int, steps: int, reads: Sequence[ReadSize], result_dram_bytes: int, cores: int
) -> float:
    """
    Cycles of a task: units overlap, so the busiest one counts in full and the others by a quarter.

    `compute` is of one step; `result_dram_bytes` is 0 where the result stays in the cores.
    """
    dram = sum(read.dram_bytes for read in reads) + result_dram_bytes
    dram_cycles = dram / min(chip.dram_bytes_per_cycle, cores * chip.link_bytes_per_cycle)
    noc_cycles = sum(read.received_bytes for read in reads) / chip.link_bytes_per_cycle
    times = (float(compute * steps), dram_cycles, noc_cycles)
    messages = sum(read.versions for read in reads if read.buffer_bytes) + (steps if result_dram_bytes else 0)
    return max(times) + 0.25 * (sum(times) - max(times)) + MESSAGE_CYCLES * (2 + 0.25 * messages)

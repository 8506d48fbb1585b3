"""Estimated times of tasks on each unit before they are tiled: work is spread evenly over all cores of the chip."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, prod

import numpy as np
from xdsl.ir import SSAValue

from ...chips import Chip
from ...chips.dram_ports import dram_rate
from ...dialects.dataflow import ConstantOp, ReshapeOp, WeightOp
from ...dialects.dataflow.tiling import Box
from ...dialects.dataflow.types import shape_of
from ...dialects.manycore import TaskOp
from ..cost_graphs.graph import lists_of
from ..orders.unit_profiles import UnitProfiles
from ..tasks.task_info import TaskInfo, value_bytes
from .estimate import HANDSHAKE, PASS_THROUGH, op_cycles

UNITS = ("MPU", "VPU", "DAU")
RESIDENT_SHARE = 0.6
"""The share of SRAM above which resident results are assumed to displace the current task."""


def estimated_profiles(tasks: Sequence[TaskOp], predecessors: list[list[int]], chip: Chip) -> UnitProfiles:
    """
    The profiles of tasks, tiled or not.

    The operations of a body run one after another; each takes its cycles on one core, divided by the number of cores.
    """
    cores = len(chip.usable_cores)
    offset, busy = np.zeros((len(tasks), len(UNITS)), np.int64), np.zeros((len(tasks), len(UNITS)), np.int64)
    load, held = np.zeros(len(tasks), np.int64), np.zeros(len(tasks), np.int64)
    for number, task in enumerate(tasks):
        info = TaskInfo.of(task)
        whole = Box.whole(info.sizes)
        now = 0
        for index in range(len(info.body)):
            cost = info.cost(index, whole)
            first = value_bytes(info.operands[0]) if info.operands and index == 0 else info.value_bytes[index]
            name, own = op_cycles(cost, chip, first)
            cycles, unit = ceil(own / cores), UNITS.index(name)
            if not busy[number, unit]:
                offset[number, unit] = now
            busy[number, unit] += cycles
            now += cycles
        constants = sum(
            _bytes(value) for value in info.operands if isinstance(_root(value).owner, ConstantOp | WeightOp)
        )
        load[number] = ceil(constants / dram_rate(chip))
        held[number] = ceil(_bytes(info.result) / cores)
    names = tuple(task.sym_name.data for task in tasks)
    latency = np.full(len(tasks), HANDSHAKE + chip.dram_latency, np.int64)
    spill = PASS_THROUGH * cores / dram_rate(chip)
    room = int(chip.sram_bytes * RESIDENT_SHARE)
    return UnitProfiles(names, UNITS, offset, busy, load, latency, lists_of(predecessors), held, room, spill)


def _root(value: SSAValue) -> SSAValue:
    while isinstance(value.owner, ReshapeOp):
        value = value.owner.operands[0]
    return value


def _bytes(value: SSAValue) -> int:
    return prod(shape_of(value)) * value_bytes(value)

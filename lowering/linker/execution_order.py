"""The task of each instruction that a launch executes (see `emulator/functional/execution_order.py`), from its IR."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp

from ...chips import Chip
from ...dialects.coreasm.isa import UNIT_OF_OPCODE
from ...dialects.manycore import LaunchOp
from ...emulator.executable.load import KIND_OF_OPCODE
from ...emulator.functional.execution_order import ExecutionOrder, UnitOrder
from ...emulator.machine.expand import DATA
from ..codegen.stream import StreamArrays
from ..launch.launch_schedule import LaunchSchedule
from ..launch.read_launch import read_launch
from .select_launch import select_launch


def execution_orders(module: ModuleOp, chip: Chip) -> Callable[[int], ExecutionOrder | None]:
    """
    A function from the number of a launch in a module of the `memory` level to its order; None for launches with loops
    whose number of steps is known at run time only. Orders are computed at the first call, as instructions are selected
    again.
    """
    launches = [op for op in module.walk() if isinstance(op, LaunchOp)]

    @cache
    def order_of(launch: int) -> ExecutionOrder | None:
        return execution_order(read_launch(launches[launch], chip).schedule, chip)

    return order_of


def execution_order(schedule: LaunchSchedule, chip: Chip) -> ExecutionOrder | None:
    """The order of a launch; None if it has loops whose number of steps is known at run time only."""
    machine, _ = select_launch(schedule, chip)
    units: dict[tuple[int, int], UnitOrder] = {}
    executions: dict[tuple[int, int, int], int] = {}
    for core, stream in machine.streams.items():
        arrays = stream.finish()
        if any(loop.ending is not None for loop in arrays.loops):
            return None
        units.update({(core, unit): order for unit, order in _units(arrays)})
        for task, opcode, count in _counts(arrays):
            executions[task, core, opcode] = executions.get((task, core, opcode), 0) + count
    return ExecutionOrder(tuple(task.info.name for task in schedule.tasks), units, executions)


def _parts(arrays: StreamArrays) -> Iterator[tuple[int, int, int]]:
    """The parts of a stream as (first, end, times): an emitted step of a loop stands for the steps up to the next."""
    at = 0
    for loop in arrays.loops:
        yield at, loop.starts[0], 1
        for (low, high), (number, after) in zip(
            pairwise(loop.starts), pairwise((*loop.numbers, loop.steps)), strict=True
        ):
            yield low, high, after - number
        at = loop.starts[-1]
    yield at, len(arrays), 1


def _units(arrays: StreamArrays) -> Iterator[tuple[int, UnitOrder]]:
    unit_of = np.where(_is_data(arrays), UNIT_OF_OPCODE[arrays.op].astype(np.int64), -1)
    for unit in np.unique(unit_of[unit_of >= 0]).tolist():
        tasks, counts = list[NDArray[np.int32]](), list[NDArray[np.int64]]()
        for low, high, times in _parts(arrays):
            own = arrays.source[low:high][unit_of[low:high] == unit].astype(np.int32)  # NO_SOURCE becomes -1
            if not len(own):
                continue
            starts = np.concatenate([[0], np.flatnonzero(np.diff(own)) + 1])
            tasks.append(np.tile(own[starts], times))
            counts.append(np.tile(np.diff(starts, append=len(own)), times))
        yield unit, UnitOrder(np.concatenate(tasks), np.cumsum(np.concatenate(counts)))


def _counts(arrays: StreamArrays) -> Iterator[tuple[int, int, int]]:
    """(task, operation code, number of executions), once or several times for each task and code."""
    data = _is_data(arrays)
    for low, high, times in _parts(arrays):
        pairs = np.stack([arrays.source[low:high].astype(np.int32), arrays.op[low:high]], axis=1)[data[low:high]]
        for (task, opcode), count in zip(*np.unique(pairs, axis=0, return_counts=True), strict=True):
            yield int(task), int(opcode), int(count) * times


def _is_data(arrays: StreamArrays) -> NDArray[np.bool_]:
    return KIND_OF_OPCODE[arrays.op] == DATA

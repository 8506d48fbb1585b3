"""Views of the values that tasks read and write, in SRAM or DRAM."""

from __future__ import annotations

from ..launch.launch_schedule import Buffer, DramBuffer, LaunchSchedule, TileBuffer
from .buffers import Buffers
from .view import View


class OperandViews:
    """The location of the values of a launch."""

    def __init__(self, schedule: LaunchSchedule) -> None:
        self._schedule = schedule
        self.step = 0
        """Step of the loop around the task."""
        self._tiles: dict[tuple[int, tuple[int, ...]], Buffers] = {}

    def in_dram(self, task: int, operand: int) -> View:
        """The view of an operand in DRAM, in the shape in which the task reads it."""
        own, buffer = self._schedule.tasks[task], self._schedule.operand_buffer(task, operand)
        assert isinstance(buffer, DramBuffer)
        return View.dense("dram", self._address(buffer), own.operand_dtype(operand), own.operand_shape(operand))

    def result_in_dram(self, task: int) -> View:
        """The view of a task's result in DRAM."""
        own, buffer = self._schedule.tasks[task], self._schedule.result_buffer(task)
        assert isinstance(buffer, DramBuffer)
        return View.dense("dram", self._address(buffer), own.result_dtype, own.shape)

    def _address(self, buffer: DramBuffer) -> int:
        """The address of a buffer in this step."""
        return buffer.address + self.step * buffer.advance

    def row(self, task: int, operand: int) -> int | None:
        """
        The row of an operand in SRAM that the task reads in this step of a loop; `tiles` then has an additional first
        dimension, the rows. None if the task reads the whole operand.
        """
        return self._row(self._schedule.operand_buffer(task, operand))

    def result_row(self, task: int) -> int | None:
        """The row of a value in SRAM that the task computes in this step of a loop; None if it computes the whole."""
        return self._row(self._schedule.result_buffer(task))

    def _row(self, buffer: Buffer) -> int | None:
        if not isinstance(buffer, TileBuffer) or buffer.row is None:
            return None
        return buffer.row.first + self.step * buffer.row.advance

    def tiles(self, task: int, operand: int) -> Buffers:
        """The SRAM buffers of an operand that stays in the cores, in the shape in which the task reads it."""
        own = self._schedule.tasks[task]
        key = own.operands[operand], own.operand_shape(operand)
        found = self._tiles.get(key)
        if found is None:
            buffer = self._schedule.operand_buffer(task, operand)
            assert isinstance(buffer, TileBuffer)
            held, whole = self._schedule.tasks[buffer.task].held(buffer)
            shape = key[1] if buffer.row is None else (buffer.row.count, *key[1])
            seen = held.reshaped(whole, shape)
            if seen is None:
                raise AssertionError("values that are read in another shape are planned to lie in DRAM")
            found = self._tiles[key] = Buffers(buffer.address, own.operand_dtype(operand), seen.arrays)
        return found

"""
Synchronisation of the values that tasks pass through DRAM.

Readers of a value wait until all its parts are stored (read-after-write). Addresses are reused within a launch: writers
of a value wait until all readers of the values that occupied its bytes before are done (write-after-read).
"""

from __future__ import annotations

from ...dialects.coreasm.encoding import TypeCode
from ..launch.launch_schedule import DramBuffer, LaunchSchedule, TileBuffer
from .machine import Machine
from .semaphores import Pair
from .view import View


class DramSynchronisation:
    """The values in DRAM that the tasks of one launch compute."""

    def __init__(self, schedule: LaunchSchedule, machine: Machine) -> None:
        self._schedule, self._machine = schedule, machine
        self._writers = {
            self._number(task.result): sorted(
                core for core, box in task.tiling.tile_boxes(task.info.sizes).items() if box.volume
            )
            for task in schedule.tasks
            if isinstance(schedule.buffers[task.result], DramBuffer)
        }
        self._readers: dict[int, set[int]] = {}
        for task in schedule.tasks:
            for read in task.reads:
                buffer = self._number(task.operands[read.plan.read.operand])
                if buffer in self._writers:
                    self._readers.setdefault(buffer, set()).update(read.plan.whole)
        self._semaphores: dict[int, Pair] = {}
        """Task -> the semaphores of its write-after-read wait and of its read-after-write signal."""

    def wait_write_after_read(self, number: int) -> None:
        """Make the cores of a task wait until all reads of the values whose bytes its result overwrites are done."""
        result = self._number(self._schedule.tasks[number].result)
        buffer, writers = self._schedule.buffers[result], self._writers.get(result, [])
        users: dict[int, list[View]] = {}
        for before in buffer.previous if isinstance(buffer, DramBuffer) else ():
            for core in sorted(self._readers.get(before) or self._writers[before]):
                users.setdefault(core, []).append(self._whole(before))
        if users and not list(users) == writers == writers[:1]:
            pair = self._semaphores[number] = self._machine.take_semaphores()
            self._machine.wait_until_read(users, writers, self._whole(result), pair[0])

    def signal_read_after_write(self, number: int) -> None:
        """Signal the readers of a task's result once all of it is stored."""
        result = self._number(self._schedule.tasks[number].result)
        readers, writers = sorted(self._readers.get(result, ())), self._writers.get(result)
        pair = self._semaphores.pop(number, None)
        if readers and writers is not None:
            pair = self._machine.take_semaphores() if pair is None else pair
            self._machine.signal_read_after_write(writers, readers, self._whole(result), pair[1])
        if pair is not None:
            self._machine.release_semaphores(pair)

    def _whole(self, number: int) -> View:
        """All bytes of a buffer in DRAM."""
        buffer = self._schedule.buffers[number]
        assert isinstance(buffer, DramBuffer)
        return View.dense("dram", buffer.address, TypeCode.U8, (buffer.nbytes,))

    def _number(self, number: int) -> int:
        """Number of the whole buffer of which a buffer is a part, or of itself."""
        buffer = self._schedule.buffers[number]
        return number if isinstance(buffer, TileBuffer) or buffer.whole is None else buffer.whole

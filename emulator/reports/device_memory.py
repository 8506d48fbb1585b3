"""
DRAM in use over time, from the accesses of a run: by copies, and by the programs of each launch.

The executable lists the buffers, their addresses and the steps of the controller that use them (note `NOTE`). A
buffer is in use from the start of the first step that accesses it to the end of the last one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...dialects.coreasm.isa import BY_CODE, NO_DESC, SLOTS, Space
from ...support.jit import jit
from ..executable.executable import Executable, Launch
from ..executable.host import ControllerStep, controller_steps
from ..executable.load import patched_words
from ..machine.errors import EmulationError
from ..machine.follow import LOOPS, REGISTERS, item_bytes, next_access, reach
from ..timing.engine import TimingResult

NOTE = "device memory"
Ints = NDArray[np.int64]
_IN_DRAM = np.zeros((256, SLOTS), np.bool_)
_HIGH = np.zeros((256, SLOTS), np.int64)
for _code, _entry in BY_CODE.items():
    for _operand in _entry.operands:
        if _operand.space is Space.DRAM and _operand.high is not None:
            _IN_DRAM[_code, _operand.slot], _HIGH[_code, _operand.slot] = True, _operand.high


class PlannedBuffer(NamedTuple):
    """A buffer in DRAM and the first and last of the controller's steps that use it; -1 for resident constants."""

    name: str
    address: int
    nbytes: int
    first: int
    last: int
    ends: int
    """Of the steps that use the buffer, the one that ends last: a copy may end after launches that start later."""


@dataclass(frozen=True)
class PlannedMemory:
    """The compiler's plan of DRAM; times in cycles."""

    capacity: int
    """Bytes of DRAM that were available."""
    unsaved: int
    """Bytes that the network needs without offloading."""
    peak: int
    cycles: int
    steps: tuple[tuple[str, str, int, int], ...]
    """(name, purpose, start, end) in the controller's order."""
    buffers: tuple[PlannedBuffer, ...]

    def profile(self) -> tuple[Ints, Ints]:
        """(cycles [n], bytes in use from each of these cycles on [n]), as planned."""
        return _profile(self, {}, [(start, end) for _, _, start, end in self.steps], planned=True)


@dataclass(frozen=True)
class DeviceMemory:
    """DRAM in use over the time of a run."""

    planned: PlannedMemory
    times: Ints
    """Cycles at which the number of bytes changes."""
    held: Ints
    """[times] bytes in use from these cycles on."""
    spans: tuple[tuple[int, int], ...]
    """Start and end cycle of each step."""
    stray: int
    """Number of accesses to DRAM outside of the buffers that are in use in the step."""

    @property
    def peak(self) -> int:
        """Peak of the bytes in use."""
        return int(self.held.max(initial=0))


def planned_memory(exe: Executable) -> PlannedMemory | None:
    """The plan of an executable's memory; None if there is none. Raises EmulationError for an invalid note."""
    if NOTE not in exe.notes:
        return None
    try:
        note = json.loads(exe.notes[NOTE])
        planned = PlannedMemory(
            int(note["capacity"]),
            int(note["unsaved"]),
            int(note["peak"]),
            int(note["cycles"]),
            tuple((str(name), str(purpose), int(start), int(end)) for name, purpose, start, end in note["steps"]),
            tuple(
                PlannedBuffer(str(name), int(address), int(nbytes), int(first), int(last), int(ends))
                for name, address, nbytes, first, last, ends in note["buffers"]
            ),
        )
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise EmulationError(f"the note '{NOTE}' cannot be read") from error
    count = len(planned.steps)
    if any(not -1 <= one.first <= one.ends <= one.last < count for one in planned.buffers):
        raise EmulationError(f"the note '{NOTE}' names steps that do not exist")
    return planned


def device_memory(exe: Executable, timing: TimingResult) -> DeviceMemory | None:
    """
    DRAM in use over the time of a run with this `timing`; None if the executable does not list its buffers. Raises
    EmulationError for an invalid note.
    """
    planned = planned_memory(exe)
    if planned is None:
        return None
    steps = list(_steps(exe, timing))
    if len(steps) != len(planned.steps):
        raise EmulationError(f"the note '{NOTE}' has {len(planned.steps)} steps, the controller has {len(steps)}")
    used: dict[int, tuple[int, int]] = {}
    stray = 0
    for number, (step, start, end) in enumerate(steps):
        there = [
            one
            for one, buffer in enumerate(planned.buffers)
            if buffer.first <= number <= buffer.last or buffer.first < 0
        ]
        touched, outside = _touched(exe, step, planned, there)
        stray += outside
        for one in touched:
            before = used.get(one, (start, end))
            used[one] = min(before[0], start), max(before[1], end)
    spans = [(start, end) for _, start, end in steps]
    times, held = _profile(planned, used, spans, planned=False)
    return DeviceMemory(planned, times, held, tuple(spans), stray)


def _steps(exe: Executable, timing: TimingResult) -> Iterator[tuple[ControllerStep, int, int]]:
    """(step, start, end) of the controller's launches and copies."""
    launches, copies = iter(timing.launches), iter(timing.copies)
    for step in controller_steps(exe):
        if step.mnemonic == "ctl.launch":
            _, start, end = next(launches)
            yield step, start, end
        elif step.mnemonic in ("ctl.h2d", "ctl.d2h"):
            copy = next(copies)
            yield step, copy.start, copy.end


def _profile(
    memory: PlannedMemory, used: dict[int, tuple[int, int]], steps: list[tuple[int, int]], planned: bool
) -> tuple[Ints, Ints]:
    always = sum(buffer.nbytes for buffer in memory.buffers if buffer.first < 0)
    starts: list[int] = []
    ends: list[int] = []
    sizes: list[int] = []
    for number, buffer in enumerate(memory.buffers):
        if buffer.first < 0 or not (planned or number in used):
            continue
        begin, end = used.get(number, (steps[buffer.first][0], steps[buffer.ends][1]))
        starts.append(begin)
        ends.append(end)
        sizes.append(buffer.nbytes)
    size = np.array(sizes, np.int64)
    moments = np.array([*starts, *ends], np.int64)
    times, position = np.unique(moments, return_inverse=True)
    change = np.zeros(len(times), np.int64)
    np.add.at(change, position, np.concatenate([size, -size]))
    return np.concatenate([[0], times]), np.concatenate([[always], always + np.cumsum(change)])


def _touched(exe: Executable, step: ControllerStep, planned: PlannedMemory, there: list[int]) -> tuple[list[int], int]:
    """(numbers of the buffers that a step accesses, number of accesses outside of all buffers in `there`)."""
    there = sorted(there, key=lambda one: planned.buffers[one].address)
    start = np.array([planned.buffers[one].address for one in there], np.int64)
    end = start + np.array([planned.buffers[one].nbytes for one in there], np.int64)
    hit = np.zeros(len(there) + 1, np.int64)
    if step.mnemonic == "ctl.launch":
        _touch_launch(exe, exe.launches[step.number], start, end, hit)
    else:
        low = step.target if step.mnemonic == "ctl.h2d" else step.source
        hit[_find(start, end, low, low + step.nbytes)] += 1
    return [one for one, count in zip(there, hit[:-1].tolist(), strict=True) if count], int(hit[-1])


def _find(start: Ints, end: Ints, low: int, high: int) -> int:
    at = int(np.searchsorted(start, low, side="right")) - 1
    return at if at >= 0 and high <= end[at] else len(start)


def _touch_launch(exe: Executable, launch: Launch, start: Ints, end: Ints, hit: Ints) -> None:
    seen: set[tuple[int, bytes]] = set()
    for core in range(exe.chip.cores):
        index, values = int(launch.program_of_core[core]), launch.params_of_core[core]
        key = (index, values.tobytes())
        if key in seen:
            continue
        seen.add(key)
        program = exe.programs[index]
        words = patched_words(program, values)
        where = _IN_DRAM[words["op"]] & (words["desc"] != NO_DESC)
        if not where.any():
            continue
        low, high = _extents(words, program.descs)
        address = words["addr"].astype(np.int64)
        upper = np.take_along_axis(address, _HIGH[words["op"]], axis=1)
        _touch(
            words["op"].astype(np.int64), words["imm"].astype(np.int64), words["regs"].astype(np.int64), address,
            address + (upper << 32) + low, address + (upper << 32) + high, where, start, end, hit,
        )  # fmt: skip


def _extents(words: NDArray[Any], descs: NDArray[Any]) -> tuple[Ints, Ints]:
    """[n, 4] bytes from an operand's address to its lowest byte, and to the end of its highest element."""
    down, up = reach(descs)
    desc = np.minimum(words["desc"].astype(np.int64), len(descs))
    return down[desc], up[desc] + item_bytes(words)


@jit
def _touch(
    op: NDArray[Any],
    imm: NDArray[Any],
    regs: NDArray[Any],
    addr: NDArray[Any],
    low: Ints,
    high: Ints,
    where: NDArray[Any],
    start: Ints,
    end: Ints,
    hit: Ints,
) -> None:
    """Traverse a program and add its accesses of each buffer to `hit` [buffers + 1]; the last: outside of all."""
    register, loops = np.zeros(REGISTERS, np.int64), np.zeros((LOOPS, 3), np.int64)
    pc, depth = next_access(op, imm, addr, register, loops, 0, 0)
    while pc < len(op):
        for slot in range(4):
            if where[pc, slot]:
                moved = int(register[int(regs[pc]) >> (4 * slot) & 15])
                bottom: int = low[pc, slot] + moved
                at = np.searchsorted(start, bottom, side="right") - 1
                if at >= 0 and high[pc, slot] + moved <= end[at]:
                    hit[at] += 1
                else:
                    hit[len(start)] += 1
        pc, depth = next_access(op, imm, addr, register, loops, pc + 1, depth)

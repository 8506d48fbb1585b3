"""
What of DRAM is in use when, from the accesses of a run: copies, and what the programs of each launch address.

The executable says which buffers there are, where, and which steps of the controller they are for (note `NOTE`). A
buffer is in use from the start of the first step that accesses it to the end of the last one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ..dialects.coreasm.isa import BY_CODE, ITEMSIZE, NO_DESC, OPCODE, SLOTS, Space, TypeOf
from ..support.jit import jit
from .executable import Executable, Launch
from .functional_errors import EmulationError
from .functional_host import ControllerStep, controller_steps
from .functional_load import patched_words
from .timing import TimingResult

NOTE = "device memory"
Ints = NDArray[np.int64]
_IN_DRAM = np.zeros((256, SLOTS), np.bool_)
_HIGH = np.zeros((256, SLOTS), np.int64)
_TYPE = np.zeros((256, SLOTS), np.uint8)
for _code, _entry in BY_CODE.items():
    for _operand in _entry.operands:
        if _operand.space is Space.DRAM and _operand.high is not None:
            _IN_DRAM[_code, _operand.slot], _HIGH[_code, _operand.slot] = True, _operand.high
        _TYPE[_code, _operand.slot] = [TypeOf.SOURCE, TypeOf.DESTINATION, TypeOf.BOOL].index(_operand.type)
_LOOP, _ADDI, _LI, _HALT = (OPCODE[name] for name in ("loop", "addi", "li", "halt"))


@dataclass(frozen=True)
class PlannedMemory:
    """What the compiler has planned; times in cycles."""

    capacity: int
    """Bytes that were there."""
    unsaved: int
    """Bytes that the network needs if nothing is saved."""
    peak: int
    cycles: int
    steps: tuple[tuple[str, str, int, int], ...]
    """(name, purpose, start, end) in the controller's order."""
    buffers: tuple[tuple[str, int, int, int, int], ...]
    """(name, address, bytes, first step, last step); constants that stay: steps -1."""

    def profile(self) -> tuple[Ints, Ints]:
        """(cycles, bytes in use from each of them on), as planned."""
        return _profile(self, {}, [(start, end) for _, _, start, end in self.steps], planned=True)


@dataclass(frozen=True)
class DeviceMemory:
    """Memory over time of a run."""

    planned: PlannedMemory
    times: Ints
    """Cycles."""
    held: Ints
    """[times] bytes in use from then on."""
    spans: tuple[tuple[int, int], ...]
    """Start and end of each step."""
    stray: int
    """Accesses to DRAM outside of the buffers that are there for the step."""

    @property
    def peak(self) -> int:
        """Most bytes in use at any time."""
        return int(self.held.max(initial=0))


def planned_memory(exe: Executable) -> PlannedMemory | None:
    """What an executable says of its memory; None where nothing was planned. Raises EmulationError for a bad note."""
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
            tuple((str(one[0]), *(int(value) for value in one[1:5])) for one in note["buffers"]),  # pyright: ignore[reportArgumentType]
        )
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise EmulationError(f"the note '{NOTE}' cannot be read") from error
    count = len(planned.steps)
    if any(not -1 <= first <= last < count for _, _, _, first, last in planned.buffers):
        raise EmulationError(f"the note '{NOTE}' names steps that do not exist")
    return planned


def device_memory(exe: Executable, timing: TimingResult) -> DeviceMemory | None:
    """Memory over time of a run that took `timing`; None where the executable says nothing of its buffers."""
    planned = planned_memory(exe)
    if planned is None:
        return None
    steps = list(_steps(exe, timing))
    if len(steps) != len(planned.steps):
        raise EmulationError(f"the note '{NOTE}' has {len(planned.steps)} steps, the controller takes {len(steps)}")
    used: dict[int, tuple[int, int]] = {}
    stray = 0
    for number, (step, start, end) in enumerate(steps):
        there = [
            one for one, (_, _, _, first, last) in enumerate(planned.buffers) if first <= number <= last or first < 0
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
    """The controller's launches and copies with their times."""
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
    always = sum(nbytes for _, _, nbytes, first, _ in memory.buffers if first < 0)
    starts: list[int] = []
    ends: list[int] = []
    sizes: list[int] = []
    for number, (_, _, nbytes, first, last) in enumerate(memory.buffers):
        if first < 0 or not (planned or number in used):
            continue
        # As planned, a buffer is in use from the first to the last step that it is for.
        begin, end = used.get(number, (steps[first][0], steps[last][1]))
        starts.append(begin)
        ends.append(end)
        sizes.append(nbytes)
    size = np.array(sizes, np.int64)
    moments = np.array([*starts, *ends], np.int64)
    times, place = np.unique(moments, return_inverse=True)
    change = np.zeros(len(times), np.int64)
    np.add.at(change, place, np.concatenate([size, -size]))
    return np.concatenate([[0], times]), np.concatenate([[always], always + np.cumsum(change)])


def _touched(exe: Executable, step: ControllerStep, planned: PlannedMemory, there: list[int]) -> tuple[list[int], int]:
    """(buffers that a step accesses, accesses that are in none of those that are there)."""
    there = sorted(there, key=lambda one: planned.buffers[one][1])
    start = np.array([planned.buffers[one][1] for one in there], np.int64)
    end = start + np.array([planned.buffers[one][2] for one in there], np.int64)
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
            _LOOP, _ADDI, _LI, _HALT,
        )  # fmt: skip


def _extents(words: NDArray[Any], descs: NDArray[Any]) -> tuple[Ints, Ints]:
    """[n, 4] bytes from an operand's address to its lowest byte, and to the end of its highest element."""
    sizes, strides = descs["size"].astype(np.int64), descs["stride"].astype(np.int64)
    up = np.append((np.maximum(strides, 0) * (sizes - 1)).sum(axis=1), 0)
    down = np.append((np.minimum(strides, 0) * (sizes - 1)).sum(axis=1), 0)
    desc = np.minimum(words["desc"].astype(np.int64), len(descs))
    low, high = (words["dtype"] & 15).astype(np.int64), (words["dtype"] >> 4).astype(np.int64)
    kind = _TYPE[words["op"]]
    item = np.where(kind == 0, ITEMSIZE[low][:, None], np.where(kind == 1, ITEMSIZE[high][:, None], 1))
    return cast(Ints, down[desc]), cast(Ints, up[desc] + item)


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
    loop: int,
    addi: int,
    li: int,
    halt: int,
) -> None:
    """Follow one program; count accesses by buffer [buffers + 1], the last: outside of all."""
    register = np.zeros(16, np.int64)
    first, stop, left = np.zeros(8, np.int64), np.zeros(8, np.int64), np.zeros(8, np.int64)
    level, pc = 0, 0
    while pc < len(op):
        if op[pc] == halt:
            break
        if op[pc] == loop:
            first[level], stop[level], left[level] = pc + 1, pc + 1 + addr[pc, 1], addr[pc, 0]
            level += 1
            pc += 1
            continue
        if op[pc] == addi or op[pc] == li:
            value = addr[pc, 0]
            if value >= 1 << 31:
                value -= 1 << 32
            number = imm[pc] & 15
            register[number] = value + (register[number] if op[pc] == addi else 0)
            register[0] = 0
        else:
            for slot in range(4):
                if where[pc, slot]:
                    moved = int(register[int(regs[pc]) >> (4 * slot) & 15])
                    bottom: int = low[pc, slot] + moved
                    at = np.searchsorted(start, bottom, side="right") - 1
                    if at >= 0 and high[pc, slot] + moved <= end[at]:
                        hit[at] += 1
                    else:
                        hit[len(start)] += 1
        pc += 1
        while level > 0 and pc == stop[level - 1]:
            left[level - 1] -= 1
            if left[level - 1] > 0:
                pc = first[level - 1]
                break
            level -= 1

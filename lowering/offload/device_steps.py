"""
The steps of the controller for a function of subgraphs and memory operations: launches, and copies to and from the
host.

The steps are in the order of the block. Inputs and large constants are copied in before the first launch that reads
them, outputs are copied out after the launch that computes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ...analysis.offload_steps.steps import Buffer, Program, Step
from ...chips import Chip
from ...dialects.dataflow import ConstantOp, WeightOp
from ...emulator.machine.costs import host_cycles
from .compiled_launches import CompiledLaunch

CORES, OUT, IN = "cores", "to host", "from host"
"""The queues: launches, copies out and copies in."""


@dataclass(frozen=True)
class SegmentLocation:
    """The location of a segment of a launch: a buffer, or a resident constant."""

    kind: Literal["buffer", "constant"]
    number: int


@dataclass(frozen=True)
class Run:
    """A launch."""

    compiled: CompiledLaunch
    segment_locations: tuple[SegmentLocation, ...]
    """Locations of the code's segments; the last one (values internal to the launch) only if it is not empty."""


@dataclass(frozen=True)
class Move:
    """A copy between DRAM and a slot of host memory."""

    to_device: bool
    location: SegmentLocation
    slot: int


@dataclass(frozen=True)
class Slot:
    """A slot of host memory: an input, an output, a constant (by number), or a temporary."""

    kind: Literal["input", "output", "constant", "kept"]
    number: int
    nbytes: int


Purpose = Literal["compute", "recompute", "compress", "decompress", "swap out", "swap in", "input", "output"]


@dataclass(frozen=True)
class DeviceSteps:
    """The steps, and everything that they refer to."""

    program: Program
    """Times are cycles; buffers hold bytes without padding."""
    actions: tuple[Run | Move, ...]
    purposes: tuple[Purpose, ...]
    """[steps]"""
    buffer_names: tuple[str, ...]
    slots: tuple[Slot, ...]
    constants: tuple[ConstantOp | WeightOp, ...]
    """All constants by number."""
    resident: tuple[int, ...]
    """The constants that stay in DRAM."""


@dataclass
class Draft:
    """A step before the steps are numbered."""

    name: str
    queue: str
    cycles: int
    action: Run | Move
    purpose: Purpose
    reads: tuple[int, ...]
    """Buffers."""
    writes: tuple[int, ...]
    after: frozenset[int] = frozenset()
    """`id`s of drafts that it waits for because of a control edge or of host memory."""


def copy_draft(
    chip: Chip, name: str, purpose: Purpose, move: Move, nbytes: int, after: frozenset[int] = frozenset()
) -> Draft:
    """The draft of a copy of `nbytes` bytes."""
    touched = (move.location.number,) if move.location.kind == "buffer" else ()
    reads, writes = ((), touched) if move.to_device else (touched, ())
    queue = IN if move.to_device else OUT
    return Draft(name, queue, host_cycles(chip, nbytes), move, purpose, reads, writes, after)


def program_of(drafts: Sequence[Draft], sizes: Sequence[int]) -> Program:
    """Drafts in their final order, and buffers of `sizes` bytes, as a program."""
    number = {id(draft): at for at, draft in enumerate(drafts)}
    maker: dict[int, int] = {}
    users: dict[int, list[int]] = {}
    steps: list[Step] = []
    for at, draft in enumerate(drafts):
        for buffer in draft.writes:
            maker[buffer] = at
        for buffer in (*draft.reads, *draft.writes):
            users.setdefault(buffer, []).append(at)
        needs = {maker[buffer] for buffer in draft.reads} - {at}
        waits = {number[one] for one in draft.after} - needs
        steps.append(Step(draft.name, (draft.queue,), draft.cycles, tuple(sorted(needs)), tuple(sorted(waits))))
    buffers = tuple(
        Buffer(size, maker[buffer], tuple(dict.fromkeys(users[buffer]))) for buffer, size in enumerate(sizes)
    )
    return Program(tuple(steps), buffers)


def occupancy(drafts: Sequence[Draft], sizes: Sequence[int]) -> list[int]:
    """Bytes in DRAM at each draft if each completes before the next begins."""
    change = [0] * (len(drafts) + 1)
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for at, draft in enumerate(drafts):
        for buffer in (*draft.reads, *draft.writes):
            first.setdefault(buffer, at)
            last[buffer] = at
    for buffer, at in first.items():
        change[at] += sizes[buffer]
        change[last[buffer] + 1] -= sizes[buffer]
    total, found = 0, list[int]()
    for one in change[:-1]:
        total += one
        found.append(total)
    return found


def hoist_arrivals(drafts: list[Draft], sizes: Sequence[int], capacity: int) -> list[Draft]:
    """
    Move the copies in of inputs and constants earlier, concurrent with launches, as far as they fit for any durations
    of the steps.
    """
    drafts = list(drafts)
    held = occupancy(drafts, sizes)
    for start in range(len(drafts)):
        draft, at, hidden = drafts[start], start, 0
        if draft.purpose != "input":
            continue
        size = sizes[draft.writes[0]]
        while at and hidden < 2 * draft.cycles and held[at - 1] + size <= capacity:
            before = drafts[at - 1]
            if before.purpose == "input":
                break
            hidden += before.cycles if before.queue == CORES else 0
            drafts[at], drafts[at - 1] = before, draft
            held[at] = held[at - 1] + size
            at -= 1
        if at < start:
            held = occupancy(drafts, sizes)
    return drafts

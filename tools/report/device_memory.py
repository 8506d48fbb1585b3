"""Device memory over time, for executables that were compiled for a budget: as planned, and as a run used it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .bars import legend
from .gantt import Interval, Row, gantt
from .html import Child, join, name_cell, table, tag
from .line_chart import Limit, Line, line_chart
from .memory_map import Block, memory_map
from .page import Section
from .scale import CYCLES, unit_of_bytes
from .words import in_bytes, percent

if TYPE_CHECKING:
    from ...emulator.reports.device_memory import DeviceMemory, PlannedMemory

QUEUES = ("cores", "to host", "from host")
PURPOSES = {
    "compute": ("cores", "mpu"), "recompute": ("cores", "vpu"), "compress": ("cores", "dau"),
    "decompress": ("cores", "dau"), "swap out": ("to host", "load"), "output": ("to host", "host"),
    "swap in": ("from host", "load"), "input": ("from host", "host"),
}  # fmt: skip
"""Queue and colour of a step, by its purpose."""
SAVING = ("swap out", "swap in", "compress", "decompress", "recompute")
GOING = ("swap out", "compress")
MOST_STEPS = 2000
"""Largest number of steps for which a map of addresses is drawn."""
WHY = (
    "Times in cycles. Hidden: the share of a copy that runs concurrently with launches. Peak if kept: the most bytes "
    "in use between the two uses if the tensor were not offloaded, over the budget; a value above 1 is the reason."
)
Span = tuple[int, int]


@dataclass(frozen=True)
class Saved:
    """A step that frees memory, or restores a tensor; times in cycles."""

    purpose: str
    name: str
    nbytes: int
    span: Span
    beside: float
    """The share of it during which cores compute."""
    away: Span | None
    """Start and end of the time without the tensor in DRAM due to this step; None if it is not restored."""
    crowded: int
    """Peak of the bytes in use during that time if the tensor had been kept."""


def device_memory_section(planned: PlannedMemory, measured: DeviceMemory | None) -> Section:
    """
    Planned and measured memory over time, the budget, concurrent copies, addresses, and the actions.

    Before a run (`measured` None) all times are those of the plan.
    """
    spans = [(start, end) for _, _, start, end in planned.steps] if measured is None else list(measured.spans)
    end = max([1, *(last for _, last in spans)])
    times, held = planned.profile()
    lines = [Line("planned", times.astype(float), held.astype(float), "heat", steps=True, filled=measured is None)]
    if measured is not None:
        # The plan as a dashed line on top, so that both lines are visible where they agree.
        run = Line("measured", measured.times.astype(float), measured.held.astype(float), "heat", True, filled=True)
        lines = [run, Line("planned", lines[0].x, lines[0].y, "ink", steps=True, dashed=True)]
    limits = [Limit(f"budget {in_bytes(planned.capacity)}", planned.capacity)]
    if planned.unsaved > planned.capacity:
        limits.append(Limit(f"needed without memory saving {in_bytes(planned.unsaved)}", planned.unsaved, "muted"))
    parts: list[Child] = [
        line_chart("DRAM in use over time", lines, CYCLES, unit_of_bytes(planned.capacity), limits),
        tag("h3", "Launches and concurrent copies"),
        gantt("launches and copies over time", rows_of(planned, spans), end, CYCLES),
        legend([(purpose, colour) for purpose, (_, colour) in PURPOSES.items() if _used(planned, purpose)]),
    ]
    if len(planned.steps) <= MOST_STEPS:
        blocks = [
            Block(name or "constant", address, nbytes, max(first, 0), len(spans) - 1 if first < 0 else last,
                  "constant" if first < 0 else PURPOSES.get(planned.steps[first][1], ("", "mpu"))[1])
            for name, address, nbytes, first, last, _ in planned.buffers
        ]  # fmt: skip
        names = [f"{name}, {purpose}" for name, purpose, _, _ in planned.steps]
        parts += [
            tag("h3", "Addresses in use, by step of the controller"),
            memory_map("DRAM addresses in use by step", blocks, names, planned.capacity),
        ]
    found = list(saved_steps(planned, spans))
    if found:
        parts += [
            tag("h3", "Actions that save memory, with times and reasons"),
            tag("p", WHY, class_="note"),
            _table(found, planned.capacity),
        ]
    agree = ""
    if measured is not None:
        same = measured.peak == planned.peak and end == planned.cycles
        what = "the same" if same else f"{in_bytes(planned.peak)} and {planned.cycles:,}"
        agree = f" Measured in the run: peak {in_bytes(measured.peak)}, {end:,} cycles; planned: {what}."
    note = (
        f"Bytes of DRAM in use from the first step that fills a buffer to the end of the last one that uses it; "
        f"{in_bytes(planned.peak)} of {in_bytes(planned.capacity)} at most. Copies run concurrently with launches; a "
        f"step begins once its operands, and all accesses to the memory that it overwrites, are complete.{agree}"
    )
    return Section("Device memory", join(parts), note)


def rows_of(planned: PlannedMemory, spans: Sequence[Span]) -> list[Row]:
    """Activity of cores and of the host link, with their busy shares."""
    end = max([1, *(last for _, last in spans)])
    intervals: dict[str, list[Interval]] = {queue: [] for queue in QUEUES}
    for (name, purpose, _, _), (start, stop) in zip(planned.steps, spans, strict=True):
        queue, colour = PURPOSES.get(purpose, ("cores", "host"))
        intervals[queue].append(Interval(name if purpose == "compute" else f"{purpose} {name}", start, stop, colour))
    return [
        Row(queue, sorted(found, key=lambda one: one.start), percent(sum(one.end - one.start for one in found) / end))
        for queue, found in intervals.items()
    ]


def saved_steps(planned: PlannedMemory, spans: Sequence[Span]) -> Iterator[Saved]:
    """The steps that save memory, in the controller's order."""
    times, held = planned.profile()
    cores = [
        span
        for (_, purpose, _, _), span in zip(planned.steps, spans, strict=True)
        if PURPOSES.get(purpose, ("cores",))[0] == "cores"
    ]
    by_name: dict[str, list[tuple[int, int, int]]] = {}
    for buffer in planned.buffers:
        if buffer.first >= 0:
            by_name.setdefault(buffer.name, []).append((buffer.first, buffer.last, buffer.nbytes))
    for number, (name, purpose, _, _) in enumerate(planned.steps):
        if purpose not in SAVING:
            continue
        own = sorted(by_name.get(name, ()))
        made = [one for one in own if one[0] == number]
        read = [one for one in own if one[0] < number <= one[1]]
        size = sum(one[2] for one in made or read[-1:])
        start, end = spans[number]
        beside = sum(max(0, min(end, stop) - max(start, begin)) for begin, stop in cores) / max(end - start, 1)
        if purpose in GOING:
            gone = max([end, *(spans[one[1]][1] for one in read[-1:])])
            back = [spans[one[0]][0] for one in own if one[0] > number]
        else:
            gone = max([spans[one[1]][1] for one in own if one[1] < number], default=-1)
            back = [start] if gone >= 0 else []
        away = (gone, back[0]) if back and back[0] > gone else None
        crowded = 0
        if away is not None:
            meanwhile = (times < away[1]) & (np.append(times[1:], times[-1] + 1) > away[0])
            crowded = int(held[meanwhile].max(initial=0)) + size
        yield Saved(purpose, name, size, (start, end), beside, away, crowded)


def _table(found: Sequence[Saved], capacity: int) -> Child:
    head = [
        "action",
        "tensor",
        "bytes",
        "from",
        "to",
        "cycles",
        "hidden",
        "offloaded from",
        "until",
        "cycles offloaded",
    ]
    rows: list[list[Child]] = [
        [
            one.purpose,
            name_cell(one.name, 26),
            f"{one.nbytes:,}",
            *(f"{value:,}" for value in (*one.span, one.span[1] - one.span[0])),
            percent(one.beside) if one.purpose in ("swap out", "swap in") else "",
            *(["", "", ""] if one.away is None else [f"{value:,}" for value in (*one.away, one.away[1] - one.away[0])]),
            "" if not one.crowded else f"{one.crowded / capacity:.2f}\N{MULTIPLICATION SIGN}",
        ]
        for one in found
    ]
    return table([*head, "peak if kept"], rows, 2, "wide")


def _used(planned: PlannedMemory, purpose: str) -> bool:
    return any(one == purpose for _, one, _, _ in planned.steps)

"""Figures of memory saving, and a table of the offloaded tensors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .compile_launches import LaunchCompilation
from .device_steps import Purpose


@dataclass(frozen=True)
class Moved:
    """One step that offloads a tensor or restores it; planned times in cycles."""

    purpose: Purpose
    name: str
    nbytes: int
    start: int
    end: int


SAVING: tuple[Purpose, ...] = ("swap out", "swap in", "compress", "decompress", "recompute")


def moved(saving: LaunchCompilation) -> list[Moved]:
    """The steps that save memory, in the controller's order."""
    layout = saving.layout
    program = layout.steps.program
    sizes: list[int] = [0] * len(program.steps)
    for buffer in program.buffers:
        sizes[buffer.maker] += buffer.nbytes
    found: list[Moved] = []
    for number, (step, purpose) in enumerate(zip(program.steps, layout.steps.purposes, strict=True)):
        if purpose not in SAVING:
            continue
        # The offloaded tensor: the buffer that the step reads.
        size = sizes[number] or sum(buffer.nbytes for buffer in program.buffers if number in buffer.users)
        start, end = int(layout.planned.start[number]), int(layout.planned.end[number])
        found.append(Moved(purpose, step.name, size, start, end))
    return found


def saving_figures(saving: LaunchCompilation) -> dict[str, Any]:
    """
    Bytes that are needed, available, in use at most, and reserved (up to the end of the highest buffer); cycles, and
    the number of steps of each kind.
    """
    actions = moved(saving)
    purposes = saving.layout.steps.purposes
    return {
        "unsaved_bytes": saving.unsaved_peak,
        "budget_bytes": saving.capacity,
        "peak_bytes": saving.layout.peak,
        "reserved_bytes": saving.layout.used,
        "planned_cycles": saving.layout.planned.time_ns,
        "launches": sum(purpose in ("compute", "recompute", "compress", "decompress") for purpose in purposes),
        "actions": {purpose: sum(one.purpose == purpose for one in actions) for purpose in SAVING},
    }

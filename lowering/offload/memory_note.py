"""The note of an executable on the memory that was planned, for the emulator and for reports."""

from __future__ import annotations

import json
from itertools import accumulate

from ...emulator.reports.device_memory import NOTE
from .device_layout import DeviceLayout
from .device_steps import Run

__all__ = ["NOTE", "memory_note"]


def memory_note(layout: DeviceLayout, capacity: int, unsaved_peak: int) -> str:
    """
    JSON: bytes available, needed without saving, and planned; and all steps and buffers.

    A step is [name, purpose, start, end] (planned cycles), in the controller's order; a buffer is [name, address,
    bytes, first step, last step, the one of its steps that ends last]: it is filled and used by steps from the first to
    the last. Resident constants are buffers without steps (-1). The controller has no step for copies of tensors
    without elements, which have no buffer in the note either.
    """
    program, planned = layout.steps.program, layout.planned
    slots = layout.steps.slots
    there = [isinstance(action, Run) or slots[action.slot].nbytes > 0 for action in layout.steps.actions]
    number = [upto - 1 for upto in accumulate(map(int, there))]
    steps = [
        [step.name, purpose, int(start), int(end)]
        for step, purpose, start, end, one in zip(
            program.steps, layout.steps.purposes, planned.start, planned.end, there, strict=True
        )
        if one
    ]
    buffers = [
        [
            name,
            address,
            buffer.nbytes,
            number[buffer.maker],
            number[max(buffer.users)],
            number[max(buffer.users, key=lambda user: planned.end[user])],
        ]
        for name, address, buffer in zip(layout.steps.buffer_names, layout.addresses, program.buffers, strict=True)
        if all(there[user] for user in (buffer.maker, *buffer.users))
    ]
    buffers += [["", layout.constants[number], size, -1, -1, -1] for number, size in layout.constant_sizes.items()]
    return json.dumps(
        {
            "capacity": capacity,
            "unsaved": unsaved_peak,
            "peak": layout.peak,
            "cycles": planned.time_ns,
            "steps": steps,
            "buffers": buffers,
        },
        separators=(",", ":"),
    )

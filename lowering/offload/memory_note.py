"""The note of an executable on the memory that was planned, for the emulator and for reports."""

from __future__ import annotations

import json

from ...emulator.reports.device_memory import NOTE
from .device_layout import DeviceLayout

__all__ = ["NOTE", "memory_note"]


def memory_note(layout: DeviceLayout, capacity: int, unsaved_peak: int) -> str:
    """
    JSON: bytes available, needed without saving, and planned; and all steps and buffers.

    A step is [name, purpose, start, end] (planned cycles), in the controller's order; a buffer is [name, address,
    bytes, first step, last step, the one of its steps that ends last]: it is filled and used by steps from the first to
    the last. Resident constants are buffers without steps (-1).
    """
    program = layout.steps.program
    steps = [
        [step.name, purpose, int(start), int(end)]
        for step, purpose, start, end in zip(
            program.steps, layout.steps.purposes, layout.planned.start, layout.planned.end, strict=True
        )
    ]
    buffers = [
        [
            name,
            address,
            buffer.nbytes,
            buffer.maker,
            max(buffer.users),
            max(buffer.users, key=lambda user: layout.planned.end[user]),
        ]
        for name, address, buffer in zip(layout.steps.buffer_names, layout.addresses, program.buffers, strict=True)
    ]
    buffers += [["", layout.constants[number], size, -1, -1, -1] for number, size in layout.constant_sizes.items()]
    return json.dumps(
        {
            "capacity": capacity,
            "unsaved": unsaved_peak,
            "peak": layout.peak,
            "cycles": layout.planned.time_ns,
            "steps": steps,
            "buffers": buffers,
        },
        separators=(",", ":"),
    )

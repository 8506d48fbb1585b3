"""
What inputs and outputs have to do with loops whose number of steps is known at run time only, from the import down to
the executable: a note of the module.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from .module_notes import add_note

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

STEPS = "steps"
"""Key of the note: a JSON object with the fields of `StepNotes`."""


@dataclass
class StepNotes:
    """The names of such inputs and outputs."""

    rows: dict[str, str] = field(default_factory=dict[str, str])
    """Output -> the output that says how many rows it has, along its first axis: its shape has the most."""
    most: dict[str, int] = field(default_factory=dict[str, int])
    """Input that is a number of steps -> the largest that is possible."""

    def __bool__(self) -> bool:
        return bool(self.rows or self.most)


def note_steps(module: ModuleOp, notes: StepNotes) -> None:
    """Write the note, if it says something."""
    if notes:
        add_note(module, STEPS, json.dumps({"rows": notes.rows, "most": notes.most}, separators=(",", ":")))


def noted_steps(notes: Mapping[str, str]) -> StepNotes:
    """What a note says; what makes no sense is left out."""
    try:
        found: object = json.loads(notes.get(STEPS, "{}"))
    except ValueError:
        return StepNotes()
    rows, most = (_entries(found, key) for key in ("rows", "most"))
    return StepNotes(
        {name: value for name, value in rows.items() if isinstance(value, str)},
        {name: value for name, value in most.items() if type(value) is int},
    )


def _entries(found: object, key: str) -> dict[str, Any]:
    entries = cast("dict[str, Any]", found).get(key) if isinstance(found, dict) else None
    return cast("dict[str, Any]", entries) if isinstance(entries, dict) else {}

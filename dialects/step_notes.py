"""
What inputs and outputs have to do with loops whose number of steps is known at run time only, from the import down to
the executable: a note of the module.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, cast

from .module_notes import add_note

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

STEPS = "steps"
"""Key of the note: a JSON object with the fields of `StepNotes`."""


@dataclass
class StepNotes:
    """The names of such inputs and outputs."""

    rows: dict[str, list[Any]] = field(default_factory=dict[str, "list[Any]"])
    """
    Output -> [axis, the output or input that says how many rows it has along that]: its shape has the most. Who says so
    is no output or input for users.
    """
    most: dict[str, int] = field(default_factory=dict[str, int])
    """Input that is a number of steps -> the largest that is possible."""
    lengths: dict[str, list[Any]] = field(default_factory=dict[str, "list[Any]"])
    """Input whose shape has the largest size of an axis -> [axis, the smallest size, the input that says the size]."""

    def __bool__(self) -> bool:
        return bool(self.rows or self.most or self.lengths)

    @property
    def hidden(self) -> set[str]:
        """The inputs and outputs that only say how many rows others have."""
        return {who for *_, who in (*self.rows.values(), *self.lengths.values())}


def note_steps(module: ModuleOp, notes: StepNotes) -> None:
    """Write the note, if it says something."""
    if notes:
        add_note(module, STEPS, json.dumps(asdict(notes), separators=(",", ":")))


def noted_steps(notes: Mapping[str, str]) -> StepNotes:
    """What a note says; what makes no sense is left out."""
    try:
        found: object = json.loads(notes.get(STEPS, "{}"))
    except ValueError:
        return StepNotes()
    rows, most, lengths = (_entries(found, key) for key in ("rows", "most", "lengths"))
    return StepNotes(
        {name: value for name, value in rows.items() if _fits(value, [int, str])},
        {name: value for name, value in most.items() if type(value) is int},
        {name: value for name, value in lengths.items() if _fits(value, [int, int, str])},
    )


def _fits(value: object, types: list[type]) -> bool:
    return isinstance(value, list) and [type(one) for one in cast("list[object]", value)] == types


def _entries(found: object, key: str) -> dict[str, Any]:
    entries = cast("dict[str, Any]", found).get(key) if isinstance(found, dict) else None
    return cast("dict[str, Any]", entries) if isinstance(entries, dict) else {}

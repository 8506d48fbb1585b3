"""
A note of the module, from the import to the executable, about inputs and outputs whose sizes depend on the number of
steps of dynamic loops.
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
    """The contents of the note, by names of inputs and outputs."""

    rows: dict[str, list[Any]] = field(default_factory=dict[str, "list[Any]"])
    """
    Output -> [axis, the output or input that holds its number of rows along this axis]; its shape has the largest
    number. The output or input that holds the number is hidden from users.
    """
    most: dict[str, int] = field(default_factory=dict[str, int])
    """Input that is a number of steps -> the largest permitted number."""
    lengths: dict[str, list[Any]] = field(default_factory=dict[str, "list[Any]"])
    """Input whose shape has the largest size of an axis -> [axis, the smallest size, the input that holds the size]."""
    sequences: dict[str, int] = field(default_factory=dict[str, int])
    """Input that holds lengths of sequences -> the largest permitted length."""

    def __bool__(self) -> bool:
        return bool(self.rows or self.most or self.lengths or self.sequences)

    @property
    def hidden(self) -> set[str]:
        """The inputs and outputs that only hold the numbers of rows of others."""
        return {who for *_, who in (*self.rows.values(), *self.lengths.values())}


def note_steps(module: ModuleOp, notes: StepNotes) -> None:
    """Add the note to the module, unless it is empty."""
    if notes:
        add_note(module, STEPS, json.dumps(asdict(notes), separators=(",", ":")))


def noted_steps(notes: Mapping[str, str]) -> StepNotes:
    """The contents of the note; invalid entries are ignored."""
    try:
        found: object = json.loads(notes.get(STEPS, "{}"))
    except ValueError:
        return StepNotes()
    rows, most, lengths, sequences = (_entries(found, key) for key in ("rows", "most", "lengths", "sequences"))
    return StepNotes(
        {name: value for name, value in rows.items() if _fits(value, [int, str])},
        {name: value for name, value in most.items() if type(value) is int},
        {name: value for name, value in lengths.items() if _fits(value, [int, int, str])},
        {name: value for name, value in sequences.items() if type(value) is int},
    )


def _fits(value: object, types: list[type]) -> bool:
    return isinstance(value, list) and [type(one) for one in cast("list[object]", value)] == types


def _entries(found: object, key: str) -> dict[str, Any]:
    entries = cast("dict[str, Any]", found).get(key) if isinstance(found, dict) else None
    return cast("dict[str, Any]", entries) if isinstance(entries, dict) else {}

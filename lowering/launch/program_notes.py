"""Notes of an executable that do not follow from the rest of its module."""

from __future__ import annotations

import json
from typing import cast

from xdsl.dialects.builtin import ModuleOp

from ...dialects.module_notes import NOTES, add_note, notes_of

IDEAL = "ideal"
"""The note of the work of the network itself (see `ideal_work`)."""


def noted_ideal(module: ModuleOp) -> dict[str, int] | None:
    """The work of the network that a module was made of, where it says so."""
    text = notes_of(module).get(IDEAL)
    try:
        found: object = json.loads(text) if text is not None else None
    except ValueError:
        return None
    return cast("dict[str, int]", found) if isinstance(found, dict) else None


__all__ = ["IDEAL", "NOTES", "add_note", "noted_ideal", "notes_of"]

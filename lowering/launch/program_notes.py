"""Notes of an executable that cannot be derived from the rest of its module, as attributes of the module."""

from __future__ import annotations

import json
from typing import cast

from xdsl.dialects.builtin import ModuleOp

from ...dialects.module_notes import NOTES, add_note, notes_of

IDEAL = "ideal"
"""Attribute with the minimal work of the network (see `ideal_work`)."""


def noted_ideal(module: ModuleOp) -> dict[str, int] | None:
    """The recorded work of the network from which a module was made, if any."""
    text = notes_of(module).get(IDEAL)
    try:
        found: object = json.loads(text) if text is not None else None
    except ValueError:
        return None
    return cast("dict[str, int]", found) if isinstance(found, dict) else None


__all__ = ["IDEAL", "NOTES", "add_note", "noted_ideal", "notes_of"]

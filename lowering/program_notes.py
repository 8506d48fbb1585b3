"""Notes of an executable that do not follow from the rest of its module."""

from __future__ import annotations

import json
from typing import cast

from xdsl.dialects.builtin import DictionaryAttr, ModuleOp, StringAttr

NOTES = "manycore.notes"
"""Attribute of modules: a dictionary of strings."""
IDEAL = "ideal"
"""The note of the work of the network itself (see `ideal_work`)."""


def notes_of(module: ModuleOp) -> dict[str, str]:
    """The notes that a module carries."""
    given = module.attributes.get(NOTES)
    if not isinstance(given, DictionaryAttr):
        return {}
    return {key: value.data for key, value in given.data.items() if isinstance(value, StringAttr)}


def noted_ideal(module: ModuleOp) -> dict[str, int] | None:
    """The work of the network that a module was made of, where it says so."""
    text = notes_of(module).get(IDEAL)
    try:
        found: object = json.loads(text) if text is not None else None
    except ValueError:
        return None
    return cast("dict[str, int]", found) if isinstance(found, dict) else None

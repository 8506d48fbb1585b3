"""Notes that a module carries from level to level into the executable: text by key."""

from __future__ import annotations

from xdsl.dialects.builtin import DictionaryAttr, ModuleOp, StringAttr

NOTES = "manycore.notes"
"""Attribute of modules: a dictionary of strings."""


def notes_of(module: ModuleOp) -> dict[str, str]:
    """The notes that a module carries."""
    given = module.attributes.get(NOTES)
    if not isinstance(given, DictionaryAttr):
        return {}
    return {key: value.data for key, value in given.data.items() if isinstance(value, StringAttr)}


def add_note(module: ModuleOp, key: str, text: str) -> None:
    """Note a text by a key, in the place of one that was there."""
    notes = notes_of(module) | {key: text}
    module.attributes[NOTES] = DictionaryAttr({name: StringAttr(notes[name]) for name in sorted(notes)})

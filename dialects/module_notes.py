"""Notes of a module, strings by key, which are kept from level to level and written to the executable."""

from __future__ import annotations

from xdsl.dialects.builtin import DictionaryAttr, ModuleOp, StringAttr

NOTES = "manycore.notes"
"""Name of the module attribute for notes, a dictionary of strings."""


def notes_of(module: ModuleOp) -> dict[str, str]:
    """The notes of a module."""
    given = module.attributes.get(NOTES)
    if not isinstance(given, DictionaryAttr):
        return {}
    return {key: value.data for key, value in given.data.items() if isinstance(value, StringAttr)}


def add_note(module: ModuleOp, key: str, text: str) -> None:
    """Add a note, or replace the note with the same key."""
    notes = notes_of(module) | {key: text}
    module.attributes[NOTES] = DictionaryAttr({name: StringAttr(notes[name]) for name in sorted(notes)})

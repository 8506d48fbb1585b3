"""Checks of the notes in which executables name the instructions and formats of plug-ins that they use."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import cast

from ...support.errors import InputError


def check_named(
    notes: Mapping[str, str], note: str, key: str, what: str, definition_of: Callable[[str], str | None], location: str
) -> None:
    """
    Check that everything that a note names is registered. The note is a JSON list of objects with `key` (the name),
    `plugin`, and `definition`, a hash; `definition_of` returns the hash of what is registered under a name, or None.

    Raises InputError, which names the plug-in and `what` is missing, or differs from what the executable was compiled
    with.
    """
    if note not in notes:
        return
    try:
        entries = cast("list[dict[str, str]]", json.loads(notes[note]))
        named = [(entry[key], entry["plugin"], entry["definition"]) for entry in entries]
    except (ValueError, TypeError, KeyError) as error:
        raise InputError(f"{location}: the note '{note}' cannot be read") from error
    for name, plugin, definition in named:
        known = definition_of(name)
        if known is None:
            raise InputError(f"{location} holds {what} '{name}' of plug-in '{plugin}': load it with --plugin")
        if known != definition:
            raise InputError(
                f"{location} holds {what} '{name}' of another version of plug-in '{plugin}': compile it again"
            )

"""
The note of an executable with the plug-ins' keys in its chip's description, so that a reader without a plug-in can
report which one is missing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

from ...chips.added_keys import KEYS, PLUGIN_OF, ChipKey
from ...chips.chip import Chip
from ...dialects.coreasm.plugin_notes import check_named

NOTE = "chip_keys"


def noted_chip_keys(notes: Mapping[str, str], chip: Chip) -> dict[str, str]:
    """`notes` of an executable for `chip`, with the note of the plug-ins whose keys are in the description."""
    others = {key: note for key, note in notes.items() if key != NOTE}
    if not chip.added:
        return others
    entries = [
        {"key": name, "plugin": PLUGIN_OF[name], "definition": _definition(KEYS[name])} for name, _ in chip.added
    ]
    return {**others, NOTE: json.dumps(entries)}


def check_chip_keys(notes: Mapping[str, str], location: str) -> None:
    """Raises InputError, naming the plug-in, if a key in an executable's note is unknown, or differs."""

    def known(name: str) -> str | None:
        return _definition(KEYS[name]) if name in KEYS else None

    check_named(notes, NOTE, "key", "the chip key", known, location)


def _definition(key: ChipKey[bool] | ChipKey[int] | ChipKey[float] | ChipKey[str]) -> str:
    """A hash of the definition of a key: its type and its default."""
    said = (type(key.default).__name__, key.default)
    return hashlib.sha256(repr(said).encode()).hexdigest()[:16]

"""The notes of an executable about its tasks."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from ...emulator.executable.executable import Executable
from ...support.errors import InputError


@dataclass(frozen=True)
class TaskNote:
    """A task as the compiler planned it (see `lowering.linker.read_program`)."""

    name: str
    ops: tuple[str, ...]
    """Operations of its body, the root first."""
    grid: tuple[int, ...]
    cores: int
    steps: tuple[int, ...]
    sram: bool
    """Whether its result stays in SRAM."""
    constants: int
    """Bytes of weights and constants that it reads."""
    working: int
    """Bytes of SRAM that it needs on the busiest core in addition to resident buffers."""
    cycles: int
    """Estimated."""

    @property
    def operator(self) -> str:
        """The operations in a few words: the root, and how many follow it."""
        if len(self.ops) <= 3:
            return " + ".join(self.ops)
        return f"{self.ops[0]} + {self.ops[1]} + {len(self.ops) - 2} more"


def task_notes(exe: Executable) -> list[TaskNote]:
    """
    The note `tasks`, in the order of the schedule; empty if there is none.

    Raises InputError for a note in another format.
    """
    text = exe.notes.get("tasks")
    if text is None:
        return []
    try:
        return [_note(cast("Mapping[str, Any]", entry)) for entry in json.loads(text)]
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise InputError(f"note 'tasks' of the executable is not a list of tasks: {text[:80]}") from error


def _note(entry: Mapping[str, Any]) -> TaskNote:
    return TaskNote(
        str(entry["name"]),
        tuple(map(str, entry["ops"])),
        tuple(map(int, entry["grid"])),
        int(entry["cores"]),
        tuple(map(int, entry["steps"])),
        bool(entry["sram"]),
        int(entry["constants"]),
        int(entry["working"]),
        int(entry["cycles"]),
    )

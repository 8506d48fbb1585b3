"""
Keys that plug-ins add to chip descriptions: numbers, texts or truth values, with a default for chips that do not say.

A description that gives such a key is refused without the plug-in, as one with any unknown key is.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar, cast

from ..support.errors import InputError

if TYPE_CHECKING:
    from .chip import Chip

Value: TypeAlias = bool | int | float | str
V = TypeVar("V", bool, int, float, str)

_EXPECTED = {bool: "true or false", int: "an integer", float: "a number", str: "a string"}
_LARGEST = 1 << 48


@dataclass(frozen=True)
class ChipKey(Generic[V]):
    """A key of chip descriptions."""

    name: str
    default: V
    """Of chips whose description does not give the key; its type is that of the key's values."""
    problem: Callable[[V, Chip], str | None] = lambda value, chip: None
    """What is wrong with a value for a chip whose other keys are valid ("expected ..."), or None."""

    def of(self, chip: Chip) -> V:
        """The value for a chip."""
        found: Any = dict(chip.added).get(self.name, self.default)
        return found

    def typed(self, value: object, location: str) -> V:
        """The value from a description. Raises InputError for one of another type."""
        kind = type(self.default)
        found: Any = float(value) if kind is float and type(value) is int else value
        wrong = not isinstance(found, kind) or (kind is int and isinstance(found, bool))
        if wrong or (isinstance(found, int | float) and not abs(found) <= _LARGEST):
            raise InputError(f"{location}: '{self.name}' is {value!r}, expected {_EXPECTED[kind]}")
        return cast("V", found)


KEYS: dict[str, ChipKey[Any]] = {}
"""All keys of plug-ins by name."""
PLUGIN_OF: dict[str, str] = {}
"""For each key the plug-in that adds it."""


def add_key(key: ChipKey[Any], plugin: str) -> None:
    """Make a key of a plug-in known. Raises InputError for a default of a type that descriptions do not have."""
    if type(key.default) not in _EXPECTED or (isinstance(key.default, float) and not math.isfinite(key.default)):
        raise InputError(f"chip key '{key.name}': its default is {key.default!r}, expected a number, text or bool")
    KEYS[key.name] = key
    PLUGIN_OF[key.name] = plugin


def added_values(table: dict[str, Any], location: str) -> tuple[tuple[str, Value], ...]:
    """
    Take the keys of plug-ins out of a description. Values that are the default are as if they were not given. Raises
    InputError for those of a wrong type.
    """
    given = {name: KEYS[name].typed(table.pop(name), location) for name in sorted(KEYS) if name in table}
    return tuple((name, value) for name, value in given.items() if value != KEYS[name].default)


def check_added(chip: Chip, location: str) -> None:
    """Raise InputError for values that the plug-ins refuse."""
    for name, value in chip.added:
        if (problem := KEYS[name].problem(value, chip)) is not None:
            raise InputError(f"{location}: '{name}' is {value!r}, {problem}")

"""
Keys that plug-ins add to chip descriptions: numbers, strings or booleans, each with a default value.

Without the plug-in, a description that gives such a key is rejected, as with any unknown key.
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
    """The value for chips whose description does not give the key; its type is the type of all values."""
    problem: Callable[[V, Chip], str | None] = lambda value, chip: None
    """Why a value is invalid for a chip whose other keys are valid ("expected ..."), or None."""

    def of(self, chip: Chip) -> V:
        """The value for a chip."""
        found: Any = dict(chip.added).get(self.name, self.default)
        return found

    def typed(self, value: object, location: str) -> V:
        """The value of the key from a description. Raises InputError for a value of another type, or beyond 2**48."""
        kind = type(self.default)
        found: Any = float(value) if kind is float and type(value) is int else value
        wrong = not isinstance(found, kind) or (kind is int and isinstance(found, bool))
        if wrong or (isinstance(found, int | float) and not abs(found) <= _LARGEST):
            raise InputError(f"{location}: '{self.name}' is {value!r}, expected {_EXPECTED[kind]}")
        return cast("V", found)


KEYS: dict[str, ChipKey[Any]] = {}
"""All keys that plug-ins have added, by name."""
PLUGIN_OF: dict[str, str] = {}
"""For each key the plug-in that adds it."""


def add_key(key: ChipKey[Any], plugin: str) -> None:
    """Register a key of a plug-in. Raises InputError for a default value of a type that descriptions do not have."""
    if type(key.default) not in _EXPECTED or (isinstance(key.default, float) and not math.isfinite(key.default)):
        raise InputError(f"chip key '{key.name}': its default is {key.default!r}, expected a number, text or bool")
    KEYS[key.name] = key
    PLUGIN_OF[key.name] = plugin


def added_values(table: dict[str, Any], location: str) -> tuple[tuple[str, Value], ...]:
    """
    Remove the keys of plug-ins from `table` and return them with their values, sorted by name, without those that have
    the default value. Raises InputError for values of a wrong type.
    """
    given = {name: KEYS[name].typed(table.pop(name), location) for name in sorted(KEYS) if name in table}
    return tuple((name, value) for name, value in given.items() if value != KEYS[name].default)


def check_added(chip: Chip, location: str) -> None:
    """Raises InputError for values that the plug-ins reject."""
    for name, value in chip.added:
        if (problem := KEYS[name].problem(value, chip)) is not None:
            raise InputError(f"{location}: '{name}' is {value!r}, {problem}")

"""Type checks of arguments of the Python API; errors name the argument."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from .errors import InputError


def check_argument(name: str, value: object, kinds: tuple[type, ...], expected: str, none: bool = False) -> None:
    """
    Raises InputError unless `value` is of one of these types (or None, where that is allowed).

    A bool counts as a number only where `bool` is among the types.
    """
    if value is None and none:
        return
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        raise InputError(f"{name} is of type {type(value).__name__}, expected {expected}")


def check_names(name: str, value: object, expected: str) -> Mapping[str, Any]:
    """Returns `value`, a mapping from names. Raises InputError if it is not a mapping, or if a key is not a string."""
    check_argument(name, value, (Mapping,), expected)
    table = cast("Mapping[Any, Any]", value)
    for key in table:
        check_argument(f"a key of {name}", key, (str,), "the name of an input")
    return table

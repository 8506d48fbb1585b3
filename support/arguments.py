"""Arguments of the Python API: what is of a wrong type is said at once, by name."""

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
    """`value`, a mapping from names. Raises InputError where it is none, or where a key is no string."""
    check_argument(name, value, (Mapping,), expected)
    table = cast("Mapping[Any, Any]", value)
    for key in table:
        check_argument(f"a key of {name}", key, (str,), "the name of an input")
    return table

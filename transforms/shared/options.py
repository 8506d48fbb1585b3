"""Checks of numeric options of passes."""

from __future__ import annotations

from ...support.errors import InputError

Number = float | int | str
"""A number as parsed from the text of a pipeline: `2.5`, `2`, `1e-8`."""


def number(name: str, value: Number, least: float = float("-inf"), most: float = float("inf")) -> float:
    """The option's value. Raises InputError if it is not a finite number from `least` to `most`."""
    try:
        found = float(value)
    except ValueError:
        found = float("nan")
    if not (least <= found <= most and abs(found) < float("inf")):
        raise InputError(f"{name}={value}: expected a number{_range(least, most)}")
    return found


def positive(name: str, value: Number) -> float:
    """The option's value. Raises InputError if it is not a finite number above 0."""
    found = number(name, value)
    if found <= 0:
        raise InputError(f"{name}={value}: expected a positive number")
    return found


def _range(least: float, most: float) -> str:
    if most < float("inf"):
        return f" from {least:g} to {most:g}"
    return f" of at least {least:g}" if least > float("-inf") else ""

"""Checks of settings `KEY=VALUE` within the values of options."""

from __future__ import annotations

from collections.abc import Iterable

from .errors import InputError


def check_given_once(option: str, names: Iterable[str]) -> None:
    """Raises InputError if a setting of an option is given twice, as it would be ambiguous which value applies."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise InputError(f"{option}: '{name}' is given twice: leave out one of them")
        seen.add(name)

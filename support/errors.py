"""Errors that a user can correct (the tools print the message only), and texts for messages."""

from __future__ import annotations

import re


class MeshloomError(Exception):
    """
    The work failed; the message names the place and the remedy. Tools exit with status 1.

    For errors at an operation, `dialects.locations.error_location` returns its location, which tools print.
    """


class InputError(MeshloomError):
    """Bad usage or bad input (a file, an option, a value). Tools exit with status 2."""


class ResourceError(MeshloomError):
    """Something does not fit the chip: which resource, how much of it is needed and how much is there."""

    def __init__(self, message: str, resource: str, needed: int, available: int, operator: str = "") -> None:
        super().__init__(message)
        self.operator = operator
        """Name of the operator that does not fit; "" if it is not a single one."""
        self.resource = resource
        """Description of the resource: "SRAM of a core", "DRAM", "access descriptors of a program"..."""
        self.needed = needed
        self.available = available

    def __reduce__(self) -> tuple[type[ResourceError], tuple[str, str, int, int], dict[str, object]]:
        """For pickling, as exceptions are passed between processes."""
        return type(self), (str(self), self.resource, self.needed, self.available), self.__dict__


class BudgetError(InputError):
    """A limit on device memory is too small: which (in bytes), why, and a limit that is enough."""

    def __init__(self, capacity: int, reason: str, enough: int, of_operator: bool = False) -> None:
        super().__init__(f"a budget of {capacity} bytes of DRAM is too small: {reason}; {enough} bytes are enough")
        self.capacity, self.reason, self.enough = capacity, reason, enough
        self.of_operator = of_operator
        """Whether a single operator needs more, so that no other division of the network fits."""

    def __reduce__(self) -> tuple[type[BudgetError], tuple[int, str, int, bool]]:
        """For pickling, as exceptions are passed between processes."""
        return type(self), (self.capacity, self.reason, self.enough, self.of_operator)


def shortened(text: str, limit: int = 160) -> str:
    """Text from outside for a one-line message; if it is longer than `limit` characters, only its start."""
    return text if len(text) <= limit else f"{text[:limit]}..."


def printable(message: str) -> str:
    """
    A message for a terminal. Names from files may contain any characters: unprintable characters become escapes as in
    Python, and so do line breaks, except before the message's own lines, which are indented by two spaces.
    """
    lines = re.sub(r"\n(?!  )", r"\\n", message)
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in lines)

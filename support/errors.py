"""Errors that a user can act on: the tools print their message and nothing else."""

from __future__ import annotations

import re


class MeshloomError(Exception):
    """
    The work failed; the message names the place and the remedy. Tools exit with status 1.

    Where it arose at an operation, `dialects.locations.error_location` tells the place, and tools show it.
    """


class InputError(MeshloomError):
    """Bad usage or bad input (a file, an option, a value). Tools exit with status 2."""


class ResourceError(MeshloomError):
    """Something does not fit the chip: which resource, how much of it is needed and how much is there."""

    def __init__(self, message: str, resource: str, needed: int, available: int, operator: str = "") -> None:
        super().__init__(message)
        self.operator = operator
        """Name of the operator that does not fit, where it is one alone."""
        self.resource = resource
        """For people: "SRAM of a core", "DRAM", "access descriptors of a program"..."""
        self.needed = needed
        self.available = available

    def __reduce__(self) -> tuple[type[ResourceError], tuple[str, str, int, int], dict[str, object]]:
        """Exceptions cross between processes."""
        return type(self), (str(self), self.resource, self.needed, self.available), self.__dict__


class BudgetError(InputError):
    """A limit on device memory is too small: which (in bytes), why, and a limit that is enough."""

    def __init__(self, capacity: int, reason: str, enough: int, of_operator: bool = False) -> None:
        super().__init__(f"a budget of {capacity} bytes of DRAM is too small: {reason}; {enough} bytes are enough")
        self.capacity, self.reason, self.enough = capacity, reason, enough
        self.of_operator = of_operator
        """Whether an operator by itself needs more, so that no other division of the network fits either."""

    def __reduce__(self) -> tuple[type[BudgetError], tuple[int, str, int, bool]]:
        """Exceptions cross between processes."""
        return type(self), (self.capacity, self.reason, self.enough, self.of_operator)


def shortened(text: str, limit: int = 160) -> str:
    """Foreign text for an error's line: its start, where it is longer than this many characters."""
    return text if len(text) <= limit else f"{text[:limit]}..."


def printable(message: str) -> str:
    """
    A message for a terminal. Names in files may hold anything: what cannot be printed becomes an escape as in Python,
    and so do line breaks but those before lines of the message itself, which are indented by two.
    """
    lines = re.sub(r"\n(?!  )", r"\\n", message)
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in lines)

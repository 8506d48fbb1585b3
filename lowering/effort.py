"""How much the compiler tries: what `--effort` stands for, in one table."""

from __future__ import annotations

from dataclasses import dataclass

from ..analysis.search import Measure
from ..support.errors import InputError


@dataclass(frozen=True)
class Effort:
    """What is tried for each part of a network, and how variants are compared."""

    measure: Measure
    """
    With estimates, nothing is emulated but the stages of a network on several chips, whose times are in what is
    written.
    """
    orders: int
    """Orders of tasks that are searched (spec 3), each from another seed, beside the order of the program."""
    placements: tuple[str, ...]
    """Ways to place tiles (`analysis.placement.methods`), the first for every plan, the others for the best."""
    hopeful: float
    """
    A variant is compiled if its estimate is at most so many times the least: bench/effort.py says which variants that
    leaves out.
    """


EFFORTS: dict[str, Effort] = {
    "fast": Effort("estimated", 1, ("default",), 1.0),
    "default": Effort("emulated", 1, ("default", "row-major", "relaxed"), 1.03),
    "high": Effort("emulated", 8, ("default", "row-major", "relaxed", "anneal"), 1.25),
}


def find_effort(name: str) -> Effort:
    """The effort of a name. Raises InputError for another one."""
    if name not in EFFORTS:
        raise InputError(f"no effort is named '{name}': choose from {', '.join(EFFORTS)}")
    return EFFORTS[name]

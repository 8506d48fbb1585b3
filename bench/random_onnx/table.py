"""The table of functions that make nodes of random models."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from .model import Candidate, RandomOnnx

Maker: TypeAlias = "Callable[[RandomOnnx], Candidate | None]"

MAKERS: dict[Maker, float] = {}
"""Functions that make a candidate for the next node (or None if no operand fits), with the weight of each."""


def maker(weight: float = 1.0) -> Callable[[Maker], Maker]:
    """Add a function to the table."""

    def register(function: Maker) -> Maker:
        MAKERS[function] = weight
        return function

    return register


def load() -> dict[Maker, float]:
    """The complete table."""
    for family in ("elements", "layers", "moves", "rare"):
        import_module(f".{family}", __package__)
    return MAKERS

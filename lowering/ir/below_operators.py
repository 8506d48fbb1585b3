"""Whether a module is below the level of operators: whether it has tasks, subgraphs or instructions."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

LEVELS = ("manycore", "coreasm")
"""Dialects below the level of operators. Operations of `memory` also occur together with operators, to save memory."""


def below_operators(module: ModuleOp) -> Operation | None:
    """The first operation of a module that is below the level of whole operators; None if there is none."""
    return next((op for op in module.walk() if op.name.partition(".")[0] in LEVELS), None)

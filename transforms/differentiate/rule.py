"""Rules of differentiation, and the table of rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from xdsl.ir import Operation, SSAValue

from .graph import Graph

Partial: TypeAlias = Callable[[], SSAValue] | None
"""Emits the gradient of an operand, in its shape or in a shape that it was broadcast to; None: there is no gradient."""

Rule: TypeAlias = Callable[[Any, SSAValue, Graph], Sequence[Partial]]
"""(operation, gradient of its result, graph) -> one partial for each operand."""

Rules: TypeAlias = dict[type[Operation], Rule]

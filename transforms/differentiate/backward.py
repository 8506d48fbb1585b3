"""Reverse accumulation: from the gradient of one value to those of others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.ir import Operation, SSAValue

from ...dialects.dataflow.types import element_of, is_float, shape_of
from ...dialects.locations import at
from ...support.errors import MeshloomError
from . import rules_contraction, rules_elementwise, rules_movement, rules_reduction, rules_window
from .graph import Graph
from .rule import Rule, Rules

RULES: Rules = {
    **rules_elementwise.RULES,
    **rules_contraction.RULES,
    **rules_reduction.RULES,
    **rules_window.RULES,
    **rules_movement.RULES,
}
"""Rules by class of operation; a class stands for its subclasses too."""


def gradients(loss: SSAValue, wrt: Sequence[SSAValue], graph: Graph) -> list[SSAValue]:
    """
    Append what computes the gradient of `loss` (a float tensor of one element) by each value of `wrt` to the block.

    Values that the loss does not depend on have gradient 0. Raises MeshloomError for operations without a rule.
    """
    ops = list(graph.block.ops)
    active = _depending(ops, wrt)
    found: dict[SSAValue, SSAValue] = {loss: graph.full(1.0, shape_of(loss), element_of(loss))}
    for op in reversed(ops):
        if not op.results or op.results[0] not in found or op.results[0] not in active:
            continue
        result = op.results[0]
        gradient = found[result] if result in wrt else found.pop(result)
        with at(op):
            partials = rule_of(op)(op, gradient, graph)
            for operand, partial in zip(op.operands, partials, strict=True):
                if partial is None or operand not in active or not is_float(element_of(operand)):
                    continue
                part = graph.sum_to(partial(), shape_of(operand))
                found[operand] = graph.add(found[operand], part) if operand in found else part
    return [found[value] if value in found else graph.zeros_like(value) for value in wrt]


def rule_of(op: Operation) -> Rule:
    """The rule for an operation. Raises MeshloomError where there is none."""
    for kind in type(op).__mro__:
        if kind in RULES:
            return RULES[kind]
    raise MeshloomError(f"no gradient is known for '{op.name}': add a rule to transforms/differentiate")


def _depending(ops: Sequence[Operation], wrt: Iterable[SSAValue]) -> set[SSAValue]:
    """Values that depend on one of `wrt`."""
    active = set(wrt)
    for op in ops:
        if any(operand in active for operand in op.operands):
            active.update(op.results)
    return active

"""Reverse-mode accumulation of gradients: from the gradient of one value to those of others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.ir import Operation, SSAValue

from ...dialects.dataflow import LoopOp
from ...dialects.dataflow.types import element_of, is_float, shape_of
from ...dialects.locations import at
from ...support.errors import MeshloomError
from . import rules_contraction, rules_elementwise, rules_movement, rules_reduction, rules_window
from .graph import Graph
from .loop import Keep, loop_gradients, values_read
from .rule import Rule, Rules

RULES: Rules = {
    **rules_elementwise.RULES,
    **rules_contraction.RULES,
    **rules_reduction.RULES,
    **rules_window.RULES,
    **rules_movement.RULES,
}
"""Rules by class of operation; the rule of a class also applies to its subclasses."""


def gradients(loss: SSAValue, wrt: Sequence[SSAValue], graph: Graph, keep: Keep = "save") -> list[SSAValue]:
    """
    Append operations to the block that compute the gradients of `loss` (a float tensor of one element) with respect to
    the values `wrt`. Returns the gradients in the order of `wrt`.

    Values that the loss does not depend on have gradient 0. `keep`: how loops keep the values that their gradients
    need. Loops are replaced, so neither `loss` nor a value of `wrt` may be the result of a loop. Raises MeshloomError
    for operations without a rule.
    """
    active = _depending(list(graph.block.ops), wrt)
    found: dict[SSAValue, SSAValue] = {loss: graph.full(1.0, shape_of(loss), element_of(loss))}
    _accumulate(found, active, wrt, graph, keep)
    return [found[value] if value in found else graph.zeros_like(value) for value in wrt]


def _accumulate(
    found: dict[SSAValue, SSAValue], active: set[SSAValue], wrt: Sequence[SSAValue], graph: Graph, keep: Keep
) -> None:
    """Propagate the gradients to all `active` values that they depend on."""

    def add(value: SSAValue, part: SSAValue) -> None:
        found[value] = graph.add(found[value], part) if value in found else part

    def inside(some: dict[SSAValue, SSAValue], there: set[SSAValue], wanted: Sequence[SSAValue], body: Graph) -> None:
        _accumulate(some, there, wanted, body, keep)

    kept = set(wrt)
    for op in reversed(list(graph.block.ops)):
        if isinstance(op, LoopOp):
            results: list[SSAValue] = [result for result in op.results if result in found and result in active]
            given = {result: found[result] for result in results}
            for result in given:
                del found[result]
            if given:
                with at(op):
                    for value, part in loop_gradients(op, given, active, graph, inside, keep):
                        add(value, part)
            continue
        if not op.results or op.results[0] not in found or op.results[0] not in active:
            continue
        result = op.results[0]
        gradient = found[result] if result in kept else found.pop(result)
        with at(op):
            partials = rule_of(op)(op, gradient, graph)
            for operand, partial in zip(op.operands, partials, strict=True):
                if partial is None or operand not in active or not is_float(element_of(operand)):
                    continue
                add(operand, graph.sum_to(partial(), shape_of(operand)))


def rule_of(op: Operation) -> Rule:
    """The rule for an operation. Raises MeshloomError if there is none."""
    for kind in type(op).__mro__:
        if kind in RULES:
            return RULES[kind]
    raise MeshloomError(f"no gradient is known for '{op.name}': add a rule to transforms/differentiate")


def _depending(ops: Sequence[Operation], wrt: Iterable[SSAValue]) -> set[SSAValue]:
    """Values that depend on one of `wrt`."""
    active = set(wrt)
    for op in ops:
        if any(value in active for value in values_read(op)):
            active.update(op.results)
    return active

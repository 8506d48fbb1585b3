"""Gradients of reductions and cumulative sums."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from ...dialects.dataflow import ArgReduceOp, CumsumOp, ReduceOp, Reduction, ints
from ...dialects.dataflow.types import element_of, shape_of
from .graph import Graph
from .rule import Partial, Rules


def _reduce(op: ReduceOp, g: SSAValue, b: Graph) -> Sequence[Partial]:
    """
    Sums repeat the gradient; extrema share it evenly among the elements that attain them; products multiply it by the
    product of the other elements (not defined where an element is 0).
    """
    x = op.operand

    def partial() -> SSAValue:
        match op.kind.data:
            case Reduction.SUM:
                return b.broadcast(g, shape_of(x))
            case Reduction.PROD:
                return b.div(b.mul(g, op.result), x)
            case _:
                attained = b.compare(x, "eq", op.result)
                count = b.sum(b.cast(attained, element_of(x)), ints(op.axes))
                return b.where(attained, b.div(g, count), 0.0)

    return [partial]


def _cumsum(op: CumsumOp, g: SSAValue, b: Graph) -> Sequence[Partial]:
    """The same cumulative sums in the opposite direction."""
    return [lambda: b.emit(CumsumOp(g, op.axis_index, exclusive=op.exclusive is not None, reverse=op.reverse is None))]


RULES: Rules = {ReduceOp: _reduce, CumsumOp: _cumsum, ArgReduceOp: lambda op, g, b: [None]}

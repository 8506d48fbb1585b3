"""A rewrite that moves reshapes that only add dimensions of size 1 behind elementwise operations."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from ...dialects.dataflow import ReshapeOp
from ...dialects.dataflow import elementwise as ew
from ...dialects.dataflow.contraction import ContractionOp
from ...dialects.dataflow.types import element_of, shape_of, tensor


class UnitDimsBelowElementwise(RewritePattern):
    """
    f(reshape(x), y) == reshape(f(x, y)), if x is a product or an elementwise function of one, and the reshape adds
    dimensions of size 1: operations that directly follow a product become one task with it. Operations in loops and
    tasks do not change.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ew.ElementwiseOp, rewriter: PatternRewriter) -> None:
        if not isinstance(op.parent_op(), FuncOp):
            return
        result = op.results[0]
        for value in op.operands:
            inner = value.owner
            if not isinstance(inner, ReshapeOp) or not _follows_product(inner) or shape_of(value) != shape_of(result):
                continue
            added = _added_dims(shape_of(inner.operand), shape_of(value))
            shapes = [_without(other, added, len(shape_of(value))) for other in op.operands]
            if not added or None in shapes:
                continue
            reshaped: list[Operation] = []
            operands: list[SSAValue] = []
            for other, shape in zip(op.operands, shapes, strict=True):
                if other is value:
                    operands.append(inner.operand)
                elif shape is None or shape == shape_of(other):
                    operands.append(other)
                else:
                    reshaped.append(ReshapeOp(other, shape))
                    operands.append(reshaped[-1].results[0])
            computed = type(op).create(
                operands=operands,
                result_types=[tensor(element_of(result), shape_of(inner.operand))],
                properties=dict(op.properties),
            )
            rewriter.replace(op, (*reshaped, computed, ReshapeOp(computed.results[0], shape_of(result))))
            rewriter.erase(inner)  # a second reader of the product would keep the next operation from moving
            return


def _follows_product(reshape: ReshapeOp) -> bool:
    """
    Whether a reshape is the only reader of a product, or of the result of elementwise operations that follow a product.
    """
    value: SSAValue = reshape.operand
    if not reshape.result.has_one_use():
        return False
    while value.has_one_use() and isinstance(op := value.owner, ew.ElementwiseOp):
        same = [one for one in op.operands if shape_of(one) == shape_of(value)]
        value = next((one for one in same if isinstance(one.owner, ew.ElementwiseOp | ContractionOp)), op.operands[0])
    return value.has_one_use() and isinstance(value.owner, ContractionOp)


def _added_dims(before: Sequence[int], after: Sequence[int]) -> set[int]:
    """The dimensions of size 1 that a reshape adds; empty if it does anything else."""
    added: set[int] = set()
    rest = list(before)
    for dim, size in enumerate(after):
        if rest and rest[0] == size:
            rest.pop(0)
        elif size == 1:
            added.add(dim)
        else:
            return set()
    return set() if rest else added


def _without(value: SSAValue, added: set[int], rank: int) -> tuple[int, ...] | None:
    """The shape of an operand without the added dimensions; None if it is larger along one of them."""
    shape = shape_of(value)
    first = rank - len(shape)
    if any(shape[dim - first] != 1 for dim in added if dim >= first):
        return None
    return tuple(size for dim, size in enumerate(shape, first) if dim not in added)

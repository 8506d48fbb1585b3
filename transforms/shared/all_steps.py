"""
Rules to compute an operation of a loop's body for all steps at once: operands and result have the steps as first axis.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from ...dialects.dataflow import (
    ArgReduceOp,
    BroadcastOp,
    ConcatOp,
    ConvOp,
    CumsumOp,
    ElementwiseOp,
    GatherOp,
    MatmulOp,
    PadOp,
    ReduceOp,
    ReduceWindowOp,
    ReshapeOp,
    SliceOp,
    TransposeOp,
    ints,
)
from ...dialects.dataflow.types import Shape, element_of, shape_of


@dataclass(frozen=True)
class Operand:
    """The operand of the operation for all steps that replaces one operand of the body's operation."""

    value: SSAValue
    stepped: bool
    """Whether `value` has the steps as first axis; else it is the operand itself, the same in all steps."""

    def of_step(self) -> Shape:
        """The shape that one step reads."""
        shape = shape_of(self.value)
        return shape[1:] if self.stepped else shape


class Steps:
    """Builds operations for a number of steps, and collects them in `ops`."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.ops: list[Operation] = []

    def add(self, op: Operation) -> SSAValue:
        """Append an operation; returns its result."""
        self.ops.append(op)
        return op.results[0]

    def reshape(self, value: SSAValue, shape: Sequence[int]) -> SSAValue:
        """A value in another shape."""
        return value if shape_of(value) == tuple(shape) else self.add(ReshapeOp(value, shape))

    def aligned(self, operand: Operand, rank: int) -> SSAValue:
        """The operand with the dimensions of a step extended to `rank`, after the axis of steps if it has one."""
        if not operand.stepped:
            return operand.value
        shape = operand.of_step()
        return self.reshape(operand.value, (self.count, *(1,) * (rank - len(shape)), *shape))

    def every(self, operand: Operand) -> SSAValue:
        """The operand with the steps as first axis, repeated if it is the same in all steps."""
        if operand.stepped:
            return operand.value
        shape = shape_of(operand.value)
        one = self.reshape(operand.value, (1, *shape))
        return self.add(BroadcastOp(one, (self.count, *shape)))


Rule: TypeAlias = Callable[[Any, Sequence[Operand], Steps], SSAValue]
"""(operation, its operands, at least one of them stepped, steps) -> the result with the steps as first axis."""


def can_do_all_steps(op: Operation, stepped: Sequence[bool]) -> bool:
    """Whether there is a rule for the operation if these of its operands, at least one, differ between steps."""
    if _rule(op) is None:
        return False
    if isinstance(op, GatherOp):
        return not all(stepped)
    if isinstance(op, ReduceWindowOp):
        first = (one[0] for one in map(ints, (op.window, op.strides, op.pad_low, op.pad_high)))
        return tuple(first) == (1, 1, 0, 0)
    if isinstance(op, ConvOp):
        return not any(stepped[1:])
    return True


def do_all_steps(op: Operation, operands: Sequence[Operand], steps: Steps) -> SSAValue:
    """
    Build operations that compute the results of all steps, stacked along the first axis. `can_do_all_steps` must hold.
    """
    rule = _rule(op)
    assert rule is not None
    return rule(op, operands, steps)


def _rule(op: Operation) -> Rule | None:
    return next((RULES[kind] for kind in type(op).__mro__ if kind in RULES), None)


def _elementwise(op: ElementwiseOp, operands: Sequence[Operand], steps: Steps) -> SSAValue:
    rank = len(op.result_shape)
    values = [steps.aligned(operand, rank) for operand in operands]
    return steps.add(_like(op, values, (steps.count, *op.result_shape)))


def _like(op: Operation, operands: Sequence[SSAValue], shape: Shape) -> Operation:
    """An operation with the same properties on other operands, with a result of this shape."""
    return type(op).create(
        operands=operands,
        result_types=[TensorType(element_of(op.results[0]), shape)],
        properties=dict(op.properties),
        attributes=dict(op.attributes),
    )


def _matmul(op: MatmulOp, operands: Sequence[Operand], steps: Steps) -> SSAValue:
    """
    If the second matrix is the same in all steps, the rows of all steps form one product; else the steps are a batch.
    """
    lhs, rhs = operands
    result = (steps.count, *op.result_shape)
    if not rhs.stepped and op.transpose_a is None and len(shape_of(rhs.value)) == 2 and len(lhs.of_step()) == 2:
        rows, depth = lhs.of_step()
        flat = steps.reshape(lhs.value, (steps.count * rows, depth))
        product = _like(op, [flat, rhs.value], (steps.count * rows, op.result_shape[-1]))
        return steps.reshape(steps.add(product), result)
    rank = len(op.result_shape)
    return steps.add(_like(op, [steps.aligned(operand, rank) for operand in operands], result))


def _in_batch(op: ConvOp | ReduceWindowOp, operands: Sequence[Operand], steps: Steps) -> SSAValue:
    """The steps are merged with the batch dimension, which no window spans."""
    batch, *rest = operands[0].of_step()
    flat = steps.reshape(operands[0].value, (steps.count * batch, *rest))
    others = [operand.value for operand in operands[1:]]
    whole = steps.add(_like(op, [flat, *others], (steps.count * batch, *op.result_shape[1:])))
    return steps.reshape(whole, (steps.count, *op.result_shape))


def _reduce(op: ReduceOp, operands: Sequence[Operand], steps: Steps) -> SSAValue:
    return steps.add(ReduceOp(operands[0].value, op.kind, [axis + 1 for axis in ints(op.axes)]))


def _arg_reduce(op: ArgReduceOp, operands: Sequence[Operand], steps: Steps) -> SSAValue:
    return steps.add(ArgReduceOp(operands[0].value, op.kind, op.axis_index + 1))


def _cumsum(op: CumsumOp, operands: Sequence[Operand], steps: Steps) -> SSAValue:
    flags = {"exclusive": op.exclusive is not None, "reverse": op.reverse is not None}
    return steps.add(CumsumOp(operands[0].value, op.axis_index + 1, **flags))


def _reshape(op: ReshapeOp | BroadcastOp, operands: Sequence[Operand], steps: Steps) -> SSAValue:
    aligned = operands[0].value
    if isinstance(op, ReshapeOp):
        return steps.reshape(aligned, (steps.count, *op.result_shape))
    return steps.add(BroadcastOp(steps.aligned(operands[0], len(op.result_shape)), (steps.count, *op.result_shape)))


def _transpose(op: TransposeOp, operands: Sequence[Operand], steps: Steps) -> SSAValue:
    return steps.add(TransposeOp(operands[0].value, [0, *(axis + 1 for axis in ints(op.permutation))]))


def _slice(op: SliceOp, operands: Sequence[Operand], steps: Steps) -> SSAValue:
    starts, sizes, strides = [0, *ints(op.starts)], [steps.count, *ints(op.sizes)], [1, *ints(op.steps)]
    return steps.add(SliceOp(operands[0].value, starts, sizes, strides))


def _concat(op: ConcatOp, operands: Sequence[Operand], steps: Steps) -> SSAValue:
    return steps.add(ConcatOp([steps.every(operand) for operand in operands], op.axis_index + 1))


def _pad(op: PadOp, operands: Sequence[Operand], steps: Steps) -> SSAValue:
    low, high, interior = ([0, *ints(one)] for one in (op.low, op.high, op.interior))
    return steps.add(PadOp(operands[0].value, low, high, interior, op.value))


def _gather(op: GatherOp, operands: Sequence[Operand], steps: Steps) -> SSAValue:
    data, indices = operands
    axis = op.axis_index
    if data.stepped:
        return steps.add(GatherOp(data.value, indices.value, axis + 1))
    rows = steps.add(GatherOp(data.value, indices.value, axis))
    if axis == 0:
        return rows
    order = [axis, *range(axis), *range(axis + 1, len(shape_of(rows)))]  # the steps are the first axis of the indices
    return steps.add(TransposeOp(rows, order))


RULES: dict[type, Rule] = {
    ElementwiseOp: _elementwise,
    MatmulOp: _matmul,
    ConvOp: _in_batch,
    ReduceWindowOp: _in_batch,
    ReduceOp: _reduce,
    ArgReduceOp: _arg_reduce,
    CumsumOp: _cumsum,
    ReshapeOp: _reshape,
    BroadcastOp: _reshape,
    TransposeOp: _transpose,
    SliceOp: _slice,
    ConcatOp: _concat,
    PadOp: _pad,
    GatherOp: _gather,
}
"""Rules by class of operation; the rule of a class also applies to its subclasses."""

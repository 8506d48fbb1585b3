"""Canonicalisation patterns of `dataflow` operations. No bit of a result changes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, cast

from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from . import elementwise as ew
from .base import DataflowOp, ints
from .contraction import MatmulOp
from .movement import BroadcastOp, ConcatOp, GatherOp, IotaOp, PadOp, SliceOp, TransposeOp
from .reduction import ReduceOp, Reduction
from .reshape import ReshapeOp
from .sources import ConstantOp, WeightOp
from .types import broadcast_shapes, element_of, is_integer, keeps_every_value, shape_of, tensor_of

if TYPE_CHECKING:
    from .constants import Array


class ReshapeOfReshape(RewritePattern):
    """reshape(reshape(x)) == reshape(x)"""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ReshapeOp, rewriter: PatternRewriter) -> None:
        if isinstance(inner := op.operand.owner, ReshapeOp):
            rewriter.replace(op, ReshapeOp(inner.operand, shape_of(op.result)))


class TransposeOfTranspose(RewritePattern):
    """transpose(transpose(x, p), q) == transpose(x, p[q])"""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: TransposeOp, rewriter: PatternRewriter) -> None:
        if isinstance(inner := op.operand.owner, TransposeOp):
            first = ints(inner.permutation)
            rewriter.replace(op, TransposeOp(inner.operand, [first[dim] for dim in ints(op.permutation)]))


class TransposeOfUnitDims(RewritePattern):
    """transpose(x, p) == reshape(x) if only dimensions of size 1 change their order"""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: TransposeOp, rewriter: PatternRewriter) -> None:
        shape = shape_of(op.operand)
        moved = [dim for dim in ints(op.permutation) if shape[dim] != 1]
        if moved == sorted(moved):
            rewriter.replace(op, ReshapeOp(op.operand, shape_of(op.result)))


class SliceOfSlice(RewritePattern):
    """slice(slice(x)) == slice(x)"""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: SliceOp, rewriter: PatternRewriter) -> None:
        if not isinstance(inner := op.operand.owner, SliceOp) or 0 in shape_of(op.result):
            return
        steps = ints(inner.steps)
        starts = [a + b * step for a, b, step in zip(ints(inner.starts), ints(op.starts), steps, strict=True)]
        both = [a * b for a, b in zip(steps, ints(op.steps), strict=True)]
        rewriter.replace(op, SliceOp(inner.operand, starts, ints(op.sizes), both))


class SliceOfConcat(RewritePattern):
    """slice(concat(..., x, ...)) == slice(x) if the slice lies in one operand"""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: SliceOp, rewriter: PatternRewriter) -> None:
        if not isinstance(inner := op.operand.owner, ConcatOp) or 0 in shape_of(op.result):
            return
        axis = inner.axis_index
        first = ints(op.starts)[axis]
        last = first + (ints(op.sizes)[axis] - 1) * ints(op.steps)[axis]
        for index, value in enumerate(inner.inputs):
            begin = inner.start_of(index)
            end = begin + shape_of(value)[axis]
            if begin <= min(first, last) and max(first, last) < end:
                starts = list(ints(op.starts))
                starts[axis] -= begin
                rewriter.replace(op, SliceOp(value, starts, ints(op.sizes), ints(op.steps)))
                return


class SliceOfTranspose(RewritePattern):
    """slice(transpose(x)) == transpose(slice(x)) if only slices read the transposed value: less is transposed"""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: SliceOp, rewriter: PatternRewriter) -> None:
        if not isinstance(inner := op.operand.owner, TransposeOp) or not _only_slices_read(op.operand):
            return
        order = ints(inner.permutation)
        starts, sizes, steps = (
            [values[order.index(dim)] for dim in range(len(order))]
            for values in map(ints, (op.starts, op.sizes, op.steps))
        )
        part = SliceOp(inner.operand, starts, sizes, steps)
        rewriter.replace(op, (part, TransposeOp(part.result, order)))


class SliceOfReshape(RewritePattern):
    """
    slice(reshape(x)) == reshape(slice(x)) if only slices read the reshaped value, and the slice is a range of one
    dimension that is the outermost part of a dimension of x
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: SliceOp, rewriter: PatternRewriter) -> None:
        if not isinstance(inner := op.operand.owner, ReshapeOp) or not _only_slices_read(op.operand):
            return
        shape, sizes = shape_of(op.operand), ints(op.sizes)
        cut = [dim for dim, (size, whole) in enumerate(zip(sizes, shape, strict=True)) if size != whole]
        if len(cut) != 1 or any(step != 1 for step in ints(op.steps)) or 0 in sizes:
            return
        (dim,) = cut
        source = shape_of(inner.operand)
        before = math.prod(shape[:dim])
        axis = next((axis for axis in range(len(source)) if math.prod(source[:axis]) == before), None)
        while axis is not None and axis < len(source) and source[axis] == 1:
            axis += 1
        if axis is None or axis == len(source) or source[axis] % shape[dim]:
            return
        inside = source[axis] // shape[dim]
        starts, lengths = [0] * len(source), list(source)
        starts[axis], lengths[axis] = ints(op.starts)[dim] * inside, sizes[dim] * inside
        part = SliceOp(inner.operand, starts, lengths)
        rewriter.replace(op, (part, ReshapeOp(part.result, sizes)))


def _only_slices_read(value: SSAValue) -> bool:
    return all(isinstance(use.operation, SliceOp) for use in value.uses)


class ConcatOfConcat(RewritePattern):
    """concat(a, concat(b, c)) == concat(a, b, c); operands without elements are removed"""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ConcatOp, rewriter: PatternRewriter) -> None:
        axis = op.axis_index
        flat: list[SSAValue] = []
        for value in op.inputs:
            inner = value.owner
            if isinstance(inner, ConcatOp) and inner.axis_index == axis and value.has_one_use():
                flat.extend(inner.inputs)
            elif shape_of(value)[axis]:
                flat.append(value)
        if flat and flat != list(op.inputs):
            rewriter.replace(op, ConcatOp(flat, axis))


class ConcatOfAdjacentSlices(RewritePattern):
    """concat(x[a:b], x[b:c]) == x[a:c]"""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ConcatOp, rewriter: PatternRewriter) -> None:
        axis = op.axis_index
        runs: list[list[SSAValue]] = []
        for value in op.inputs:
            if runs and _is_adjacent(runs[-1][-1], value, axis):
                runs[-1].append(value)
            else:
                runs.append([value])
        if len(runs) == len(op.inputs):
            return
        slices: list[Operation] = []
        joined: list[SSAValue] = []
        for run in runs:
            first = run[0].owner
            if len(run) > 1 and isinstance(first, SliceOp):
                sizes = list(ints(first.sizes))
                sizes[axis] = sum(shape_of(value)[axis] for value in run)
                steps = [1 if dim == axis else step for dim, step in enumerate(ints(first.steps))]
                slices.append(SliceOp(first.operand, ints(first.starts), sizes, steps))
                joined.append(slices[-1].results[0])
            else:
                joined.append(run[0])
        rewriter.replace(op, (*slices, ConcatOp(joined, axis)))


def _is_adjacent(before: SSAValue, after: SSAValue, axis: int) -> bool:
    """Whether two values are slices of the same value, and the second begins where the first ends along the axis."""
    first, second = before.owner, after.owner
    if not isinstance(first, SliceOp) or not isinstance(second, SliceOp) or first.operand != second.operand:
        return False
    for dim, (size, other) in enumerate(zip(ints(first.sizes), ints(second.sizes), strict=True)):
        starts, steps = (
            (ints(first.starts)[dim], ints(second.starts)[dim]),
            (ints(first.steps)[dim], ints(second.steps)[dim]),
        )
        if dim == axis:
            contiguous = all(step == 1 or count == 1 for step, count in zip(steps, (size, other), strict=True))
            if not contiguous or starts[1] != starts[0] + size:
                return False
        elif size != other or starts[0] != starts[1] or (size > 1 and steps[0] != steps[1]):
            return False
    return True


class BroadcastOfBroadcast(RewritePattern):
    """broadcast(broadcast(x)) == broadcast(x)"""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: BroadcastOp, rewriter: PatternRewriter) -> None:
        if isinstance(inner := op.operand.owner, BroadcastOp):
            rewriter.replace(op, BroadcastOp(inner.operand, shape_of(op.result)))


class BroadcastToReshape(RewritePattern):
    """broadcast(x) == reshape(x) if it only adds dimensions of size 1"""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: BroadcastOp, rewriter: PatternRewriter) -> None:
        added = len(shape_of(op.result)) - len(shape_of(op.operand))
        if added and shape_of(op.result) == (1,) * added + shape_of(op.operand):
            rewriter.replace(op, ReshapeOp(op.operand, shape_of(op.result)))


class PadOfPad(RewritePattern):
    """pad(pad(x)) == pad(x) for equal padding values and no interior padding"""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: PadOp, rewriter: PatternRewriter) -> None:
        inner = op.operand.owner
        if not isinstance(inner, PadOp) or inner.value != op.value or any(ints(op.interior)):
            return
        low = [a + b for a, b in zip(ints(inner.low), ints(op.low), strict=True)]
        high = [a + b for a, b in zip(ints(inner.high), ints(op.high), strict=True)]
        rewriter.replace(op, PadOp(inner.operand, low, high, ints(inner.interior), op.value))


class ImplicitBroadcast(RewritePattern):
    """f(broadcast(x), y) == f(x, y) if the result has the same shape without the broadcast"""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ew.ElementwiseOp, rewriter: PatternRewriter) -> None:
        if len(op.operands) < 2:
            return
        for index, value in enumerate(op.operands):
            if not isinstance(inner := value.owner, BroadcastOp):
                continue
            shapes = [shape_of(other) for other in op.operands]
            shapes[index] = shape_of(inner.operand)
            if broadcast_shapes(*shapes) == shape_of(op.results[0]):
                op.operands[index] = inner.operand
                rewriter.notify_op_modified(op)
                return


class ConstantToTheRight(RewritePattern):
    """c + x == x + c, so that other patterns need to check the second operand only"""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ew.AddOp | ew.MulOp, rewriter: PatternRewriter) -> None:
        if isinstance(op.lhs.owner, ConstantOp) and not isinstance(op.rhs.owner, ConstantOp):
            rewriter.replace(op, type(op)(op.rhs, op.lhs))


class DoubledUnary(RewritePattern):
    """-(-x) == x, not(not(x)) == x; f(f(x)) == f(x) for f = relu, abs, floor, ceil and round"""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ew.UnaryOp, rewriter: PatternRewriter) -> None:
        inner = op.operand.owner
        if type(inner) is not type(op) or not isinstance(inner, ew.UnaryOp):
            return
        if isinstance(op, ew.NegOp | ew.NotOp):
            rewriter.replace(op, (), (inner.operand,))
        elif isinstance(op, ew.ReluOp | ew.AbsOp | ew.FloorOp | ew.CeilOp | ew.RoundOp):
            rewriter.replace(op, (), (inner.result,))


class LosslessCastOfCast(RewritePattern):
    """cast(cast(x)) == cast(x) if the inner cast is exact for every value"""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ew.CastOp, rewriter: PatternRewriter) -> None:
        if not isinstance(inner := op.operand.owner, ew.CastOp):
            return
        source, middle = element_of(inner.operand), element_of(inner.result)
        if keeps_every_value(source, middle):
            rewriter.replace(op, ew.CastOp(inner.operand, element_of(op.result)))


class TransposeIntoMatmul(RewritePattern):
    """matmul(transpose(a), b) == matmul(a, b) transpose_a, if the transpose swaps the last two dimensions"""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: MatmulOp, rewriter: PatternRewriter) -> None:
        operands = [op.lhs, op.rhs]
        flags = [op.transpose_a is not None, op.transpose_b is not None]
        for index, value in enumerate(operands):
            if isinstance(inner := value.owner, TransposeOp) and _swaps_last_two(ints(inner.permutation)):
                operands[index] = inner.operand
                flags[index] = not flags[index]
        if operands != [op.lhs, op.rhs]:
            element = element_of(op.result)
            swapped = MatmulOp(*operands, transpose_a=flags[0], transpose_b=flags[1], result_element=element)
            rewriter.replace(op, swapped)


class ProductWithZeros(RewritePattern):
    """matmul(zeros, w) == zeros, for finite weights: the first step of a recurrent layer whose initial state is zero"""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: MatmulOp, rewriter: PatternRewriter) -> None:
        from .constants import is_number

        values = (op.lhs, op.rhs)
        if not all(isinstance(value.owner, ConstantOp | WeightOp) for value in values):
            return
        if not any(isinstance(value.owner, ConstantOp) and is_number(value, 0.0) for value in values):
            return
        if math.prod(shape_of(op.result)) * max(math.prod(shape_of(value)) for value in values) > LARGEST_PRODUCT:
            return
        if (result := _zeros_of(op)) is not None:
            rewriter.replace(op, result)


LARGEST_PRODUCT = 1 << 28
"""The largest (elements of the result) * (elements of the larger operand) for which a product with zeros is folded."""


def _zeros_of(op: MatmulOp) -> ConstantOp | None:
    """The product of two known values as a constant, if all its elements are 0; else None."""
    import numpy as np

    from ...support.errors import MeshloomError
    from .evaluate import evaluate

    operands: list[Any] = []
    for value in (op.lhs, op.rhs):
        try:
            operands.append(evaluate(cast(DataflowOp, value.owner), ()))
        except MeshloomError:
            return None  # the file of the weights is missing: an error is raised later, when they are needed
    result = evaluate(op, operands)
    if result.tobytes() != np.zeros_like(result).tobytes():
        return None
    return ConstantOp.splat(0, tensor_of(op.result))


def _swaps_last_two(permutation: tuple[int, ...]) -> bool:
    rank = len(permutation)
    return rank >= 2 and permutation == (*range(rank - 2), rank - 1, rank - 2)


class ExtremumOfExtremum(RewritePattern):
    """max(max(x, axes a), axes b) == max(x, axes a and b), the same for min (sums would be reassociated)"""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ReduceOp, rewriter: PatternRewriter) -> None:
        inner = op.operand.owner
        if not isinstance(inner, ReduceOp) or inner.kind != op.kind:
            return
        if op.kind.data in (Reduction.MAX, Reduction.MIN):
            rewriter.replace(op, ReduceOp(inner.operand, op.kind, (*ints(inner.axes), *ints(op.axes))))


class GatherOfOneRow(RewritePattern):
    """gather(x, constant i) == reshape(slice(x)) for one index"""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: GatherOp, rewriter: PatternRewriter) -> None:
        if not isinstance(op.indices.owner, ConstantOp):
            return
        from .constants import constant_array

        indices = constant_array(op.indices)
        size = shape_of(op.data)[op.axis_index]
        if indices is None or indices.size != 1 or not -size <= int(indices.reshape(-1)[0]) < size:
            return
        starts, sizes = [0] * len(shape_of(op.data)), list(shape_of(op.data))
        starts[op.axis_index], sizes[op.axis_index] = int(indices.reshape(-1)[0]) % size, 1
        row = SliceOp(op.data, starts, sizes)
        rewriter.replace(op, (row, ReshapeOp(row, shape_of(op.result))))


class GatherOfConsecutiveRows(RewritePattern):
    """gather(x, constant or iota [i, i + 1, i + 2, ...] or [i, i - 1, i - 2, ...]) == slice(x)"""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: GatherOp, rewriter: PatternRewriter) -> None:
        indices = _integers(op.indices)
        size = shape_of(op.data)[op.axis_index]
        if indices is None or indices.ndim != 1 or indices.size < 2 or indices.min() < 0 or indices.max() >= size:
            return
        positions = [int(index) for index in indices]
        stride = positions[1] - positions[0]
        if abs(stride) != 1 or positions != [positions[0] + number * stride for number in range(len(positions))]:
            return
        rank = len(shape_of(op.data))
        starts, sizes, strides = [0] * rank, list(shape_of(op.data)), [1] * rank
        starts[op.axis_index], sizes[op.axis_index], strides[op.axis_index] = positions[0], len(positions), stride
        rewriter.replace(op, SliceOp(op.data, starts, sizes, strides))


def _integers(value: SSAValue) -> Array | None:
    """The elements of a constant, an iota of rank 1 or a slice of such a value; None for other values."""
    import numpy as np

    from .constants import constant_array

    match value.owner:
        case ConstantOp():
            return constant_array(value)
        case IotaOp() if len(shape_of(value)) == 1:
            return np.arange(*shape_of(value))
        case SliceOp(operand=operand) if len(shape_of(value)) == 1:
            whole, (start,), (step,) = _integers(operand), ints(value.owner.starts), ints(value.owner.steps)
            return None if whole is None else whole[start + step * np.arange(*shape_of(value))]
        case _:
            return None


class IntegerDifference(RewritePattern):
    """x - c == x + -c for integers, which wrap, and constant c, so that `IntegerSums` can merge it"""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ew.SubOp, rewriter: PatternRewriter) -> None:
        if is_integer(element_of(op.result)) and isinstance(op.rhs.owner, ConstantOp):
            negative = ew.NegOp(op.rhs)
            rewriter.replace(op, (negative, ew.AddOp(op.lhs, negative.result)))


class IntegerSums(RewritePattern):
    """(x + c) + d == x + (c + d) for integers, which wrap, and constants c and d"""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ew.AddOp, rewriter: PatternRewriter) -> None:
        inner = op.lhs.owner
        if not is_integer(element_of(op.result)) or not isinstance(op.rhs.owner, ConstantOp):
            return
        if isinstance(inner, ew.AddOp) and isinstance(inner.rhs.owner, ConstantOp) and inner.result.has_one_use():
            both = ew.AddOp(inner.rhs, op.rhs)
            rewriter.replace(op, (both, ew.AddOp(inner.lhs, both.result)))


PATTERNS: dict[type[Operation], tuple[RewritePattern, ...]] = {
    ReshapeOp: (ReshapeOfReshape(),),
    TransposeOp: (TransposeOfTranspose(), TransposeOfUnitDims()),
    SliceOp: (SliceOfSlice(), SliceOfConcat(), SliceOfTranspose(), SliceOfReshape()),
    ConcatOp: (ConcatOfConcat(), ConcatOfAdjacentSlices()),
    BroadcastOp: (BroadcastOfBroadcast(), BroadcastToReshape()),
    PadOp: (PadOfPad(),),
    GatherOp: (GatherOfOneRow(), GatherOfConsecutiveRows()),
    MatmulOp: (TransposeIntoMatmul(), ProductWithZeros()),
    ReduceOp: (ExtremumOfExtremum(),),
    ew.CastOp: (LosslessCastOfCast(),),
    ew.AddOp: (ConstantToTheRight(), IntegerSums()),
    ew.SubOp: (IntegerDifference(),),
    ew.MulOp: (ConstantToTheRight(),),
}
"""Patterns by operation class; `patterns_of` adds those of base classes."""


def patterns_of(op: type[DataflowOp]) -> tuple[RewritePattern, ...]:
    """All canonicalisation patterns of an operation class."""
    family: tuple[RewritePattern, ...] = ()
    if issubclass(op, ew.UnaryOp):
        family = (DoubledUnary(),)
    elif issubclass(op, ew.ElementwiseOp) and not issubclass(op, ew.CastOp):
        family = (ImplicitBroadcast(),)
    return PATTERNS.get(op, ()) + family

"""Gradients of data movement: the inverse movement, with sums for elements that were read several times."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from ...dialects.dataflow import (
    BroadcastOp,
    ConcatOp,
    GatherOp,
    IotaOp,
    PadOp,
    ReshapeOp,
    ScatterMode,
    ScatterOp,
    SliceOp,
    TransposeOp,
    ints,
)
from ...dialects.dataflow.types import element_of, shape_of
from ...support.errors import MeshloomError
from ..shared.constants import constant_array
from .graph import Graph
from .rule import Partial, Rules


def _transpose(op: TransposeOp, g: SSAValue, b: Graph) -> Sequence[Partial]:
    inverse = [int(dim) for dim in np.argsort(ints(op.permutation))]
    return [lambda: b.transpose(g, inverse)]


def _slice(op: SliceOp, g: SSAValue, b: Graph) -> Sequence[Partial]:
    """The gradient at the positions of the slice, with zeros at all other positions."""
    starts, sizes, steps, whole = ints(op.starts), ints(op.sizes), ints(op.steps), shape_of(op.operand)

    def partial() -> SSAValue:
        if 0 in sizes:
            return b.zeros_like(op.operand)
        backwards = [dim for dim, step in enumerate(steps) if step < 0]
        forward = b.reverse(g, backwards) if backwards else g
        low = [s + min(0, (n - 1) * d) for s, n, d in zip(starts, sizes, steps, strict=True)]
        lists = zip(low, sizes, steps, whole, strict=True)
        high = [size - first - (n - 1) * abs(d) - 1 for first, n, d, size in lists]
        return b.pad(forward, low, high, [abs(d) - 1 for d in steps])

    return [partial]


def _concat(op: ConcatOp, g: SSAValue, b: Graph) -> Sequence[Partial]:
    def part(index: int) -> SSAValue:
        starts = [0] * len(shape_of(g))
        starts[op.axis_index] = op.start_of(index)
        return b.slice(g, starts, shape_of(op.inputs[index]))

    return [lambda index=index: part(index) for index in range(len(op.inputs))]


def _pad(op: PadOp, g: SSAValue, b: Graph) -> Sequence[Partial]:
    steps = [gap + 1 for gap in ints(op.interior)]
    return [lambda: b.slice(g, ints(op.low), shape_of(op.operand), steps)]


def _gather(op: GatherOp, g: SSAValue, b: Graph) -> Sequence[Partial]:
    """Rows are added at the indices that they were gathered from."""
    axis, rank = op.axis_index, len(shape_of(op.indices))
    data = shape_of(op.data)

    def partial() -> SSAValue:
        count = math.prod(shape_of(op.indices))
        others = [size for dim, size in enumerate(data) if dim != axis]
        index_dims = range(axis, axis + rank)
        moved = b.transpose(g, (*index_dims, *(d for d in range(len(shape_of(g))) if d not in index_dims)))
        rows = b.scatter_add(
            b.full(0.0, (data[axis], *others), element_of(g)),
            b.reshape(op.indices, (count,)),
            b.reshape(moved, (count, *others)),
        )
        return b.transpose(rows, (*range(1, axis + 1), 0, *range(axis + 1, len(data))))

    return [partial, None]


def _scatter(op: ScatterOp, g: SSAValue, b: Graph) -> Sequence[Partial]:
    """The gradient of updates is that of the rows that they changed; that of data is zero where updates replaced it."""
    mode = op.mode.data
    if mode is ScatterMode.MAX:
        raise MeshloomError("dataflow.scatter max has no gradient: only add and set have one")

    def data() -> SSAValue:
        if mode is ScatterMode.ADD:
            return g
        return b.emit(ScatterOp(mode, g, op.indices, b.zeros_like(op.updates), op.batch_dims))

    def updates() -> SSAValue:
        # Of several updates of a row, only the last is in the result of `set`: scattered numbers of updates identify
        # it.
        picked = _rows(g, op, b)
        if mode is ScatterMode.ADD:
            return picked
        positions = shape_of(op.indices)
        numbers = b.positions(positions, len(positions) - 1)
        owners = b.full(-1, shape_of(op.data)[: op.batch_dims + 1], i64)
        owners = b.emit(ScatterOp(mode, owners, op.indices, numbers, op.batch_dims))
        last = b.compare(_rows(owners, op, b), "eq", numbers)
        inner = len(shape_of(g)) - len(positions)
        return b.where(b.reshape(last, (*positions, *(1,) * inner)), picked, 0.0)

    return [data, None, updates]


def _rows(value: SSAValue, op: ScatterOp, b: Graph) -> SSAValue:
    """value[b..., indices[b..., n], i...]: one gather over the rows of all batches."""
    batch, shape, positions = op.batch_dims, shape_of(value), shape_of(op.indices)
    known = constant_array(op.indices)
    if not batch and known is not None and bool((known >= 0).all()):
        return b.emit(GatherOp(value, op.indices, 0))
    lanes, rows = math.prod(shape[:batch]), shape[batch]
    index = b.reshape(b.cast(op.indices, i64), (lanes, positions[-1]))
    index = b.where(b.compare(index, "lt", 0), b.add(index, rows), index)
    index = b.add(index, b.mul(b.positions((lanes, 1), 0), rows))
    flat = b.reshape(value, (lanes * rows, *shape[batch + 1 :]))
    return b.reshape(b.emit(GatherOp(flat, index, 0)), (*positions, *shape[batch + 1 :]))


RULES: Rules = {
    ReshapeOp: lambda op, g, b: [lambda: b.reshape(g, shape_of(op.operand))],
    TransposeOp: _transpose,
    SliceOp: _slice,
    ConcatOp: _concat,
    PadOp: _pad,
    BroadcastOp: lambda op, g, b: [lambda: g],
    GatherOp: _gather,
    ScatterOp: _scatter,
    IotaOp: lambda op, g, b: [],
}

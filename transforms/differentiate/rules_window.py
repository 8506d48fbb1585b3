"""
Gradients of window reductions: all elements of a window get the gradient of its sum, and the first element that attains
an extremum gets the gradient of the extremum.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from ...dialects.dataflow import ReduceWindowOp, Reduction, ints
from ...dialects.dataflow.reduction import identity
from ...dialects.dataflow.types import element_of, shape_of
from ...support.errors import MeshloomError
from .graph import Graph
from .rule import Partial, Rules


def _reduce_window(op: ReduceWindowOp, g: SSAValue, b: Graph) -> Sequence[Partial]:
    if op.kind.data is Reduction.PROD:
        raise MeshloomError("dataflow.reduce_window prod has no gradient: only sum, max and min have one")
    return [lambda: _spread(op, g, b) if op.kind.data is Reduction.SUM else _to_extremum(op, g, b)]


def _spread(op: ReduceWindowOp, g: SSAValue, b: Graph) -> SSAValue:
    """
    Each element gets the sum of the gradients of all windows that contain it: a sum over windows of the dilated
    gradient.
    """
    size, window = shape_of(op.operand), ints(op.window)
    strides, dilations, low = ints(op.strides), ints(op.dilations), ints(op.pad_low)
    dims = range(len(size))
    reach = [dilations[d] * (window[d] - 1) for d in dims]
    before = [reach[d] - low[d] for d in dims]
    spread = [(shape_of(op.result)[d] - 1) * strides[d] + 1 for d in dims]
    after = [size[d] + reach[d] - before[d] - spread[d] for d in dims]
    padded = b.pad(g, before, after, [stride - 1 for stride in strides])
    return b.emit(ReduceWindowOp(padded, "sum", window, dilations=dilations))


def _to_extremum(op: ReduceWindowOp, g: SSAValue, b: Graph) -> SSAValue:
    """Find the position of each window's extremum by comparing its elements one after the other, and scatter there."""
    x, element = op.operand, element_of(op.operand)
    window, strides, dilations = ints(op.window), ints(op.strides), ints(op.dilations)
    low, high, size, out = ints(op.pad_low), ints(op.pad_high), shape_of(x), shape_of(op.result)
    better = "gt" if op.kind.data is Reduction.MAX else "lt"
    padded = b.pad(x, low, high, fill=identity(op.kind.data, element))
    whole = shape_of(padded)
    batch = next((d for d, count in enumerate(window) if count > 1 or strides[d] > 1 or low[d] or high[d]), len(size))
    batch = min(batch, len(size) - 1) if size else 0
    pitch = [math.prod(whole[d + 1 :]) for d in range(len(whole))]

    best = where = None
    for offset in itertools.product(*(range(count) for count in window)):
        start = [k * dilation for k, dilation in zip(offset, dilations, strict=True)]
        candidate = b.slice(padded, start, out, strides)
        distance = sum(k * p for k, p in zip(start, pitch, strict=True))
        if best is None or where is None:
            best, where = candidate, b.full(distance, out, i64)
            continue
        wins = b.compare(candidate, better, best)
        where = b.where(wins, b.full(distance, (), i64), where)
        best = b.where(wins, candidate, best)
    assert where is not None
    for d in range(batch, len(out)):
        where = b.add(where, b.mul(b.positions(out, d), b.full(strides[d] * pitch[d], (), i64)))
    lanes, rows, count = math.prod(out[:batch]), math.prod(whole[batch:]), math.prod(out[batch:])
    result = b.scatter_add(
        b.full(0.0, (lanes, rows), element),
        b.reshape(where, (lanes, count)),
        b.reshape(g, (lanes, count)),
        batch=1,
    )
    return b.pad(b.reshape(result, whole), [-one for one in low], [-one for one in high])


RULES: Rules = {ReduceWindowOp: _reduce_window}

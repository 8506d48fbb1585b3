"""Gradients of matrix products and convolutions, which are matrix products and convolutions again."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.ir import SSAValue

from ...dialects.dataflow import ConvOp, MatmulOp, ints
from ...dialects.dataflow.partial_conv import PartialConvOp
from ...dialects.dataflow.partial_matmul import PartialMatmulOp
from ...dialects.dataflow.types import element_of, shape_of
from .graph import Graph
from .rule import Partial, Rules


def _matmul(op: MatmulOp, g: SSAValue, b: Graph) -> Sequence[Partial]:
    """C = A B: dA = G B', dB = A' G, transposed as the operands are."""
    lhs, rhs = op.lhs, op.rhs
    ta, tb = op.transpose_a is not None, op.transpose_b is not None
    g = b.cast(g, element_of(lhs))

    def left() -> SSAValue:
        if ta:
            return b.matmul(rhs, g, transpose_a=tb, transpose_b=True)
        return b.matmul(g, rhs, transpose_b=not tb)

    def right() -> SSAValue:
        a, grad = lhs, g
        batch = math.prod(shape_of(rhs)[:-2])
        if batch == 1 and not ta and shape_of(a)[:-2] == shape_of(grad)[:-2]:
            # There is one matrix for the whole batch: the product also sums over the batch.
            a, grad = (b.reshape(one, (math.prod(shape_of(one)[:-1]), shape_of(one)[-1])) for one in (a, grad))
        if tb:
            return b.matmul(grad, a, transpose_a=True, transpose_b=ta)
        return b.matmul(a, grad, transpose_a=not ta)

    return [left, right]


def _conv(op: ConvOp, g: SSAValue, b: Graph) -> Sequence[Partial]:
    """See `_grouped`."""
    return _grouped(op, op.operand, op.weights, op.groups.value.data, g, b)


def _partial_conv(op: PartialConvOp, g: SSAValue, b: Graph) -> Sequence[Partial]:
    """The partial sums are a grouped convolution: group p computes all outputs from the channels of part p."""
    outputs, channels, *kernel = shape_of(op.weights)
    parts = op.part_count
    spatial = range(3, 3 + len(kernel))
    w = b.reshape(op.weights, (outputs, parts, channels // parts, *kernel))
    w = b.reshape(b.transpose(w, (1, 0, 2, *spatial)), (parts * outputs, channels // parts, *kernel))
    g = b.reshape(g, (1, parts * outputs, *shape_of(op.result)[2:]))
    operand, of_groups = _grouped(op, op.operand, w, parts, g, b)

    def weights() -> SSAValue:
        assert of_groups is not None
        dw = b.reshape(of_groups(), (parts, outputs, channels // parts, *kernel))
        return b.reshape(b.transpose(dw, (1, 0, 2, *spatial)), (outputs, channels, *kernel))

    return [operand, weights]


def _partial_matmul(op: PartialMatmulOp, g: SSAValue, b: Graph) -> Sequence[Partial]:
    """The partial sums are a batch of products of ranges along K: dA = G B', dB = A' G for each range."""
    ta, tb = op.transpose_a is not None, op.transpose_b is not None
    g = b.cast(g, element_of(op.lhs))
    count, size = op.part_count, op.part_size

    def in_ranges(value: SSAValue, axis: int) -> SSAValue:
        """A matrix as [range, K / parts, other dimension], whichever dimension comes first in the operand."""
        other = shape_of(value)[1 - axis]
        if axis == 0:
            return b.reshape(value, (count, size, other))
        return b.transpose(b.reshape(value, (other, count, size)), (1, 2, 0))

    def back(value: SSAValue, axis: int) -> SSAValue:
        """
        The inverse: a matrix from [range, K / parts, other dimension], with the dimensions in the operand's order.
        """
        other = shape_of(value)[2]
        if axis == 0:
            return b.reshape(value, (count * size, other))
        return b.reshape(b.transpose(value, (2, 0, 1)), (other, count * size))

    def left() -> SSAValue:
        return back(b.matmul(in_ranges(op.rhs, int(tb)), g, transpose_b=True), int(not ta))

    def right() -> SSAValue:
        return back(b.matmul(in_ranges(op.lhs, int(not ta)), g), int(tb))

    return [left, right]


def _grouped(
    op: ConvOp | PartialConvOp, data: SSAValue, filters: SSAValue, groups: int, g: SSAValue, b: Graph
) -> Sequence[Partial]:
    """
    With y[p] = sum_k x[p s + k d - low] w[k]: the gradient of x is a convolution of g, dilated by the strides, with the
    kernel flipped and its input and output channels exchanged; that of w is a convolution of x with g as the kernel,
    strides and dilations exchanged, and the batch as the summed channels. Strides, dilations and padding are those of
    `op`.
    """
    strides, dilations, low = ints(op.strides), ints(op.dilations), ints(op.pad_low)
    batch, channels, *size = shape_of(data)
    outputs, part, *kernel = shape_of(filters)
    positions = shape_of(g)[2:]
    spatial = range(len(size))
    g = b.cast(g, element_of(data))

    def operand() -> SSAValue:
        w = b.reshape(filters, (groups, outputs // groups, part, *kernel))
        w = b.transpose(w, (0, 2, 1, *range(3, 3 + len(kernel))))
        w = b.reshape(w, (channels, outputs // groups, *kernel))
        w = b.reverse(w, [2 + d for d in spatial])
        reach = [dilations[d] * (kernel[d] - 1) for d in spatial]
        before = [reach[d] - low[d] for d in spatial]
        spread = [(positions[d] - 1) * strides[d] + 1 for d in spatial]
        after = [size[d] - 1 + reach[d] - before[d] - (spread[d] - 1) for d in spatial]
        gaps = [stride - 1 for stride in strides]
        padded = b.pad(g, (0, 0, *before), (0, 0, *after), (0, 0, *gaps))
        return b.emit(ConvOp(padded, w, dilations=dilations, groups=groups))

    def weights() -> SSAValue:
        x = b.reshape(data, (batch, groups, part, *size))
        x = b.transpose(x, (2, 1, 0, *range(3, 3 + len(size))))
        x = b.reshape(x, (part, groups * batch, *size))
        k = b.transpose(g, (1, 0, *range(2, 2 + len(size))))
        reach = [strides[d] * (positions[d] - 1) + dilations[d] * (kernel[d] - 1) + 1 for d in spatial]
        after = [reach[d] - size[d] - low[d] for d in spatial]
        x = b.pad(x, (0, 0, *low), (0, 0, *after))
        dw = b.emit(ConvOp(x, k, strides=dilations, dilations=strides, groups=groups))
        return b.transpose(dw, (1, 0, *range(2, 2 + len(size))))

    return [operand, weights]


RULES: Rules = {MatmulOp: _matmul, ConvOp: _conv, PartialConvOp: _partial_conv, PartialMatmulOp: _partial_matmul}

"""
Channel provenance: the axes of all values in which the channels of a contraction's result occur, and the constants that
belong to them. Channels may be permuted if all of these are permuted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import BlockArgument, Operation, SSAValue

from ...dialects.dataflow import (
    BroadcastOp,
    ConcatOp,
    ConvOp,
    MatmulOp,
    PadOp,
    ReduceOp,
    ReduceWindowOp,
    ReshapeOp,
    SliceOp,
    TransposeOp,
)
from ...dialects.dataflow.base import ints
from ...dialects.dataflow.elementwise import ElementwiseOp
from ...dialects.dataflow.reshape import dimension_groups
from ...dialects.dataflow.types import shape_of
from .constants import is_constant

Ints: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True)
class ChannelAxis:
    """
    Channels along an axis: channel c of `count` has the indices offset + (o * count + c) * inner + i, for all o below
    `outer` and i below `inner`.
    """

    axis: int
    count: int
    offset: int = 0
    outer: int = 1
    inner: int = 1

    @property
    def end(self) -> int:
        """One past the last index."""
        return self.offset + self.outer * self.count * self.inner

    def order(self, size: int, permutation: Ints) -> Ints:
        """The permutation of the indices of the axis, of this size, that follows from a permutation of the channels."""
        indices = np.arange(size)
        part = indices[self.offset : self.end].reshape(self.outer, self.count, self.inner)
        indices[self.offset : self.end] = part[:, permutation].reshape(-1)
        return indices


@dataclass(frozen=True)
class Edit:
    """A constant operand whose channels must be permuted as well."""

    op: Operation
    operand: int
    axis_of_channels: ChannelAxis
    produces: bool
    """Whether these weights compute the channels (true) or multiply them (false)."""


@dataclass
class Channels:
    """All axes with the channels of some contractions, and the constant operands there."""

    axes: dict[SSAValue, list[ChannelAxis]] = field(default_factory=dict[SSAValue, list[ChannelAxis]])
    edits: dict[Edit, None] = field(default_factory=dict[Edit, None])
    fixed: bool = False
    """
    Whether the order must not change, because of a result of the network, or of an operation that is not analysed.
    """

    def follow(self, value: SSAValue, axis_of_channels: ChannelAxis) -> None:
        """Collect all axes and constants that are reached from one axis."""
        waiting = [(value, axis_of_channels)]
        while waiting and not self.fixed:
            value, axis_of_channels = waiting.pop()
            known = self.axes.setdefault(value, [])
            if axis_of_channels in known:
                continue
            # Two orders of the same indices cannot both be chosen.
            self.fixed = any(one.axis == axis_of_channels.axis and _overlap(one, axis_of_channels) for one in known)
            known.append(axis_of_channels)
            if isinstance(value, BlockArgument):
                self.fixed = True
                return
            assert isinstance(value.owner, Operation)
            for op, index in [(value.owner, -1), *((use.operation, use.index) for use in value.uses)]:
                found = _links(op, index, axis_of_channels)
                if found is None:
                    self.fixed = True
                    return
                for target, there, produces in found:
                    # A constant is permuted for this operation only: others may read it in its present order.
                    if target >= 0 and is_constant(op.operands[target]):
                        self.edits[Edit(op, target, there, produces)] = None
                    else:
                        waiting.append((op.results[0] if target < 0 else op.operands[target], there))


def _overlap(a: ChannelAxis, b: ChannelAxis) -> bool:
    return a.offset < b.end and b.offset < a.end


_Links: TypeAlias = "list[tuple[int, ChannelAxis, bool]] | None"
"""
(operand, or -1 for the result; axis there; whether it computes the channels) for all values of an operation that have
the channels too; None if that is unknown.
"""


def _links(op: Operation, index: int, axis_of_channels: ChannelAxis) -> _Links:
    """The other axes in which an operation has the channels of its operand `index` (-1: of its result)."""
    if index >= 0 and is_constant(op.operands[index]):
        return []
    for kind, rule in _RULES:
        if isinstance(op, kind):
            return rule(op, index, axis_of_channels)
    return None


def _shape(op: Operation, index: int) -> tuple[int, ...]:
    return shape_of(op.results[0] if index < 0 else op.operands[index])


def _elementwise(op: Operation, index: int, axis_of_channels: ChannelAxis) -> _Links:
    from_end = axis_of_channels.axis - len(_shape(op, index))
    size = _shape(op, index)[axis_of_channels.axis]
    found: list[tuple[int, ChannelAxis, bool]] = []
    for other in range(-1, len(op.operands)):
        shape = _shape(op, other)
        axis = len(shape) + from_end
        if other == index or axis < 0 or shape[axis] == 1:
            continue
        if shape[axis] != size:
            return None
        found.append((other, replace(axis_of_channels, axis=axis), False))
    return found


def _conv(op: ConvOp, index: int, axis_of_channels: ChannelAxis) -> _Links:
    if axis_of_channels.axis != 1 or not is_constant(op.weights):
        return None
    if op.is_depthwise:
        if _shape(op, 0)[1] != _shape(op, -1)[1]:
            return None
        return [(-1 if index == 0 else 0, axis_of_channels, False), (1, replace(axis_of_channels, axis=0), False)]
    if op.group_count != 1:
        return None
    return [(1, axis_of_channels, False)] if index == 0 else [(1, replace(axis_of_channels, axis=0), True)]


def _matmul(op: MatmulOp, index: int, axis_of_channels: ChannelAxis) -> _Links:
    flags = (op.transpose_a is not None, op.transpose_b is not None)
    ranks = [len(_shape(op, number)) for number in (0, 1)]
    # axes of (rows, inner) of the first operand, of (inner, columns) of the second
    first, second = (
        (rank - 1, rank - 2) if flag else (rank - 2, rank - 1) for rank, flag in zip(ranks, flags, strict=True)
    )
    result = len(_shape(op, -1))
    match index, axis_of_channels.axis:
        case -1, axis if axis == result - 1:
            return [(1, replace(axis_of_channels, axis=second[1]), True)]
        case -1, axis if axis == result - 2:
            return [(0, replace(axis_of_channels, axis=first[0]), True)]
        case 0, axis if axis == first[1]:
            return [(1, replace(axis_of_channels, axis=second[0]), False)]
        case 1, axis if axis == second[0]:
            return [(0, replace(axis_of_channels, axis=first[1]), False)]
        case 0, axis if axis == first[0]:
            return [(-1, replace(axis_of_channels, axis=result - 2), False)]
        case 1, axis if axis == second[1]:
            return [(-1, replace(axis_of_channels, axis=result - 1), False)]
        case _:
            return None


def _reduce(op: ReduceOp, index: int, axis_of_channels: ChannelAxis) -> _Links:
    # A sum over channels is the same in any order, except for rounding.
    return [] if axis_of_channels.axis in ints(op.axes) else [(-1 if index == 0 else 0, axis_of_channels, False)]


def _window(op: ReduceWindowOp, index: int, axis_of_channels: ChannelAxis) -> _Links:
    untouched = (ints(op.window)[axis_of_channels.axis], ints(op.strides)[axis_of_channels.axis]) == (1, 1)
    padded = ints(op.pad_low)[axis_of_channels.axis] or ints(op.pad_high)[axis_of_channels.axis]
    return [(-1 if index == 0 else 0, axis_of_channels, False)] if untouched and not padded else None


def _same_size(op: Operation, index: int, axis_of_channels: ChannelAxis) -> _Links:
    """Operations that do not permute a dimension whose size they do not change."""
    other = -1 if index == 0 else 0
    if isinstance(op, SliceOp) and ints(op.steps)[axis_of_channels.axis] != 1:
        return None
    if isinstance(op, PadOp) and (ints(op.low)[axis_of_channels.axis] or ints(op.high)[axis_of_channels.axis]):
        return None
    return (
        [(other, axis_of_channels, False)]
        if _shape(op, 0)[axis_of_channels.axis] == _shape(op, -1)[axis_of_channels.axis]
        else None
    )


def _transpose(op: TransposeOp, index: int, axis_of_channels: ChannelAxis) -> _Links:
    permutation = ints(op.permutation)
    if index == 0:
        return [(-1, replace(axis_of_channels, axis=permutation.index(axis_of_channels.axis)), False)]
    return [(0, replace(axis_of_channels, axis=permutation[axis_of_channels.axis]), False)]


def _concat(op: ConcatOp, index: int, axis_of_channels: ChannelAxis) -> _Links:
    if axis_of_channels.axis != op.axis_index:
        return [(other, axis_of_channels, False) for other in range(-1, len(op.operands)) if other != index]
    starts = np.cumsum([0, *(_shape(op, number)[axis_of_channels.axis] for number in range(len(op.operands)))]).tolist()
    if index >= 0:
        return [(-1, replace(axis_of_channels, offset=axis_of_channels.offset + starts[index]), False)]
    for number, (low, high) in enumerate(pairwise(starts)):
        if low <= axis_of_channels.offset and axis_of_channels.end <= high:
            return [(number, replace(axis_of_channels, offset=axis_of_channels.offset - low), False)]
    return None


def _reshape(op: Operation, index: int, axis_of_channels: ChannelAxis) -> _Links:
    source, target = (_shape(op, 0), _shape(op, -1)) if index == 0 else (_shape(op, -1), _shape(op, 0))
    there = reshaped(source, target, axis_of_channels)
    return None if there is None else [(-1 if index == 0 else 0, there, False)]


def reshaped(source: Sequence[int], target: Sequence[int], axis_of_channels: ChannelAxis) -> ChannelAxis | None:
    """The channels' axis after a reshape from `source` to `target`; None if they are not along one axis."""
    if axis_of_channels.offset or axis_of_channels.end != source[axis_of_channels.axis]:
        return None
    for group in dimension_groups(tuple(source), tuple(target)):
        if axis_of_channels.axis not in group.source:
            continue
        after = [source[dim] for dim in group.source if dim > axis_of_channels.axis]
        inner = axis_of_channels.inner * math.prod(after)
        for dim in group.target:
            behind = math.prod(target[other] for other in group.target if other > dim)
            whole = axis_of_channels.count * inner
            if inner % behind == 0 and target[dim] * behind >= whole and target[dim] * behind % whole == 0:
                return ChannelAxis(dim, axis_of_channels.count, 0, target[dim] * behind // whole, inner // behind)
    return None


_RULES: tuple[tuple[type[Operation], Callable[[Any, int, ChannelAxis], _Links]], ...] = (
    (ElementwiseOp, _elementwise),
    (BroadcastOp, _elementwise),
    (ConvOp, _conv),
    (MatmulOp, _matmul),
    (ReduceOp, _reduce),
    (ReduceWindowOp, _window),
    (SliceOp, _same_size),
    (PadOp, _same_size),
    (TransposeOp, _transpose),
    (ConcatOp, _concat),
    (ReshapeOp, _reshape),
)

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
class Place:
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
    place: Place
    produces: bool
    """Whether these weights compute the channels (others read them)."""


@dataclass
class Channels:
    """All axes with the channels of some contractions, and the constant operands there."""

    places: dict[SSAValue, list[Place]] = field(default_factory=dict[SSAValue, list[Place]])
    edits: dict[Edit, None] = field(default_factory=dict[Edit, None])
    fixed: bool = False
    """
    Whether the order must not change, because of a result of the network, or of an operation that is not analysed.
    """

    def follow(self, value: SSAValue, place: Place) -> None:
        """Collect all axes and constants that are reached from one axis."""
        waiting = [(value, place)]
        while waiting and not self.fixed:
            value, place = waiting.pop()
            known = self.places.setdefault(value, [])
            if place in known:
                continue
            # Two orders of the same indices cannot both be chosen.
            self.fixed = any(one.axis == place.axis and _overlap(one, place) for one in known)
            known.append(place)
            if isinstance(value, BlockArgument):
                self.fixed = True
                return
            assert isinstance(value.owner, Operation)
            for op, index in [(value.owner, -1), *((use.operation, use.index) for use in value.uses)]:
                found = _links(op, index, place)
                if found is None:
                    self.fixed = True
                    return
                for target, there, produces in found:
                    # What is known is changed for this operation alone: others may read it in its order.
                    if target >= 0 and is_constant(op.operands[target]):
                        self.edits[Edit(op, target, there, produces)] = None
                    else:
                        waiting.append((op.results[0] if target < 0 else op.operands[target], there))


def _overlap(a: Place, b: Place) -> bool:
    return a.offset < b.end and b.offset < a.end


_Links: TypeAlias = "list[tuple[int, Place, bool]] | None"
"""
(operand, or -1 for the result; axis there; whether it computes the channels) for all values of an operation that have
the channels too; None if that is unknown.
"""


def _links(op: Operation, index: int, place: Place) -> _Links:
    """The other axes in which an operation has the channels of its operand `index` (-1: of its result)."""
    if index >= 0 and is_constant(op.operands[index]):
        return []
    for kind, rule in _RULES:
        if isinstance(op, kind):
            return rule(op, index, place)
    return None


def _shape(op: Operation, index: int) -> tuple[int, ...]:
    return shape_of(op.results[0] if index < 0 else op.operands[index])


def _elementwise(op: Operation, index: int, place: Place) -> _Links:
    from_end = place.axis - len(_shape(op, index))
    size = _shape(op, index)[place.axis]
    found: list[tuple[int, Place, bool]] = []
    for other in range(-1, len(op.operands)):
        shape = _shape(op, other)
        axis = len(shape) + from_end
        if other == index or axis < 0 or shape[axis] == 1:
            continue
        if shape[axis] != size:
            return None
        found.append((other, replace(place, axis=axis), False))
    return found


def _conv(op: ConvOp, index: int, place: Place) -> _Links:
    if place.axis != 1 or not is_constant(op.weights):
        return None
    if op.is_depthwise:
        if _shape(op, 0)[1] != _shape(op, -1)[1]:
            return None
        return [(-1 if index == 0 else 0, place, False), (1, replace(place, axis=0), False)]
    if op.group_count != 1:
        return None
    return [(1, place, False)] if index == 0 else [(1, replace(place, axis=0), True)]


def _matmul(op: MatmulOp, index: int, place: Place) -> _Links:
    flags = (op.transpose_a is not None, op.transpose_b is not None)
    ranks = [len(_shape(op, number)) for number in (0, 1)]
    # axes of (rows, inner) of the first operand, of (inner, columns) of the second
    first, second = (
        (rank - 1, rank - 2) if flag else (rank - 2, rank - 1) for rank, flag in zip(ranks, flags, strict=True)
    )
    result = len(_shape(op, -1))
    match index, place.axis:
        case -1, axis if axis == result - 1:
            return [(1, replace(place, axis=second[1]), True)]
        case -1, axis if axis == result - 2:
            return [(0, replace(place, axis=first[0]), True)]
        case 0, axis if axis == first[1]:
            return [(1, replace(place, axis=second[0]), False)]
        case 1, axis if axis == second[0]:
            return [(0, replace(place, axis=first[1]), False)]
        case 0, axis if axis == first[0]:
            return [(-1, replace(place, axis=result - 2), False)]
        case 1, axis if axis == second[1]:
            return [(-1, replace(place, axis=result - 1), False)]
        case _:
            return None


def _reduce(op: ReduceOp, index: int, place: Place) -> _Links:
    # A sum over channels is the same in any order, but for rounding.
    return [] if place.axis in ints(op.axes) else [(-1 if index == 0 else 0, place, False)]


def _window(op: ReduceWindowOp, index: int, place: Place) -> _Links:
    untouched = (ints(op.window)[place.axis], ints(op.strides)[place.axis]) == (1, 1)
    padded = ints(op.pad_low)[place.axis] or ints(op.pad_high)[place.axis]
    return [(-1 if index == 0 else 0, place, False)] if untouched and not padded else None


def _same_size(op: Operation, index: int, place: Place) -> _Links:
    """Operations that do not permute a dimension whose size they do not change."""
    other = -1 if index == 0 else 0
    if isinstance(op, SliceOp) and ints(op.steps)[place.axis] != 1:
        return None
    if isinstance(op, PadOp) and (ints(op.low)[place.axis] or ints(op.high)[place.axis]):
        return None
    return [(other, place, False)] if _shape(op, 0)[place.axis] == _shape(op, -1)[place.axis] else None


def _transpose(op: TransposeOp, index: int, place: Place) -> _Links:
    permutation = ints(op.permutation)
    if index == 0:
        return [(-1, replace(place, axis=permutation.index(place.axis)), False)]
    return [(0, replace(place, axis=permutation[place.axis]), False)]


def _concat(op: ConcatOp, index: int, place: Place) -> _Links:
    if place.axis != op.axis_index:
        return [(other, place, False) for other in range(-1, len(op.operands)) if other != index]
    starts = np.cumsum([0, *(_shape(op, number)[place.axis] for number in range(len(op.operands)))]).tolist()
    if index >= 0:
        return [(-1, replace(place, offset=place.offset + starts[index]), False)]
    for number, (low, high) in enumerate(pairwise(starts)):
        if low <= place.offset and place.end <= high:
            return [(number, replace(place, offset=place.offset - low), False)]
    return None


def _reshape(op: Operation, index: int, place: Place) -> _Links:
    source, target = (_shape(op, 0), _shape(op, -1)) if index == 0 else (_shape(op, -1), _shape(op, 0))
    there = reshaped(source, target, place)
    return None if there is None else [(-1 if index == 0 else 0, there, False)]


def reshaped(source: Sequence[int], target: Sequence[int], place: Place) -> Place | None:
    """The axis of another shape along which channels lie that fill an axis of one shape; None if there is none."""
    if place.offset or place.end != source[place.axis]:
        return None
    for group in dimension_groups(tuple(source), tuple(target)):
        if place.axis not in group.source:
            continue
        after = [source[dim] for dim in group.source if dim > place.axis]
        inner = place.inner * math.prod(after)
        for dim in group.target:
            behind = math.prod(target[other] for other in group.target if other > dim)
            whole = place.count * inner
            if inner % behind == 0 and target[dim] * behind >= whole and target[dim] * behind % whole == 0:
                return Place(dim, place.count, 0, target[dim] * behind // whole, inner // behind)
    return None


_RULES: tuple[tuple[type[Operation], Callable[[Any, int, Place], _Links]], ...] = (
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

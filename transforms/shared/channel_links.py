"""
Links between channels: indices of axes that can only be removed together, since operations use them jointly.

An index of an axis is a node. An operation on the axis links the nodes of its operands and its result; nodes that are
linked, however indirectly, are one channel of the network.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import Operation, SSAValue

from ...dialects.dataflow import (
    BroadcastOp,
    ConcatOp,
    ConvOp,
    GatherOp,
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
from ...dialects.dataflow.types import shape_of
from .channel_provenance import ChannelAxis, reshaped
from .constants import constant_array, is_constant

Ints: TypeAlias = NDArray[np.int64]
RESULT = -1
"""The operand number that denotes an operation's result."""


@dataclass(frozen=True)
class Spot:
    """An axis of an operand of an operation, or of its result."""

    op: Operation
    position: int
    axis: int

    @property
    def value(self) -> SSAValue:
        """The operand or result."""
        return self.op.results[0] if self.position == RESULT else self.op.operands[self.position]

    @property
    def size(self) -> int:
        """Number of indices of the axis."""
        return shape_of(self.value)[self.axis]


Axis: TypeAlias = "tuple[SSAValue | Operation, int, int]"
"""
(value, -1, axis), or, for a constant operand, which is considered separately for each operation, (operation, number of
the operand, axis).
"""


def axis_of(spot: Spot) -> Axis:
    """The axis of the value at a spot: the same for all readers of a computed value."""
    value = spot.value
    if spot.position != RESULT and is_constant(value):
        return spot.op, spot.position, spot.axis
    return value, RESULT, spot.axis


def is_linked(value: SSAValue) -> bool:
    """
    Whether the operation that defines a value may link its axes: operations with several results, such as loops, do
    not.
    """
    return isinstance(value.owner, Operation) and len(value.owner.results) == 1


@dataclass
class ChannelLinks:
    """The nodes of all axes that were followed, and their links."""

    first: dict[Axis, int] = field(default_factory=dict[Axis, int])
    """Number of the first node of an axis; the others are consecutive."""
    spots: dict[Spot, None] = field(default_factory=dict[Spot, None])
    """Spots at which an operation keeps the indices of an axis separate."""
    count: int = 0
    _pairs: list[tuple[Ints, Ints]] = field(default_factory=list[tuple[Ints, Ints]])
    _merged: dict[Spot, int] = field(default_factory=dict[Spot, int])
    """Axis of a reshape's result -> the axis of its operand with which it is linked."""

    def nodes(self, spot: Spot) -> Ints:
        """The nodes of the indices of an axis."""
        start = self.first[axis_of(spot)]
        return np.arange(start, start + spot.size)

    def follow(self, value: SSAValue, axis: int) -> None:
        """Follow an axis of a computed value through all operations, and link the nodes."""
        waiting: list[Axis] = []

        def node_of(spot: Spot) -> Ints:
            key = axis_of(spot)
            if key not in self.first:
                self.first[key] = self.count
                self.count += spot.size
                if key[1] == RESULT:
                    waiting.append(key)
            return self.nodes(spot)

        start = value, RESULT, axis
        if start in self.first:
            return
        self.first[start] = self.count
        self.count += shape_of(value)[axis]
        waiting.append(start)
        while waiting:
            owner, _, axis = waiting.pop()
            assert isinstance(owner, SSAValue)
            around = [(owner.owner, RESULT)] if is_linked(owner) else []
            for op, position in [*around, *((use.operation, use.index) for use in owner.uses)]:
                assert isinstance(op, Operation)
                if op.parent is not _block(owner):
                    continue
                spot = Spot(op, position, axis)
                for other, mine, theirs in self._links(spot):
                    self.spots[spot] = None
                    if other is not None:
                        self.spots[other] = None
                        self._pairs.append((node_of(spot)[mine], node_of(other)[theirs]))

    def channels(self) -> Ints:
        """For each node the number of its channel: the smallest of the nodes that are linked with it."""
        labels = np.arange(self.count)
        if not self._pairs:
            return labels
        a, b = (np.concatenate(side) for side in zip(*self._pairs, strict=True))
        while True:
            least = np.minimum(labels[a], labels[b])
            new = labels.copy()
            for side in (a, b):
                np.minimum.at(new, labels[side], least)
                np.minimum.at(new, side, least)
            new = new[new]
            if np.array_equal(new, labels):
                return labels
            labels = new

    def _links(self, spot: Spot) -> Iterator[_Link]:
        """The links of a spot by its operation; empty if the effect of the operation on the axis is unknown."""
        op, position, axis = spot.op, spot.position, spot.axis
        every = np.arange(spot.size)
        match op:
            case ElementwiseOp() | BroadcastOp():
                yield from _aligned(spot)
            case ConvOp():
                yield from _conv(op, spot)
            case MatmulOp():
                yield from _matmul(op, spot)
            case TransposeOp():
                permutation = ints(op.permutation)
                there = permutation.index(axis) if position == 0 else permutation[axis]
                yield Spot(op, RESULT if position == 0 else 0, there), every, every
            case ConcatOp():
                yield from _concat(op, spot)
            case ReshapeOp():
                yield from self._reshape(op, spot)
            case GatherOp():
                yield from _gather(op, spot)
            case ReduceOp():
                other = RESULT if position == 0 else 0
                if axis not in ints(op.axes):
                    yield Spot(op, other, axis), every, every
                elif position == 0:
                    yield None, every, every
            case ReduceWindowOp():
                untouched = ints(op.window)[axis] == ints(op.strides)[axis] == 1
                if untouched and not ints(op.pad_low)[axis] and not ints(op.pad_high)[axis]:
                    yield Spot(op, RESULT if position == 0 else 0, axis), every, every
            case PadOp():
                if not ints(op.interior)[axis]:
                    yield from _part(spot, position == 0, ints(op.low)[axis])
            case SliceOp():
                if ints(op.steps)[axis] == 1:
                    yield from _part(spot, position == RESULT, ints(op.starts)[axis])
            case _:
                return

    def _reshape(self, op: ReshapeOp, spot: Spot) -> Iterator[_Link]:
        """A whole axis of the operand as a whole axis of the result; only one axis of the operand may be linked."""
        if spot.position != 0:
            return
        position = reshaped(shape_of(op.operand), shape_of(op.result), ChannelAxis(spot.axis, spot.size))
        if position is None:
            return
        there = Spot(op, RESULT, position.axis)
        if self._merged.setdefault(there, spot.axis) == spot.axis:
            yield there, np.tile(np.repeat(np.arange(spot.size), position.inner), position.outer), np.arange(there.size)


_Link: TypeAlias = "tuple[Spot | None, Ints, Ints]"
"""A spot (None: the axis ends here), and the linked indices: of the first spot, and of this one."""


def _block(value: SSAValue) -> object:
    owner = value.owner
    return owner.parent if isinstance(owner, Operation) else owner


def _aligned(spot: Spot) -> Iterator[_Link]:
    """Axes are counted from the last one; those of size 1 are repeated."""
    from_end = spot.axis - len(shape_of(spot.value))
    every, found = np.arange(spot.size), False
    for position in range(-1, len(spot.op.operands)):
        other = spot.op.results[0] if position == RESULT else spot.op.operands[position]
        axis = len(shape_of(other)) + from_end
        if position == spot.position or axis < 0 or shape_of(other)[axis] != spot.size:
            continue
        found = True
        yield Spot(spot.op, position, axis), every, every
    if not found and spot.position == RESULT:
        yield None, every, every


def _conv(op: ConvOp, spot: Spot) -> Iterator[_Link]:
    every = np.arange(spot.size)
    if (spot.position, spot.axis) in ((0, 0), (RESULT, 0)):
        yield Spot(op, RESULT if spot.position == 0 else 0, 0), every, every
    elif spot.axis == 1 and spot.position in (0, RESULT) and is_constant(op.weights):
        if op.group_count == 1:
            yield Spot(op, 1, 1 if spot.position == 0 else 0), every, every
            return
        # A group is removed as a whole: its inputs, outputs and weights are linked.
        groups = np.arange(op.group_count)
        for there in (Spot(op, 0, 1), Spot(op, RESULT, 1), Spot(op, 1, 0)):
            members = np.repeat(groups, there.size // len(groups))
            yield there, (members * (spot.size // len(groups))), np.arange(there.size)
        yield spot, np.repeat(groups, spot.size // len(groups)) * (spot.size // len(groups)), every


def _matmul(op: MatmulOp, spot: Spot) -> Iterator[_Link]:
    ranks = [len(shape_of(value)) for value in op.operands]
    first = (ranks[0] - 2, ranks[0] - 1) if op.transpose_a is None else (ranks[0] - 1, ranks[0] - 2)
    second = (ranks[1] - 2, ranks[1] - 1) if op.transpose_b is None else (ranks[1] - 1, ranks[1] - 2)
    rank = len(shape_of(op.result))
    every = np.arange(spot.size)
    for group in (
        [Spot(op, 0, first[0]), Spot(op, RESULT, rank - 2)],
        [Spot(op, 0, first[1]), Spot(op, 1, second[0])],
        [Spot(op, 1, second[1]), Spot(op, RESULT, rank - 1)],
    ):
        if spot in group:
            yield from ((other, every, every) for other in group if other != spot)


def _concat(op: ConcatOp, spot: Spot) -> Iterator[_Link]:
    every = np.arange(spot.size)
    if spot.axis != op.axis_index:
        for position in range(-1, len(op.operands)):
            if position != spot.position:
                yield Spot(op, position, spot.axis), every, every
    elif spot.position != RESULT:
        yield Spot(op, RESULT, spot.axis), every, op.start_of(spot.position) + every
    else:
        for position in range(len(op.operands)):
            there = Spot(op, position, spot.axis)
            yield there, op.start_of(position) + np.arange(there.size), np.arange(there.size)


def _part(spot: Spot, is_part: bool, low: int) -> Iterator[_Link]:
    """Links if one of operand and result is a part of the other along an axis, from `low` on."""
    there = Spot(spot.op, RESULT if spot.position == 0 else 0, spot.axis)
    part = np.arange(spot.size if is_part else there.size)
    yield (there, part, low + part) if is_part else (there, low + part, part)


def known_indices(op: GatherOp) -> Ints | None:
    """The constant indices of a gather, normalised to be non-negative; None for others."""
    array = constant_array(op.indices)
    if array is None or len(shape_of(op.indices)) != 1:
        return None
    size = shape_of(op.data)[op.axis_index]
    indices = np.broadcast_to(array, shape_of(op.indices)).astype(np.int64)
    indices = np.where(indices < 0, indices + size, indices)
    return indices if bool(((indices >= 0) & (indices < size)).all()) else None


def _gather(op: GatherOp, spot: Spot) -> Iterator[_Link]:
    axis, extra = op.axis_index, len(shape_of(op.indices)) - 1
    if spot.position == 1:
        return
    every = np.arange(spot.size)
    inside = spot.position == RESULT and axis <= spot.axis <= axis + extra
    if (spot.axis == axis and spot.position == 0) or inside:
        indices = known_indices(op)
        if indices is not None:
            there = Spot(op, RESULT if spot.position == 0 else 0, axis)
            mine, theirs = (indices, np.arange(len(indices))) if spot.position == 0 else (every, indices)
            yield there, mine, theirs
        return
    if spot.position == 0:
        yield Spot(op, RESULT, spot.axis + (extra if spot.axis > axis else 0)), every, every
    else:
        yield Spot(op, 0, spot.axis - (extra if spot.axis > axis + extra else 0)), every, every


def all_spots(ops: Sequence[Operation], links: ChannelLinks) -> Iterator[Spot]:
    """The operands and results of operations whose axes were followed."""
    for op in ops:
        for position in range(-1 if op.results else 0, len(op.operands)):
            value = op.results[0] if position == RESULT else op.operands[position]
            known = position != RESULT and is_constant(value)
            for axis in range(len(shape_of(value))) if hasattr(value.type, "get_shape") else ():
                key: Axis = (op, position, axis) if known else (value, RESULT, axis)
                if key in links.first:
                    yield Spot(op, position, axis)

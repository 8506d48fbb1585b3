"""
Concat forwarding: the readers of a concatenation that is too large read its operands instead.

A concatenation, or a slice of nearly all of a value, computes nothing, but a task for it needs memory for all of its
operands and its result at once. If they do not fit, operators that read the result are split, and their parts read
slices of the operands, concatenated only as far as each part needs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TypeVar

from xdsl.dialects.func import ReturnOp
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.rewriter import Rewriter

from ...analysis.tasks.operator_parts import Parts
from ...dialects.dataflow import ConcatOp, ReshapeOp, SliceOp
from ...dialects.dataflow.base import ints
from ...dialects.dataflow.tiling import Box, TilingInterface, split_evenly
from ...dialects.dataflow.types import element_bytes, element_of, shape_of
from ...dialects.locations import at, keeps_location
from ...dialects.manycore.host import HostConcatOp, HostSliceOp
from .blocks import blocks, boxes_in_order, count_blocks, count_common_blocks, start_of
from .split_operator import Splitter, insert_before, join_boxes

_Slice = TypeVar("_Slice", SliceOp, HostSliceOp)
BoxValues = dict[Box, SSAValue]
"""A grid of boxes that make up a value, with the value of each."""

Naming = Callable[[str], str]
"""Creates a name for a part of a named value."""
Replaced = dict[Operation, list[Operation]]
"""The replacements of erased operations, by operation."""


def box_values_of(value: SSAValue) -> BoxValues:
    """The operands of a concatenation, nested ones included; for any other value the value itself."""
    owner = value.owner
    if not isinstance(owner, ConcatOp):
        return {Box.whole(shape_of(value)): value}
    axis, rank = owner.axis.value.data, len(shape_of(value))
    inner = [box_values_of(operand) for operand in owner.inputs]
    cuts = [{tuple((box.offsets[d], box.sizes[d]) for d in range(rank) if d != axis) for box in one} for one in inner]
    if any(one != cuts[0] for one in cuts):  # cut in different ways: use the cuts along the axis only
        inner = [{Box.whole(shape_of(operand)): operand} for operand in owner.inputs]
    return _one_after_another(owner.inputs, inner, axis)


def _one_after_another(values: Sequence[SSAValue], box_values: Sequence[BoxValues], axis: int) -> BoxValues:
    """The grid of values that are consecutive along an axis."""
    found: BoxValues = {}
    start = 0
    for value, own in zip(values, box_values, strict=True):
        for box, box_value in own.items():
            found[box.along(axis, start + box.offsets[axis], box.sizes[axis])] = box_value
        start += shape_of(value)[axis]
    return found


def is_output(value: SSAValue) -> bool:
    """Whether the function returns a value."""
    return any(isinstance(reader, ReturnOp) for reader in _readers(value))


@dataclass(frozen=True)
class OperatorSplit:
    """The cuts of a value and of its readers."""

    splitter: Callable[[], Splitter]
    """Creates a new splitter for each reader."""
    parts_of: Callable[[TilingInterface], Parts]
    """Number of parts of a reader. Its errors are raised before anything is changed."""
    most: int
    """Largest number of bytes of a block that the host copies, or that is reshaped."""
    unique: Naming


@keeps_location
def forward_concat(concat: ConcatOp, cutting: OperatorSplit) -> Replaced | None:
    """
    Let all readers of a concatenation read its operands, and remove it; if it is an output, the host assembles it from
    blocks. Returns the replacement of each operation; None (nothing is changed) if it is one block, and an output or
    reshaped.
    """
    value = concat.result
    box_values = box_values_of(value)
    given = is_output(value)
    count = _count(value, cutting.most, list(box_values)) if given else 0
    chosen = _chosen(value, cutting) if count != 1 else None
    if chosen is None:
        return None
    replaced = _read_instead(value, box_values, chosen, cutting)
    if given:
        replaced[concat] = _join_on_host(concat, count, box_values, cutting.unique)
    waiting: list[Operation] = [concat]
    while waiting:
        op = waiting.pop()
        if op.results[0].first_use is None:
            waiting += [one for value in op.operands if isinstance(one := value.owner, ConcatOp)]
            replaced.setdefault(op, [])
            Rewriter.erase_op(op)
    return replaced


def forward_input_slices(argument: BlockArgument, cutting: OperatorSplit) -> tuple[list[Operation], Replaced] | None:
    """
    Let all readers of an input of the network read blocks of it, which the host sends separately, also if it is an
    output. Returns the added operations, otherwise as `forward_concat`.
    """
    slices = [op for op in _readers(argument) if isinstance(op, SliceOp) and set(ints(op.steps)) == {1}]
    count = _count(argument, cutting.most, [Box(ints(op.starts), ints(op.sizes)) for op in slices])
    first = argument.block.first_op
    if count == 1 or first is None:
        return None
    chosen = _chosen(argument, cutting)
    if chosen is None:
        return None
    boxes = blocks(shape_of(argument), count)
    with at(argument):
        made = _slices(HostSliceOp, argument, boxes, first, argument.name_hint, cutting.unique)
    box_values: BoxValues = {box: one.result for box, one in zip(boxes, made, strict=True)}
    if is_output(argument):
        with at(argument):
            whole = _in_order(HostConcatOp, [*box_values.values()], shape_of(argument), first, argument.name_hint)
        _return_instead(argument, whole)
    added = operations_between(None, first)
    return added, _read_instead(argument, box_values, chosen, cutting)


def _chosen(value: SSAValue, cutting: OperatorSplit) -> dict[Operation, Parts] | None:
    """
    The number of parts of readers that compute, and the number of blocks of readers that reshape; None if one of these
    is one block.
    """
    readers = [op for op in _readers(value) if isinstance(op, TilingInterface)]
    chosen: dict[Operation, Parts] = {}
    for reader in readers:
        if isinstance(reader, ReshapeOp):
            itemsize = element_bytes(element_of(value))
            chosen[reader] = (count_common_blocks(shape_of(value), shape_of(reader.result), itemsize, cutting.most),)
    if any(counts == (1,) for counts in chosen.values()):
        return None
    working = [reader for reader in readers if not isinstance(reader, SliceOp | ConcatOp | ReshapeOp)]
    return chosen | {reader: cutting.parts_of(reader) for reader in working}


def _read_instead(
    value: SSAValue, box_values: BoxValues, parts: Mapping[Operation, Parts], cutting: OperatorSplit
) -> Replaced:
    """Let operators that read a value read its operands; `parts`: number of parts of those that compute."""
    readers = [op for op in _readers(value) if isinstance(op, TilingInterface | HostConcatOp)]
    replaced: Replaced = {}
    unique = cutting.unique
    for reader in readers:
        before, after = reader.prev_op, reader.next_op
        if isinstance(reader, HostConcatOp):
            _join_boxes_on_host(reader, value, box_values)
        elif isinstance(reader, SliceOp):
            _slice_boxes(reader, box_values, unique)
        elif isinstance(reader, ConcatOp):
            _concat_boxes(reader, value, box_values, unique)
        elif isinstance(reader, ReshapeOp):
            _reshape_boxes(reader, box_values, parts[reader][0], unique)
        else:
            cutting.splitter().split(reader, parts[reader])
            for new in _readers(value):
                if isinstance(new, SliceOp) and new not in readers:
                    _slice_boxes(new, box_values, unique)
        replaced[reader] = operations_between(before, after)
    return replaced


def _count(value: SSAValue, most: int, boxes: Sequence[Box]) -> int:
    """The number of blocks of at most `most` bytes of a value whose boxes are read or written."""
    return count_blocks(shape_of(value), element_bytes(element_of(value)), most, boxes)


@keeps_location
def _join_on_host(concat: ConcatOp, count: int, box_values: BoxValues, unique: Naming) -> list[Operation]:
    """Return blocks of a concatenation's operands to the network's caller, in order. Returns the added operations."""
    value, before = concat.result, concat.prev_op
    hint = value.name_hint
    slices = _slices(SliceOp, value, blocks(shape_of(value), count), concat, hint, unique)
    whole = _in_order(HostConcatOp, [one.result for one in slices], shape_of(value), concat, hint)
    for one in slices:
        _slice_boxes(one, box_values, unique)
    _return_instead(value, whole)
    return operations_between(before, concat)


def _slices(
    kind: type[_Slice], value: SSAValue, boxes: Sequence[Box], before: Operation, hint: str | None, unique: Naming
) -> list[_Slice]:
    """Slices of a value before an operation; `hint`: the name from which theirs are derived."""
    made = [kind(value, box.offsets, box.sizes) for box in boxes]
    for one in made:
        insert_before(one, before).name_hint = unique(hint) if hint else None
    return made


def _return_instead(value: SSAValue, other: SSAValue) -> None:
    """Replace a result of the network."""
    for use in list(value.uses):
        if isinstance(use.operation, ReturnOp):
            use.operation.operands[use.index] = other


def _in_order(
    concatenate: Callable[[Sequence[SSAValue]], ConcatOp | HostConcatOp],
    values: Sequence[SSAValue],
    shape: Sequence[int],
    before: Operation,
    hint: str | None,
) -> SSAValue:
    """
    A tensor of this shape from values that hold its elements in order. `concatenate` makes the operation that joins
    them as vectors, which gets the name.
    """
    whole = values[0]
    if len(values) > 1:
        flat = [insert_before(ReshapeOp(value, [math.prod(shape_of(value))]), before) for value in values]
        joined = concatenate(flat)
        joined.result.name_hint = hint
        whole = insert_before(joined, before)
    return whole if shape_of(whole) == tuple(shape) else insert_before(ReshapeOp(whole, shape), before)


def _concat_vectors(values: Sequence[SSAValue]) -> ConcatOp:
    return ConcatOp(values, 0)


def read_slices(op: SliceOp, unique: Naming) -> Replaced | None:
    """Let a slice of a concatenation read its operands; None if it is a slice of something else."""
    if not isinstance(op.operand.owner, ConcatOp):
        return None
    before, after = op.prev_op, op.next_op
    _slice_boxes(op, box_values_of(op.operand), unique)
    return {op: operations_between(before, after)}


@keeps_location
def split_slice(op: SliceOp, counts: Sequence[int], unique: Naming) -> Replaced:
    """Replace a slice by slices of its parts, `counts` in each dimension, and their concatenation."""
    before, after = op.prev_op, op.next_op
    ranges = [split_evenly(size, count) for size, count in zip(ints(op.sizes), counts, strict=True)]
    found: BoxValues = {}
    for chosen in product(*ranges):
        box = Box(tuple(low for low, _ in chosen), tuple(size for _, size in chosen))
        found[box] = _slice_of(op, op.operand, box, (0,) * box.rank)
    _replace(op, found, unique)
    return {op: operations_between(before, after)}


def _readers(value: SSAValue) -> list[Operation]:
    """The readers without duplicates, in the order of the block."""
    users = {use.operation for use in value.uses}
    block = next(iter(users)).parent if users else None
    return [op for op in block.ops if op in users] if block is not None else []


def operations_between(before: Operation | None, after: Operation | None) -> list[Operation]:
    """The operations between two others; None: from the beginning of the block."""
    assert after is not None
    found: list[Operation] = []
    op = after.prev_op
    while op is not None and op is not before:
        found.append(op)
        op = op.prev_op
    return found[::-1]


@keeps_location
def _replace(op: Operation, boxes: BoxValues, unique: Naming) -> None:
    """Replace an operation's result by a concatenation of boxes; new values get names."""
    hint = op.results[0].name_hint
    for part in boxes.values():
        if hint and part.name_hint is None:
            part.name_hint = hint if len(boxes) == 1 else unique(hint)
    whole = join_boxes(boxes, op)
    whole.name_hint = whole.name_hint or hint
    op.results[0].replace_all_uses_with(whole)
    Rewriter.erase_op(op)


@keeps_location
def _slice_of(op: SliceOp, box_value: SSAValue, box: Box, offsets: Sequence[int]) -> SSAValue:
    """The part `box` of a slice's result, from a box of its operand at `offsets`."""
    starts = tuple(
        start + low * step - offset
        for start, low, step, offset in zip(ints(op.starts), box.offsets, ints(op.steps), offsets, strict=True)
    )
    if starts == (0,) * box.rank and box.sizes == shape_of(box_value) and set(ints(op.steps)) <= {1}:
        return box_value
    return insert_before(SliceOp(box_value, starts, box.sizes, ints(op.steps)), op)


@keeps_location
def _slice_boxes(op: SliceOp, box_values: BoxValues, unique: Naming) -> None:
    """A slice of a value as slices of its boxes."""
    found: BoxValues = {}
    for box, box_value in box_values.items():
        ranges = [
            _taken(*one)
            for one in zip(ints(op.starts), ints(op.steps), ints(op.sizes), box.offsets, box.ends, strict=True)
        ]
        part = Box(tuple(low for low, _ in ranges), tuple(high - low for low, high in ranges))
        if part.volume:
            found[part] = _slice_of(op, box_value, part, box.offsets)
    if found:
        _replace(op, found, unique)


@keeps_location
def _reshape_boxes(op: ReshapeOp, box_values: BoxValues, count: int, unique: Naming) -> None:
    """A reshape of a value as `count` blocks, each concatenated from the same elements of the value."""
    found: BoxValues = {}
    operand, result = shape_of(op.operand), shape_of(op.result)
    hint = op.result.name_hint
    for box in blocks(result, count):
        start = start_of(result, box)
        slices = _slices(SliceOp, op.operand, boxes_in_order(operand, start, start + box.volume), op, hint, unique)
        name = unique(hint) if hint else None
        found[box] = _in_order(_concat_vectors, [one.result for one in slices], box.sizes, op, name)
        for one in slices:
            _slice_boxes(one, box_values, unique)
    _replace(op, found, unique)


def _taken(start: int, step: int, size: int, low: int, high: int) -> tuple[int, int]:
    """The range (first, end) of the numbers i below `size` for which `low <= start + i * step < high`."""
    if step < 0:
        start, step, low, high = -start, -step, 1 - high, 1 - low
    first = max(0, -((start - low) // step))
    return first, max(first, min(size, -((start - high) // step)))


@keeps_location
def _concat_boxes(op: ConcatOp, value: SSAValue, box_values: BoxValues, unique: Naming) -> None:
    """
    A concatenation with the boxes of `value` in its place; its other operands are cut in the same way across the axis.
    """
    axis = op.axis.value.data

    def cut_alike(operand: SSAValue) -> BoxValues:
        across = dict.fromkeys(box.along(axis, 0, shape_of(operand)[axis]) for box in box_values)
        return {box: _part_of(operand, box, op) for box in across}

    inner = [box_values if operand is value else cut_alike(operand) for operand in op.inputs]
    _replace(op, _one_after_another(op.inputs, inner, axis), unique)


@keeps_location
def _join_boxes_on_host(op: HostConcatOp, value: SSAValue, box_values: BoxValues) -> None:
    """Let the host assemble an output from the boxes of `value`, a vector."""
    operands = [one for operand in op.inputs for one in (box_values.values() if operand is value else (operand,))]
    joined = HostConcatOp(operands)
    joined.result.name_hint = op.result.name_hint
    Rewriter.replace_op(op, joined)


def _part_of(value: SSAValue, box: Box, before: Operation) -> SSAValue:
    if box.volume == math.prod(shape_of(value)):
        return value
    return insert_before(SliceOp(value, box.offsets, box.sizes), before)

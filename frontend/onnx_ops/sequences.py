"""Sequences and optionals, which are resolved at import: the number of tensors and all positions are known."""

from __future__ import annotations

import numpy as np

from ..node import Node
from ..registry import onnx_op
from ..tensors import Absent, NodeError, Tensor, TensorSequence, check_steps, known


@onnx_op("SequenceConstruct")
def sequence_construct(node: Node) -> Tensor:
    """The operands as a sequence."""
    return TensorSequence.of(node.all())


@onnx_op("SequenceEmpty")
def sequence_empty(node: Node) -> Tensor:
    """A sequence without tensors."""
    return TensorSequence.of(())


@onnx_op("SequenceInsert")
def sequence_insert(node: Node) -> Tensor:
    """A sequence with one more tensor, at a position that is known at import, or at the end."""
    items = list(node.sequence(0))
    items.insert(_position(node, 2, len(items), len(items)), node[1])
    return TensorSequence.of(items)


@onnx_op("SequenceErase")
def sequence_erase(node: Node) -> Tensor:
    """A sequence without the tensor at a position that is known at import, or without the last tensor."""
    items = list(node.sequence(0))
    del items[_position(node, 1, len(items) - 1, len(items) - 1)]
    return TensorSequence.of(items)


@onnx_op("SequenceAt")
def sequence_at(node: Node) -> Tensor:
    """The tensor at a position that is known at import."""
    items = node.sequence(0)
    return items[_position(node, 1, 0, len(items) - 1)]


@onnx_op("SequenceLength")
def sequence_length(node: Node) -> Tensor:
    """The number of tensors."""
    return known(len(node.sequence(0)), np.int64)


@onnx_op("SplitToSequence")
def split_to_sequence(node: Node) -> Tensor:
    """Parts along an axis: of given sizes, of one size (the last may be smaller), or of size 1."""
    x, b = node[0], node.build
    axis = x.axis(node.int("axis", 0))
    extent = x.shape[axis]
    if node.get(1) is None:
        check_steps(extent, "parts")
        sizes = [1] * extent
    elif node[1].rank == 0:
        (size,) = node.ints_of(1, "the size of the parts")
        if size < 1:
            raise NodeError(f"parts of size {size}")
        check_steps(-(-extent // size), "parts")
        sizes = [min(size, extent - start) for start in range(0, extent, size)]
    else:
        sizes = node.ints_of(1, "the sizes of the parts")
        if sum(sizes) != extent or min(sizes, default=0) < 0:
            raise NodeError(f"parts {sizes} do not add up to size {extent} of axis {axis}")
    starts = np.cumsum([0, *sizes])
    parts = [b.slice_axis(x, axis, int(start), size) for start, size in zip(starts, sizes, strict=False)]
    if node.get(1) is None and not node.int("keepdims", 1):
        parts = [b.reshape(part, [*x.shape[:axis], *x.shape[axis + 1 :]]) for part in parts]
    return TensorSequence.of(parts)


@onnx_op("ConcatFromSequence")
def concat_from_sequence(node: Node) -> Tensor:
    """The concatenation of all tensors of a sequence along an existing axis, or their stack along a new axis."""
    items, b = list(node.sequence(0)), node.build
    if not items:
        raise NodeError("an empty sequence has nothing to concatenate")
    new = node.int("new_axis", 0)
    axis = items[0].axis(node.int("axis"), items[0].rank + new)
    if new:
        items = [b.reshape(item, [*item.shape[:axis], 1, *item.shape[axis:]]) for item in items]
    return b.concat(items, axis)


@onnx_op("Optional")
def optional(node: Node) -> Tensor:
    """The operand, or an optional without a value."""
    return node.any(0) if node.inputs else Absent.new()


@onnx_op("OptionalGetElement")
def optional_get_element(node: Node) -> Tensor:
    """The operand, which must have a value."""
    if isinstance(value := node.any(0), Absent):
        raise NodeError("the optional has no value")
    return value


@onnx_op("OptionalHasElement")
def optional_has_element(node: Node) -> Tensor:
    """Whether the operand has a value."""
    return known(bool(node.inputs) and not isinstance(node.inputs[0], Absent | None))


def _position(node: Node, index: int, default: int, last: int) -> int:
    """The position that operand `index` gives in operand 0, up to `last`; negative ones count from the end."""
    count = len(node.sequence(0))
    position = default
    if index < len(node.inputs) and node.inputs[index] is not None:
        (position,) = node.ints_of(index, "the position in the sequence")
    if not -count <= position <= last:
        raise NodeError(f"position {position} is out of range in a sequence of {count} tensors")
    return position + count if position < 0 else position

"""Reference semantics of data movement, in numpy. Operands are in storage form: bits are moved, never converted."""

from __future__ import annotations

import numpy as np

from ...support.errors import MeshloomError
from .base import DataflowOp, ints
from .constants import Array, numpy_type, scalar_array
from .evaluate_elementwise import cast_array
from .movement import BroadcastOp, ConcatOp, GatherOp, IotaOp, PadOp, SliceOp, TransposeOp
from .reshape import ReshapeOp
from .types import element_of, shape_of


def strided(x: Array, starts: tuple[int, ...], sizes: tuple[int, ...], steps: tuple[int, ...]) -> Array:
    """Elements `starts[d] + i * steps[d]` for i below `sizes[d]`, as a view."""
    index: list[slice] = []
    for start, size, step in zip(starts, sizes, steps, strict=True):
        stop = start + size * step
        index.append(slice(0, 0) if size == 0 else slice(start, stop if stop >= 0 else None, step))
    return x[tuple(index)]


def evaluate_pad(op: PadOp, x: Array) -> Array:
    """The operand's elements in an array that is filled with the padding value."""
    value = scalar_array(op.number, element_of(op.operand))
    result = np.full(shape_of(op.result), value, numpy_type(element_of(op.operand)))
    target: list[slice] = []
    for low, size, interior in zip(ints(op.low), x.shape, ints(op.interior), strict=True):
        target.append(slice(low, low + max(0, (size - 1) * (interior + 1) + 1) if size else low, interior + 1))
    result[tuple(target)] = x
    return result


def evaluate_gather(op: GatherOp, data: Array, indices: Array) -> Array:
    """The rows selected by the indices; raises MeshloomError for an index outside the axis."""
    size = data.shape[op.axis_index]
    outside = (indices < -size) | (indices >= size)
    if outside.any():
        raise MeshloomError(
            f"dataflow.gather: index {int(indices[outside].reshape(-1)[0])} is outside [-{size}, {size}), "
            f"the range of axis {op.axis_index} of data of shape {list(data.shape)}"
        )
    return np.take(data, indices, axis=op.axis_index)


def evaluate_iota(op: IotaOp) -> Array:
    """An array in which each element is its position along the axis."""
    shape = shape_of(op.result)
    along = [1] * len(shape)
    along[op.axis_index] = shape[op.axis_index]
    return np.broadcast_to(cast_array(np.arange(shape[op.axis_index]), element_of(op.result)).reshape(along), shape)


def evaluate_movement(op: DataflowOp, operands: list[Array]) -> Array:
    """The result in storage form."""
    match op:
        case ReshapeOp():
            return operands[0].reshape(shape_of(op.result))
        case TransposeOp():
            return operands[0].transpose(ints(op.permutation))
        case SliceOp():
            return strided(operands[0], ints(op.starts), ints(op.sizes), ints(op.steps))
        case ConcatOp():
            return np.concatenate(operands, axis=op.axis_index)
        case PadOp():
            return evaluate_pad(op, operands[0])
        case BroadcastOp():
            return np.broadcast_to(operands[0], shape_of(op.result))
        case GatherOp():
            return evaluate_gather(op, operands[0], operands[1])
        case IotaOp():
            return evaluate_iota(op)
        case _:
            raise NotImplementedError(op.name)

"""Gathers of slices, of elements, and by tuples of indices."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from .. import arrays
from ..builder import Builder
from ..node import Node
from ..registry import onnx_op
from ..tensors import INT64, NodeError, Tensor, check_indices, check_size, known


@onnx_op("Gather")
def gather(node: Node) -> Tensor:
    """Slices along an axis."""
    x, indices = node[0], node[1]
    axis = x.axis(node.int("axis", 0))
    return node.build.gather(x, indices, axis)


def non_negative(b: Builder, indices: Tensor, size: int) -> Tensor:
    """int64 indices with negative ones counted from the end. Raises NodeError for known ones beyond the size."""
    wide = b.cast(indices, INT64)
    if wide.array is not None:
        check_indices(wide.array, size)
    if wide.array is not None and np.all(wide.array >= 0):
        return wide
    return b.select(b.compare("lt", wide, 0), b.add(wide, size), wide)


def flat_element_indices(b: Builder, shape: tuple[int, ...], indices: Tensor, axis: int) -> Tensor:
    """Flat indices, in data of `shape`, of the elements that GatherElements reads."""
    base = arrays.full(indices.shape, 0, np.int64)
    for other, size in enumerate(indices.shape):
        if other != axis:
            step = math.prod(shape[other + 1 :])
            base += (arrays.arange(size) * step).reshape(*[1] * other, -1, *[1] * (indices.rank - other - 1))
    moved = b.mul(non_negative(b, indices, shape[axis]), math.prod(shape[axis + 1 :]))
    return b.add(moved, known(base))


@onnx_op("GatherElements", since=11)
def gather_elements(node: Node) -> Tensor:
    """One element for each index: index arithmetic and a gather from the flat data."""
    b, x, indices = node.build, node[0], node[1]
    axis = x.axis(node.int("axis", 0))
    if x.rank != indices.rank:
        raise NodeError(f"indices of rank {indices.rank} for data of rank {x.rank}")
    return b.gather(b.reshape(x, [x.size]), flat_element_indices(b, x.shape, indices, axis), 0)


def flat_tuple_indices(b: Builder, shape: tuple[int, ...], indices: Tensor, batch: int) -> Tensor:
    """Row numbers of GatherND's index tuples, in data of `shape` with the indexed dimensions flattened."""
    width = indices.shape[-1]
    prefix = indices.shape[:-1]
    rows = math.prod(shape[batch : batch + width])
    result: Tensor | None = None
    for position in range(width):
        step = math.prod(shape[batch + position + 1 : batch + width])
        part = b.reshape(b.slice_axis(indices, indices.rank - 1, position, 1), prefix)
        part = b.mul(non_negative(b, part, shape[batch + position]), step)
        result = part if result is None else b.add(result, part)
    assert result is not None
    if batch:
        batches = (arrays.arange(math.prod(shape[:batch])) * rows).reshape(shape[:batch])
        result = b.add(result, known(batches.reshape(*shape[:batch], *[1] * (len(prefix) - batch))))
    return result


@onnx_op("GatherND", since=11)
def gather_nd(node: Node) -> Tensor:
    """Slices named by tuples of indices: index arithmetic and a gather of rows."""
    b, x, indices, batch = node.build, node[0], node[1], node.int("batch_dims", 0)
    width = indices.shape[-1]
    if width < 1 or batch + width > x.rank:
        raise NodeError(f"index tuples of {width} do not fit data of rank {x.rank}")
    inner = x.shape[batch + width :]
    data = b.reshape(x, [math.prod(x.shape[: batch + width]), *inner])
    return b.gather(data, flat_tuple_indices(b, x.shape, indices, batch), 0)


@onnx_op("Compress")
def compress(node: Node) -> Tensor:
    """The slices for which a condition, known at import, is true."""
    b, x = node.build, node[0]
    keep = np.flatnonzero(node.known(1, "the condition"))
    if node.has("axis"):
        return b.gather(x, known(keep), x.axis(node.int("axis")))
    return b.gather(b.reshape(x, [x.size]), known(keep), 0)


@onnx_op("NonZero")
def non_zero(node: Node) -> Tensor:
    """Indices of the elements that are not zero, known at import."""
    x = node.known(0, "the operand")
    check_size((x.ndim, x.size), INT64)
    return known(np.stack(np.nonzero(x)).astype(np.int64))


@onnx_op("Unique", since=11)
def unique(node: Node) -> Sequence[Tensor]:
    """The unique elements or slices, and their indices and counts; of values that are known at import."""
    x = node.known(0, "the operand")
    axis = node[0].axis(node.int("axis")) if node.has("axis") else None
    values, first, inverse, counts = np.unique(x, True, True, True, axis)
    inverse = inverse.reshape(-1)
    if not node.int("sorted", 1):  # in the order of their first occurrence
        order = np.argsort(first)
        values, first, counts = values.take(order, axis or 0), first[order], counts[order]
        inverse = np.argsort(order)[inverse]
    return [known(values), *(known(one, np.int64) for one in (first, inverse, counts))]

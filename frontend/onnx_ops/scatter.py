"""
Scatters. The dialect has none: where the indices are known at import each result element is a gather from data and
updates; indices known only at run time are compared with the positions of the axis (small ones only).
"""

from __future__ import annotations

import math

import numpy as np

from ..builder import Builder
from ..node import Node
from ..registry import onnx_op
from ..tensors import NodeError, Tensor, known
from .indexing import flat_element_indices, flat_tuple_indices

LARGEST_ONE_HOT = 1 << 24
"""Elements up to which indices known only at run time are compared with all positions."""

_COMBINE = {"add": "add", "mul": "mul", "max": "maximum", "min": "minimum"}


def scatter_rows(b: Builder, data: Tensor, rows: Tensor, updates: Tensor, reduction: str) -> Tensor:
    """
    Put (or combine) rows into data.

    data [R, inner], rows int64 [U] (non-negative), updates [U, inner]. The last of several updates of a row wins.
    """
    if data.size == 0 or updates.size == 0:
        return data
    if rows.array is not None:
        return _scatter_known(b, data, rows.array.reshape(-1), updates, reduction)
    count, targets = rows.size, data.shape[0]
    if count * targets > LARGEST_ONE_HOT:
        raise NodeError(f"{count} indices known only at run time into {targets} rows are not supported")
    if reduction == "none":
        return _overwrite(b, data, rows, updates)
    if reduction != "add" or not data.is_float:
        return _one_by_one(b, data, rows, updates, reduction)
    hit = b.compare("eq", known(np.arange(targets).reshape(-1, 1)), b.reshape(rows, [1, count]))
    return b.add(data, b.matmul(b.cast(hit, data.dtype), updates))


def _scatter_known(b: Builder, data: Tensor, rows: np.ndarray, updates: Tensor, reduction: str) -> Tensor:
    if reduction == "none":
        source = np.arange(data.shape[0])
        source[rows] = data.shape[0] + np.arange(len(rows))
        return b.gather(b.concat([data, updates], 0), known(source), 0)
    result = data
    waiting = list(range(len(rows)))
    neutral = {"add": 0, "mul": 1}.get(reduction)
    while waiting:  # one round combines at most one update with each row
        round_: dict[int, int] = {}
        for update in waiting:
            round_.setdefault(int(rows[update]), update)
        waiting = [update for update in waiting if round_[int(rows[update])] != update]
        source = np.arange(data.shape[0])
        for row, update in round_.items():
            source[row] = data.shape[0] + update
        filler = data if neutral is None else b.full(data.shape, neutral, data.dtype)
        combined = b.gather(b.concat([filler, updates], 0), known(source), 0)
        result = b.binary(_COMBINE[reduction], result, combined)
    return result


def _overwrite(b: Builder, data: Tensor, rows: Tensor, updates: Tensor) -> Tensor:
    """For each row of data the last update that names it, or the row itself: an extremum and a gather."""
    count, targets = rows.size, data.shape[0]
    hit = b.compare("eq", known(np.arange(targets).reshape(-1, 1)), b.reshape(rows, [1, count]))
    numbers = b.select(
        hit, known((np.arange(count) + targets).reshape(1, -1)), known(np.arange(targets).reshape(-1, 1))
    )
    source = b.reshape(b.reduce("max", numbers, [1]), [targets])
    return b.gather(b.concat([data, updates], 0), source, 0)


def _one_by_one(b: Builder, data: Tensor, rows: Tensor, updates: Tensor, reduction: str) -> Tensor:
    if rows.size > 256:
        raise NodeError(f"{rows.size} indices known only at run time with reduction {reduction} are not supported")
    places = known(np.arange(data.shape[0]).reshape(-1, 1))
    for number in range(rows.size):
        row = b.reshape(b.slice_axis(rows, 0, number, 1), [1, 1])
        changed = b.binary(_COMBINE[reduction], data, b.slice_axis(updates, 0, number, 1))
        data = b.select(b.compare("eq", places, row), changed, data)
    return data


@onnx_op("ScatterElements", "Scatter")
def scatter_elements(node: Node) -> Tensor:
    """One element for each index."""
    b, x, indices, updates = node.build, node[0], node[1], node[2]
    axis = x.axis(node.int("axis", 0))
    flat = flat_element_indices(b, x.shape, indices, axis)
    result = scatter_rows(
        b,
        b.reshape(x, [x.size, 1]),
        b.reshape(flat, [flat.size]),
        b.reshape(updates, [updates.size, 1]),
        node.str("reduction", "none"),
    )
    return b.reshape(result, x.shape)


@onnx_op("ScatterND", since=11)
def scatter_nd(node: Node) -> Tensor:
    """Slices named by tuples of indices."""
    b, x, indices, updates = node.build, node[0], node[1], node[2]
    width = indices.shape[-1]
    if width > x.rank or width < 1:
        raise NodeError(f"index tuples of {width} do not fit data of rank {x.rank}")
    rows, inner = math.prod(x.shape[:width]), math.prod(x.shape[width:])
    flat = flat_tuple_indices(b, x.shape, indices, 0)
    result = scatter_rows(
        b,
        b.reshape(x, [rows, inner]),
        b.reshape(flat, [flat.size]),
        b.reshape(updates, [flat.size, inner]),
        node.str("reduction", "none"),
    )
    return b.reshape(result, x.shape)

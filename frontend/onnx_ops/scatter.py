"""Scatters. `dataflow.scatter` puts, adds and takes maxima; what else ONNX has is made of other operations."""

from __future__ import annotations

import math

import numpy as np

from ..builder import Builder
from ..node import Node
from ..registry import onnx_op
from ..tensors import NodeError, Tensor, known
from .indexing import flat_element_indices, flat_tuple_indices

_MODES = {"none": "set", "add": "add", "max": "max"}
_COMBINE = {"mul": "mul", "min": "minimum"}


def scatter_rows(b: Builder, data: Tensor, rows: Tensor, updates: Tensor, reduction: str) -> Tensor:
    """
    Put (or combine) rows into data.

    data [R, inner], rows int64 [U], updates [U, inner]. The last of several updates of a row wins.
    """
    if data.size == 0 or updates.size == 0:
        return data
    if reduction in _MODES:
        return b.scatter(_MODES[reduction], data, rows, updates)
    if reduction == "min" and data.is_float:
        return b.unary("neg", b.scatter("max", b.unary("neg", data), rows, b.unary("neg", updates)))
    if reduction not in _COMBINE:
        raise NodeError(f"reduction '{reduction}': expected none, add, mul, max or min")
    if rows.array is not None:
        return _scatter_known(b, data, rows.array.reshape(-1), updates, reduction)
    return _one_by_one(b, data, rows, updates, reduction)


def _scatter_known(b: Builder, data: Tensor, rows: np.ndarray, updates: Tensor, reduction: str) -> Tensor:
    result = data
    waiting = list(range(len(rows)))
    while waiting:  # one round combines at most one update with each row
        round_: dict[int, int] = {}
        for update in waiting:
            round_.setdefault(int(rows[update]), update)
        waiting = [update for update in waiting if round_[int(rows[update])] != update]
        source = np.arange(data.shape[0])
        for row, update in round_.items():
            source[row] = data.shape[0] + update
        filler = b.full(data.shape, 1, data.dtype) if reduction == "mul" else data
        combined = b.gather(b.concat([filler, updates], 0), known(source), 0)
        result = b.binary(_COMBINE[reduction], result, combined)
    return result


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
    axis, reduction = x.axis(node.int("axis", 0)), node.str("reduction", "none")
    others = [dim for dim in range(x.rank) if dim != axis]
    if reduction in _MODES and x.size and all(indices.shape[dim] == x.shape[dim] for dim in others):
        return _along_axis(b, x, indices, updates, [*others, axis], _MODES[reduction])
    flat = flat_element_indices(b, x.shape, indices, axis)
    result = scatter_rows(
        b,
        b.reshape(x, [x.size, 1]),
        b.reshape(flat, [flat.size]),
        b.reshape(updates, [updates.size, 1]),
        reduction,
    )
    return b.reshape(result, x.shape)


def _along_axis(b: Builder, x: Tensor, indices: Tensor, updates: Tensor, axis_last: list[int], mode: str) -> Tensor:
    """One scatter for each position of the other dimensions: these are independent of each other."""
    rows = x.shape[axis_last[-1]]
    data, places, values = (b.transpose(one, axis_last) for one in (x, indices, updates))
    shape, lanes = data.shape, x.size // rows
    count = places.size // lanes
    result = b.scatter(
        mode, b.reshape(data, [lanes, rows]), b.reshape(places, [lanes, count]), b.reshape(values, [lanes, count]), 1
    )
    return b.transpose(b.reshape(result, shape), list(np.argsort(axis_last)))


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

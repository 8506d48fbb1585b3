"""
The k first elements along an axis, in order; equal elements are in the order of their indices.

If k is small, the elements are found one by one. Otherwise all pairs are compared: an element's rank is the number of
elements that come before it. Long rows are first cut into blocks, and the result is selected from the k first elements
of each block.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .. import arrays
from ..builder import Builder, reduction_identity
from ..node import Node
from ..registry import onnx_op
from ..tensors import BOOL, INT64, NodeError, Tensor, known

ONE_BY_ONE = 64
"""The largest k for which the elements are found one by one."""

COMPARISONS = 1 << 13
"""The number of comparisons that takes about as long as finding one more element."""

BLOCK = 1 << 20
"""The largest number of comparisons of one operation, which bounds the memory of its result."""

CHUNKS = 4
"""Size of the blocks of long rows, as a multiple of k."""

_INT32 = np.dtype(np.int32)


@dataclass(frozen=True)
class _Order:
    """The order: largest or smallest first."""

    build: Builder
    largest: bool

    @property
    def kind(self) -> str:
        return "max" if self.largest else "min"

    def worst(self, x: Tensor) -> float | int:
        """The value that comes last."""
        return reduction_identity(self.kind, x.dtype)


@onnx_op("TopK")
def top_k(node: Node) -> list[Tensor]:
    """The k largest (or smallest) elements along an axis, and their indices."""
    b, x = node.build, node[0]
    k = node.int("k") if node.opset < 10 else node.ints_of(1, "k")[0]
    axis = x.axis(node.int("axis", -1))
    if not 0 <= k <= x.shape[axis]:
        raise NodeError(f"k = {k} is not within 0 and the size {x.shape[axis]} of axis {axis}")
    shape = [*x.shape[:axis], k, *x.shape[axis + 1 :]]
    if not math.prod(shape):
        return [b.full(shape, 0, x.dtype), b.full(shape, 0, INT64)]
    order = _Order(b, node.opset < 11 or bool(node.int("largest", 1)))
    last = [dim for dim in range(x.rank) if dim != axis] + [axis]
    turned = b.transpose(x, last)
    rows = b.reshape(turned, [x.size // x.shape[axis], x.shape[axis]])
    results = _best(order, rows, k)
    back = [int(index) for index in np.argsort(last)]
    return [b.transpose(b.reshape(one, [*turned.shape[:-1], k]), back) for one in results]


def _best(order: _Order, x: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Values and indices (int64) of the k first elements of each row of x [rows, size]."""
    rows, size = x.shape
    if size == 1:
        return x, order.build.full(x.shape, 0, INT64)
    if k == 1:
        return order.build.reduce(order.kind, x, [1]), order.build.arg_reduce(order.kind, x, 1)
    if size <= CHUNKS * k or size * size <= COMPARISONS * k:
        return _by_rank(order, x, k)
    if k <= ONE_BY_ONE:
        return _one_by_one(order, x, k)
    b, length = order.build, CHUNKS * k
    chunks = -(-size // length)
    # The padding comes last, after equal elements.
    padded = b.pad(x, [0, 0], [0, chunks * length - size], order.worst(x))
    values, indices = _by_rank(order, b.reshape(padded, [rows * chunks, length]), k)
    starts = arrays.outer_sum(arrays.full(rows, 0, np.int64), arrays.arange(chunks) * length).reshape(-1, 1)
    indices = b.reshape(b.add(indices, known(starts)), [rows * chunks * k])
    values, within = _best(order, b.reshape(values, [rows, chunks * k]), k)
    within = b.add(within, known(arrays.arange(rows).reshape(-1, 1) * (chunks * k)))
    return values, b.gather(indices, within, 0)


def _one_by_one(order: _Order, x: Tensor, k: int) -> tuple[Tensor, Tensor]:
    b, worst = order.build, order.worst(x)
    positions = known(arrays.arange(x.shape[1]).reshape(1, -1))
    values, indices = list[Tensor](), list[Tensor]()
    rest, free = x, b.full(x.shape, True, BOOL)
    for number in range(k):
        value, index = b.reduce(order.kind, rest, [1]), b.arg_reduce(order.kind, rest, 1)
        if number:
            # If all remaining elements equal the last value, they cannot be told from those already taken.
            first_free = b.arg_reduce("max", b.cast(free, np.dtype(np.uint8)), 1)
            index = b.select(b.compare("eq", value, worst), first_free, index)
        values.append(value)
        indices.append(index)
        taken = b.compare("eq", positions, index)
        rest = b.select(taken, worst, rest)
        free = b.binary("and", free, b.unary("not", taken))
    return b.concat(values, 1), b.concat(indices, 1)


def _by_rank(order: _Order, x: Tensor, k: int) -> tuple[Tensor, Tensor]:
    b = order.build
    rows, size = x.shape
    # NaN comes first, so that ranks are unique.
    best = reduction_identity("min" if order.largest else "max", x.dtype)
    keys = b.select(b.unary("isnan", x), best, x) if x.is_float else x
    step = max(1, min(size, BLOCK // (rows * size)))
    blocks = [_ranks(order, keys, start, min(step, size - start)) for start in range(0, size, step)]
    # Elements beyond the first k share the slot after them.
    target = b.minimum(b.cast(b.concat(blocks, 1), INT64), k)
    indices = b.broadcast(known(arrays.arange(size).reshape(1, -1)), [rows, size])
    found = [b.scatter("set", b.full([rows, k + 1], 0, one.dtype), target, one, 1) for one in (x, indices)]
    values, indices = (b.slice_axis(one, 1, 0, k) for one in found)
    return values, indices


def _ranks(order: _Order, keys: Tensor, start: int, count: int) -> Tensor:
    """The rank in its row of each of `count` elements from `start`."""
    b = order.build
    rows, size = keys.shape
    own = b.reshape(b.slice_axis(keys, 1, start, count), [rows, count, 1])
    others = b.reshape(keys, [rows, 1, size])
    earlier = b.compare(
        "lt", known(arrays.arange(size).reshape(1, 1, -1)), known(arrays.arange(start, start + count).reshape(-1, 1))
    )
    better = b.compare("gt" if order.largest else "lt", others, own)
    before = b.binary("or", better, b.binary("and", b.compare("eq", others, own), earlier))
    return b.reduce("sum", b.cast(before, _INT32), [2], keepdims=False)

"""
Matrix products with known narrow weights that have a scale and zero point for each block of the reduced dimension.

Each block of the other operand is multiplied by the integers of the corresponding block of weights; the products are
scaled and added. The weights thus stay as narrow as they are in the file. For many rows it takes less work to widen the
weights once (`widened_weights`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .builder_values import SMALL
from .quantised import narrowest
from .tensors import FLOAT32, Array, Tensor, known
from .widened_weights import widened_matmul

if TYPE_CHECKING:
    from .builder import Builder


MANY = 3
"""Weights are widened if this number times the rows of the other operand exceeds the rows of a block."""


@dataclass(frozen=True, eq=False)
class BlockedWeights:
    """A matrix (values - zero) * scale [K, N], in which all rows of a block share the zero points and scales."""

    values: Array
    """[K, N] integers of at most 8 bits, in any type."""
    zero: Array | None
    """[blocks, N], integers or not; None: 0."""
    scale: Array
    """[blocks, N]"""
    block: int
    """Number of rows of a block; the last block may have fewer."""
    name: str = ""


def blocks_of(parameter: Array, axis: int) -> int:
    """The size of the largest blocks along an axis within which the array is constant."""
    moved = np.moveaxis(parameter, axis, 0).reshape(parameter.shape[axis], -1)
    changes = np.flatnonzero((moved[1:] != moved[:-1]).any(axis=1)) + 1
    return math.gcd(*(int(one) for one in changes)) if len(changes) else parameter.shape[axis]


def blocked_matmul(b: Builder, x: Tensor, weights: BlockedWeights) -> Tensor | None:
    """
    The product of x [..., K] and the weights, f32 [..., N]. None if x is known, empty or not f32, if the weights have
    at most `SMALL` elements, or if `narrowest` gives none for them.
    """
    depth, outputs = weights.values.shape
    block, blocks = weights.block, len(weights.scale)
    rows = x.size // depth if x.rank and depth else 0
    if x.array is not None or x.dtype != FLOAT32 or weights.values.size <= SMALL or not rows:
        return None
    if MANY * rows > block:
        return widened_matmul(b, x, weights, rows)
    padding = blocks * block - depth
    values = (
        np.pad(weights.values, [(0, padding), (0, 0)], mode="edge").reshape(blocks, block, outputs).transpose(0, 2, 1)
    )
    zero = None if weights.zero is None else weights.zero.reshape(blocks, outputs, 1)
    found = narrowest(values, zero)
    if found is None:
        return None
    narrow, left = found
    matrix = b.pad(b.reshape(x, [rows, depth]), [0, 0], [0, padding])
    parts = b.transpose(b.reshape(matrix, [rows, blocks, block]), [1, 0, 2])
    products = b.mixed_matmul(parts, known(narrow, name=weights.name), transpose_b=True)
    if left is not None:
        taken = known(np.ascontiguousarray(left.reshape(blocks, 1, outputs)), name=f"{weights.name}_zero_points")
        products = b.sub(products, b.mul(b.reduce("sum", parts, [2]), b.cast(taken, FLOAT32)))
    scale = known(np.ascontiguousarray(weights.scale.reshape(blocks, 1, outputs).astype(np.float32)))
    return b.reshape(b.reduce("sum", b.mul(products, scale), [0]), [*x.shape[:-1], outputs])

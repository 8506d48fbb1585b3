"""
Matrix products with narrow weights that the chip widens once; each block of the reduced dimension has a scale and zero
point. Two 4-bit weights share a byte, one from each half of the reduced dimension. The pass `dataflow-split-widened`
decides what is widened when, as that depends on the chip.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .quantised import narrowest
from .tensors import FLOAT32, Array, Tensor, known

if TYPE_CHECKING:
    from .blocked_products import BlockedWeights
    from .builder import Builder

_INT8, _UINT8 = np.dtype(np.int8), np.dtype(np.uint8)
_BITS, _MOST, _LOWEST = 4, 15, 8
"""The bits of a weight, the largest integer of so many bits, and the offset that makes signed integers unsigned."""


def widened_matmul(b: Builder, x: Tensor, weights: BlockedWeights, rows: int) -> Tensor | None:
    """The product of x [..., K], which has `rows` rows, and the weights; None if 8 bits cannot hold these."""
    blocks, block, (depth, outputs) = len(weights.scale), weights.block, weights.values.shape
    zero = None if weights.zero is None else weights.zero.reshape(blocks, 1, outputs)
    padding = blocks * block - depth
    values = np.pad(weights.values, [(0, padding), (0, 0)], mode="edge").reshape(blocks, block, outputs)
    found = narrowest(values, zero)
    if found is None:
        return None
    narrow, left = found
    matrix = b.pad(b.reshape(x, [rows, depth]), [0, 0], [0, padding])
    scale = weights.scale.reshape(blocks, 1, outputs).astype(np.float32)
    few = _in_4_bits(narrow, left) if blocks % 2 == 0 else None
    if few is None:
        taken = None if left is None else left.astype(np.float32)  # the differences may exceed 8 bits
        wide = _widened(b, _held(b, narrow, weights.name), taken, scale)
        return b.reshape(b.matmul(matrix, wide), [*x.shape[:-1], outputs])
    half = blocks // 2
    nibbles, left = few
    packed = _held(b, nibbles[:half] | nibbles[half:] << _BITS, weights.name)
    parts = (b.binary("and", packed, _MOST), b.binary("shift_right", packed, _BITS))
    halves = [
        _widened(b, b.bitcast(part, _INT8), None if left is None else left[of], scale[of])
        for part, of in zip(parts, (slice(half), slice(half, None)), strict=True)
    ]
    return b.reshape(b.matmul(matrix, b.concat(halves, 0)), [*x.shape[:-1], outputs])


def _in_4_bits(narrow: Array, left: Array | None) -> tuple[Array, Array | None] | None:
    """
    The weights as values from 0 to 15, uint8, and the zero points that remain to be subtracted from them: int8 if the
    differences fit, else float32; None if they are all 0. None for values that 4 bits cannot hold.
    """
    low, high = int(narrow.min()), int(narrow.max())
    shift = _LOWEST if low < 0 else 0
    if low + shift < 0 or high + shift > _MOST:
        return None
    if left is not None or shift:
        left = np.full((len(narrow), 1, narrow.shape[2]), 0, np.int16) if left is None else left
        left = left.astype(np.float32) + shift
        whole = bool(np.all(np.rint(left) == left)) and _MOST - 127 <= left.min() and left.max() <= 127
        left = left.astype(np.int8) if whole else left
    return (narrow + shift).astype(np.uint8), left


def _widened(b: Builder, values: Tensor, left: Array | None, scale: Array) -> Tensor:
    """(values - left) * scale for values [blocks, block, N], f32 [K, N]."""
    if left is not None and left.dtype == _INT8:
        values, left = b.sub(values, _held(b, left)), None
    wide = b.cast(values, FLOAT32)
    if left is not None:
        wide = b.sub(wide, _held(b, left))
    blocks, block, outputs = values.shape
    return b.reshape(b.mul(wide, _held(b, scale)), [blocks * block, outputs])


def _held(b: Builder, array: Array, name: str = "") -> Tensor:
    """A constant that is not folded, because the folded results would be larger."""
    constant = known(np.ascontiguousarray(array), name=name)
    return Tensor(constant.shape, constant.dtype, value=b.value(constant), name=name)

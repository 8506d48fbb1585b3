"""Products with matrices whose elements have few bits, in blocks with scales of their own."""

from __future__ import annotations

import numpy as np

from ...builder import Builder
from ...builder_values import SMALL
from ...node import Node
from ...tensors import FLOAT32, NodeError, Tensor, known
from ...wide import in_f32
from ..linear import matmul
from . import microsoft_op

_UINT8 = np.dtype(np.uint8)


@microsoft_op("MatMulNBits")
@in_f32
def matmul_nbits(node: Node) -> Tensor:
    """A times a matrix [N, K], transposed, of integers of 2, 4 or 8 bits; each block along K has its scale."""
    if node.int("weight_prepacked", 0):
        raise NodeError("weight_prepacked is not 0: the layout of the weights is another device's")
    if (group := node.get(4)) is not None and group.size:
        raise NodeError("g_idx is not supported: order the inputs by group")
    bits, block = node.int("bits", 4), node.int("block_size")
    if bits not in (2, 4, 8) or block < 1 or block * bits % 8:
        raise NodeError(f"{bits} bits in blocks of {block} are not supported (2, 4 and 8 bits in whole bytes are)")
    b, depth, outputs = node.build, node.int("K"), node.int("N")
    blocks = -(-depth // block)
    weights = _unpacked(b, b.reshape(node[1], [outputs, blocks, block * bits // 8]), bits)
    scales = b.reshape(node[2], [outputs, blocks, 1])
    centred = b.sub(b.cast(weights, FLOAT32), _zero_points(node, bits, outputs, blocks))
    narrow = _by_blocks(b, node[0], centred, b.cast(scales, FLOAT32))
    if narrow is not None:
        bias = node.get(5)
        return narrow if bias is None else b.add(narrow, bias)
    matrix = b.reshape(b.mul(centred, b.cast(scales, FLOAT32)), [outputs, blocks * block])
    matrix = b.slice_axis(matrix, 1, 0, depth)
    result = matmul(b, node[0], matrix, transpose_b=True)
    bias = node.get(5)
    return result if bias is None else b.add(result, bias)


def _by_blocks(b: Builder, x: Tensor, centred: Tensor, scales: Tensor) -> Tensor | None:
    """
    The product with weights that stay 8 bits wide: of each block of x with each of theirs, scaled and added up. None
    where they are not known, few, or do not fit, or where there would be more products of blocks than weights.
    """
    outputs, blocks, block = centred.shape
    rows = x.size // x.shape[-1] if x.rank and x.shape[-1] else 0
    if centred.array is None or x.array is not None or x.dtype != FLOAT32 or centred.size <= SMALL or not rows:
        return None
    if 4 * rows > 3 * block or np.abs(centred.array + 0.5).max() > 128 or np.any(centred.array % 1):
        return None
    matrix = b.reshape(x, [rows, x.shape[-1]])
    matrix = b.pad(matrix, [0, 0], [0, blocks * block - x.shape[-1]])
    parts = b.transpose(b.reshape(matrix, [rows, blocks, block]), [1, 0, 2])
    weights = known(np.ascontiguousarray(centred.array.astype(np.int8).transpose(1, 0, 2)), name=centred.name)
    products = b.mul(b.mixed_matmul(parts, weights, transpose_b=True), b.transpose(scales, [1, 2, 0]))
    return b.reshape(b.reduce("sum", products, [0]), [*x.shape[:-1], outputs])


def _zero_points(node: Node, bits: int, outputs: int, blocks: int) -> Tensor | float:
    """[N, blocks, 1], packed or not, or the middle of the range."""
    b, zero = node.build, node.get(3)
    if zero is None:
        return float(1 << (bits - 1))
    if zero.dtype == _UINT8:
        zero = _unpacked(b, b.reshape(zero, [outputs, -(-blocks * bits // 8)]), bits)
        zero = b.slice_axis(zero, 1, 0, blocks)
    return b.reshape(b.cast(zero, FLOAT32), [outputs, blocks, 1])


def _unpacked(b: Builder, x: Tensor, bits: int) -> Tensor:
    """The integers in the bytes of the last dimension, low bits first."""
    if bits == 8:
        return x
    parts = [
        b.reshape(b.binary("and", b.binary("shift_right", x, shift) if shift else x, (1 << bits) - 1), [*x.shape, 1])
        for shift in range(0, 8, bits)
    ]
    return b.reshape(b.concat(parts, x.rank), [*x.shape[:-1], x.shape[-1] * 8 // bits])

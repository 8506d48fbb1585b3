"""Products with matrices of integers of few bits; each block has a scale."""

from __future__ import annotations

import numpy as np

from ...arrays import full
from ...blocked_products import BlockedWeights, blocked_matmul
from ...builder import Builder
from ...node import Node
from ...tensors import FLOAT32, NodeError, Tensor
from ...wide import in_f32
from ..linear import matmul
from . import microsoft_op

_UINT8 = np.dtype(np.uint8)


@microsoft_op("MatMulNBits")
@in_f32
def matmul_nbits(node: Node) -> Tensor:
    """A B', where B [N, K] has integers of 2, 4 or 8 bits and a scale for each block along K."""
    if node.int("weight_prepacked", 0):
        raise NodeError("weight_prepacked is not 0: the weights have the layout of another device")
    if (group := node.get(4)) is not None and group.size:
        raise NodeError("g_idx is not supported: order the inputs by group")
    bits, block = node.int("bits", 4), node.int("block_size")
    if bits not in (2, 4, 8) or block < 1 or block * bits % 8:
        raise NodeError(f"{bits} bits in blocks of {block} are not supported (2, 4 and 8 bits in whole bytes are)")
    b, depth, outputs = node.build, node.int("K"), node.int("N")
    blocks = -(-depth // block)
    weights = _unpacked(b, b.reshape(node[1], [outputs, blocks, block * bits // 8]), bits)
    scales = b.cast(b.reshape(node[2], [outputs, blocks, 1]), FLOAT32)
    zero = _zero_points(node, bits, outputs, blocks)
    result = _by_blocks(b, node[0], weights, zero, scales, depth)
    if result is None:
        matrix = b.mul(b.sub(b.cast(weights, FLOAT32), zero), scales)
        matrix = b.slice_axis(b.reshape(matrix, [outputs, blocks * block]), 1, 0, depth)
        result = matmul(b, node[0], matrix, transpose_b=True)
    bias = node.get(5)
    return result if bias is None else b.add(result, bias)


def _by_blocks(
    b: Builder, x: Tensor, weights: Tensor, zero: Tensor | float, scales: Tensor, depth: int
) -> Tensor | None:
    """The product with known weights [N, blocks, block], which stay narrow; None for other weights."""
    zeros = zero.array if isinstance(zero, Tensor) else full(scales.shape, zero, np.float32)
    if weights.array is None or scales.array is None or zeros is None:
        return None
    outputs, blocks, block = weights.shape
    values = weights.array.reshape(outputs, blocks * block)[:, :depth].T
    zeros, scale = (one.reshape(outputs, blocks).T for one in (zeros, scales.array))
    return blocked_matmul(b, x, BlockedWeights(values, zeros, scale, block, weights.name))


def _zero_points(node: Node, bits: int, outputs: int, blocks: int) -> Tensor | float:
    """The zero points [N, blocks, 1], unpacked if they are packed; the middle of the range if there are none."""
    b, zero = node.build, node.get(3)
    if zero is None:
        return float(1 << (bits - 1))
    if zero.dtype == _UINT8:
        zero = _unpacked(b, b.reshape(zero, [outputs, -(-blocks * bits // 8)]), bits)
        zero = b.slice_axis(zero, 1, 0, blocks)
    return b.reshape(b.cast(zero, FLOAT32), [outputs, blocks, 1])


def _unpacked(b: Builder, x: Tensor, bits: int) -> Tensor:
    """The integers of `bits` bits in the bytes of the last dimension, low bits first."""
    if bits == 8:
        return x
    parts = [
        b.reshape(b.binary("and", b.binary("shift_right", x, shift) if shift else x, (1 << bits) - 1), [*x.shape, 1])
        for shift in range(0, 8, bits)
    ]
    return b.reshape(b.concat(parts, x.rank), [*x.shape[:-1], x.shape[-1] * 8 // bits])

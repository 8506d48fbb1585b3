"""Rotary embeddings: pairs of elements of each head are rotated by an angle that grows with the position."""

from __future__ import annotations

from ... import arrays
from ...builder import Builder
from ...node import Node
from ...tensors import INT64, NodeError, Tensor, known
from . import microsoft_op


@microsoft_op("RotaryEmbedding")
def rotary_embedding(node: Node) -> Tensor:
    """Each head rotated by the angles of its position, whose cosines and sines are operands."""
    if node.int("is_packed_batching", 0):
        raise NodeError("is_packed_batching = 1 is not supported")
    b, x, positions, interleaved = node.build, node[0], node[1], bool(node.int("interleaved", 0))
    cos, sin = node[2], node[3]
    by_head = x.rank == 4
    if by_head:
        x = b.transpose(x, [0, 2, 1, 3])
    batch, length = x.shape[:2]
    width = node.int("rotary_embedding_dim", 0)
    heads = x.shape[2] if by_head else node.int("num_heads", 0)
    if not by_head:
        if not heads and width:
            raise NodeError("rotary_embedding_dim needs num_heads")
        heads = heads or x.shape[2] // (2 * cos.shape[1])
        x = b.reshape(x, [batch, length, heads, x.shape[2] // heads])
    if positions.size == 1:
        steps = known(arrays.arange(length).reshape(1, length))
        positions = b.add(b.reshape(b.cast(positions, INT64), [1, 1]), steps)
    result = rotated(b, x, (cos, sin), positions, interleaved)
    if by_head:
        return b.transpose(result, [0, 2, 1, 3])
    return b.reshape(result, node[0].shape)


def rotated(b: Builder, x: Tensor, caches: tuple[Tensor, Tensor], positions: Tensor, interleaved: bool) -> Tensor:
    """
    x [B, S, N, H] with the first R elements of each head rotated in pairs: of neighbours if `interleaved`, else of
    elements at a distance of R / 2.

    caches: cosines and sines [positions, R / 2]; positions [B, S] or [1, S].
    """
    half = caches[0].shape[1]
    if x.shape[3] < 2 * half:
        raise NodeError(f"heads of {x.shape[3]} elements are too small for {half} angles")
    cos, sin = (b.gather(cache, positions, 0) for cache in caches)
    cos, sin = (b.reshape(one, [*positions.shape, 1, half]) for one in (cos, sin))
    step = 2 if interleaved else 1
    starts = (0, 1) if interleaved else (0, half)
    sizes = [*x.shape[:3], half]
    first, second = (b.slice(x, [0, 0, 0, start], sizes, [1, 1, 1, step]) for start in starts)
    turned = [
        b.sub(b.mul(first, cos), b.mul(second, sin)),
        b.add(b.mul(second, cos), b.mul(first, sin)),
    ]
    if interleaved:
        joined = b.concat([b.reshape(one, [*sizes, 1]) for one in turned], 4)
        parts = [b.reshape(joined, [*x.shape[:3], 2 * half])]
    else:
        parts = turned
    rest = x.shape[3] - 2 * half
    return b.concat([*parts, b.slice_axis(x, 3, 2 * half, rest)] if rest else parts, 3)

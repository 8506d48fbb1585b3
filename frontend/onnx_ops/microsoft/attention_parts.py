"""
Building blocks of attention operators: heads, products, masks. Letters in shapes: B batch, S queries, T keys, N heads,
H elements of a head, P earlier positions.
"""

from __future__ import annotations

import math

import numpy as np

from ... import arrays
from ...builder import Builder
from ...tensors import FLOAT32, NodeError, Tensor, known
from ..activation import softmax

LOWEST = float(np.finfo(np.float32).min)
"""Added to the score of a masked key; twice this value is still finite."""


def split_heads(b: Builder, x: Tensor, heads: int) -> Tensor:
    """[B, S, N H] as [B, N, S, H]. Raises NodeError where there are not as many heads."""
    if x.rank != 3 or heads < 1 or x.shape[2] % heads:
        raise NodeError(f"a tensor of shape {list(x.shape)} cannot be divided into {heads} heads")
    apart = b.reshape(x, [*x.shape[:2], heads, x.shape[2] // heads])
    return b.transpose(apart, [0, 2, 1, 3])


def join_heads(b: Builder, x: Tensor) -> Tensor:
    """[B, N, S, H] as [B, S, N H]."""
    batch, heads, length, size = x.shape
    return b.reshape(b.transpose(x, [0, 2, 1, 3]), [batch, length, heads * size])


def scores(b: Builder, query: Tensor, key: Tensor, scale: float) -> Tensor:
    """scale Q K' [B, N, S, T]; a scale of 0 means 1 / sqrt(H)."""
    if query.shape[-1] != key.shape[-1]:
        raise NodeError(f"heads of queries have {query.shape[-1]} elements, those of keys {key.shape[-1]}")
    return b.matmul(b.mul(query, scale or 1 / math.sqrt(query.shape[-1])), key, transpose_b=True)


def attend(b: Builder, logits: Tensor, value: Tensor) -> Tensor:
    """The sums of the values [B, N, T, H], weighted by the softmax of the scores, [B, N, S, H]."""
    return b.matmul(softmax(b, logits, [logits.rank - 1]), value)


def with_past(b: Builder, past: Tensor | None, new: Tensor) -> Tensor:
    """The keys or values of cached and new positions, [B, N, P + S, H]."""
    return new if past is None else b.concat([past, new], 2)


def causal_mask(queries: int, keys: int, past: int) -> Tensor:
    """The mask [S, T]: `LOWEST` if the key comes after the query, else 0. The first query is at the position `past`."""
    return known(np.triu(arrays.full((queries, keys), LOWEST, np.float32), past + 1))


def padding_mask(b: Builder, mask: Tensor, batch: int, keys: int, hidden: float) -> Tensor:
    """
    The mask that is added to the scores, shaped to broadcast over [B, N, S, T]: `hidden` for padding keys, else 0.

    The shape of `mask` tells its meaning: [B, T] or [B, S, T]: 0 for padding; [B]: the ends of the keys; [2 B]: the
    ends, then the starts. Raises NodeError for other shapes.
    """
    if mask.rank in (2, 3) and mask.shape[0] in (1, batch) and mask.shape[-1] == keys:
        shown = b.compare("gt", mask, 0)
        shown = b.reshape(shown, [mask.shape[0], 1, 1 if mask.rank == 2 else mask.shape[1], keys])
    elif mask.rank == 1 and mask.size in (batch, 2 * batch):
        positions = known(np.asarray(arrays.arange(keys), mask.dtype).reshape(1, 1, 1, keys))
        bounds = b.reshape(mask, [mask.size // batch, batch, 1, 1, 1])
        shown = b.compare("lt", positions, b.reshape(b.slice_axis(bounds, 0, 0, 1), [batch, 1, 1, 1]))
        if mask.size == 2 * batch:
            starts = b.reshape(b.slice_axis(bounds, 0, 1, 1), [batch, 1, 1, 1])
            shown = b.binary("and", shown, b.compare("ge", positions, starts))
    else:
        raise NodeError(f"a mask of shape {list(mask.shape)} is not supported for {batch} x {keys} keys")
    return b.select(shown, b.full((), 0.0, FLOAT32), hidden)

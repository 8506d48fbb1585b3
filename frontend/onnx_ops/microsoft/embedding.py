"""Normalised embeddings of words, positions and segments."""

from __future__ import annotations

from collections.abc import Sequence

from ... import arrays
from ...node import Node
from ...tensors import NodeError, Tensor, known
from ...wide import in_f32
from ..integer_products import INT32
from ..normalisation import normalise
from . import microsoft_op


@microsoft_op("EmbedLayerNormalization")
@in_f32
def embed_layer_normalisation(node: Node) -> Sequence[Tensor]:
    """Layer normalisation of the sum of embeddings; the number of words that each mask keeps; the sum."""
    b, words, segments = node.build, node[0], node.get(1)
    if words.rank != 2:
        raise NodeError(f"words of shape {list(words.shape)} are not supported, expected two dimensions")
    batch, length = words.shape
    positions = node.get(8)
    if positions is None:
        positions = known(arrays.arange(length).reshape(1, length))
    total = b.add(b.gather(node[2], words, 0), b.gather(node[3], positions, 0))
    if segments is not None:
        total = b.add(total, b.gather(node[4], segments, 0))
    normal, _, _ = normalise(b, total, [2], node.float("epsilon", 1e-12))
    result = b.add(b.mul(normal, node[5]), node[6])
    mask = node.get(7)
    if mask is None:
        shown = b.full((batch,), 0, INT32)
    else:
        shown = b.reduce("sum", b.cast(b.compare("eq", mask, 1), INT32), [1], keepdims=False)
    return [result, shown, total]

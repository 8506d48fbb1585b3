"""Attention with as many heads of keys as of queries, optionally with keys and values of earlier positions."""

from __future__ import annotations

from collections.abc import Sequence

from ...builder import Builder
from ...node import Node
from ...tensors import NodeError, Tensor
from ...wide import in_f32
from ..linear import matmul
from . import microsoft_op
from .attention_parts import attend, causal_mask, join_heads, padding_mask, scores, split_heads, with_past


@microsoft_op("Attention")
@in_f32
def attention(node: Node) -> Sequence[Tensor]:
    """Self-attention: projection to queries, keys and values, then scaled dot-product attention."""
    for name in ("do_rotary", "past_present_share_buffer"):
        if node.int(name, 0):
            raise NodeError(f"{name} = 1 is not supported")
    b, x, weights, bias = node.build, node[0], node[1], node.get(2)
    projected = matmul(b, x, weights)
    if bias is not None:
        projected = b.add(projected, bias)
    width = projected.shape[2]
    sizes = node.ints("qkv_hidden_sizes", [width // 3] * 3)
    if len(sizes) != 3 or sum(sizes) != width:
        raise NodeError(f"qkv_hidden_sizes {sizes} do not fit weights {list(weights.shape)}")
    heads = node.int("num_heads")
    starts = (0, sizes[0], sizes[0] + sizes[1])
    parts = [b.slice_axis(projected, 2, start, size) for start, size in zip(starts, sizes, strict=True)]
    query, key, value = (split_heads(b, part, heads) for part in parts)
    state, past = node.get(4), 0
    if state is not None:
        key, value = (with_past(b, _state(b, state, at), new) for at, new in enumerate((key, value)))
        past = state.shape[3]
    result, _ = _attended(node, query, key, value, past, (node.get(3), node.get(5)))
    if not node.wants(1):
        return [result]
    return [result, b.concat([b.reshape(one, [1, *one.shape]) for one in (key, value)], 0)]


def _state(b: Builder, past: Tensor, index: int) -> Tensor:
    """The keys (index 0) or values (index 1) of `past` [2, B, N, P, H]."""
    return b.reshape(b.slice_axis(past, 0, index, 1), past.shape[1:])


@microsoft_op("MultiHeadAttention")
@in_f32
def multi_head_attention(node: Node) -> Sequence[Tensor]:
    """Scaled dot-product attention of given queries, keys and values."""
    for index, name in ((8, "past_sequence_length"), (9, "cache_indirection")):
        if node.get(index) is not None:
            raise NodeError(f"operand {index}, {name} of a buffer that past and present share, is not supported")
    b, bias, heads = node.build, node.get(3), node.int("num_heads")
    query, key, value = _operands(node, heads)
    if bias is not None:
        start, biased = 0, list[Tensor]()
        for part in (query, key, value):
            size = heads * part.shape[3]
            bias_part = b.reshape(b.slice_axis(bias, 0, start, size), [1, heads, 1, part.shape[3]])
            biased.append(b.add(part, bias_part))
            start += size
        query, key, value = biased
    new = key.shape[2]
    key, value = with_past(b, node.get(6), key), with_past(b, node.get(7), value)
    result, logits = _attended(node, query, key, value, key.shape[2] - new, (node.get(4), node.get(5)))
    return [result, key, value, logits]


def _operands(node: Node, heads: int) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values, packed or not, as [B, N, S, H]."""
    b, query, key, value = node.build, node[0], node.get(1), node.get(2)
    if query.rank == 5:
        query, key, value = (_packed(b, query, index) for index in range(3))
        return query, key, value
    query = split_heads(b, query, heads)
    if key is None:
        raise NodeError("keys are missing, and queries do not contain packed keys and values")
    if key.rank == 5:
        return query, _packed(b, key, 0), _packed(b, key, 1)
    if value is None:
        raise NodeError("the values are missing")
    key, value = (one if one.rank == 4 else split_heads(b, one, heads) for one in (key, value))
    return query, key, value


def _packed(b: Builder, x: Tensor, index: int) -> Tensor:
    """Queries, keys or values [B, N, S, H] from packed x [B, S, N, 2 or 3, H]."""
    batch, length, heads, _, size = x.shape
    return b.transpose(b.reshape(b.slice_axis(x, 3, index, 1), [batch, length, heads, size]), [0, 2, 1, 3])


def _attended(
    node: Node, query: Tensor, key: Tensor, value: Tensor, past: int, added: tuple[Tensor | None, Tensor | None]
) -> tuple[Tensor, Tensor]:
    """
    The result [B, S, N H], and the scores after all additions.

    The first `past` keys belong to earlier positions. `added`: a padding mask, and a bias, both added to the scores.
    """
    b, hidden = node.build, node.float("mask_filter_value", -10000.0)
    mask, bias = added
    batch, _, queries, _ = query.shape
    keys = key.shape[2]
    logits = scores(b, query, key, node.float("scale", 0.0))
    if bias is not None:
        logits = b.add(logits, bias)
    if mask is not None:
        logits = b.add(logits, padding_mask(b, mask, batch, keys, hidden))
    if node.int("unidirectional", 0) and queries > 1:
        logits = b.add(logits, causal_mask(queries, keys, past))
    return join_heads(b, attend(b, logits, value)), logits

"""Attention in which several heads of queries share one head of keys and values, with a cache of keys and values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ... import arrays
from ...builder import Builder
from ...node import Node
from ...tensors import INT64, NodeError, Tensor, known
from ...wide import in_f32
from . import microsoft_op
from .attention_parts import LOWEST, join_heads, scores
from .rotary import rotated

_QUANTISED = "a quantised cache is not supported"
_REFUSED = {
    12: _QUANTISED,
    13: _QUANTISED,
    14: "a normalisation of queries and keys is not supported: normalise them before the operator",
    15: "a normalisation of queries and keys is not supported: normalise them before the operator",
}


@dataclass(frozen=True)
class _Rows:
    """Positions and numbers of the S new tokens of each batch element: int64 [B, 1]."""

    past: Tensor
    """Number of tokens before the new ones."""
    new: Tensor
    """Number of new rows that are stored in the cache."""
    all: Tensor
    """Number of tokens that the queries attend to."""


@microsoft_op("GroupQueryAttention")
@in_f32
def group_query_attention(node: Node) -> Sequence[Tensor | None]:
    """Causal attention with one head of keys and values per group of query heads; keys and values are cached."""
    for index, reason in _REFUSED.items():
        if node.get(index) is not None:
            raise NodeError(reason)
    if node.int("sliding_window_cache", 0):
        raise NodeError("sliding_window_cache = 1 is not supported: give a cache of the whole length")
    b, heads, groups = node.build, node.int("num_heads"), node.int("kv_num_heads")
    if groups < 1 or heads % groups:
        raise NodeError(f"{heads} heads of queries cannot share {groups} of keys")
    query, key, value = _operands(node, heads, groups)
    batch, length = query.shape[:2]
    total = int(node.known(6, "total_sequence_length").reshape(-1)[0])
    rows = _rows(node, batch, length, total)
    if node.int("do_rotary", 0):
        positions = _positions(node, rows, length)
        interleaved = bool(node.int("rotary_interleaved", 0))
        query, key = (rotated(b, one, (node[7], node[8]), positions, interleaved) for one in (query, key))
    caches = [_cached(b, node.get(at), one, rows, total) for at, one in ((3, key), (4, value))]
    result, shown = _attended(node, query, (caches[0], caches[1]), rows, total)
    return [result, *caches, shown]


def _operands(node: Node, heads: int, groups: int) -> tuple[Tensor, Tensor, Tensor]:
    """Queries [B, S, N, H], keys and values [B, S, groups, H]."""
    b, query, key, value = node.build, node[0], node.get(1), node.get(2)
    if query.rank != 3:
        raise NodeError(f"queries of shape {list(query.shape)} are not supported, expected three dimensions")
    if key is None or value is None:
        size = query.shape[2] // (heads + 2 * groups)
        widths = [heads * size, groups * size, groups * size]
        if sum(widths) != query.shape[2]:
            raise NodeError(f"{query.shape[2]} elements cannot be divided into {heads} + 2 x {groups} heads")
        starts = (0, widths[0], widths[0] + widths[1])
        query, key, value = (b.slice_axis(query, 2, at, width) for at, width in zip(starts, widths, strict=True))
    query, key, value = (
        b.reshape(one, [*one.shape[:2], count, one.shape[2] // count])
        for one, count in ((query, heads), (key, groups), (value, groups))
    )
    return query, key, value


def _rows(node: Node, batch: int, length: int, total: int) -> _Rows:
    """The places of the new tokens, from the number of all tokens and, if it is given, the number of new tokens."""
    b = node.build
    after = b.add(b.reshape(b.cast(node[5], INT64), [batch, 1]), 1)
    given = node.get(16)
    if given is not None:
        new = b.reshape(b.cast(given, INT64), [batch, 1])
        return _Rows(b.sub(after, new), new, after)
    if length == total:  # the first tokens: none precedes them, and padding is cached, too
        return _Rows(b.full((batch, 1), 0, INT64), b.full((batch, 1), length, INT64), after)
    new = b.minimum(after, length)
    return _Rows(b.sub(after, new), new, after)


def _positions(node: Node, rows: _Rows, length: int) -> Tensor:
    """Positions of the tokens, [B, S]: as given, or following those of the cache."""
    b, given = node.build, node.get(9)
    if given is not None:
        return b.reshape(given, [given.size // length, length])
    return b.add(rows.past, known(arrays.arange(length).reshape(1, length)))


def _cached(b: Builder, past: Tensor | None, new: Tensor, rows: _Rows, total: int) -> Tensor:
    """The cache [B, N, C, H] with the new tokens [B, S, N, H] after those that it holds; unused positions are 0."""
    batch, length, heads, size = new.shape
    held = 0 if past is None else past.shape[2]
    room = max(held, total)
    positions = known(arrays.arange(room).reshape(1, room))
    offsets = b.sub(positions, rows.past)
    fresh = b.binary("and", b.compare("ge", offsets, 0), b.compare("lt", offsets, rows.new))
    first = known(arrays.arange(batch).reshape(batch, 1) * length)
    index = b.add(b.minimum(b.maximum(offsets, 0), length - 1), first)
    picked = b.gather(b.reshape(new, [batch * length, heads * size]), b.reshape(index, [batch * room]), 0)
    picked = b.transpose(b.reshape(picked, [batch, room, heads, size]), [0, 2, 1, 3])
    shape = [batch, 1, room, 1]
    if past is None:
        return b.select(b.reshape(fresh, shape), picked, 0)
    older = b.pad(past, [0] * 4, [0, 0, room - held, 0])
    older = b.select(b.reshape(b.compare("lt", positions, rows.past), shape), older, 0)
    return b.select(b.reshape(fresh, shape), picked, older)


def _attended(
    node: Node, query: Tensor, caches: tuple[Tensor, Tensor], rows: _Rows, total: int
) -> tuple[Tensor, Tensor | None]:
    """The result [B, S, N H], and, if the node has them as output, the scores before or after softmax."""
    b, (key, value) = node.build, caches
    batch, length, heads, size = query.shape
    groups, room = key.shape[1:3]
    # The heads of a group are rows of one matrix, multiplied with their common keys.
    packed = b.reshape(b.transpose(query, [0, 2, 1, 3]), [batch, groups, heads // groups * length, size])
    logits = b.reshape(scores(b, packed, key, node.float("scale", 0.0)), [batch, heads, length, room])
    if cap := node.float("softcap", 0.0):
        logits = b.mul(b.unary("tanh", b.mul(logits, 1 / cap)), cap)
    if (bias := node.get(10)) is not None:
        logits = b.add(logits, b.pad(bias, [0] * 4, [0, 0, 0, room - bias.shape[3]]))
    visible = _visible(node, rows, length, room)
    weights = _softmax(node, b.select(visible, logits, LOWEST))
    mixed = b.matmul(b.reshape(weights, (*packed.shape[:-1], room)), value)
    result = join_heads(b, b.reshape(mixed, [batch, heads, length, value.shape[3]]))
    if not (kind := node.int("qk_output", 0)):
        return result, None
    shown = weights if kind == 2 else b.select(visible, logits, 0)
    return result, b.slice_axis(shown, 3, 0, total)


def _visible(node: Node, rows: _Rows, length: int, room: int) -> Tensor:
    """Which keys each query attends to, [B, 1, S, C]."""
    b, window = node.build, node.int("local_window_size", -1)
    batch = rows.past.shape[0]
    at = b.reshape(rows.past, [batch, 1, 1, 1])
    positions = known(arrays.arange(room).reshape(1, 1, 1, room))
    if not node.int("causal", 1):
        return b.compare("lt", positions, b.reshape(rows.all, [batch, 1, 1, 1]))
    own = b.add(at, known(arrays.arange(length).reshape(1, 1, length, 1)))
    shown = b.compare("le", positions, own)
    if window <= 0:
        return shown
    return b.binary("and", shown, b.compare("gt", positions, b.sub(own, window)))


def _softmax(node: Node, logits: Tensor) -> Tensor:
    """
    Softmax over the keys. The sink of each head, or with `smooth_softmax` a sink of score 0, is added to the sum in the
    denominator only.
    """
    b, sink = node.build, node.get(11)
    axis = [logits.rank - 1]
    if sink is not None:
        sink = b.reshape(sink, [1, sink.size, 1, 1])
    elif node.int("smooth_softmax", -1) == 1:
        sink = b.full((1, 1, 1, 1), 0.0, logits.dtype)
    top = b.reduce("max", logits, axis)
    top = top if sink is None else b.maximum(top, sink)
    powers = b.unary("exp", b.sub(logits, top))
    total = b.reduce("sum", powers, axis)
    if sink is not None:
        total = b.add(total, b.unary("exp", b.sub(sink, top)))
    return b.mul(powers, b.unary("reciprocal", total))

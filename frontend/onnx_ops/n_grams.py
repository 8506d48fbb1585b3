"""Counts of n-grams in sequences."""

from __future__ import annotations

import itertools

import numpy as np

from .. import arrays
from ..builder import Builder
from ..node import Node
from ..registry import onnx_op
from ..strings import encode
from ..tensors import FLOAT32, Array, NodeError, Tensor, known


@onnx_op("TfIdfVectorizer", since=9)
def tf_idf_vectorizer(node: Node) -> Tensor:
    """Weighted counts of a pool's n-grams in each row; the elements of an n-gram are adjacent or evenly spaced."""
    b, x, mode = node.build, node[0], node.str("mode")
    if x.rank not in (1, 2) or mode not in ("TF", "IDF", "TFIDF"):
        raise NodeError(f"mode {mode!r} for {x.rank} dimensions is not supported")
    rows = b.reshape(x, [1, x.size]) if x.rank == 1 else x
    columns = node.ints("ngram_indexes")
    width = max(columns) + 1
    result = b.full((rows.shape[0], width), 0, FLOAT32)
    for first, grams in _levels(node):
        counts = _counts(node, b, rows, grams)
        if counts is not None:
            chosen = arrays.full((len(grams), width), 0, np.float32)
            chosen[arrays.arange(len(grams)), columns[first : first + len(grams)]] = 1
            result = b.add(result, b.matmul(counts, known(chosen)))
    # A weight belongs to an n-gram of the pool, and is stored at the column of the n-gram.
    by_column = arrays.full(width, 1, np.float32)
    given = node.floats("weights", [])
    by_column[columns[: len(given)]] = given[: len(columns)]
    weights = known(by_column)
    if mode == "IDF":
        result = b.select(b.compare("gt", result, 0), weights, 0)
    elif mode == "TFIDF":
        result = b.mul(result, weights)
    return b.reshape(result, [*x.shape[:-1], width])


def _levels(node: Node) -> list[tuple[int, Array]]:
    """For each length that is counted, the number of the first n-gram, and the n-grams [G, length]."""
    strings = node.strs("pool_strings", [])
    pool = encode(strings) if strings else np.asarray(node.ints("pool_int64s", []), np.int64)
    starts = [*node.ints("ngram_counts"), len(pool)]
    least, most = node.int("min_gram_length"), node.int("max_gram_length")
    levels: list[tuple[int, Array]] = []
    number = 0
    for length, (start, end) in enumerate(itertools.pairwise(starts), 1):
        grams = pool[start:end].reshape(-1, length)
        if least <= length <= most and len(grams):
            levels.append((number, grams))
        number += len(grams)
    return levels


def _counts(node: Node, b: Builder, rows: Tensor, grams: Array) -> Tensor | None:
    """The number of occurrences of each n-gram in each row, f32 [B, G]; None if the rows are shorter than an n-gram."""
    batch, size = rows.shape
    total: Tensor | None = None
    length = grams.shape[1]
    for step in range(1, 2 if length == 1 else node.int("max_skip_count") + 2):
        positions = size - (length - 1) * step
        if positions < 1:
            break
        met: Tensor | None = None
        for at in range(length):
            seen = b.reshape(b.slice_axis(rows, 1, at * step, positions), [batch, 1, positions])
            wanted = known(np.ascontiguousarray(grams[:, at]).reshape(1, -1, 1))
            one = b.compare("eq", seen, wanted if grams.dtype.kind == "S" else b.cast(wanted, rows.dtype))
            met = one if met is None else b.binary("and", met, one)
        assert met is not None
        count = b.reduce("sum", b.cast(met, FLOAT32), [2], keepdims=False)
        total = count if total is None else b.add(total, count)
    return total

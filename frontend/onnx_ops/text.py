"""Operators on strings that must be known at import: chips can only move and compare strings."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from ..node import Node
from ..registry import onnx_op
from ..strings import bytes_of, decode, encode
from ..tensors import Array, NodeError, Tensor, broadcast, is_string, known


def _text(node: Node, index: int) -> Array:
    """The strings of an operand, dtype object."""
    tensor = node[index]
    if not is_string(tensor.dtype):
        raise NodeError(f"operand {index} has elements of type {tensor.dtype}, expected strings")
    return decode(bytes_of(node.constant(tensor, "strings that are changed")))


@onnx_op("StringNormalizer", since=10)
def string_normalizer(node: Node) -> Tensor:
    """Strings without stop words, in upper or lower case; known at import."""
    text, action = _text(node, 0), node.str("case_change_action", "NONE")
    if text.ndim > 2 or (text.ndim == 2 and text.shape[0] != 1):
        raise NodeError(f"strings of shape {list(text.shape)} are not supported, expected [C] or [1, C]")
    change = {"NONE": str, "LOWER": str.lower, "UPPER": str.upper}.get(action)
    if change is None:
        raise NodeError(f"case_change_action {action!r} is not one of NONE, LOWER, UPPER")
    alike = str if node.int("is_case_sensitive", 0) else str.lower
    stops = {alike(word) for word in node.strs("stopwords", [])}
    kept = [change(one) for one in text.reshape(-1) if alike(one) not in stops] or [""]
    return known(encode(kept).reshape([1] * (text.ndim - 1) + [len(kept)]))


@onnx_op("StringConcat", since=20)
def string_concat(node: Node) -> Tensor:
    """Concatenation of strings, element by element; known at import."""
    x, y = _text(node, 0), _text(node, 1)
    shape = broadcast(x.shape, y.shape)
    pairs = zip(np.broadcast_to(x, shape).reshape(-1), np.broadcast_to(y, shape).reshape(-1), strict=True)
    return known(encode([a + b for a, b in pairs]).reshape(shape))


@onnx_op("StringSplit", since=20)
def string_split(node: Node) -> Sequence[Tensor]:
    """The parts of strings between delimiters along a new axis, and the number of parts; known at import."""
    text = _text(node, 0)
    delimiter = node.str("delimiter", "") or None
    most = node.int("maxsplit") if node.has("maxsplit") else -1
    # An empty string has no parts.
    parts: list[list[str]] = [one.split(delimiter, most) if one else [] for one in text.reshape(-1)]
    width = max(map(len, parts), default=0)
    padded = encode([[*one, *[""] * (width - len(one))] for one in parts]).reshape(*text.shape, width)
    return [known(padded), known(np.asarray([len(one) for one in parts], np.int64).reshape(text.shape))]


@onnx_op("RegexFullMatch", since=20)
def regex_full_match(node: Node) -> Tensor:
    """Whether strings match a regular expression as a whole; known at import."""
    text = _text(node, 0)
    try:
        pattern = re.compile(node.str("pattern"))
    except re.error as error:
        raise NodeError(f"the pattern is not a regular expression: {error}") from error
    matches = [pattern.fullmatch(one) is not None for one in text.reshape(-1)]
    return known(np.asarray(matches, np.bool_).reshape(text.shape))

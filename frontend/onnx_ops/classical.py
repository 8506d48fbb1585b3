"""Operators of the domain `ai.onnx.ml` for pre- and postprocessing."""

from __future__ import annotations

import numpy as np

from ..node import Node
from ..registry import onnx_op
from ..strings import encode
from ..tensors import Array, NodeError, Tensor, known

DOMAIN = "ai.onnx.ml"


@onnx_op("Binarizer", domain=DOMAIN)
def binarizer(node: Node) -> Tensor:
    """1 where x is larger than a threshold, else 0."""
    b, x = node.build, node[0]
    return b.cast(b.compare("gt", x, node.float("threshold", 0.0)), x.dtype)


@onnx_op("ArrayFeatureExtractor", domain=DOMAIN)
def array_feature_extractor(node: Node) -> Tensor:
    """The elements at given indices along the last axis."""
    b, x, index = node.build, node[0], node[1]
    picked = b.gather(x, b.reshape(index, [index.size]), x.rank - 1)
    return b.reshape(picked, [1, index.size]) if x.rank == 1 else picked


@onnx_op("LabelEncoder", since=2, domain=DOMAIN)
def label_encoder(node: Node) -> Tensor:
    """The value that belongs to each key, or a default; keys and values are numbers or strings."""
    b, x = node.build, node[0]
    keys, values = _table(node, "keys"), _table(node, "values")
    if keys.shape != values.shape:
        raise NodeError(f"{keys.size} keys do not fit {values.size} values")
    met = b.compare("eq", b.reshape(x, [*x.shape, 1]), known(keys if keys.dtype.kind == "S" else keys.astype(x.dtype)))
    hits = b.cast(met, np.dtype(np.int32))
    found = b.reshape(b.arg_reduce("max", hits, x.rank), x.shape)
    result = b.gather(known(values), found, 0)
    there = b.compare("gt", b.reduce("max", hits, [x.rank], keepdims=False), 0)
    return b.select(there, result, b.broadcast(known(_default(node, values)), x.shape))


def _table(node: Node, name: str) -> Array:
    if node.has(f"{name}_tensor"):
        return node.tensor(f"{name}_tensor").reshape(-1)
    if node.has(f"{name}_strings"):
        return encode(node.strs(f"{name}_strings", []))
    if node.has(f"{name}_floats"):
        return np.asarray(node.floats(f"{name}_floats"), np.float32)
    return np.asarray(node.ints(f"{name}_int64s"), np.int64)


def _default(node: Node, values: Array) -> Array:
    if node.has("default_tensor"):
        return node.tensor("default_tensor").reshape(-1)
    if values.dtype.kind == "S":
        return encode([node.str("default_string", "_Unused")])
    if values.dtype.kind == "f":
        return np.asarray([node.float("default_float", -0.0)], values.dtype)
    return np.asarray([node.int("default_int64", -1)], values.dtype)

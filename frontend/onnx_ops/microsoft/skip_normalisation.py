"""Layer and root-mean-square normalisation of sums."""

from __future__ import annotations

from collections.abc import Sequence

from ...node import Node, numpy_dtype
from ...registry import onnx_op
from ...tensors import FLOAT32, Tensor
from ..normalisation import mean, normalise
from . import microsoft_op

EPSILON = 1e-12
"""The default value of the attribute `epsilon` in `com.microsoft`."""


@microsoft_op("SkipLayerNormalization")
def skip_layer_normalisation(node: Node) -> Sequence[Tensor]:
    """Layer normalisation of input + skip (+ bias) over the last axis; the last output is that sum."""
    b, bias = node.build, node.get(3)
    total = _sum(node, 4)
    normal, average, factor = normalise(b, total, [total.rank - 1], node.float("epsilon", EPSILON))
    result = b.mul(normal, b.cast(node[2], total.dtype))
    if bias is not None:
        result = b.add(result, b.cast(bias, total.dtype))
    dtype = node[0].dtype
    return [b.cast(result, dtype), b.cast(average, FLOAT32), b.cast(factor, FLOAT32), b.cast(total, dtype)]


@microsoft_op("SkipSimplifiedLayerNormalization")
def skip_rms_normalisation(node: Node) -> Sequence[Tensor | None]:
    """RMSNormalization of input + skip (+ bias) over the last axis; the last output is that sum."""
    b, total = node.build, _sum(node, 3)
    factor = _inverse_root(node, total, [total.rank - 1], node.float("epsilon", EPSILON))
    result = b.mul(b.mul(total, factor), b.cast(node[2], total.dtype))
    dtype = node[0].dtype
    return [b.cast(result, dtype), None, b.cast(factor, FLOAT32), b.cast(total, dtype)]


def _sum(node: Node, bias: int) -> Tensor:
    """The sum of input, skip and bias, in f32 at least; a skip without a batch dimension, or of batch 1, broadcasts."""
    b, x = node.build, node[0]
    wide = b.cast(x, FLOAT32) if x.dtype.itemsize < 4 else x
    total = b.add(wide, b.cast(node[1], wide.dtype))
    added = node.get(bias)
    return total if added is None else b.add(total, b.cast(added, wide.dtype))


def _inverse_root(node: Node, x: Tensor, axes: list[int], epsilon: float) -> Tensor:
    b = node.build
    return b.unary("rsqrt", b.add(mean(b, b.mul(x, x), axes), epsilon))


@onnx_op("SimplifiedLayerNormalization")
def simplified_layer_normalisation(node: Node) -> Sequence[Tensor]:
    """RMSNormalization under ONNX Runtime's name, with the inverse root mean square as second output."""
    b, x, scale = node.build, node[0], node[1]
    axes = list(range(x.axis(node.int("axis", -1)), x.rank))
    wide = b.cast(x, FLOAT32) if x.dtype.itemsize < 4 else x
    factor = _inverse_root(node, wide, axes, node.float("epsilon", 1e-5))
    result = b.mul(b.mul(wide, factor), b.cast(scale, wide.dtype))
    return [b.cast(result, scale.dtype), b.cast(factor, numpy_dtype(node.int("stash_type", 1)))]

"""
Random numbers. They are drawn at import, from the node's seed or, if it has none, from one that its name determines, so
that an executable gives the same outputs in every run.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence

import numpy as np

from ..arrays import check_size
from ..minimal_standard import MinimalStandard
from ..node import Node, numpy_dtype
from ..registry import onnx_op
from ..tensors import Dtype, NodeError, Tensor, known

FLOAT, INT32 = 1, 6
"""Types of elements in ONNX."""


@onnx_op("RandomUniform", "RandomUniformLike")
def random_uniform(node: Node) -> Tensor:
    """Numbers uniform in [low, high), drawn at import: the same in every run."""
    shape, dtype = _shape(node), _dtype(node)
    count = _count(shape, dtype)
    low, high = np.float32(node.float("low", 0.0)), np.float32(node.float("high", 1.0))
    drawn = _generator(node)
    numbers = drawn.doubles(count) if dtype.itemsize == 8 else drawn.floats(count)
    scaled = numbers * (high - low).astype(numbers.dtype) + low.astype(numbers.dtype)
    return known(scaled.astype(dtype).reshape(shape))


@onnx_op("RandomNormal", "RandomNormalLike")
def random_normal(node: Node) -> Tensor:
    """Numbers of a normal distribution, drawn at import: the same in every run."""
    shape, dtype = _shape(node), _dtype(node)
    numbers = _generator(node).normals(_count(shape, dtype), double=dtype.itemsize == 8)
    mean, scale = np.float32(node.float("mean", 0.0)), np.float32(node.float("scale", 1.0))
    scaled = numbers * scale.astype(numbers.dtype) + mean.astype(numbers.dtype)
    return known(scaled.astype(dtype).reshape(shape))


@onnx_op("Bernoulli", since=15)
def bernoulli(node: Node) -> Tensor:
    """1 where the operand, a probability, is larger than a number that is uniform in [0, 1) and drawn at import."""
    b, x = node.build, node[0]
    if not x.is_float:
        raise NodeError(f"probabilities are {x.dtype}, expected floats")
    drawn = known(_generator(node).floats(_count(x.shape, np.dtype(np.float32))).reshape(x.shape))
    hit = b.compare("gt", b.cast(x, np.dtype(np.float32)), drawn)
    return b.cast(hit, numpy_dtype(node.int("dtype")) if node.has("dtype") else x.dtype)


@onnx_op("Multinomial", since=7)
def multinomial(node: Node) -> Tensor:
    """Classes, drawn with probabilities in proportion to exp(operand) by numbers that are drawn at import."""
    b, x, samples = node.build, node[0], node.int("sample_size", 1)
    if x.rank != 2 or not x.is_float or not x.shape[1]:
        raise NodeError(f"{x.dtype} of shape {list(x.shape)}: expected floats [batch, classes]")
    logits = b.cast(x, np.dtype(np.float32))
    weights = b.unary("exp", b.sub(logits, b.reduce("max", logits, [1], keepdims=True)))
    sums = b.cumsum(weights, 1, exclusive=False, reverse=False)
    batch, classes = x.shape
    drawn = _generator(node).doubles(_count((batch, samples), np.dtype(np.float64)))
    reached = b.mul(b.slice_axis(sums, 1, classes - 1, 1), known(drawn.astype(np.float32).reshape(batch, samples)))
    # The class is the number of sums that the drawn share does not stay below.
    passed = b.compare("ge", b.reshape(reached, (batch, samples, 1)), b.reshape(sums, (batch, 1, classes)))
    number = b.reduce("sum", b.cast(passed, np.dtype(np.int32)), [2], keepdims=False)
    number = b.minimum(number, known(np.int32(classes - 1)))
    return b.cast(number, numpy_dtype(node.int("dtype", INT32)))


def _shape(node: Node) -> Sequence[int]:
    """The shape of the numbers: that of the operand, or the attribute of operators without one."""
    return node[0].shape if node.inputs else node.ints("shape")


def _dtype(node: Node) -> Dtype:
    """The type of the numbers, by default that of the operand. Raises NodeError if it is none of floats."""
    like = node.inputs and not node.has("dtype")
    dtype = node[0].dtype if like else numpy_dtype(node.int("dtype", FLOAT))
    if dtype.kind != "f":
        raise NodeError(f"random numbers of type {dtype}: expected float16, float32 or float64")
    return dtype


def _count(shape: Sequence[int], dtype: Dtype) -> int:
    check_size(shape, dtype)
    return math.prod(shape)


def _generator(node: Node) -> MinimalStandard:
    """The generator of a node. Raises NodeError in the body of a loop, whose steps would all get the same numbers."""
    if node.scope.is_nested:
        raise NodeError(
            "random numbers inside a subgraph would be the same in each step of a loop: draw them before the loop"
        )
    if node.has("seed"):
        return MinimalStandard(int(node.float("seed")))
    return MinimalStandard(zlib.crc32(node.proto.output[0].encode()))

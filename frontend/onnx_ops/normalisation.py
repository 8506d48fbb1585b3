"""Normalisations as reductions and elementwise arithmetic."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..builder import Builder
from ..node import Node, numpy_dtype
from ..registry import onnx_op
from ..tensors import FLOAT32, Array, Dtype, NodeError, Tensor, check_size, known
from ..wide import in_f32
from .convolution import scaled


def mean(b: Builder, x: Tensor, axes: Sequence[int]) -> Tensor:
    """Mean over some axes, which are kept with size 1."""
    return b.mul(b.reduce("sum", x, axes), 1 / max(1, math.prod(x.shape[axis] for axis in axes)))


def normalise(b: Builder, x: Tensor, axes: Sequence[int], epsilon: float) -> tuple[Tensor, Tensor, Tensor]:
    """(x - mean) / sqrt(variance + epsilon) over some axes, the mean, and one over the square root."""
    average = mean(b, x, axes)
    centred = b.sub(x, average)
    factor = b.unary("rsqrt", b.add(mean(b, b.mul(centred, centred), axes), epsilon))
    return b.mul(centred, factor), average, factor


def per_channel(b: Builder, x: Tensor, rank: int) -> Tensor:
    """A vector over channels, shaped to broadcast over [N, C, S...] of this rank."""
    return b.reshape(x, [1, x.size, *[1] * (rank - 2)])


@onnx_op("BatchNormalization")
def batch_normalisation(node: Node) -> Tensor | Sequence[Tensor]:
    """
    Inference: a scale and shift of each channel, which are folded into a convolution before it. Training (from opset 14
    on): normalisation by the batch's statistics; the running mean and variance are outputs.
    """
    b, x = node.build, node[0]
    epsilon = node.float("epsilon", 1e-5)
    if node.opset >= 14 and node.int("training_mode", 0):
        return _train(node, epsilon)
    if node.opset < 7 and not node.int("is_test", 0) and node.output_count > 1:
        raise NodeError("training mode of this opset is not supported")
    scale, shift, average, variance = (node[index] for index in range(1, 5))
    wide = np.result_type(np.float32, x.dtype) if x.dtype.itemsize >= 4 else FLOAT32
    scale, shift, average, variance = (b.cast(one, wide) for one in (scale, shift, average, variance))
    if not node.int("spatial", 1):
        scale, shift, average, variance = (
            b.reshape(one, [1, *x.shape[1:]]) for one in (scale, shift, average, variance)
        )
    factor = b.mul(scale, b.unary("rsqrt", b.add(variance, epsilon)))
    offset = b.sub(shift, b.mul(average, factor))
    once = node.scope.uses.get(node.proto.input[0], 0) == 1
    if once and x.convolution is not None and factor.array is not None and offset.array is not None:
        folded = scaled(b, x.convolution, factor.array.reshape(-1), offset.array.reshape(-1), node.proto.output[0])
        if folded is not None:
            return folded
    if factor.rank == 1:
        factor, offset = per_channel(b, factor, x.rank), per_channel(b, offset, x.rank)
    return b.cast(b.add(b.mul(b.cast(x, wide), factor), offset), x.dtype)


def _train(node: Node, epsilon: float) -> Sequence[Tensor]:
    b, x = node.build, node[0]
    axes = [0, *range(2, x.rank)]
    normal, average, _ = normalise(b, x, axes, epsilon)
    variance = mean(b, b.mul(b.sub(x, average), b.sub(x, average)), axes)
    momentum = node.float("momentum", 0.9)
    result = b.add(b.mul(normal, per_channel(b, node[1], x.rank)), per_channel(b, node[2], x.rank))
    running = [
        b.add(b.mul(old, momentum), b.mul(b.reshape(new, old.shape), 1 - momentum))
        for old, new in ((node[3], average), (node[4], variance))
    ]
    return [result, *running]


@onnx_op("LayerNormalization")
def layer_normalisation(node: Node) -> Sequence[Tensor]:
    """Normalisation over the last axes; statistics are computed in f32 at least, and are outputs of `stash_type`."""
    b, x = node.build, node[0]
    axes = list(range(x.axis(node.int("axis", -1)), x.rank))
    wide = b.cast(x, FLOAT32) if x.dtype.itemsize < 4 else x
    normal, average, factor = normalise(b, wide, axes, node.float("epsilon", 1e-5))
    result = b.mul(b.cast(normal, x.dtype), node[1])
    bias, shown = node.get(2), numpy_dtype(node.int("stash_type", 1))
    return [result if bias is None else b.add(result, bias), b.cast(average, shown), b.cast(factor, shown)]


@onnx_op("RMSNormalization")
def rms_normalisation(node: Node) -> Tensor:
    """x / sqrt(mean(x^2) + epsilon) times a scale, over the last axes."""
    b, x = node.build, node[0]
    axes = list(range(x.axis(node.int("axis", -1)), x.rank))
    wide = b.cast(x, FLOAT32) if x.dtype.itemsize < 4 else x
    factor = b.unary("rsqrt", b.add(mean(b, b.mul(wide, wide), axes), node.float("epsilon", 1e-5)))
    return b.mul(b.cast(b.mul(wide, factor), x.dtype), node[1])


@onnx_op("InstanceNormalization")
@in_f32
def instance_normalisation(node: Node) -> Tensor:
    """Normalisation of each channel of each image over the spatial dimensions."""
    b, x = node.build, node[0]
    normal, _, _ = normalise(b, x, list(range(2, x.rank)), node.float("epsilon", 1e-5))
    return b.add(b.mul(normal, per_channel(b, node[1], x.rank)), per_channel(b, node[2], x.rank))


@onnx_op("GroupNormalization", since=18)
def group_normalisation(node: Node) -> Tensor:
    """Normalisation over groups of channels; scale and bias per group before opset 21, then per channel."""
    b, x, groups = node.build, node[0], node.int("num_groups")
    if groups < 1 or x.shape[1] % groups:
        raise NodeError(f"{x.shape[1]} channels cannot be divided into {groups} groups")
    split = b.reshape(x, [x.shape[0], groups, x.shape[1] // groups, *x.shape[2:]])
    wide = b.cast(split, FLOAT32) if x.dtype.itemsize < 4 else split
    normal, _, _ = normalise(b, wide, list(range(2, split.rank)), node.float("epsilon", 1e-5))
    normal = b.cast(normal, x.dtype)
    scale, bias = node[1], node[2]
    if node.opset < 21:
        normal = b.add(b.mul(normal, per_channel(b, scale, split.rank)), per_channel(b, bias, split.rank))
        return b.reshape(normal, x.shape)
    normal = b.reshape(normal, x.shape)
    return b.add(b.mul(normal, per_channel(b, scale, x.rank)), per_channel(b, bias, x.rank))


@onnx_op("LRN")
@in_f32
def local_response_normalisation(node: Node) -> Tensor:
    """x / (bias + alpha / size sum of squares over neighbouring channels)^beta"""
    b, x, size = node.build, node[0], node.int("size")
    ones = [1] * (x.rank - 2)
    zeros = [0] * (x.rank - 2)
    all_ones = [1] * x.rank
    low = (size - 1) // 2
    total = b.reduce_window(
        "sum", b.mul(x, x), [1, size, *ones], all_ones, all_ones, [0, low, *zeros], [0, size - 1 - low, *zeros]
    )
    base = b.add(b.mul(total, node.float("alpha", 1e-4) / size), node.float("bias", 1.0))
    beta = node.float("beta", 0.75)
    if beta == 0.5:
        return b.mul(x, b.unary("rsqrt", base))
    if math.isclose(beta, 0.75):  # x^-3/4 = rsqrt(x) * sqrt(rsqrt(x)): cheaper than a power, and as exact
        root = b.unary("rsqrt", base)
        return b.mul(x, b.mul(root, b.unary("sqrt", root)))
    return b.mul(x, b.binary("pow", base, -beta))


@onnx_op("LpNormalization")
@in_f32
def lp_normalisation(node: Node) -> Tensor:
    """x divided by its norm along one axis."""
    b, x, p = node.build, node[0], node.int("p", 2)
    axis = x.axis(node.int("axis", -1))
    total = b.reduce("sum", b.unary("abs", x) if p == 1 else b.mul(x, x), [axis])
    norm = total if p == 1 else b.unary("sqrt", total)
    # A vector of zeros is unchanged.
    return b.div(x, b.select(b.compare("eq", norm, 0), known(np.ones((), x.dtype)), norm))


@onnx_op("MeanVarianceNormalization")
@in_f32
def mean_variance_normalisation(node: Node) -> Tensor:
    """(x - mean) / (standard deviation + 1e-9) over `axes`."""
    b, x = node.build, node[0]
    axes = [x.axis(axis) for axis in node.ints("axes", [0, 2, 3])]
    centred = b.sub(x, mean(b, x, axes))
    deviation = b.unary("sqrt", mean(b, b.mul(centred, centred), axes))
    return b.div(centred, b.add(deviation, 1e-9))


@onnx_op("Dropout")
def dropout(node: Node) -> Tensor | Sequence[Tensor]:
    """
    Inference: the operand. Training requires a seed; the mask is that of ONNX's reference implementation, the same on
    every run.
    """
    x, b = node[0], node.build
    training = node.get(2) if node.opset >= 12 else None
    given = node.get(1) if node.opset >= 12 else None
    ratio = known(np.float32(0.5)) if given is None else b.reshape(given, ())
    if training is None or _is_zero(training) or _is_zero(ratio):
        if node.wants(1):
            return [x, b.full(x.shape, 1, np.dtype(np.bool_) if node.opset >= 10 else x.dtype)]
        return x
    if not node.has("seed"):
        raise NodeError("dropout in training mode is random: give the node a seed, or leave out its training_mode")
    drawn = known(_uniform(node.int("seed"), x.shape, ratio.dtype))
    mask = b.select(training, b.compare("ge", drawn, ratio), b.full(x.shape, 1, np.dtype(np.bool_)))
    scale = b.select(training, b.div(1.0, b.sub(1.0, ratio)), 1.0)
    y = b.mul(b.mul(x, b.cast(mask, x.dtype)), b.cast(scale, x.dtype))
    return [y, mask] if node.wants(1) else y


def _is_zero(x: Tensor) -> bool:
    return x.array is not None and not np.any(x.array)


def _uniform(seed: int, shape: Sequence[int], dtype: Dtype) -> Array:
    """
    Random numbers in [0, 1), rounded down to this type, so that comparisons with numbers of this type give the same
    results as without rounding.
    """
    check_size(shape, np.dtype(np.float64))
    drawn = np.random.RandomState(seed % 2**32).uniform(0, 1, tuple(shape))
    rounded = drawn.astype(dtype)
    return np.where(rounded > drawn, np.nextafter(rounded, dtype.type(0)), rounded)

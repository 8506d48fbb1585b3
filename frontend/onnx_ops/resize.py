"""
Resizing: along each axis, a gather (nearest) or a product with a matrix of interpolation weights, which is known at
import.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from .. import arrays
from ..builder import Builder
from ..node import Node
from ..registry import onnx_op
from ..tensors import Array, NodeError, Tensor, known


def coordinates(mode: str, size: int, length: int, scale: Fraction, roi: tuple[float, float]) -> Array:
    """
    Coordinate of each of `length` output positions in an axis of `size`; scale = output / input. Integers and halves
    are exact, because the nearest element changes there.
    """
    at = arrays.arange(length, dtype=np.dtype(np.float64))
    match mode:
        case "half_pixel":
            return _unscaled(at + 0.5, scale) - 0.5
        case "half_pixel_symmetric":
            # Both axes are centred: length / (scale * size) is the part of the resized axis in the output.
            return _unscaled(at - (length - 1) / 2, scale) + (size - 1) / 2
        case "pytorch_half_pixel":
            return _unscaled(at + 0.5, scale) - 0.5 if length > 1 else 0 * at
        case "align_corners":
            return at * (size - 1) / (length - 1) if length > 1 else 0 * at
        case "asymmetric":
            return _unscaled(at, scale)
        case "tf_half_pixel_for_nn":
            return _unscaled(at + 0.5, scale)
        case "tf_crop_and_resize":
            start, end = roi
            if length > 1:
                return start * (size - 1) + at * (end - start) * (size - 1) / (length - 1)
            return 0 * at + 0.5 * (start + end) * (size - 1)
        case _:
            raise NodeError(f"coordinate_transformation_mode {mode!r} is unknown")


def _unscaled(at: Array, scale: Fraction) -> Array:
    """at / scale, rounded once: the product is exact."""
    return at * scale.denominator / scale.numerator


def nearest_indices(at: Array, size: int, mode: str) -> Array:
    """The element nearest to each coordinate."""
    match mode:
        case "round_prefer_floor":
            index = np.ceil(at - 0.5)
        case "round_prefer_ceil":
            index = np.floor(at + 0.5)
        case "floor":
            index = np.floor(at)
        case "ceil":
            index = np.ceil(at)
        case _:
            raise NodeError(f"nearest_mode {mode!r} is unknown")
    return np.clip(index, 0, size - 1).astype(np.int64)


def _kernel(distance: Array, mode: str, cubic: float) -> Array:
    d = np.abs(distance)
    if mode == "linear":
        return np.maximum(0, 1 - d)
    near = ((cubic + 2) * d - (cubic + 3)) * d * d + 1
    far = ((cubic * d - 5 * cubic) * d + 8 * cubic) * d - 4 * cubic
    return np.where(d <= 1, near, np.where(d < 2, far, 0))


class Interpolation(NamedTuple):
    """How an axis is resampled."""

    mode: str = "nearest"
    """nearest, linear or cubic"""
    nearest: str = "floor"
    """How coordinates are rounded in mode nearest."""
    cubic: float = -0.75
    """The free parameter of cubic interpolation."""
    exclude_outside: bool = False
    """Whether elements outside of the axis are omitted, instead of repeating the edge."""
    stretch: float = 1
    """Factor by which the kernel is widened (antialias)."""


def interpolation_matrix(at: Array, size: int, how: Interpolation) -> Array:
    """
    Weights [positions, size] of linear or cubic interpolation; stretch > 1 widens the kernel (antialias). Outside, the
    edge elements are repeated, or with `exclude_outside` omitted (and the other weights normalised).
    """
    mode, exclude_outside, stretch = how.mode, how.exclude_outside, how.stretch
    support = (1 if mode == "linear" else 2) * stretch
    matrix = arrays.full((len(at), size), 0.0)
    if stretch == 1:
        start = np.floor(at) - (0 if mode == "linear" else 1)
        stop = start + (2 if mode == "linear" else 4)
    else:
        start, stop = np.floor(at - support), np.ceil(at + support) + 1
    most = int((stop - start).max(initial=0))
    taps = arrays.outer_sum(start, arrays.arange(most))
    weights = _kernel((taps - at[:, None]) / stretch, mode, how.cubic) * (taps < stop[:, None])
    if exclude_outside:
        weights = np.where((taps >= 0) & (taps < size), weights, 0)
    if exclude_outside or stretch > 1:
        total = weights.sum(1, keepdims=True)
        weights = weights / np.where(total == 0, 1, total)  # 0 beyond the edge
    rows = np.broadcast_to(arrays.arange(len(at))[:, None], taps.shape)
    np.add.at(matrix, (rows, np.clip(taps, 0, size - 1).astype(np.int64)), weights)
    return matrix


def apply_matrix(b: Builder, x: Tensor, axis: int, matrix: Array) -> Tensor:
    """Multiply one axis of x by a matrix [new size, size]."""
    weights = matrix.astype(x.dtype)
    if axis == x.rank - 1 and x.rank >= 2:
        flat = b.reshape(x, [math.prod(x.shape[:-1]), x.shape[-1]])
        result = b.matmul(flat, known(np.ascontiguousarray(weights.T)))
        return b.reshape(result, [*x.shape[:-1], len(matrix)])
    rest = math.prod(x.shape[axis + 1 :])
    flat = b.reshape(x, [math.prod(x.shape[:axis]), x.shape[axis], rest])
    result = b.matmul(b.broadcast(known(weights[None]), [flat.shape[0], *weights.shape]), flat)
    return b.reshape(result, [*x.shape[:axis], len(matrix), *x.shape[axis + 1 :]])


def _factors(node: Node, scales: Tensor | Sequence[float]) -> list[Fraction]:
    """The scales as fractions. Raises NodeError for scales that are not above 0."""
    values = node.constant(scales, "the scales").reshape(-1) if isinstance(scales, Tensor) else scales
    factors = [float(value) for value in values]
    if not all(0 < factor < math.inf for factor in factors):
        raise NodeError(f"scales {factors}: each must be a number above 0")
    return [Fraction(factor) for factor in factors]


def _length(size: int, scale: Fraction) -> int:
    return math.floor(size * float(scale) + 1e-7)


def _target(node: Node, x: Tensor, scales_at: int, sizes_at: int) -> tuple[list[int], list[int], list[Fraction]]:
    """(axes, sizes, scales) of the result."""
    axes = [x.axis(axis) for axis in node.ints("axes", range(x.rank))]
    shape = [x.shape[axis] for axis in axes]
    scales = node.get(scales_at)
    if scales is not None and scales.size:
        factors = _factors(node, scales)
        _check_count(factors, "scales", axes)
        return axes, [_length(size, factor) for size, factor in zip(shape, factors, strict=True)], factors
    sizes = node.ints_of(sizes_at, "the sizes")
    _check_count(sizes, "sizes", axes)
    if any(size < 0 or (size > 0) != (old > 0) for size, old in zip(sizes, shape, strict=True)):
        raise NodeError(f"sizes {sizes} do not fit {shape}: each must be above 0, or 0 where the input's size is 0")
    factors = [Fraction(size, old) if old else Fraction(1) for size, old in zip(sizes, shape, strict=True)]
    policy = node.str("keep_aspect_ratio_policy", "stretch")
    if policy != "stretch":
        given = [factor for factor, old in zip(factors, shape, strict=True) if old] or factors
        factor = min(given) if policy == "not_larger" else max(given)
        factors = [factor] * len(axes)
        sizes = [math.floor(size * factor + Fraction(1, 2)) for size in shape]
    return axes, sizes, factors


def _check_count(values: Sequence[object], what: str, axes: Sequence[int]) -> None:
    if len(values) != len(axes):
        raise NodeError(f"{len(values)} {what} are given for {len(axes)} axes")


@onnx_op("Resize", since=10)
def resize_10(node: Node) -> Tensor:
    """Resize of opset 10, and Upsample: asymmetric coordinates, rounded down."""
    return _upsample(node, node[0], _factors(node, node[1]))


@onnx_op("Upsample", since=7)
def upsample_7(node: Node) -> Tensor:
    """Resizing; the scales are an attribute."""
    return _upsample(node, node[0], _factors(node, node.floats("scales")))


@onnx_op("Upsample", since=9)
def upsample_9(node: Node) -> Tensor:
    """Resizing; the scales are an operand."""
    return _upsample(node, node[0], _factors(node, node[1]))


def _upsample(node: Node, x: Tensor, factors: Sequence[Fraction]) -> Tensor:
    mode = node.str("mode", "nearest")
    _check_count(factors, "scales", range(x.rank))
    for axis, factor in enumerate(factors):
        length = _length(x.shape[axis], factor)
        if factor != 1:
            at = coordinates("asymmetric", x.shape[axis], length, factor, (0, 1))
            x = _resize_axis(node.build, x, axis, at, Interpolation(mode))
    return x


def _resize_axis(b: Builder, x: Tensor, axis: int, at: Array, how: Interpolation) -> Tensor:
    if not np.isfinite(at).all():
        raise NodeError("the scales and the region give no finite places in the operand")
    if how.mode == "nearest":
        return b.gather(x, known(nearest_indices(at, x.shape[axis], how.nearest)), axis)
    matrix = interpolation_matrix(at, x.shape[axis], how)
    if x.is_float:
        return apply_matrix(b, x, axis, matrix)
    raise NodeError(f"{how.mode} interpolation of {x.dtype} is not supported")


@onnx_op("Resize", since=11)
def resize(node: Node) -> Tensor:
    """Resizing with all coordinate modes; nearest, linear and cubic; antialias."""
    b, x = node.build, node[0]
    axes, sizes, factors = _target(node, x, 2, 3)
    transform = node.str("coordinate_transformation_mode", "half_pixel")
    how = Interpolation(
        node.str("mode", "nearest"), node.str("nearest_mode", "round_prefer_floor"),
        node.float("cubic_coeff_a", -0.75), bool(node.int("exclude_outside", 0)),
    )  # fmt: skip
    roi = node.get(1)
    crop = transform == "tf_crop_and_resize"
    bounds = [0.0] * len(axes) + [1.0] * len(axes)
    if crop and roi is not None and roi.size:
        bounds = [float(v) for v in node.constant(roi, "the region").reshape(-1)]
    outside: list[tuple[int, Array]] = []
    for position, (axis, length, factor) in enumerate(zip(axes, sizes, factors, strict=True)):
        size = x.shape[axis]
        region = (bounds[position], bounds[position + len(axes)])
        if length == size and factor == 1 and (not crop or region == (0.0, 1.0)):
            continue
        at = coordinates(transform, size, length, factor, region)
        stretch = max(1.0, float(1 / factor)) if node.int("antialias", 0) else 1.0
        if crop:
            outside.append((axis, (at < 0) | (at > size - 1)))
        x = _resize_axis(b, x, axis, at, how._replace(stretch=stretch))
    for axis, mask in outside:
        if mask.any():
            shaped = known(mask.reshape(*[1] * axis, -1, *[1] * (x.rank - axis - 1)))
            x = b.select(shaped, node.float("extrapolation_value", 0.0), x)
    return x

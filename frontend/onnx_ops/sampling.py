"""Interpolation at computed positions: weighted gathers of the neighbouring elements."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

from .. import arrays
from ..builder import Builder
from ..node import Node
from ..registry import onnx_op
from ..tensors import INT64, Array, NodeError, Tensor, known

CUBIC = -0.75
"""The free parameter of cubic interpolation."""


@dataclass(frozen=True)
class Tap:
    """One element along an axis for each position: its index (an integral float), its weight, and whether it exists."""

    position: Tensor
    weight: Tensor | None
    inside: Tensor | None


def _reflect(b: Builder, x: Tensor, low: float, high: float) -> Tensor:
    """Coordinates reflected at the borders until they are inside."""
    if high <= low:
        return b.full(x.shape, low, x.dtype)
    reach = high - low
    at = b.binary("mod", b.sub(x, low), 2 * reach)
    return b.add(b.minimum(at, b.sub(b.full((), 2 * reach, x.dtype), at)), low)


def _clamp(b: Builder, x: Tensor, size: int) -> Tensor:
    """Coordinates clamped to an axis; NaN becomes 0."""
    return b.select(b.compare("ge", x, 0), b.minimum(x, size - 1), 0)


def _cubic_weight(b: Builder, distance: Tensor) -> Tensor:
    d = b.unary("abs", distance)
    near = b.add(b.mul(b.mul(b.sub(b.mul(d, CUBIC + 2), CUBIC + 3), d), d), 1)
    far = b.sub(b.mul(b.add(b.mul(b.sub(b.mul(d, CUBIC), 5 * CUBIC), d), 8 * CUBIC), d), 4 * CUBIC)
    return b.select(b.compare("le", d, 1), near, far)


def _taps(node: Node, coordinate: Tensor, size: int, mode: str) -> list[Tap]:
    """The elements to interpolate between along one axis, for normalised coordinates (-1 to 1)."""
    b, padding = node.build, node.str("padding_mode", "zeros")
    if node.int("align_corners", 0):
        low, high = 0.0, size - 1.0
        at = b.mul(b.add(coordinate, 1), (size - 1) / 2)
    else:
        low, high = -0.5, size - 0.5
        at = b.mul(b.sub(b.mul(b.add(coordinate, 1), size), 1), 0.5)
    if mode == "nearest":
        at = b.unary("round", at)
    if padding == "border":
        # Cubic interpolation takes each of its elements from the border instead.
        at = at if mode.endswith("cubic") else _clamp(b, at, size)
    elif padding == "reflection":
        at = _reflect(b, at, low, high)
    elif padding != "zeros":
        raise NodeError(f"padding_mode {padding!r} is unknown")
    first = at if mode == "nearest" else b.unary("floor", at)
    offsets = {"nearest": (0,), "linear": (0, 1), "bilinear": (0, 1), "cubic": (-1, 0, 1, 2), "bicubic": (-1, 0, 1, 2)}
    if mode not in offsets:
        raise NodeError(f"mode {mode!r} is unknown")
    taps: list[Tap] = []
    for offset in offsets[mode]:
        position = b.add(first, offset) if offset else first
        weight = inside = None
        if mode.endswith("linear"):
            fraction = b.sub(at, first)
            weight = fraction if offset else b.sub(b.full((), 1, at.dtype), fraction)
        elif mode.endswith("cubic"):
            weight = _cubic_weight(b, b.sub(at, position))
        if padding == "zeros":
            inside = b.binary("and", b.compare("ge", position, 0), b.compare("le", position, size - 1))
        elif padding == "reflection":
            position = b.unary("round", _reflect(b, position, low, high))
        taps.append(Tap(_clamp(b, position, size), weight, inside))
    return taps


@onnx_op("GridSample", since=16)
def grid_sample(node: Node) -> Tensor:
    """x [N, C, S...] sampled at `grid` [N, P..., r], whose last component belongs to the first dimension of S."""
    b, x, grid = node.build, node[0], node[1]
    mode = node.str("mode", "linear")
    spatial, out = x.shape[2:], grid.shape[1:-1]
    if grid.shape[-1] != len(spatial) or grid.rank != x.rank or not x.is_float:
        raise NodeError(f"a grid of shape {list(grid.shape)} does not fit {x.dtype} data of shape {list(x.shape)}")
    if len(spatial) > 2 and mode.endswith("cubic"):
        raise NodeError("cubic interpolation in more than two dimensions is not supported")
    batch, channels, count = x.shape[0], x.shape[1], math.prod(out)
    coordinates = b.reshape(grid, [batch, count, len(spatial)])
    axes: list[list[Tap]] = []
    for axis, size in enumerate(spatial):
        coordinate = b.reshape(b.slice_axis(coordinates, 2, len(spatial) - 1 - axis, 1), [batch, count])
        axes.append(_taps(node, coordinate, size, mode))
    rows = b.transpose(x, [0, *range(2, x.rank), 1])
    rows = b.reshape(rows, [batch * math.prod(spatial), channels])
    starts = known((arrays.arange(batch) * math.prod(spatial)).reshape(-1, 1))
    total: Tensor | None = None
    for taps in itertools.product(*axes):
        index, factor, there = starts, None, None
        for axis, tap in enumerate(taps):
            stride = math.prod(spatial[axis + 1 :])
            index = b.add(index, b.mul(b.cast(tap.position, INT64), stride))
            if tap.weight is not None:
                factor = tap.weight if factor is None else b.mul(factor, tap.weight)
            if tap.inside is not None:
                there = tap.inside if there is None else b.binary("and", there, tap.inside)
        value = b.gather(rows, index, 0)
        if there is not None:
            value = b.select(b.reshape(there, [batch, count, 1]), value, 0)
        if factor is not None:
            value = b.mul(value, b.cast(b.reshape(factor, [batch, count, 1]), x.dtype))
        total = value if total is None else b.add(total, value)
    assert total is not None
    return b.reshape(b.transpose(total, [0, 2, 1]), [batch, channels, *out])


@onnx_op("AffineGrid", since=20)
def affine_grid(node: Node) -> Tensor:
    """The grid [N, S..., r] for GridSample: theta [N, r, r + 1] times the normalised coordinates of elements of S."""
    b, theta, size = node.build, node[0], node.ints_of(1, "the size")
    spatial = size[2:]
    rank = len(spatial)
    if rank not in (2, 3) or theta.shape != (size[0], rank, rank + 1) or not theta.is_float:
        raise NodeError(f"theta of shape {list(theta.shape)} does not fit the size {size}")
    corners = bool(node.int("align_corners", 0))
    axes = [_centres(extent, corners) for extent in spatial]
    # The last component is 1, for the translation; the first belongs to the last dimension.
    grid = arrays.full((*spatial, rank + 1), 1.0)
    for dim, centres in enumerate(axes):
        grid[..., rank - 1 - dim] = centres.reshape(*[1] * dim, -1, *[1] * (rank - 1 - dim))
    coordinates = known(grid.reshape(1, -1, rank + 1).astype(theta.dtype))
    return b.reshape(b.matmul(coordinates, theta, transpose_b=True), [size[0], *spatial, rank])


def _centres(size: int, corners: bool) -> Array:
    """Coordinates of the elements of an axis whose first and last centres (`corners`), or edges, are at -1 and 1."""
    if corners:
        return 2 * arrays.arange(size) / max(size - 1, 1) - 1
    return (2 * arrays.arange(size) + 1) / size - 1

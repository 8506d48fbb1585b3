"""Regions of images, resampled to one size."""

from __future__ import annotations

import numpy as np

from .. import arrays
from ..builder import Builder
from ..node import Node
from ..registry import onnx_op
from ..tensors import INT64, NodeError, Tensor, known
from ..wide import in_f32
from .bilinear import corners


@onnx_op("RoiAlign", since=10)
@in_f32
def roi_align(node: Node) -> Tensor:
    """The mean (or the maximum) of samples in each part of regions [R, 4] of x [N, C, H, W]."""
    b, x, regions, images = node.build, node[0], node[1], node[2]
    height, width = node.int("output_height", 1), node.int("output_width", 1)
    ratio, mode = node.int("sampling_ratio", 0), node.str("mode", "avg")
    if ratio < 1:
        raise NodeError("sampling_ratio 0 depends on the size of regions, known at run time: give a number")
    if mode not in ("avg", "max"):
        raise NodeError(f"mode {mode!r} is not one of avg, max")
    old = node.opset < 16
    aligned = not old and node.str("coordinate_transformation_mode", "half_pixel") == "half_pixel"
    count, scale = regions.shape[0], node.float("spatial_scale", 1.0)
    grids = [_samples(b, regions, axis, (parts, ratio), scale, aligned) for axis, parts in ((1, height), (0, width))]
    rows, columns = height * ratio, width * ratio
    shape = [count, rows, columns]
    y = b.broadcast(b.reshape(grids[0], [count, rows, 1]), shape)
    z = b.broadcast(b.reshape(grids[1], [count, 1, columns]), shape)
    inside = b.binary("and", _near(b, y, x.shape[2]), _near(b, z, x.shape[3]))
    # Positions up to one element outside are moved to the border.
    y, z = (b.minimum(b.maximum(at, 0), size - 1) for at, size in ((y, x.shape[2]), (z, x.shape[3])))
    total = int(np.prod(shape))
    image = b.broadcast(b.reshape(b.cast(images, INT64), [count, 1, 1]), shape)
    found = corners(b, x, *(b.reshape(one, [total]) for one in (image, y, z)))
    values = [b.mul(corner.value, corner.weight) for corner in found]
    join = "add" if mode == "avg" else "maximum"  # the maximum is over the corners' contributions, not over their sums
    sample = values[0]
    for value in values[1:]:
        sample = b.binary(join, sample, value)
    sample = b.select(b.reshape(inside, [total, 1]), sample, 0)
    parts = b.reshape(sample, [count, height, ratio, width, ratio, x.shape[1]])
    joined = b.reduce("sum" if mode == "avg" else "max", parts, [2, 4], keepdims=False)
    if mode == "avg":
        joined = b.mul(joined, 1 / ratio**2)
    return b.transpose(joined, [0, 3, 1, 2])


def _samples(b: Builder, regions: Tensor, axis: int, sizes: tuple[int, int], scale: float, aligned: bool) -> Tensor:
    """
    Coordinates [R, parts * ratio] of samples along the columns (axis 0) or rows (axis 1) of the regions, each of which
    is given as x, y of the first and of the last corner.
    """
    parts, ratio = sizes
    start, end = (b.mul(b.slice_axis(regions, 1, at, 1), scale) for at in (axis, axis + 2))
    if aligned:
        start, end = b.sub(start, 0.5), b.sub(end, 0.5)
    extent = b.sub(end, start)
    if not aligned:
        extent = b.maximum(extent, 1.0)
    steps = (arrays.arange(parts * ratio) + 0.5) / (parts * ratio)
    return b.add(start, b.mul(extent, known(steps.astype(regions.dtype).reshape(1, -1))))


def _near(b: Builder, at: Tensor, size: int) -> Tensor:
    return b.binary("and", b.compare("ge", at, -1.0), b.compare("le", at, float(size)))

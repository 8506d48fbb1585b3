"""Bilinear interpolation of images at computed positions."""

from __future__ import annotations

from dataclasses import dataclass

from ..builder import Builder
from ..tensors import INT64, Tensor


@dataclass(frozen=True)
class Corner:
    """One of the four neighbouring elements of each position: its value [P, C] and its weight [P, 1]."""

    value: Tensor
    weight: Tensor


def corners(b: Builder, x: Tensor, image: Tensor, y: Tensor, z: Tensor) -> list[Corner]:
    """
    The four neighbouring elements of each of P positions in x [N, C, H, W], which are given by `image` (int64), row `y`
    and column `z`, each [P]. Elements outside of the image are 0.
    """
    batch, channels, height, width = x.shape
    rows = b.reshape(b.transpose(x, [0, 2, 3, 1]), [batch * height * width, channels])
    found: list[Corner] = []
    for down in (0, 1):
        row, row_weight, row_there = _neighbour(b, y, height, down)
        for right in (0, 1):
            column, column_weight, column_there = _neighbour(b, z, width, right)
            index = b.add(b.mul(b.add(b.mul(image, height), row), width), column)
            there = b.reshape(b.binary("and", row_there, column_there), [y.size, 1])
            value = b.select(there, b.gather(rows, index, 0), 0)
            found.append(Corner(value, b.reshape(b.mul(row_weight, column_weight), [y.size, 1])))
    return found


def _neighbour(b: Builder, at: Tensor, size: int, after: int) -> tuple[Tensor, Tensor, Tensor]:
    """The element before (0) or after (1) a position along an axis: index, weight, and whether it exists."""
    first = b.unary("floor", at)
    fraction = b.sub(at, first)
    position = b.add(first, after)
    there = b.binary("and", b.compare("ge", position, 0), b.compare("le", position, size - 1))
    weight = fraction if after else b.sub(b.full((), 1, at.dtype), fraction)
    return b.cast(b.minimum(b.maximum(position, 0), size - 1), INT64), weight, there

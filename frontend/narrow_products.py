"""
Products and look-ups of known integers of 8 bits that are widened on the way, as weights are that alone are quantised.

Weights stay as narrow as they are in the file; scales, and zero points that do not fit, are applied to the products.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .builder_values import SMALL
from .quantised import Quantised, fitted, full_rank
from .tensors import FLOAT32, Tensor

if TYPE_CHECKING:
    from .builder import Builder


def narrow(x: Tensor) -> Quantised | None:
    """The integers behind known values, where there are enough of them for a difference."""
    found = x.quantised
    if found is None or x.array is None or found.values.array is None or found.values.nbytes <= SMALL:
        return None
    return fitted(found)


def matmul(b: Builder, x: Tensor, y: Tensor, transpose_a: bool, transpose_b: bool) -> Tensor | None:
    """A product with such weights on either side; None where neither is, or where scales change along the sums."""
    for index, (one, flip) in enumerate(((y, transpose_b), (x, transpose_a))):
        weights = narrow(one)
        other = x if index == 0 else y
        if weights is None or other.dtype != FLOAT32 or other.array is not None:
            continue
        summed = one.rank - 2 if flip == (index == 1) else one.rank - 1
        parameters = [None if p is None else full_rank(b, p, one.rank) for p in (weights.zero, weights.scale)]
        if any(p is not None and p.shape[summed] > 1 for p in parameters):
            continue
        turned = [
            p if p is None or not flip else b.transpose(p, [*range(one.rank - 2), one.rank - 1, one.rank - 2])
            for p in parameters
        ]
        pair = (other, weights.values) if index == 0 else (weights.values, other)
        product = b.mixed_matmul(*pair, transpose_a=transpose_a, transpose_b=transpose_b)
        zero, scale = turned
        if zero is not None:
            flipped = transpose_a if index == 0 else transpose_b
            product = b.sub(product, b.mul(_sums(b, other, index, flipped), b.cast(zero, FLOAT32)))
        return product if scale is None else b.mul(product, scale)
    return None


def _sums(b: Builder, x: Tensor, index: int, flipped: bool) -> Tensor:
    """Over what the product sums: of an operand 0 [..., M, 1], of an operand 1 [..., 1, N]."""
    summed = x.rank - 2 if flipped == (index == 0) else x.rank - 1
    total = b.reduce("sum", x, [summed])
    return b.transpose(total, [*range(x.rank - 2), x.rank - 1, x.rank - 2]) if flipped else total


def weights_of_conv(b: Builder, x: Tensor, w: Tensor) -> tuple[Tensor, Tensor | None] | None:
    """
    Narrow weights of a convolution and the scale of its result, [1, O, 1...]; None where they are not, or have zero
    points that do not fit.
    """
    weights = narrow(w)
    if weights is None or weights.zero is not None or x.dtype != FLOAT32 or x.array is not None:
        return None
    if weights.scale is None:
        return weights.values, None
    scale = full_rank(b, weights.scale, w.rank)
    if any(size > 1 for size in scale.shape[1:]):
        return None
    return weights.values, b.reshape(scale, [1, scale.size, *[1] * (w.rank - 2)])


def gather(b: Builder, data: Tensor, indices: Tensor, axis: int) -> Tensor | None:
    """Rows of a table of such integers, widened when they have been found; None of other tables."""
    table = narrow(data)
    if table is None or indices.array is not None:
        return None
    result = b.cast(b.gather(table.values, indices, axis), FLOAT32)
    zero, scale = (
        None if p is None else _gathered(b, b.cast(full_rank(b, p, data.rank), FLOAT32), indices, axis)
        for p in (table.zero, table.scale)
    )
    result = result if zero is None else b.sub(result, zero)
    return result if scale is None else b.mul(result, scale)


def _gathered(b: Builder, parameter: Tensor, indices: Tensor, axis: int) -> Tensor:
    if parameter.shape[axis] > 1:
        return b.gather(parameter, indices, axis)
    shape = parameter.shape
    return b.reshape(parameter, [*shape[:axis], *[1] * indices.rank, *shape[axis + 1 :]])

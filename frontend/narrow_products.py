"""
Products and table look-ups of dequantised floats, computed on the quantised values.

If both operands are dequantised, the integers are multiplied and the sums are scaled. If only the weights are
dequantised, they stay as narrow as they are in the file and the cores widen them; scales, and zero points that 8 bits
cannot absorb, are applied to the products.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from .blocked_products import BlockedWeights, blocked_matmul, blocks_of
from .builder_values import SMALL
from .integer_products import Centred, fits_in_sums, integer_conv, integer_matmul
from .quantised import Quantised, Sums, fitted, full_rank, narrowest
from .tensors import FLOAT32, Tensor, known

if TYPE_CHECKING:
    from .builder import Builder
    from .sliding_window import Window


def narrow(x: Tensor) -> Quantised | None:
    """The quantised form of known dequantised values; None for other values, and if it has at most `SMALL` bytes."""
    found = _integers(x)
    return None if found is None else fitted(found)


def _integers(x: Tensor) -> Quantised | None:
    found = x.quantised
    if found is None or x.array is None or found.values.array is None or found.values.nbytes <= SMALL:
        return None
    return found


def _fewest_bits(x: Tensor) -> Quantised | None:
    """As `narrow`, but in 4 bits if these suffice with another zero point."""
    found = _integers(x)
    if found is None or found.values.array is None or (found.zero is not None and found.zero.array is None):
        return None
    least = narrowest(found.values.array, None if found.zero is None else found.zero.array)
    if least is None:
        return None
    values, zero = least
    left = None if zero is None else known(zero.astype(np.int32))
    return Quantised(known(values, name=found.values.name), left, found.scale)


def quantised_matmul(b: Builder, x: Tensor, y: Tensor, transpose_a: bool, transpose_b: bool) -> Tensor | None:
    """
    The product of two dequantised matrices; None for other operands, and if scales vary along the reduced dimension.
    """
    sides: list[tuple[Centred, Tensor]] = []
    for index, (one, flip) in enumerate(((x, transpose_a), (y, transpose_b))):
        found = one.quantised
        if found is None or found.scale is None or one.dtype != FLOAT32 or one.rank < 2:
            return None
        turned = [*range(one.rank - 2), one.rank - 1, one.rank - 2] if flip else list(range(one.rank))
        values, scale = (b.transpose(full_rank(b, part, one.rank), turned) for part in (found.values, found.scale))
        zero = None if found.zero is None else b.transpose(full_rank(b, found.zero, one.rank), turned)
        summed = one.rank - 1 if index == 0 else one.rank - 2
        if any(part is not None and part.shape[summed] > 1 for part in (scale, zero)):
            return None
        sides.append((_centred(values, zero), scale))
    (left, of_left), (right, of_right) = sides
    if (x.array is not None and y.array is not None) or not fits_in_sums(left.values.shape[-1:]):
        return None
    return _scaled_sums(b, integer_matmul(b, left, right), b.mul(of_left, of_right))


def quantised_conv(b: Builder, x: Tensor, w: Tensor, window: Window, groups: int) -> Tensor | None:
    """The convolution of dequantised values with known dequantised weights; None for other operands."""
    image, weights = x.quantised, w.quantised
    if image is None or weights is None or x.dtype != FLOAT32 or w.array is None or x.array is not None:
        return None
    if image.scale is None or image.scale.size > 1 or (image.zero is not None and image.zero.size > 1):
        return None
    if weights.scale is None or not fits_in_sums(w.shape[1:]):
        return None
    scale = full_rank(b, weights.scale, w.rank)
    zero = None if weights.zero is None else full_rank(b, weights.zero, w.rank)
    if any(part is not None and part.size > part.shape[0] for part in (scale, zero)):
        return None
    exact = integer_conv(b, _centred(image.values, image.zero), _centred(weights.values, zero), window, groups)
    of_outputs = b.reshape(scale, [1, scale.size, *[1] * (x.rank - 2)])
    return _scaled_sums(b, exact, b.mul(of_outputs, b.reshape(image.scale, [])))


def _centred(values: Tensor, zero: Tensor | None) -> Centred:
    exact = fitted(Quantised(values, zero))
    return Centred(exact.values, exact.zero)


def _scaled_sums(b: Builder, exact: Tensor, scale: Tensor) -> Tensor:
    result = b.mul(b.cast(exact, FLOAT32), scale)
    result.sums = Sums(exact, scale)
    return result


def matmul(b: Builder, x: Tensor, y: Tensor, transpose_a: bool, transpose_b: bool) -> Tensor | None:
    """
    A product with known dequantised weights on either side; None without them, and if scales vary along the reduced
    dimension.
    """
    for index, (one, flip) in enumerate(((y, transpose_b), (x, transpose_a))):
        weights = _fewest_bits(one)
        other = x if index == 0 else y
        if weights is None or other.dtype != FLOAT32 or other.array is not None:
            continue
        summed = one.rank - 2 if flip == (index == 1) else one.rank - 1
        parameters = [None if p is None else full_rank(b, p, one.rank) for p in (weights.zero, weights.scale)]
        if any(p is not None and p.shape[summed] > 1 for p in parameters):
            if index == 0 and (product := _in_blocks(b, other, one, flip, transpose_a)) is not None:
                return product
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


def _in_blocks(b: Builder, x: Tensor, y: Tensor, transpose_b: bool, transpose_a: bool) -> Tensor | None:
    """The product with a matrix whose scales and zero points vary from block to block of the reduced dimension."""
    found = _integers(y)
    if transpose_a or found is None or found.scale is None or y.rank != 2:
        return None
    known_ones = [one if one is None else one.array for one in (found.values, found.zero, found.scale)]
    values, zero, scale = (
        None if one is None else np.broadcast_to(one, y.shape).T if transpose_b else np.broadcast_to(one, y.shape)
        for one in known_ones
    )
    if values is None or scale is None or (zero is None and found.zero is not None):
        return None
    block = math.gcd(*(blocks_of(one, 0) for one in (zero, scale) if one is not None))
    zeros = None if zero is None else zero[::block]
    return blocked_matmul(b, x, BlockedWeights(values, zeros, scale[::block], block, y.name))


def _sums(b: Builder, x: Tensor, index: int, flipped: bool) -> Tensor:
    """Sums over the reduced dimension of the product: [..., M, 1] of operand 0, [..., 1, N] of operand 1."""
    summed = x.rank - 2 if flipped == (index == 0) else x.rank - 1
    total = b.reduce("sum", x, [summed])
    return b.transpose(total, [*range(x.rank - 2), x.rank - 1, x.rank - 2]) if flipped else total


def weights_of_conv(b: Builder, x: Tensor, w: Tensor) -> tuple[Tensor, Tensor | None] | None:
    """
    Narrow weights of a convolution and the scale of its result, [1, O, 1...]; None for other weights, and for zero
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
    """Rows of a dequantised table, widened after the look-up; None for other tables."""
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

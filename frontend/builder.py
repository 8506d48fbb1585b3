"""
The builder of `dataflow` operations during import, with constant folding.

Every method takes and returns `Tensor`s. If all operands are known and the result is not much larger than they are, it
is computed by numpy and no operation is created: this removes the shape arithmetic of ONNX files. A known value becomes
a constant or a weight only when an operation reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from xdsl.ir import Operation

from ..dialects import dataflow
from . import folding, narrow_products
from .builder_movement import Movement
from .builder_values import Operand
from .finite_values import after_elementwise
from .integer_products import INT8
from .quantised import Sums, after_binary, after_cast, pooled, signed, sums_after_addition
from .sliding_window import Window
from .tensors import BOOL, HELD_IN, INT64, Array, Dtype, NodeError, Tensor, broadcast, element_type, is_float

_UNARY = {op.name.partition(".")[2]: op for op in dataflow.Dataflow.operations if issubclass(op, dataflow.UnaryOp)}
_BINARY = {op.name.partition(".")[2]: op for op in dataflow.Dataflow.operations if issubclass(op, dataflow.BinaryOp)}
"""Elementwise operations by their name without the dialect's."""


class Builder(Movement):
    """All operations: arithmetic, contractions and reductions here, movement in the base."""

    # ---- elementwise ----

    def unary(self, name: str, x: Tensor) -> Tensor:
        """One of the dialect's unary operations."""
        _computable(x)
        dtype = BOOL if name in ("isnan", "isinf") else x.dtype
        fold = folding.UNARY.get(name)
        result = self.make(x.shape, dtype, lambda: _UNARY[name](self.value(x)), [x], fold)
        self._note_values(result, [x], fold)
        if name == "relu" and x.sums is not None and _is_positive(x.sums.scale):
            result.sums = Sums(self.unary("relu", x.sums.exact), x.sums.scale)
        return result

    def cast(self, x: Tensor, dtype: Dtype) -> Tensor:
        """x with another element type."""
        result = super().cast(x, dtype)
        if result is not x:
            result.quantised = after_cast(self, x, dtype)
            self._note_values(result, [x], partial(folding.cast, dtype=dtype))
        return result

    def quantize(self, x: Tensor, scale: Tensor, zero: int, dtype: Dtype = INT8) -> Tensor:
        """round(x * scale) + zero as int8 or uint8, saturated; x is int32 or f32."""
        limits = np.iinfo(dtype)

        def fold(a: Array, factor: Array) -> Array:
            return np.clip(np.rint(a.astype(np.float32) * factor) + np.float32(zero), limits.min, limits.max)

        result = self.make(
            broadcast(x.shape, scale.shape),
            dtype,
            lambda: dataflow.QuantizeOp(self.value(x), self.value(scale), zero, element_type(dtype)),
            [x, scale],
            fold,
        )
        self._note_values(result, [x, scale], fold)
        if dtype == INT8:
            result.quantised_from = x, scale, zero
        return result

    def binary(self, name: str, x: Operand, y: Operand) -> Tensor:
        """One of the dialect's binary operations; a number takes the other operand's dtype."""
        dtype = x.dtype if isinstance(x, Tensor) else y.dtype if isinstance(y, Tensor) else np.dtype(np.float32)
        a, b = self.operand(x, dtype), self.operand(y, dtype)
        _computable(a, b)
        shape = broadcast(a.shape, b.shape)
        fold = folding.BINARY.get(name)
        result = self.make(shape, dtype, lambda: _BINARY[name](self.value(a), self.value(b)), [a, b], fold)
        self._note_values(result, [a, b], fold)
        result.quantised = after_binary(name, a, b, shape)
        result.sums = sums_after_addition(self, a, b, shape) if name == "add" else None
        return result

    def add(self, x: Operand, y: Operand) -> Tensor:
        """x + y"""
        return self.binary("add", x, y)

    def sub(self, x: Operand, y: Operand) -> Tensor:
        """x - y"""
        return self.binary("sub", x, y)

    def mul(self, x: Operand, y: Operand) -> Tensor:
        """x * y"""
        return self.binary("mul", x, y)

    def div(self, x: Operand, y: Operand) -> Tensor:
        """x / y (integers truncate)"""
        return self.binary("div", x, y)

    def maximum(self, x: Operand, y: Operand) -> Tensor:
        """The elementwise maximum; NaN if one of the two is NaN."""
        return self.binary("maximum", x, y)

    def minimum(self, x: Operand, y: Operand) -> Tensor:
        """The elementwise minimum; NaN if one of the two is NaN."""
        return self.binary("minimum", x, y)

    def gather(self, data: Tensor, indices: Tensor, axis: int) -> Tensor:
        """ONNX's Gather: the slices of `data` along `axis` that `indices` name; negative ones count from the end."""
        found = narrow_products.gather(self, data, indices, axis)
        return super().gather(data, indices, axis) if found is None else found

    def compare(self, predicate: str, x: Tensor, y: Operand) -> Tensor:
        """Comparison with a bool result; predicate is eq, ne, lt, le, gt or ge."""
        b = self.operand(y, x.dtype)
        _computable(x, b)
        result = self.make(
            broadcast(x.shape, b.shape),
            BOOL,
            lambda: dataflow.CompareOp(self.value(x), self.value(b), predicate),
            [x, b],
            folding.COMPARE[predicate],
        )
        self._note_values(result, [x, b], folding.COMPARE[predicate])
        return result

    def select(self, condition: Tensor, x: Operand, y: Operand) -> Tensor:
        """Elements of x where the condition holds, else of y."""
        dtype = x.dtype if isinstance(x, Tensor) else y.dtype if isinstance(y, Tensor) else np.dtype(np.float32)
        a, b = self.operand(x, dtype), self.operand(y, dtype)
        shape = broadcast(condition.shape, a.shape, b.shape)
        if condition.array is not None and bool(np.all(condition.array)) and a.shape == shape:
            return a
        if condition.array is not None and not np.any(condition.array) and b.shape == shape:
            return b
        result = self.make(
            shape,
            dtype,
            lambda: dataflow.SelectOp(self.value(condition), self.value(a), self.value(b)),
            [condition, a, b],
            np.where,
        )
        self._note_values(result, [condition, a, b], np.where)
        return result

    def _note_values(self, result: Tensor, operands: Sequence[Tensor], function: Callable[..., Any] | None) -> None:
        if function is not None and result.array is None:
            result.finite = after_elementwise(operands, result.shape, result.dtype, function)

    # ---- contractions and reductions ----

    def matmul(self, x: Tensor, y: Tensor, *, transpose_a: bool = False, transpose_b: bool = False) -> Tensor:
        """
        Matrix product over the last two dimensions; leading dimensions broadcast. Both ranks are at least 2. The
        product of narrow integers is i32.
        """
        _computable(x)
        if (product := narrow_products.quantised_matmul(self, x, y, transpose_a, transpose_b)) is not None:
            return product
        if (product := narrow_products.matmul(self, x, y, transpose_a, transpose_b)) is not None:
            return product
        return self.mixed_matmul(x, y, transpose_a=transpose_a, transpose_b=transpose_b)

    def mixed_matmul(self, x: Tensor, y: Tensor, *, transpose_a: bool = False, transpose_b: bool = False) -> Tensor:
        """As `matmul`, but one operand may have floats and the other 8-bit integers; the result then has floats."""
        m, k = x.shape[-2:][::-1] if transpose_a else x.shape[-2:]
        k2, n = y.shape[-2:][::-1] if transpose_b else y.shape[-2:]
        if k != k2:
            raise NodeError(f"shapes {list(x.shape)} and {list(y.shape)} cannot be multiplied")
        dtype = _product_type(x, y)
        shape = (*broadcast(x.shape[:-2], y.shape[:-2]), m, n)
        if k == 0:
            return self.full(shape, 0, dtype)

        def fold(a: Array, b: Array) -> Array:
            a, b = (np.swapaxes(one, -1, -2) if flip else one for one, flip in ((a, transpose_a), (b, transpose_b)))
            return np.matmul(a.astype(dtype), b.astype(dtype))

        def make() -> Operation:
            return dataflow.MatmulOp(self.value(x), self.value(y), transpose_a=transpose_a, transpose_b=transpose_b)

        # The product with an initial state of zeros is not folded: it has the form of the later steps, and loop
        # rerolling compares the two. Canonicalisation removes it.
        is_zero = any(one.array is not None and is_float(one.dtype) and not one.array.any() for one in (x, y))
        return self.make(shape, dtype, make, [x, y], None if is_zero else fold)

    def conv(self, x: Tensor, w: Tensor, window: Window, groups: int, pad_value: int = 0) -> Tensor:
        """
        Convolution of x [N, C, S...] with w [O, C/groups, K...]; integers are padded with `pad_value`. Negative padding
        crops first: it may reach into the padding at the other end.
        """
        _computable(x)
        sides = window.low, window.high
        crops = [min(pads) < 0 for pads in zip(*sides, strict=True)]
        if any(crops):
            low, high = ([a if crop else 0 for a, crop in zip(side, crops, strict=True)] for side in sides)
            x = self.pad(x, [0, 0, *low], [0, 0, *high], pad_value)
            low, high = ([0 if crop else a for a, crop in zip(side, crops, strict=True)] for side in sides)
            window = replace(window, low=low, high=high)
        if (product := narrow_products.quantised_conv(self, x, w, window, groups)) is not None:
            return product
        if (narrow := narrow_products.weights_of_conv(self, x, w)) is not None:
            weights, scale = narrow
            result = self.conv(x, weights, window, groups)
            return result if scale is None else self.mul(result, scale)
        spatial = window_shape(x.shape[2:], w.shape[2:], window.strides, window.dilations, window.low, window.high)
        dtype = _product_type(x, w)
        if x.shape[1] == 0:
            return self.full((x.shape[0], w.shape[0], *spatial), 0, dtype)

        def make() -> Operation:
            return dataflow.ConvOp(
                self.value(x),
                self.value(w),
                strides=window.strides,
                dilations=window.dilations,
                pad_low=window.low,
                pad_high=window.high,
                groups=groups,
                pad_value=pad_value if any((*window.low, *window.high)) else 0,
            )

        return self.make((x.shape[0], w.shape[0], *spatial), dtype, make)

    def reduce_window(
        self,
        kind: str,
        x: Tensor,
        window: Sequence[int],
        strides: Sequence[int],
        dilations: Sequence[int],
        low: Sequence[int],
        high: Sequence[int],
    ) -> Tensor:
        """Reduction (sum, max, min) over windows of all dimensions; padding is the identity of the kind."""
        _computable(x)
        shape = window_shape(x.shape, window, strides, dilations, low, high)

        def make() -> Operation:
            return dataflow.ReduceWindowOp(
                self.value(x), kind, window=window, strides=strides, dilations=dilations, pad_low=low, pad_high=high
            )

        result = self.make(shape, x.dtype, make)
        if kind == "max":

            def of(values: Tensor) -> Tensor:
                return self.reduce_window(kind, values, window, strides, dilations, low, high)

            result.quantised = pooled(x, of)
            result.signed = None if x.signed is None else of(x.signed)
        return result

    def concat(self, tensors: Sequence[Tensor], axis: int) -> Tensor:
        """The concatenation of the tensors along an axis; empty tensors are left out."""
        result = super().concat(tensors, axis)
        if any(one is result for one in tensors) or result.array is not None:
            return result
        if all(one.signed is not None for one in tensors):
            result.signed = super().concat([signed(self, one) for one in tensors], axis)
        if any(one.quantised is not None or one.sums is not None for one in tensors):
            result.parts = axis, tuple(tensors)
        return result

    def reduce(self, kind: str, x: Tensor, axes: Sequence[int], keepdims: bool = True) -> Tensor:
        """Reduction (sum, max, min, prod) over `axes`, non-negative; no axes: x itself."""
        _computable(x)
        axes = sorted(axes)
        shape = tuple(1 if axis in axes else size for axis, size in enumerate(x.shape))

        def fold(a: Array) -> Array:
            return folding.REDUCE[kind](a, axis=tuple(axes), keepdims=True)

        if x.size == 0 and shape and all(shape):
            result = self.full(shape, reduction_identity(kind, x.dtype), x.dtype)
        elif not axes:
            result = x
        else:
            result = self.make(
                shape,
                x.dtype,
                lambda: dataflow.ReduceOp(self.value(x), kind, axes),
                [x],
                fold,
            )
        if keepdims:
            return result
        return self.reshape(result, [size for axis, size in enumerate(x.shape) if axis not in axes])

    def arg_reduce(self, kind: str, x: Tensor, axis: int) -> Tensor:
        """
        int64 index of the first extremum (max, min) along an axis, which is kept with size 1.

        Raises NodeError if the axis is empty but the result is not.
        """
        _computable(x)
        if not x.shape[axis] and all(size for other, size in enumerate(x.shape) if other != axis):
            raise NodeError(f"axis {axis} of shape {list(x.shape)} has no elements, and so no {kind}imum")
        function = np.argmax if kind == "max" else np.argmin

        def fold(a: Array) -> Array:
            return np.asarray(function(a, axis=axis, keepdims=True))

        return self.make(
            (*x.shape[:axis], 1, *x.shape[axis + 1 :]),
            INT64,
            lambda: dataflow.ArgReduceOp(self.value(x), kind, axis),
            [x],
            fold,
        )

    def cumsum(self, x: Tensor, axis: int, exclusive: bool, reverse: bool) -> Tensor:
        """Cumulative sum along an axis."""
        _computable(x)

        def make() -> Operation:
            return dataflow.CumsumOp(self.value(x), axis, exclusive=exclusive, reverse=reverse)

        def fold(a: Array) -> Array:
            a = np.flip(a, axis) if reverse else a
            sums = np.cumsum(a, axis, dtype=a.dtype) - (a if exclusive else 0)
            return np.flip(sums, axis) if reverse else sums

        return self.make(x.shape, x.dtype, make, [x], fold)


def _product_type(x: Tensor, y: Tensor) -> Dtype:
    """Element type of the product of two matrices."""
    if is_float(x.dtype) or is_float(y.dtype):
        return x.dtype if is_float(x.dtype) else y.dtype
    return np.dtype(np.int32) if x.dtype.itemsize < 4 else x.dtype


def _is_positive(scale: Tensor) -> bool:
    return scale.array is not None and bool((scale.array > 0).all())


def _computable(*operands: Tensor) -> None:
    """Raises NodeError for operands of different types, and for types without arithmetic (see narrow_types)."""
    first = operands[0].dtype
    for operand in operands:
        if operand.dtype != first:
            raise NodeError(f"operands have element types {first} and {operand.dtype}, which must be equal")
    if first in HELD_IN:
        raise NodeError(f"there is no arithmetic on {first}: convert it with Cast or DequantizeLinear")


def reduction_identity(kind: str, dtype: Dtype) -> float | int:
    """The result of a reduction over no elements."""
    if kind in ("sum", "prod"):
        return 0 if kind == "sum" else 1
    if is_float(dtype):
        return float("-inf") if kind == "max" else float("inf")
    if dtype == BOOL:
        return int(kind == "min")
    return int(np.iinfo(dtype).min if kind == "max" else np.iinfo(dtype).max)


def window_shape(
    sizes: Sequence[int],
    window: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    low: Sequence[int],
    high: Sequence[int],
) -> tuple[int, ...]:
    """
    Number of window positions in each dimension, by ONNX's formula: 0 for a window that exceeds the padded dimension by
    at most one stride. Raises NodeError for a larger window.
    """
    shape: list[int] = []
    for size, k, stride, dilation, a, b in zip(sizes, window, strides, dilations, low, high, strict=True):
        room = a + size + b - ((k - 1) * dilation + 1)
        if room < -stride:
            raise NodeError(f"a window of {k} elements (dilation {dilation}) does not fit in {a} + {size} + {b}")
        shape.append(room // stride + 1)
    return tuple(shape)

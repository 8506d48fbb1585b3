"""
Builds `dataflow` operations during import and computes at once what is known.

Every method takes and gives `Tensor`s. Where all operands are known and the result is not much larger than they are,
numpy computes it and no operation is made: that is how the shape arithmetic of ONNX files disappears. A known value
becomes a constant or a weight only when an operation needs it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from xdsl.builder import Builder as OpBuilder
from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from ..dialects import dataflow
from . import folding
from .sources import Sources
from .tensors import (
    BOOL,
    INT64,
    Array,
    Dtype,
    NodeError,
    Shape,
    Tensor,
    broadcast,
    element_type,
    is_float,
    known,
    tensor_type,
)

Operand: TypeAlias = "Tensor | float | int | bool"

SMALL = 4096
"""Bytes up to which a known value becomes a constant in the IR's text and no weight outside it."""

ALWAYS_FOLD = 1 << 16
"""Bytes up to which the result of known operands is computed at import, whatever the size of the operands."""

_UNARY: dict[str, type[dataflow.UnaryOp]] = {
    "neg": dataflow.NegOp,
    "abs": dataflow.AbsOp,
    "exp": dataflow.ExpOp,
    "log": dataflow.LogOp,
    "sqrt": dataflow.SqrtOp,
    "rsqrt": dataflow.RsqrtOp,
    "reciprocal": dataflow.ReciprocalOp,
    "tanh": dataflow.TanhOp,
    "sigmoid": dataflow.SigmoidOp,
    "erf": dataflow.ErfOp,
    "floor": dataflow.FloorOp,
    "ceil": dataflow.CeilOp,
    "round": dataflow.RoundOp,
    "sign": dataflow.SignOp,
    "sin": dataflow.SinOp,
    "cos": dataflow.CosOp,
    "not": dataflow.NotOp,
    "isnan": dataflow.IsNanOp,
    "isinf": dataflow.IsInfOp,
    "relu": dataflow.ReluOp,
}
_BINARY: dict[str, type[dataflow.BinaryOp]] = {
    "add": dataflow.AddOp,
    "sub": dataflow.SubOp,
    "mul": dataflow.MulOp,
    "div": dataflow.DivOp,
    "pow": dataflow.PowOp,
    "maximum": dataflow.MaximumOp,
    "minimum": dataflow.MinimumOp,
    "mod": dataflow.ModOp,
    "fmod": dataflow.FmodOp,
    "and": dataflow.AndOp,
    "or": dataflow.OrOp,
    "xor": dataflow.XorOp,
    "shift_left": dataflow.ShiftLeftOp,
    "shift_right": dataflow.ShiftRightOp,
}


class Builder:
    """Makes operations at one insertion point."""

    def __init__(self, ops: OpBuilder, sources: Sources):
        self.ops = ops
        self.sources = sources
        self.hint = ""
        """Name of the ONNX value being computed, for the names of weights."""
        self._constants: dict[tuple[Dtype, Shape, bytes | str], SSAValue] = {}
        self._names: set[str] = set()

    # ---- known values ----

    def value(self, tensor: Tensor) -> SSAValue:
        """The SSA value of a tensor; makes the constant or weight of a known one the first time it is asked for."""
        if tensor.value is None:
            if tensor.array is None:
                raise AssertionError("a tensor is known or computed")
            tensor.value = self._constant(tensor.array, tensor.name or self.hint)
        return tensor.value

    def _constant(self, array: Array, name: str) -> SSAValue:
        type = tensor_type(array.dtype, array.shape)
        if array.nbytes > SMALL and self._is_splat(array):
            one = known(array.reshape(-1)[:1].reshape((1,) * array.ndim))
            return self._emit(lambda: dataflow.BroadcastOp(self.value(one), array.shape)).results[0]
        if array.nbytes <= SMALL:
            key = (array.dtype, array.shape, array.tobytes())
            make = lambda: dataflow.ConstantOp(self.sources.inline(array, type))  # noqa: E731
        else:
            ref = self.sources.reference(array)
            key = (array.dtype, array.shape, ref.sha256)
            make = lambda: dataflow.WeightOp(  # noqa: E731
                self._unique(name), type, source=ref.source, offset=ref.offset, nbytes=ref.bytes, sha256=ref.sha256
            )
        if key not in self._constants:
            self._constants[key] = self._emit(make).results[0]
        return self._constants[key]

    @staticmethod
    def _is_splat(array: Array) -> bool:
        if all(stride == 0 for stride, size in zip(array.strides, array.shape, strict=True) if size > 1):
            return True
        flat = array.reshape(-1)
        head = flat[:64].tobytes()
        return head == flat[:1].tobytes() * (len(head) // array.itemsize) and bool(np.all(flat == flat[0]))

    def _unique(self, name: str) -> str:
        clean = "".join(c if (c.isascii() and c.isalnum()) or c in "_.$" else "_" for c in name) or "w"
        clean = clean if clean[0].isalpha() or clean[0] == "_" else "w" + clean
        unique, n = clean, 1
        while unique in self._names:
            unique, n = f"{clean}_{n}", n + 1
        self._names.add(unique)
        return unique

    def _emit(self, make: Callable[[], Operation]) -> Operation:
        try:
            return self.ops.insert(make())
        except VerifyException as error:
            raise NodeError(str(error)) from error

    def _make(
        self,
        shape: Sequence[int],
        dtype: Dtype,
        make: Callable[[], Operation],
        operands: Sequence[Tensor] = (),
        fold: Callable[..., Any] | None = None,
    ) -> Tensor:
        """Fold if the operands are known (or the result is empty), else make the operation."""
        shape = tuple(int(size) for size in shape)
        result = Tensor(shape, dtype)
        if result.size == 0:
            result.array = np.zeros(shape, dtype)
            return result
        arrays = [operand.array for operand in operands if operand.array is not None]
        if fold is not None and len(arrays) == len(operands):
            limit = max(ALWAYS_FOLD, 4 * sum(operand.nbytes for operand in operands))
            if result.nbytes <= limit:
                with np.errstate(all="ignore"):
                    result.array = np.asarray(fold(*arrays)).astype(dtype, copy=False).reshape(shape)
                return result
        result.value = self._emit(make).results[0]
        actual = tuple(result.value.type.get_shape())  # pyright: ignore
        if actual != shape:
            raise AssertionError(f"{result.value.owner} has shape {actual}, expected {shape}")
        return result

    def operand(self, x: Operand, dtype: Dtype) -> Tensor:
        """A tensor; a Python number becomes a scalar of this dtype."""
        return x if isinstance(x, Tensor) else known(np.asarray(x).astype(dtype))

    # ---- elementwise ----

    def unary(self, name: str, x: Tensor) -> Tensor:
        """One of the dialect's unary operations."""
        dtype = BOOL if name in ("isnan", "isinf") else x.dtype
        return self._make(x.shape, dtype, lambda: _UNARY[name](self.value(x)), [x], folding.UNARY[name])

    def binary(self, name: str, x: Operand, y: Operand) -> Tensor:
        """One of the dialect's binary operations; a number takes the other operand's dtype."""
        dtype = x.dtype if isinstance(x, Tensor) else y.dtype if isinstance(y, Tensor) else np.dtype(np.float32)
        a, b = self.operand(x, dtype), self.operand(y, dtype)
        if a.dtype != b.dtype:
            raise NodeError(f"operands have element types {a.dtype} and {b.dtype}, which must be equal")
        shape = broadcast(a.shape, b.shape)
        return self._make(
            shape, dtype, lambda: _BINARY[name](self.value(a), self.value(b)), [a, b], folding.BINARY[name]
        )

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
        """The larger of both; NaN if one is."""
        return self.binary("maximum", x, y)

    def minimum(self, x: Operand, y: Operand) -> Tensor:
        """The smaller of both; NaN if one is."""
        return self.binary("minimum", x, y)

    def compare(self, predicate: str, x: Tensor, y: Operand) -> Tensor:
        """Comparison with a bool result; predicate is eq, ne, lt, le, gt or ge."""
        b = self.operand(y, x.dtype)
        if x.dtype != b.dtype:
            raise NodeError(f"operands have element types {x.dtype} and {b.dtype}, which must be equal")
        return self._make(
            broadcast(x.shape, b.shape),
            BOOL,
            lambda: dataflow.CompareOp(self.value(x), self.value(b), predicate),
            [x, b],
            folding.COMPARE[predicate],
        )

    def select(self, condition: Tensor, x: Operand, y: Operand) -> Tensor:
        """Elements of x where the condition holds, else of y."""
        dtype = x.dtype if isinstance(x, Tensor) else y.dtype if isinstance(y, Tensor) else np.dtype(np.float32)
        a, b = self.operand(x, dtype), self.operand(y, dtype)
        shape = broadcast(condition.shape, a.shape, b.shape)
        if condition.array is not None and bool(np.all(condition.array)) and a.shape == shape:
            return a
        if condition.array is not None and not np.any(condition.array) and b.shape == shape:
            return b
        return self._make(
            shape,
            dtype,
            lambda: dataflow.SelectOp(self.value(condition), self.value(a), self.value(b)),
            [condition, a, b],
            np.where,
        )

    def cast(self, x: Tensor, dtype: Dtype) -> Tensor:
        """x with another element type."""
        if dtype == x.dtype:
            return x
        return self._make(
            x.shape,
            dtype,
            lambda: dataflow.CastOp(self.value(x), element_type(dtype)),
            [x],
            lambda a: folding.cast(a, dtype),
        )

    # ---- contractions and reductions ----

    def matmul(self, x: Tensor, y: Tensor, *, transpose_a: bool = False, transpose_b: bool = False) -> Tensor:
        """Product of the last two dimensions, leading ones broadcast; ranks of at least 2. Narrow integers give i32."""
        m, k = x.shape[-2:][::-1] if transpose_a else x.shape[-2:]
        k2, n = y.shape[-2:][::-1] if transpose_b else y.shape[-2:]
        if k != k2:
            raise NodeError(f"shapes {list(x.shape)} and {list(y.shape)} cannot be multiplied")
        dtype = np.dtype(np.int32) if x.dtype.itemsize < 4 and not is_float(x.dtype) else x.dtype
        shape = (*broadcast(x.shape[:-2], y.shape[:-2]), m, n)
        if k == 0:
            return known(np.zeros(shape, dtype))

        def fold(a: Array, b: Array) -> Array:
            a, b = (np.swapaxes(one, -1, -2) if flip else one for one, flip in ((a, transpose_a), (b, transpose_b)))
            return np.matmul(a.astype(dtype), b.astype(dtype))

        def make() -> Operation:
            return dataflow.MatmulOp(self.value(x), self.value(y), transpose_a=transpose_a, transpose_b=transpose_b)

        return self._make(shape, dtype, make, [x, y], fold)

    def conv(
        self,
        x: Tensor,
        w: Tensor,
        strides: Sequence[int],
        dilations: Sequence[int],
        low: Sequence[int],
        high: Sequence[int],
        groups: int,
    ) -> Tensor:
        """Convolution of x [N, C, S...] with w [O, C/groups, K...]."""
        spatial = window_shape(x.shape[2:], w.shape[2:], strides, dilations, low, high)
        dtype = np.dtype(np.int32) if x.dtype.itemsize < 4 and not is_float(x.dtype) else x.dtype

        def make() -> Operation:
            return dataflow.ConvOp(
                self.value(x),
                self.value(w),
                strides=strides,
                dilations=dilations,
                pad_low=low,
                pad_high=high,
                groups=groups,
            )

        return self._make((x.shape[0], w.shape[0], *spatial), dtype, make)

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
        shape = window_shape(x.shape, window, strides, dilations, low, high)

        def make() -> Operation:
            return dataflow.ReduceWindowOp(
                self.value(x), kind, window=window, strides=strides, dilations=dilations, pad_low=low, pad_high=high
            )

        return self._make(shape, x.dtype, make)

    def reduce(self, kind: str, x: Tensor, axes: Sequence[int], keepdims: bool = True) -> Tensor:
        """Reduction (sum, max, min, prod) over `axes`, non-negative; no axes: x itself."""
        axes = sorted(axes)
        shape = tuple(1 if axis in axes else size for axis, size in enumerate(x.shape))
        if x.size == 0 and shape and all(shape):
            result = self.full(shape, reduction_identity(kind, x.dtype), x.dtype)
        elif not axes:
            result = x
        else:
            result = self._make(
                shape,
                x.dtype,
                lambda: dataflow.ReduceOp(self.value(x), kind, axes),
                [x],
                lambda a: folding.REDUCE[kind](a, axis=tuple(axes), keepdims=True),
            )
        if keepdims:
            return result
        return self.reshape(result, [size for axis, size in enumerate(x.shape) if axis not in axes])

    def arg_reduce(self, kind: str, x: Tensor, axis: int) -> Tensor:
        """int64 position of the first extremum (max, min) along an axis, which stays with size 1."""
        function = np.argmax if kind == "max" else np.argmin
        return self._make(
            (*x.shape[:axis], 1, *x.shape[axis + 1 :]),
            INT64,
            lambda: dataflow.ArgReduceOp(self.value(x), kind, axis),
            [x],
            lambda a: function(a, axis=axis, keepdims=True),
        )

    def cumsum(self, x: Tensor, axis: int, exclusive: bool, reverse: bool) -> Tensor:
        """Cumulative sum along an axis."""

        def make() -> Operation:
            return dataflow.CumsumOp(self.value(x), axis, exclusive=exclusive, reverse=reverse)

        def fold(a: Array) -> Array:
            a = np.flip(a, axis) if reverse else a
            sums = np.cumsum(a, axis, dtype=a.dtype) - (a if exclusive else 0)
            return np.flip(sums, axis) if reverse else sums

        return self._make(x.shape, x.dtype, make, [x], fold)

    # ---- movement ----

    def reshape(self, x: Tensor, shape: Sequence[int]) -> Tensor:
        """The same elements in row-major order with another shape of the same count."""
        shape = tuple(int(size) for size in shape)
        if shape == x.shape:
            return x
        if np.prod(shape, dtype=np.int64) != x.size:
            raise NodeError(f"cannot reshape {list(x.shape)} to {list(shape)}")
        result = self._make(
            shape, x.dtype, lambda: dataflow.ReshapeOp(self.value(x), shape), [x], lambda a: a.reshape(shape)
        )
        result.name = x.name if result.array is not None else ""
        return result

    def transpose(self, x: Tensor, permutation: Sequence[int]) -> Tensor:
        """Dimension i of the result is dimension permutation[i] of x."""
        if list(permutation) == list(range(x.rank)):
            return x
        shape = [x.shape[p] for p in permutation]
        moved = [p for p in permutation if x.shape[p] != 1]
        if moved == sorted(moved):  # only unit dimensions move: no data does
            return self.reshape(x, shape)
        result = self._make(
            shape,
            x.dtype,
            lambda: dataflow.TransposeOp(self.value(x), permutation),
            [x],
            lambda a: np.ascontiguousarray(np.transpose(a, permutation)),
        )
        result.name = x.name if result.array is not None else ""
        return result

    def slice(
        self, x: Tensor, starts: Sequence[int], sizes: Sequence[int], steps: Sequence[int] | None = None
    ) -> Tensor:
        """`sizes[i]` elements of each dimension from `starts[i]` on by `steps[i]` (which may be negative)."""
        steps = [1] * x.rank if steps is None else steps
        if tuple(sizes) == x.shape and not any(starts) and all(step > 0 for step in steps):
            return x
        steps = [1 if size == 1 else step for size, step in zip(sizes, steps, strict=True)]

        def fold(a: Array) -> Array:
            picks = [s + np.arange(n) * d for s, n, d in zip(starts, sizes, steps, strict=True)]
            return a[np.ix_(*picks)]

        return self._make(sizes, x.dtype, lambda: dataflow.SliceOp(self.value(x), starts, sizes, steps), [x], fold)

    def slice_axis(self, x: Tensor, axis: int, start: int, size: int) -> Tensor:
        """`size` elements of one dimension from `start` on."""
        starts, sizes = [0] * x.rank, list(x.shape)
        starts[axis], sizes[axis] = start, size
        return self.slice(x, starts, sizes)

    def concat(self, tensors: Sequence[Tensor], axis: int) -> Tensor:
        """The tensors one after the other along an axis; empty ones are left out."""
        first = tensors[0]
        size = sum(one.shape[axis] for one in tensors)
        parts = [one for one in tensors if one.shape[axis]] or [first]
        if any(one.dtype != first.dtype for one in parts):
            raise NodeError("tensors of different element types cannot be concatenated")
        if any(
            one.shape[:axis] + one.shape[axis + 1 :] != first.shape[:axis] + first.shape[axis + 1 :] for one in parts
        ):
            raise NodeError("cannot concatenate shapes " + ", ".join(str(list(one.shape)) for one in parts))
        if len(parts) == 1:
            return parts[0]
        return self._make(
            (*first.shape[:axis], size, *first.shape[axis + 1 :]),
            first.dtype,
            lambda: dataflow.ConcatOp([self.value(one) for one in parts], axis),
            parts,
            lambda *arrays: np.concatenate(arrays, axis),
        )

    def pad(
        self,
        x: Tensor,
        low: Sequence[int],
        high: Sequence[int],
        value: float | bool = 0,
        interior: Sequence[int] | None = None,
    ) -> Tensor:
        """x with `value` around it and `interior` times between its elements; negative amounts cut off."""
        interior = [0] * x.rank if interior is None else interior
        if any(amount < 0 for amount in (*low, *high)):
            starts = [max(0, -amount) for amount in low]
            sizes = [
                max(0, size - start - max(0, -amount))
                for size, start, amount in zip(x.shape, starts, high, strict=True)
            ]
            x = self.slice(x, starts, sizes)
            low, high = [max(0, a) for a in low], [max(0, a) for a in high]
        if not any((*low, *high, *interior)):
            return x
        shape = [
            a + b + size + max(0, size - 1) * gap for size, a, b, gap in zip(x.shape, low, high, interior, strict=True)
        ]
        if x.size == 0:
            return self.full(shape, value, x.dtype)

        def fold(a: Array) -> Array:
            result = np.full(shape, value, x.dtype)
            result[
                tuple(
                    slice(at, at + size * (gap + 1), gap + 1) if size > 1 else slice(at, at + 1)
                    for at, size, gap in zip(low, x.shape, interior, strict=True)
                )
            ] = a
            return result

        def make() -> Operation:
            return dataflow.PadOp(self.value(x), low, high, interior=interior, value=value)

        return self._make(shape, x.dtype, make, [x], fold)

    def broadcast(self, x: Tensor, shape: Sequence[int]) -> Tensor:
        """x repeated to `shape` by numpy's rules."""
        if tuple(shape) == x.shape:
            return x
        if broadcast(x.shape, shape) != tuple(shape):
            raise NodeError(f"cannot broadcast {list(x.shape)} to {list(shape)}")
        if x.array is not None:  # a view without memory; it becomes a broadcast again if it is large and needed
            return Tensor(tuple(shape), x.dtype, np.broadcast_to(x.array, tuple(shape)), name=x.name)
        return self._make(shape, x.dtype, lambda: dataflow.BroadcastOp(self.value(x), shape))

    def full(self, shape: Sequence[int], value: Any, dtype: Dtype) -> Tensor:
        """A known tensor with one value everywhere."""
        scalar = np.asarray(value).astype(dtype).reshape(())
        return known(np.broadcast_to(scalar, tuple(shape)))

    def gather(self, data: Tensor, indices: Tensor, axis: int) -> Tensor:
        """ONNX's Gather: the slices of `data` along `axis` that `indices` name; negative ones count from the end."""
        shape = (*data.shape[:axis], *indices.shape, *data.shape[axis + 1 :])
        if indices.array is not None and data.array is None and indices.size:
            picked = self._gather_known(data, indices.array, axis)
            if picked is not None:
                return self.reshape(picked, shape)
        if indices.dtype not in (INT64, np.dtype(np.int32)):
            indices = self.cast(indices, INT64)
        return self._make(
            shape,
            data.dtype,
            lambda: dataflow.GatherOp(self.value(data), self.value(indices), axis),
            [data, indices],
            lambda a, i: np.take(a, i, axis),
        )

    def _gather_known(self, data: Tensor, indices: Array, axis: int) -> Tensor | None:
        """Gather by known indices as slice or repetition where they are regular."""
        size = data.shape[axis]
        flat = indices.reshape(-1).astype(np.int64)
        if np.any(flat < -size) or np.any(flat >= size):
            raise NodeError(f"an index is out of range for an axis of size {size}")
        flat = np.where(flat < 0, flat + size, flat)
        step = int(flat[1] - flat[0]) if len(flat) > 1 else 1
        if step and np.array_equal(flat, flat[0] + step * np.arange(len(flat))):
            starts, sizes, steps = [0] * data.rank, list(data.shape), [1] * data.rank
            starts[axis], sizes[axis], steps[axis] = int(flat[0]), len(flat), step
            return self.slice(data, starts, sizes, steps)
        times = len(flat) // size
        if times * size == len(flat) and np.array_equal(flat, np.repeat(np.arange(size), times)):
            return self._repeat(data, axis, 1, times)
        if times * size == len(flat) and np.array_equal(flat, np.tile(np.arange(size), times)):
            return self._repeat(data, axis, 0, times)
        return None

    def _repeat(self, data: Tensor, axis: int, after: int, times: int) -> Tensor:
        """Each element (after = 1) or the whole (after = 0) repeated along an axis."""
        at = axis + after
        wide = self.reshape(data, [*data.shape[:at], 1, *data.shape[at:]])
        wide = self.broadcast(wide, [*data.shape[:at], times, *data.shape[at:]])
        return self.reshape(wide, [*data.shape[:axis], data.shape[axis] * times, *data.shape[axis + 1 :]])


def reduction_identity(kind: str, dtype: Dtype) -> float | int:
    """What a reduction of nothing gives."""
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
    """Positions of a window along each dimension. Raises NodeError where it does not fit once."""
    shape: list[int] = []
    for size, k, stride, dilation, a, b in zip(sizes, window, strides, dilations, low, high, strict=True):
        room = a + size + b - ((k - 1) * dilation + 1)
        if room < 0:
            raise NodeError(f"a window of {k} elements (dilation {dilation}) does not fit in {a} + {size} + {b}")
        shape.append(room // stride + 1)
    return tuple(shape)

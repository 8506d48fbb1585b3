"""The builder's data movement operations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.ir import Operation

from ..dialects import dataflow
from . import folding
from .builder_values import Values
from .quantised import reshaped, sums_reshaped, transposed
from .tensors import INT64, Array, Dtype, NodeError, Tensor, broadcast, check_indices, check_size, known, tensor_type


class Movement(Values):
    """Reshape, transpose, slice, concat, pad, broadcast, gather."""

    def reshape(self, x: Tensor, shape: Sequence[int]) -> Tensor:
        """The same elements in row-major order with another shape of the same count."""
        shape = tuple(int(size) for size in shape)
        if shape == x.shape:
            return x
        if np.prod(shape, dtype=np.int64) != x.size:
            raise NodeError(f"cannot reshape {list(x.shape)} to {list(shape)}")

        def fold(a: Array) -> Array:
            return a.reshape(shape)

        result = self.make(shape, x.dtype, lambda: dataflow.ReshapeOp(self.value(x), shape), [x], fold)
        result.name = x.name if result.array is not None else ""
        result.quantised = reshaped(self, x, shape)
        result.sums = sums_reshaped(self, x, shape)
        result.signed = None if x.signed is None else self.reshape(x.signed, shape)
        return result

    def transpose(self, x: Tensor, permutation: Sequence[int]) -> Tensor:
        """Dimension i of the result is dimension permutation[i] of x."""
        if list(permutation) == list(range(x.rank)):
            return x
        shape = [x.shape[p] for p in permutation]
        moved = [p for p in permutation if x.shape[p] != 1]
        if moved == sorted(moved):  # only dimensions of size 1 change their place: a reshape
            return self.reshape(x, shape)
        if x.array is None:
            return self._transpose(x, permutation, shape)
        # All steps of an unrolled sequence read the same weights, which are thus transposed and hashed once.
        key = id(x), tuple(permutation)
        if key not in self._transposed:
            self._transposed[key] = x, self._transpose(x, permutation, shape)
        return self._transposed[key][1]

    def _transpose(self, x: Tensor, permutation: Sequence[int], shape: Sequence[int]) -> Tensor:
        def fold(a: Array) -> Array:
            return np.ascontiguousarray(np.transpose(a, permutation))

        result = self.make(
            shape,
            x.dtype,
            lambda: dataflow.TransposeOp(self.value(x), permutation),
            [x],
            fold,
        )
        result.name = x.name if result.array is not None else ""
        result.quantised = transposed(self, x, permutation)
        result.signed = None if x.signed is None else self.transpose(x.signed, permutation)
        return result

    def slice(
        self, x: Tensor, starts: Sequence[int], sizes: Sequence[int], steps: Sequence[int] | None = None
    ) -> Tensor:
        """`sizes[i]` elements of each dimension i, from `starts[i]` in steps of `steps[i]` (which may be negative)."""
        steps = [1] * x.rank if steps is None else steps
        if tuple(sizes) == x.shape and not any(starts) and all(step > 0 for step in steps):
            return x
        steps = [1 if size == 1 else step for size, step in zip(sizes, steps, strict=True)]

        def fold(a: Array) -> Array:
            picks = [s + np.arange(n) * d for s, n, d in zip(starts, sizes, steps, strict=True)]
            return a[np.ix_(*picks)]

        return self.make(sizes, x.dtype, lambda: dataflow.SliceOp(self.value(x), starts, sizes, steps), [x], fold)

    def slice_axis(self, x: Tensor, axis: int, start: int, size: int) -> Tensor:
        """`size` elements of one dimension from `start` on."""
        starts, sizes = [0] * x.rank, list(x.shape)
        starts[axis], sizes[axis] = start, size
        return self.slice(x, starts, sizes)

    def concat(self, tensors: Sequence[Tensor], axis: int) -> Tensor:
        """The concatenation of the tensors along an axis, without empty ones."""
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

        def fold(*arrays: Array) -> Array:
            return np.concatenate(arrays, axis)

        return self.make(
            (*first.shape[:axis], size, *first.shape[axis + 1 :]),
            first.dtype,
            lambda: dataflow.ConcatOp([self.value(one) for one in parts], axis),
            parts,
            fold,
        )

    def pad(
        self,
        x: Tensor,
        low: Sequence[int],
        high: Sequence[int],
        value: float | bool = 0,
        interior: Sequence[int] | None = None,
    ) -> Tensor:
        """
        x padded with `value`: `low[i]` elements before and `high[i]` elements after dimension i (negative numbers
        crop), and `interior[i]` elements between neighbouring elements.
        """
        interior = [0] * x.rank if interior is None else interior
        if any(amount < 0 for amount in (*low, *high)):
            x, low, high = self._crop(x, low, high)
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

        return self.make(shape, x.dtype, make, [x], fold)

    def _crop(self, x: Tensor, low: Sequence[int], high: Sequence[int]) -> tuple[Tensor, list[int], list[int]]:
        """
        x cropped where padding is negative, and the padding that remains. Raises NodeError if more is cropped than x
        has.
        """
        starts, sizes, more = [0] * x.rank, list(x.shape), [list(low), list(high)]
        for axis, (size, a, z) in enumerate(zip(x.shape, low, high, strict=True)):
            if a >= 0 and z >= 0:
                continue
            if size + a + z < 0:
                raise NodeError(f"padding by {a} and {z} crops more than the {size} elements")
            # The result consists of the positions -a to size + z of x, which may all be before or after its elements.
            starts[axis] = min(max(0, -a), size)
            end = max(min(size, size + z), starts[axis])
            sizes[axis] = end - starts[axis]
            if sizes[axis]:
                more[0][axis], more[1][axis] = max(0, a), max(0, z)
            else:
                more[0][axis], more[1][axis] = size + a + z, 0
        return self.slice(x, starts, sizes), more[0], more[1]

    def iota(self, size: int, dtype: Dtype) -> Tensor:
        """0, 1, 2 ..., as an operation."""
        return self.make([size], dtype, lambda: dataflow.IotaOp(tensor_type(dtype, [size])))

    def broadcast(self, x: Tensor, shape: Sequence[int]) -> Tensor:
        """x repeated to `shape` by numpy's rules."""
        if tuple(shape) == x.shape:
            return x
        if broadcast(x.shape, shape) != tuple(shape):
            raise NodeError(f"cannot broadcast {list(x.shape)} to {list(shape)}")
        check_size(shape, x.dtype)
        if x.array is not None:  # a view without memory; if it is large and needed, it becomes a broadcast
            return Tensor(tuple(shape), x.dtype, np.broadcast_to(x.array, tuple(shape)), name=x.name)
        return self.make(shape, x.dtype, lambda: dataflow.BroadcastOp(self.value(x), shape))

    def full(self, shape: Sequence[int], value: Any, dtype: Dtype) -> Tensor:
        """A known tensor with one value everywhere."""
        check_size(shape, dtype)
        scalar = np.asarray(value).astype(dtype).reshape(())
        return known(np.broadcast_to(scalar, tuple(shape)))

    def gather(self, data: Tensor, indices: Tensor, axis: int) -> Tensor:
        """ONNX's Gather: the slices of `data` along `axis` that `indices` name; negative ones count from the end."""
        shape = (*data.shape[:axis], *indices.shape, *data.shape[axis + 1 :])
        if indices.array is not None:
            check_indices(indices.array, data.shape[axis])
        if indices.array is not None and data.array is None and indices.size:
            picked = self._gather_known(data, indices.array, axis)
            if picked is not None:
                return self.reshape(picked, shape)
        if indices.dtype not in (INT64, np.dtype(np.int32)):
            indices = self.cast(indices, INT64)

        def fold(a: Array, i: Array) -> Array:
            return np.take(a, i, axis)

        return self.make(
            shape,
            data.dtype,
            lambda: dataflow.GatherOp(self.value(data), self.value(indices), axis),
            [data, indices],
            fold,
        )

    def scatter(self, mode: str, data: Tensor, indices: Tensor, updates: Tensor, batch: int = 0) -> Tensor:
        """`data` with the rows at `indices` replaced by (`set`) or combined with (`add`, `max`) `updates`."""
        if indices.array is not None:
            check_indices(indices.array, data.shape[batch])
        if data.size == 0 or updates.size == 0:
            return data
        if indices.dtype not in (INT64, np.dtype(np.int32)):
            indices = self.cast(indices, INT64)

        def fold(a: Array, i: Array, u: Array) -> Array:
            return folding.scatter(mode, a, i, u, batch)

        return self.make(
            data.shape,
            data.dtype,
            lambda: dataflow.ScatterOp(mode, self.value(data), self.value(indices), self.value(updates), batch),
            [data, indices, updates],
            fold,
        )

    def _gather_known(self, data: Tensor, indices: Array, axis: int) -> Tensor | None:
        """A gather with known, regular indices as a slice or a repetition; None for other indices."""
        size = data.shape[axis]
        flat = indices.reshape(-1).astype(np.int64)
        check_indices(flat, size)
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
        """Each element (after = 1) or the whole axis (after = 0) repeated."""
        at = axis + after
        wide = self.reshape(data, [*data.shape[:at], 1, *data.shape[at:]])
        wide = self.broadcast(wide, [*data.shape[:at], times, *data.shape[at:]])
        return self.reshape(wide, [*data.shape[:axis], data.shape[axis] * times, *data.shape[axis + 1 :]])

"""
The base class of the builder: creates operations for computed values, and folds known values by numpy.

A known value becomes a constant or a weight when an operation first reads it; equal values share one.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np
from xdsl.builder import Builder as OpBuilder
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint
from xdsl.utils.exceptions import VerifyException

from ..dialects import dataflow
from ..dialects.dataflow.types import shape_of
from . import folding
from .sources import Sources
from .tensors import (
    HELD_IN,
    Array,
    Dtype,
    NodeError,
    Shape,
    Tensor,
    TensorSequence,
    element_type,
    is_string,
    known,
    tensor_type,
)

Operand: TypeAlias = "Tensor | float | int | bool"

SMALL = 4096
"""Known values of at most this many bytes become constants in the IR's text; larger ones become weights outside it."""

ALWAYS_FOLD = 1 << 16
"""Results of at most this many bytes are folded if the operands are known, whatever the operands' size."""


NEVER_FOLD = 1 << 30
"""Results of more bytes are computed on the chip even if the operands are known."""


class Values:
    """Creates operations at an insertion point, and the constants and weights that they read."""

    def __init__(self, ops: OpBuilder, sources: Sources):
        self.ops = ops
        """Insertion point of operations."""
        self._outside = ops
        """Insertion point of constants and weights: before all loops, where all operations can read them."""
        self.sources = sources
        self.hint = ""
        """Name of the ONNX value being computed, for the names of weights."""
        self._constants: dict[tuple[Dtype, Shape, bytes | str], SSAValue] = {}
        self._names: set[str] = set()
        self._transposed: dict[tuple[int, tuple[int, ...]], tuple[Tensor, Tensor]] = {}
        """Transposed known tensors, by the tensor's identity and the permutation, with the tensor."""

    @contextmanager
    def inside(self, block: Block) -> Generator[None]:
        """Context in which operations are appended to a block, the body of a loop."""
        before, self.ops = self.ops, OpBuilder(InsertPoint.at_end(block))
        try:
            yield
        finally:
            self.ops = before

    # ---- known values ----

    def value(self, tensor: Tensor) -> SSAValue:
        """The SSA value of a tensor. The first call for a known tensor creates its constant or weight."""
        _numeric(tensor)
        if tensor.value is None:
            if isinstance(tensor, TensorSequence):
                raise NodeError("it is a sequence, which is not supported")
            if tensor.array is None:
                raise AssertionError("a tensor is known or computed")
            array = tensor.array.astype(HELD_IN.get(tensor.dtype, tensor.dtype), copy=False)
            tensor.value = self._constant(array, tensor.name or self.hint)
        return tensor.value

    def _constant(self, array: Array, name: str) -> SSAValue:
        type = tensor_type(array.dtype, array.shape)
        if array.nbytes > SMALL and self._is_splat(array):
            one = known(array.reshape(-1)[:1].reshape((1,) * array.ndim))
            source = self.value(one)
            return self._emit(lambda: dataflow.BroadcastOp(source, array.shape), self._outside).results[0]
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
            self._constants[key] = self._emit(make, self._outside).results[0]
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

    def _emit(self, make: Callable[[], Operation], where: OpBuilder | None = None) -> Operation:
        try:
            return (where or self.ops).insert(make())
        except VerifyException as error:
            raise NodeError(str(error)) from error

    def make(
        self,
        shape: Sequence[int],
        dtype: Dtype,
        make: Callable[[], Operation],
        operands: Sequence[Tensor] = (),
        fold: Callable[..., Any] | None = None,
    ) -> Tensor:
        """The folded value if the operands are known or the result is empty, else the result of the new operation."""
        _numeric(*operands)
        shape = tuple(int(size) for size in shape)
        result = Tensor(shape, dtype)
        if result.size == 0:
            result.array = np.zeros(shape, dtype)
            return result
        arrays = [operand.array for operand in operands if operand.array is not None]
        if fold is not None and len(arrays) == len(operands):
            limit = min(NEVER_FOLD, max(ALWAYS_FOLD, 4 * sum(operand.nbytes for operand in operands)))
            if result.nbytes <= limit:
                with np.errstate(all="ignore"):
                    result.array = np.asarray(fold(*arrays)).astype(dtype, copy=False).reshape(shape)
                return result
        result.value = self._emit(make).results[0]
        actual = shape_of(result.value)
        if actual != shape:
            raise AssertionError(f"{result.value.owner} has shape {actual}, expected {shape}")
        return result

    def operand(self, x: Operand, dtype: Dtype) -> Tensor:
        """A tensor; a Python number becomes a scalar of this dtype."""
        return x if isinstance(x, Tensor) else known(np.asarray(x).astype(dtype))

    def cast(self, x: Tensor, dtype: Dtype) -> Tensor:
        """x with another element type."""
        if dtype == x.dtype:
            return x

        def fold(a: Array) -> Array:
            return folding.cast(a, dtype)

        result = self.make(
            x.shape,
            dtype,
            lambda: dataflow.CastOp(self.value(x), element_type(dtype)),
            [x],
            fold,
        )
        return result

    def bitcast(self, x: Tensor, dtype: Dtype) -> Tensor:
        """The bits of x as elements of another type of the same width."""
        if dtype == x.dtype:
            return x

        def fold(a: Array) -> Array:
            return np.ascontiguousarray(a).view(dtype).reshape(a.shape)

        return self.make(x.shape, dtype, lambda: dataflow.BitcastOp(self.value(x), element_type(dtype)), [x], fold)


def _numeric(*operands: Tensor) -> None:
    """Raises NodeError for strings: only `StringBuilder` accepts them."""
    if any(is_string(operand.dtype) for operand in operands):
        raise NodeError("strings are not supported here: they can be moved, and compared by Equal")

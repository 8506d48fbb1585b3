"""Random `dataflow` networks: valid by construction, of all kinds of operations, from a seed."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr, f32, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue

from meshloom.dialects.dataflow import (
    AbsOp,
    AddOp,
    ConcatOp,
    ConstantOp,
    ConvOp,
    GatherOp,
    MatmulOp,
    MaximumOp,
    MulOp,
    PadOp,
    ReduceOp,
    ReduceWindowOp,
    ReluOp,
    ReshapeOp,
    SigmoidOp,
    SliceOp,
    SubOp,
    TanhOp,
    TransposeOp,
)
from meshloom.dialects.dataflow.types import shape_of, tensor

MAX_ELEMENTS = 20_000


Maker = Callable[[np.random.Generator, SSAValue], Operation | None]
"""Makes an operation with one result of a tensor of f32; None where it takes no tensor of this shape."""


class RandomNetwork:
    """
    A network of so many operations, from a seed; `module` is the result, which is valid by construction.

    `makers` make operations of one's own, as often among the others as each of the kinds of `dataflow`.
    """

    def __init__(self, seed: int, operations: int, makers: Sequence[Maker] = ()) -> None:
        self.rng = np.random.default_rng(seed)
        shape = (self._int(1, 2), self._int(1, 12), self._int(3, 20), self._int(3, 20))
        self.block = Block(arg_types=[tensor(f32, shape)])
        self.values: list[SSAValue] = [self.block.args[0]]
        kinds: list[Callable[[SSAValue], Operation | None]] = [
            self._conv, self._conv, self._pool, self._elementwise, self._elementwise, self._binary, self._binary,
            self._matmul, self._concat, self._slice, self._pad, self._transpose, self._reshape, self._reduce,
            self._gather, *(partial(maker, self.rng) for maker in makers),
        ]  # fmt: skip
        while len(self.values) <= operations:
            kind = kinds[self._int(0, len(kinds) - 1)]
            made = kind(self.values[-self._int(1, min(3, len(self.values)))])
            if made is None:
                continue
            if 0 < math.prod(shape_of(made.results[0])) <= MAX_ELEMENTS:
                self.block.add_op(made)
                self.values.append(made.results[0])
            else:
                made.erase()
        results = [self.values[-1]]
        if self._int(0, 3) == 0:
            results.append(self.values[len(self.values) // 2])
        self.block.add_op(ReturnOp(*results))
        function = FuncOp("main", ([self.block.args[0].type], [value.type for value in results]), Region(self.block))
        function.arg_attrs = _named(["x"])
        function.res_attrs = _named([f"y{number}" for number in range(len(results))])
        self.module = ModuleOp([function])

    def input(self) -> np.ndarray:
        """A random input."""
        return self.rng.standard_normal(shape_of(self.block.args[0])).astype(np.float32)

    def _int(self, low: int, high: int) -> int:
        return int(self.rng.integers(low, high + 1))

    def _constant(self, *shape: int) -> SSAValue:
        scale = 1 / math.sqrt(max(1, math.prod(shape[1:])))
        op = ConstantOp.from_array((self.rng.standard_normal(shape) * scale).astype(np.float32), f32)
        self.block.add_op(op)
        return op.result

    def _conv(self, x: SSAValue) -> Operation | None:
        shape = shape_of(x)
        if len(shape) not in (3, 4):
            return None
        spatial = len(shape) - 2
        divisors = [d for d in range(1, shape[1] + 1) if shape[1] % d == 0]
        groups = divisors[self._int(0, len(divisors) - 1)] if self._int(0, 2) == 0 else 1
        kernel = [self._int(1, 3) for _ in range(spatial)]
        pads = [self._int(0, size - 1) for size in kernel]
        if any(size + 2 * pad < k for size, pad, k in zip(shape[2:], pads, kernel, strict=True)):
            return None
        weights = self._constant(groups * self._int(1, 9), shape[1] // groups, *kernel)
        strides = [self._int(1, 2) for _ in range(spatial)]
        return ConvOp(x, weights, strides=strides, pad_low=pads, pad_high=pads, groups=groups)

    def _pool(self, x: SSAValue) -> Operation | None:
        shape = shape_of(x)
        if len(shape) < 3:
            return None
        window = [1] * (len(shape) - 2) + [self._int(1, min(3, size)) for size in shape[-2:]]
        kind = ("max", "sum", "min")[self._int(0, 2)]
        strides = [1] * (len(shape) - 2) + [self._int(1, 2) for _ in range(2)]
        pads = [0] * (len(shape) - 2) + [self._int(0, size // 2) for size in window[-2:]]
        return ReduceWindowOp(x, kind=kind, window=window, strides=strides, pad_low=pads, pad_high=pads)

    def _elementwise(self, x: SSAValue) -> Operation:
        return (ReluOp, TanhOp, SigmoidOp, AbsOp)[self._int(0, 3)](x)

    def _binary(self, x: SSAValue) -> Operation:
        shape = shape_of(x)
        equal = [value for value in self.values if shape_of(value) == shape and value is not x]
        if equal and self._int(0, 1):
            other = equal[self._int(0, len(equal) - 1)]
        else:
            other = self._constant(*(size if self._int(0, 1) else 1 for size in shape))
        return (AddOp, MulOp, SubOp, MaximumOp)[self._int(0, 3)](x, other)

    def _matmul(self, x: SSAValue) -> Operation | None:
        shape = shape_of(x)
        if len(shape) < 2:
            return None
        transposed = bool(self._int(0, 1))
        n = self._int(1, 24)
        weights = self._constant(n, shape[-1]) if transposed else self._constant(shape[-1], n)
        return MatmulOp(x, weights, transpose_b=transposed)

    def _concat(self, x: SSAValue) -> Operation:
        shape = shape_of(x)
        axis = self._int(0, len(shape) - 1)
        fits = [
            value
            for value in self.values
            if len(shape_of(value)) == len(shape)
            and all(a == b for dim, (a, b) in enumerate(zip(shape_of(value), shape, strict=True)) if dim != axis)
        ]
        return ConcatOp([x, *(fits[self._int(0, len(fits) - 1)] for _ in range(self._int(1, 2)))], axis)

    def _slice(self, x: SSAValue) -> Operation:
        starts: list[int] = []
        sizes: list[int] = []
        steps: list[int] = []
        for size in shape_of(x):
            step = (1, 1, 2, -1)[self._int(0, 3)]
            count = self._int(1, (size + abs(step) - 1) // abs(step))
            first = self._int(0, size - 1 - (count - 1) * abs(step))
            starts.append(first if step > 0 else first + (count - 1))
            sizes.append(count)
            steps.append(step)
        return SliceOp(x, starts, sizes, steps)

    def _pad(self, x: SSAValue) -> Operation:
        rank = len(shape_of(x))
        low, high = ([self._int(0, 2) if self._int(0, 1) else 0 for _ in range(rank)] for _ in range(2))
        return PadOp(x, low, high, [self._int(0, 1) if self._int(0, 3) == 0 else 0 for _ in range(rank)], 0.5)

    def _transpose(self, x: SSAValue) -> Operation:
        return TransposeOp(x, [int(dim) for dim in self.rng.permutation(len(shape_of(x)))])

    def _reshape(self, x: SSAValue) -> Operation:
        total = math.prod(shape_of(x))
        shape: list[int] = []
        for _ in range(self._int(1, 3)):
            divisors = [d for d in range(1, total + 1) if total % d == 0]
            shape.append(divisors[self._int(0, len(divisors) - 1)])
            total //= shape[-1]
        return ReshapeOp(x, [*shape, total])

    def _reduce(self, x: SSAValue) -> Operation:
        rank = len(shape_of(x))
        axes = sorted({self._int(0, rank - 1) for _ in range(self._int(1, 2))})
        return ReduceOp(x, ("sum", "max", "min")[self._int(0, 2)], axes)

    def _gather(self, x: SSAValue) -> Operation:
        axis = self._int(0, len(shape_of(x)) - 1)
        size = shape_of(x)[axis]
        indices = ConstantOp.from_array(self.rng.integers(-size, size, self._int(1, 5)), i64)
        self.block.add_op(indices)
        return GatherOp(x, indices.result, axis)


def _named(names: list[str]) -> ArrayAttr[DictionaryAttr]:
    return ArrayAttr([DictionaryAttr({"dataflow.name": StringAttr(name)}) for name in names])

"""
Constant channels: for each value and axis, the indices at which all elements are the same constant.

They originate at contractions whose weights are zero for an output channel, or that read only such channels, and are
propagated through operations. As with encoded weights, a product with a zero weight is taken as zero, whatever the
activation.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import bf16
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects.dataflow import (
    BroadcastOp,
    ConcatOp,
    ConvOp,
    MatmulOp,
    MulOp,
    PadOp,
    ReduceOp,
    ReduceWindowOp,
    Reduction,
    ReshapeOp,
    SliceOp,
    TransposeOp,
)
from ...dialects.dataflow.base import DataflowOp, ints
from ...dialects.dataflow.constants import numpy_type, scalar_array, widen_bf16
from ...dialects.dataflow.elementwise import ElementwiseOp
from ...dialects.dataflow.evaluate import evaluate
from ...dialects.dataflow.types import element_of, is_float, shape_of
from .channel_provenance import Place, reshaped
from .constants import Array, constant_array, is_constant, rounded

Mask: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True)
class Known:
    """Along an axis: the indices whose elements are all the same constant, and the constants (storage form)."""

    mask: Mask
    numbers: Array

    def at(self, indices: Any) -> Known:
        """A selection of the indices."""
        return Known(self.mask[indices], self.numbers[indices])


def as_numbers(array: Array, element: Attribute) -> Array:
    """The values of elements in storage form: floats as f64, integers as i64 (wrapping), i1 as i64."""
    if element == bf16:
        array = widen_bf16(array)
    return array.astype(np.float64 if is_float(element) else np.int64)


def as_stored(array: Array, element: Attribute) -> Array:
    """The storage form of numbers: the inverse of `as_numbers`."""
    return rounded(array, element) if is_float(element) else array.astype(numpy_type(element))


@dataclass
class ConstantChannels:
    """The constant channels of the values of some operations."""

    found: dict[SSAValue, dict[int, Known]] = field(default_factory=dict[SSAValue, dict[int, Known]])
    _weights: dict[SSAValue, Array] = field(default_factory=dict[SSAValue, Array])

    @staticmethod
    def of(ops: Iterable[Operation]) -> ConstantChannels:
        """Propagate constant channels through operations, in their order."""
        channels = ConstantChannels()
        for op in ops:
            if isinstance(op, DataflowOp) and not is_constant(op.results[0]):
                found = {axis: known for axis, known in channels._result(op) if known.mask.any()}
                if found:
                    channels.found[op.results[0]] = found
        return channels

    def weights(self, value: SSAValue) -> Array | None:
        """The numbers of a constant value, None for others."""
        if value not in self._weights:
            array = constant_array(value)
            if array is None:
                return None
            wide = widen_bf16(array) if element_of(value) == bf16 else array
            self._weights[value] = np.broadcast_to(wide, shape_of(value))
        return self._weights[value]

    def along(self, value: SSAValue, axis: int) -> Known:
        """The constant channels along an axis."""
        size = shape_of(value)[axis]
        if is_constant(value):
            array = constant_array(value)
            assert array is not None
            lines = np.moveaxis(array, axis, 0).reshape(array.shape[axis], -1)
            if not lines.shape[1]:
                return Known(np.zeros(size, bool), np.zeros(size, array.dtype))
            known = Known((lines == lines[:, :1]).all(axis=1), lines[:, 0])
            return Known(np.broadcast_to(known.mask, size), np.broadcast_to(known.numbers, size))
        nothing = np.zeros(size, numpy_type(element_of(value)))
        return self.found.get(value, {}).get(axis) or Known(np.zeros(size, bool), nothing)

    def numbers(self, value: SSAValue, axis: int) -> tuple[Mask, Array]:
        """As `along`, as numbers; channels that are not constant are 0."""
        known = self.along(value, axis)
        numbers = as_numbers(known.numbers, element_of(value))
        mask = known.mask & np.isfinite(numbers)
        return mask, np.where(mask, numbers, 0)

    def _result(self, op: DataflowOp) -> Iterable[tuple[int, Known]]:
        match op:
            case ConvOp():
                return self._conv(op)
            case MatmulOp():
                return self._matmul(op)
            case ElementwiseOp() | BroadcastOp():
                return self._elementwise(op)
            case _:
                return [one for axis, known in self._tracked(op) for one in _moved(op, axis, known, self)]

    def _tracked(self, op: Operation) -> list[tuple[int, Known]]:
        """
        Operand and axes that are propagated: those of the first operand with constant channels; of `concat`, all axes
        of any operand.
        """
        if isinstance(op, ConcatOp):
            axes = {axis for value in op.operands for axis in self.found.get(value, {})}
            nothing = Known(np.zeros(0, bool), np.zeros(0))
            return [(axis, nothing) for axis in sorted(axes)]
        return [] if not op.operands else list(self.found.get(op.operands[0], {}).items())

    def _conv(self, op: ConvOp) -> list[tuple[int, Known]]:
        if (weights := self.weights(op.weights)) is None:
            return []
        groups = op.group_count
        mask, numbers = self.numbers(op.operand, 1)
        if any((*ints(op.pad_low), *ints(op.pad_high))):
            mask = mask & (numbers == op.padding)
        flat = weights.reshape(groups, -1, weights.shape[1], math.prod(weights.shape[2:]))
        stored = (flat != 0).any(axis=3)  # [groups, outputs, inputs]
        known = ~(stored & ~mask.reshape(groups, 1, -1)).any(axis=2).reshape(-1)
        sums = np.zeros(len(known))
        if known.any() and numbers.any():
            with np.errstate(invalid="ignore"):
                sums = np.einsum("goik,gi->go", flat, numbers.reshape(groups, -1)).reshape(-1)
        return [(1, _finite(known, sums, element_of(op.result)))]

    def _matmul(self, op: MatmulOp) -> Iterable[tuple[int, Known]]:
        rank = len(shape_of(op.result))
        flags = op.transpose_a is not None, op.transpose_b is not None
        for position in (1, 0):
            value, other = op.operands[position], op.operands[1 - position]
            if (weights := self.weights(value)) is None:
                continue
            inner, outer = (-2, -1) if position == 1 else (-1, -2)
            if flags[position]:
                inner, outer = outer, inner
            matrix = np.moveaxis(weights, (inner, outer), (-2, -1))  # [..., K, out]
            matrix = matrix.reshape(-1, *matrix.shape[-2:])
            last = (position == 1) != flags[1 - position]
            mask, numbers = self.numbers(other, len(shape_of(other)) - (1 if last else 2))
            known = ~((matrix != 0) & ~mask[:, None]).any(axis=1).any(axis=0)
            sums = np.zeros((1, len(known)))
            if known.any() and numbers.any():
                with np.errstate(invalid="ignore"):
                    sums = np.einsum("bko,k->bo", matrix, numbers)
            alike = known & (sums == sums[:1]).all(axis=0)
            yield rank - (1 if position == 1 else 2), _finite(alike, sums[0], element_of(op.result))

    def _elementwise(self, op: DataflowOp) -> Iterable[tuple[int, Known]]:
        shape = shape_of(op.results[0])
        ranks = [len(shape_of(value)) for value in op.operands]
        axes = {
            axis - rank for value, rank in zip(op.operands, ranks, strict=True) for axis in self.found.get(value, {})
        }
        for axis in sorted(axes):
            size = shape[axis]
            knowns: list[Known] = []
            for value, rank in zip(op.operands, ranks, strict=True):
                # An operand without this axis has one index along it, and is known there if it is one number.
                if rank + axis >= 0:
                    known = self.along(value, rank + axis)
                elif (array := constant_array(value)) is not None and array.size:
                    flat = array.reshape(-1)
                    known = Known(np.asarray([(flat == flat[0]).all()]), flat[:1])
                else:
                    known = Known(np.zeros(1, bool), np.zeros(1, numpy_type(element_of(value))))
                knowns.append(Known(np.broadcast_to(known.mask, size), np.broadcast_to(known.numbers, size)))
            element = element_of(op.results[0])
            if isinstance(op, BroadcastOp):
                yield len(shape) + axis, knowns[0]
                continue
            mask = np.logical_and.reduce([known.mask for known in knowns])
            numbers = evaluate(op, [known.numbers for known in knowns])
            if isinstance(op, MulOp):
                zero: Mask = np.logical_or.reduce(
                    [
                        known.mask & (as_numbers(known.numbers, element_of(value)) == 0)
                        for known, value in zip(knowns, op.operands, strict=True)
                    ]
                )
                mask, numbers = mask | zero, np.where(zero, scalar_array(0, element), numbers)
            yield len(shape) + axis, _finite(mask, as_numbers(numbers, element), element)


def _finite(mask: Mask, numbers: Array, element: Attribute) -> Known:
    """Mask of the numbers that the type represents as finite."""
    stored = as_stored(np.where(mask, numbers, 0), element)
    return Known(mask & np.isfinite(as_numbers(stored, element)), stored)


def _moved(op: DataflowOp, axis: int, known: Known, channels: ConstantChannels) -> Iterable[tuple[int, Known]]:
    """
    The effect of an operation that moves or joins elements on constant channels along an axis of its first operand.
    """
    element = element_of(op.results[0])
    match op:
        case TransposeOp():
            yield ints(op.permutation).index(axis), known
        case ReshapeOp():
            place = reshaped(shape_of(op.operand), shape_of(op.result), Place(axis, len(known.mask)))
            if place is not None:
                yield place.axis, known.at(np.tile(np.repeat(np.arange(place.count), place.inner), place.outer))
        case SliceOp():
            start, size, step = (ints(one)[axis] for one in (op.starts, op.sizes, op.steps))
            yield axis, known.at(start + step * np.arange(size))
        case PadOp():
            low, high, between = (ints(one) for one in (op.low, op.high, op.interior))
            fill = scalar_array(float(op.number), element).reshape(())
            mask, numbers = known.mask, known.numbers
            if any(low[d] or high[d] or between[d] for d in range(len(low)) if d != axis):
                mask = mask & (numbers == fill)
            if between[axis]:
                return
            ends = low[axis], high[axis]
            yield (
                axis,
                _finite(
                    np.pad(mask, ends, constant_values=True),
                    as_numbers(np.pad(numbers, ends, constant_values=fill), element),
                    element,
                ),
            )
        case ConcatOp():
            all_known = [channels.along(value, axis) for value in op.operands]
            if axis == op.axis_index:
                mask, numbers = (
                    np.concatenate([getattr(one, what) for one in all_known]) for what in ("mask", "numbers")
                )
            else:
                numbers = all_known[0].numbers
                mask = np.logical_and.reduce([one.mask & (one.numbers == numbers) for one in all_known])
            yield axis, _finite(mask, as_numbers(numbers, element), element)
        case ReduceOp():
            if axis not in ints(op.axes):
                count = math.prod(shape_of(op.operand)[other] for other in ints(op.axes))
                yield axis, _reduced(op.kind.data, known, count, element)
        case ReduceWindowOp():
            padded = any((*ints(op.pad_low), *ints(op.pad_high)))
            if ints(op.window)[axis] == ints(op.strides)[axis] == 1 and not padded:
                yield axis, _reduced(op.kind.data, known, math.prod(ints(op.window)), element)
            elif ints(op.window)[axis] == ints(op.strides)[axis] == 1 and op.kind.data is Reduction.SUM:
                zero = known.mask & (as_numbers(known.numbers, element) == 0)
                yield axis, Known(zero, known.numbers)
            elif ints(op.window)[axis] == ints(op.strides)[axis] == 1 and _meets_elements(op):
                yield axis, _reduced(op.kind.data, known, 1, element)
        case _:
            return


def _reduced(kind: Reduction, known: Known, count: int, element: Attribute) -> Known:
    """A reduction of equal numbers: extrema are the number, sums a multiple; products are not propagated."""
    if kind in (Reduction.MAX, Reduction.MIN):
        return known
    if kind is Reduction.SUM:
        return _finite(known.mask, as_numbers(known.numbers, element) * count, element)
    return Known(np.zeros_like(known.mask), known.numbers)


def _meets_elements(op: ReduceWindowOp) -> bool:
    """Whether each window of a maximum or minimum contains an element that is not padding."""
    if op.kind.data not in (Reduction.MAX, Reduction.MIN) or any(one != 1 for one in ints(op.dilations)):
        return False
    pads = zip(ints(op.window), ints(op.pad_low), ints(op.pad_high), strict=True)
    return all(low < window and high < window for window, low, high in pads)

"""A builder of `dataflow` operations at the end of a block, with the arithmetic that gradients need."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...dialects.dataflow import (
    AddOp,
    BroadcastOp,
    CastOp,
    CompareOp,
    ConstantOp,
    DivOp,
    IotaOp,
    MatmulOp,
    MulOp,
    NegOp,
    PadOp,
    ReduceOp,
    ReshapeOp,
    ScatterOp,
    SelectOp,
    SliceOp,
    SubOp,
    TransposeOp,
)
from ...dialects.dataflow.types import element_of, shape_of, tensor


class Graph:
    """Appends operations to a block. Binary operations take numbers, which become constants of the other's type."""

    def __init__(self, block: Block) -> None:
        self.block = block

    def emit(self, op: Operation) -> SSAValue:
        """Append an operation; returns its result."""
        self.block.add_op(op)
        return op.results[0]

    def number(self, value: float, element: Attribute) -> SSAValue:
        """A constant of rank 0."""
        return self.emit(ConstantOp.splat(value, tensor(element, ())))

    def full(self, value: float, shape: Sequence[int], element: Attribute) -> SSAValue:
        """A tensor whose elements all have the same value."""
        return self.emit(ConstantOp.splat(value, tensor(element, shape)))

    def zeros_like(self, value: SSAValue) -> SSAValue:
        """Zeros of a value's type."""
        return self.full(0, shape_of(value), element_of(value))

    def _pair(self, a: SSAValue | float, b: SSAValue | float) -> tuple[SSAValue, SSAValue]:
        if isinstance(a, SSAValue):
            return a, b if isinstance(b, SSAValue) else self.number(b, element_of(a))
        assert isinstance(b, SSAValue)
        return self.number(a, element_of(b)), b

    def add(self, a: SSAValue | float, b: SSAValue | float) -> SSAValue:
        """a + b"""
        return self.emit(AddOp(*self._pair(a, b)))

    def sub(self, a: SSAValue | float, b: SSAValue | float) -> SSAValue:
        """a - b"""
        return self.emit(SubOp(*self._pair(a, b)))

    def mul(self, a: SSAValue | float, b: SSAValue | float) -> SSAValue:
        """a * b"""
        return self.emit(MulOp(*self._pair(a, b)))

    def div(self, a: SSAValue | float, b: SSAValue | float) -> SSAValue:
        """a / b"""
        return self.emit(DivOp(*self._pair(a, b)))

    def neg(self, a: SSAValue) -> SSAValue:
        """-a"""
        return self.emit(NegOp(a))

    def compare(self, a: SSAValue | float, predicate: str, b: SSAValue | float) -> SSAValue:
        """The mask (i1) of a comparison."""
        return self.emit(CompareOp(*self._pair(a, b), predicate))

    def where(self, mask: SSAValue, a: SSAValue | float, b: SSAValue | float) -> SSAValue:
        """a where the mask is set, else b."""
        return self.emit(SelectOp(mask, *self._pair(a, b)))

    def cast(self, value: SSAValue, element: Attribute) -> SSAValue:
        """The value converted to another element type."""
        return value if element_of(value) == element else self.emit(CastOp(value, element))

    def reshape(self, value: SSAValue, shape: Sequence[int]) -> SSAValue:
        """The same elements in another shape."""
        return value if shape_of(value) == tuple(shape) else self.emit(ReshapeOp(value, shape))

    def transpose(self, value: SSAValue, permutation: Sequence[int]) -> SSAValue:
        """Dimension i of the result is dimension permutation[i]."""
        if list(permutation) == list(range(len(permutation))):
            return value
        return self.emit(TransposeOp(value, permutation))

    def broadcast(self, value: SSAValue, shape: Sequence[int]) -> SSAValue:
        """The value broadcast to a shape."""
        return value if shape_of(value) == tuple(shape) else self.emit(BroadcastOp(value, shape))

    def slice(
        self, value: SSAValue, starts: Sequence[int], sizes: Sequence[int], steps: Sequence[int] | None = None
    ) -> SSAValue:
        """A slice with strides."""
        if shape_of(value) == tuple(sizes) and not any(starts) and (steps is None or min(steps, default=1) > 0):
            return value
        return self.emit(SliceOp(value, starts, sizes, steps))

    def pad(
        self,
        value: SSAValue,
        low: Sequence[int],
        high: Sequence[int],
        interior: Sequence[int] | None = None,
        fill: float = 0.0,
    ) -> SSAValue:
        """Padding with `fill` at the borders (negative numbers crop) and between elements."""
        grow_low, grow_high = [max(0, one) for one in low], [max(0, one) for one in high]
        if any(grow_low) or any(grow_high) or any(interior or ()):
            value = self.emit(PadOp(value, grow_low, grow_high, interior, fill))
        starts = [max(0, -one) for one in low]
        lists = zip(shape_of(value), starts, high, strict=True)
        sizes = [size - start - max(0, -after) for size, start, after in lists]
        return self.slice(value, starts, sizes)

    def reverse(self, value: SSAValue, dims: Sequence[int]) -> SSAValue:
        """The value with the order of elements reversed along some dimensions."""
        shape = shape_of(value)
        steps = [-1 if dim in dims else 1 for dim in range(len(shape))]
        starts = [size - 1 if step < 0 else 0 for size, step in zip(shape, steps, strict=True)]
        return self.emit(SliceOp(value, starts, shape, steps))

    def matmul(self, a: SSAValue, b: SSAValue, *, transpose_a: bool = False, transpose_b: bool = False) -> SSAValue:
        """A matrix product."""
        return self.emit(MatmulOp(a, b, transpose_a=transpose_a, transpose_b=transpose_b))

    def sum(self, value: SSAValue, axes: Sequence[int]) -> SSAValue:
        """Sums along axes, which have size 1 in the result."""
        return self.emit(ReduceOp(value, "sum", axes)) if axes else value

    def scatter_add(self, data: SSAValue, indices: SSAValue, updates: SSAValue, batch: int = 0) -> SSAValue:
        """`data` with `updates` added to the rows selected by `indices`."""
        return self.emit(ScatterOp("add", data, indices, updates, batch))

    def positions(self, shape: Sequence[int], axis: int) -> SSAValue:
        """The index of each element along an axis, i64."""
        return self.emit(IotaOp(tensor(i64, shape), axis))

    def sum_to(self, value: SSAValue, shape: Sequence[int]) -> SSAValue:
        """
        The gradient of an operand of this shape that was broadcast to the shape of `value`: sums over repeated
        elements.
        """
        own = shape_of(value)
        if own == tuple(shape):
            return value
        lead = len(own) - len(shape)
        aligned = (*(1,) * lead, *shape)
        axes = [dim for dim, size in enumerate(own) if aligned[dim] == 1 and size != 1]
        return self.reshape(self.sum(value, axes), shape)

"""Unrolling of the steps of a loop into operations."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from ..locations import at
from .base import DataflowOp
from .loop import Along, LoopOp, YieldOp
from .movement import ConcatOp, IotaOp, SliceOp
from .reshape import ReshapeOp
from .sources import ConstantOp
from .types import Tensor, element_of, shape_of, tensor, tensor_of


class LoopSteps:
    """
    Builds the steps of a loop one after the other, to be inserted before it: call `step` for each of them, then
    `results`.

    The new operations are collected in `ops`; the loop and its body are not changed.
    """

    def __init__(self, loop: LoopOp) -> None:
        self.loop = loop
        self.ops: list[Operation] = []
        self.done = 0
        """Steps that have been built."""
        self._carried = list(loop.initial)
        self._rows: list[list[SSAValue]] = [[] for _ in loop.stacked]
        self._inner = [op for op in loop.body.block.ops if not isinstance(op, YieldOp)]

    def step(self) -> None:
        """Build the next step."""
        loop = self.loop
        values: dict[SSAValue, SSAValue] = dict(zip(loop.carried_arguments, self._carried, strict=True))
        with at(loop):
            for argument, value, along in zip(loop.scanned_arguments, loop.scanned, loop.scans, strict=True):
                values[argument] = seen = self._scanned(value, along)
                seen.name_hint = argument.name_hint
        for op in self._inner:
            self.ops.append(op.clone(values))
        yielded = [values.get(value, value) for value in loop.yielded]
        self._carried = yielded[: len(self._carried)]
        for row, value in zip(self._rows, yielded[len(self._carried) :], strict=True):
            row.append(value)
        self.done += 1

    def results(self) -> list[SSAValue]:
        """The results of the loop, after all steps have been built."""
        loop = self.loop
        stacked: list[SSAValue] = []
        with at(loop):
            for row, along, result in zip(self._rows, loop.stacks, loop.stacked, strict=True):
                stacked.append(self._stacked(row[::-1] if along.backwards else row, along, tensor_of(result)))
        return [*self._carried, *stacked]

    def _add(self, op: DataflowOp) -> SSAValue:
        self.ops.append(op)
        return op.results[0]

    def _scanned(self, value: SSAValue, along: Along) -> SSAValue:
        """The part of a scanned value for the current step."""
        shape = shape_of(value)
        position = along.position(self.done, self.loop.step_count)
        if isinstance(value.owner, IotaOp) and value.owner.axis_index == along.axis:
            # The step's element of an iota is its number, a constant.
            return self._add(ConstantOp.splat(position, tensor(element_of(value), along.of_step(shape))))
        starts, sizes = [0] * len(shape), list(shape)
        starts[along.axis], sizes[along.axis] = position, 1
        return self._add(ReshapeOp(self._add(SliceOp(value, starts, sizes)), along.of_step(shape)))

    def _stacked(self, row: Sequence[SSAValue], along: Along, type: Tensor) -> SSAValue:
        """The stacked result, from the values of all steps."""
        if not row:
            return self._add(empty(type))
        ones = [self._add(ReshapeOp(value, along.of_all(shape_of(value), 1))) for value in row]
        return self._add(ConcatOp(ones, along.axis))


def empty(type: Tensor) -> ConstantOp:
    """A tensor without elements."""
    import numpy as np

    from .constants import numpy_type

    return ConstantOp.from_array(np.zeros(tuple(type.get_shape()), numpy_type(type.element_type)), type.element_type)

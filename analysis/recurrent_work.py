"""The work of loops that limits any chip: the operations of a step that depend on the step before it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import groupby

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from ..chips.cycles import RATE_BY_WIDTH
from ..dialects.dataflow.loop import LoopOp, YieldOp
from ..dialects.dataflow.tiling import Box, OpCost, TilingInterface
from ..dialects.dataflow.types import element_bytes, element_of, tensor_bytes, tensor_of
from ..emulator.reports.recurrent_layers import RecurrentLayer, VectorWork


def recurrent_layers(function: FuncOp) -> list[RecurrentLayer]:
    """The layers of a function in the order in which they can run; none if it has no loop that carries values."""
    loops: list[tuple[tuple[int, ...], int, LoopOp]] = []
    _find(function.body.block.ops, (), 1, loops)
    loops.sort(key=lambda one: (one[0], one[1]))
    layers = [
        _joined(steps, [loop for _, _, loop in group])
        for (_, steps), group in groupby(loops, key=lambda one: (one[0], one[1]))
    ]
    return [layer for layer in layers if layer.operations or layer.weight_bytes]


def _find(
    ops: Iterable[Operation], position: tuple[int, ...], runs: int, found: list[tuple[tuple[int, ...], int, LoopOp]]
) -> None:
    """
    Record each loop with its level, after the loops that it depends on in its block and in those around it, and its
    number of runs. Loops of the same level are independent of each other.
    """
    depth: dict[SSAValue, int] = {}
    for number, op in enumerate(ops):
        operands = [value for inner in op.walk() for value in inner.operands]
        before = max((depth.get(value, 0) for value in operands), default=0)
        if isinstance(op, LoopOp):
            here = (*position, before)
            steps = runs * op.step_count
            if steps:
                found.append((here, steps, op))
                _find(op.body.block.ops, (*here, number), steps, found)
            before += 1
        depth.update((result, before) for result in op.results)


def _joined(steps: int, loops: Sequence[LoopOp]) -> RecurrentLayer:
    weights, carried = 0, 0
    operations: list[VectorWork] = []
    for loop in loops:
        cell = _Cell(loop)
        weights += cell.weight_bytes()
        carried += cell.exchanged_bytes()
        operations += cell.vector_work(len(operations))
    return RecurrentLayer(steps, weights, carried, tuple(operations))


class _Cell:
    """The operations of a loop that depend on its carried values, and on which the next carried values depend."""

    def __init__(self, loop: LoopOp) -> None:
        self.loop = loop
        inner = [op for op in loop.body.block.ops if not isinstance(op, YieldOp)]
        fresh = _reached(loop.carried_arguments, inner)
        needed = set(loop.yielded[: len(loop.initial)])
        ops: list[Operation] = []
        for op in inner[::-1]:
            if any(result in needed for result in op.results) and any(result in fresh for result in op.results):
                ops.append(op)
                needed.update(_read(op))
        self.ops = ops[::-1]
        self.products = {op for op in self.ops if _is_product(op)}

    def weight_bytes(self) -> int:
        """Bytes that products read from outside of the loop, each tensor once."""
        values = dict.fromkeys(value for op in self.products for value in op.operands if self.loop.is_outside(value))
        return sum(tensor_bytes(tensor_of(value)) for value in values)

    def exchanged_bytes(self) -> int:
        """Bytes of the carried values that reach a product without another product between."""
        vectors = [op for op in self.ops if op not in self.products]
        total = 0
        for argument in self.loop.carried_arguments:
            reached = _reached([argument], vectors)
            if any(value in reached for op in self.products for value in op.operands):
                total += tensor_bytes(tensor_of(argument))
        return total

    def vector_work(self, first: int) -> list[VectorWork]:
        """The vector operations, numbered from `first` on."""
        found: list[VectorWork] = []
        waits: dict[SSAValue, frozenset[int]] = {}
        for op in self.ops:
            before = frozenset[int]().union(*(waits.get(value, frozenset()) for value in _read(op)))
            cost = _cost(op)
            if cost is not None and cost.matmul is None and cost.vpu_ops:
                points = math.prod(dim.size for dim in op.iteration_space()) if isinstance(op, TilingInterface) else 0
                rate = RATE_BY_WIDTH.get(element_bytes(element_of(op.operands[0])), 1)
                found.append(VectorWork(points, cost.vpu_ops // points, rate, tuple(sorted(before))))
                before = frozenset((first + len(found) - 1,))
            waits.update((result, before) for result in op.results)
        return found


def _read(op: Operation) -> list[SSAValue]:
    """The values that an operation and those in its regions read."""
    return [value for inner in op.walk() for value in inner.operands]


def _reached(values: Sequence[SSAValue], ops: Iterable[Operation]) -> set[SSAValue]:
    """The values and all that depend on them through the operations, which are in the order of a block."""
    found = set(values)
    for op in ops:
        if any(value in found for value in _read(op)):
            found.update(op.results)
    return found


def _cost(op: Operation) -> OpCost | None:
    if not isinstance(op, TilingInterface):
        return None
    return op.cost(Box.whole(tuple(dim.size for dim in op.iteration_space())))


def _is_product(op: Operation) -> bool:
    cost = _cost(op)
    return cost is not None and cost.matmul is not None

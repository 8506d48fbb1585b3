"""Gradients of loops: the gradient of a loop is a loop over the same steps from the last to the first."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from xdsl.dialects.builtin import f32
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue
from xdsl.rewriter import Rewriter

from ...dialects.dataflow import (
    Along,
    BroadcastOp,
    ConstantOp,
    IotaOp,
    LoopOp,
    MatmulOp,
    ReshapeOp,
    SliceOp,
    TransposeOp,
    YieldOp,
)
from ...dialects.dataflow.types import element_of, is_float, shape_of, tensor
from ...dialects.locations import located
from ...support.errors import MeshloomError
from .graph import Graph

Keep: TypeAlias = Literal["save", "recompute"]
"""
The storage of values of a step that its gradient needs: the forward loop stacks all of them, or only the carried
values, and the backward loop recomputes the others.
"""
Accumulate: TypeAlias = Callable[[dict[SSAValue, SSAValue], set[SSAValue], Sequence[SSAValue], Graph], None]
"""
A function with the arguments (gradients by value, active values, values whose gradients are needed, graph), which
propagates gradients in the graph's block and adds them to the table.
"""

MOVES = (ConstantOp, IotaOp, ReshapeOp, SliceOp, TransposeOp, BroadcastOp)
"""Operations whose results are recomputed instead of saved: they only move saved values."""


def values_read(op: Operation) -> list[SSAValue]:
    """Operands of an operation, and values from outside that its regions read."""
    if not op.regions:
        return list(op.operands)
    inner = (value for one in op.walk() for value in one.operands)
    return list(dict.fromkeys(value for value in inner if not op.is_ancestor(value.owner)))


def loop_gradients(
    loop: LoopOp,
    given: Mapping[SSAValue, SSAValue],
    active: set[SSAValue],
    graph: Graph,
    accumulate: Accumulate,
    keep: Keep,
) -> list[tuple[SSAValue, SSAValue]]:
    """
    Append the backward loop to the block of `graph`, given gradients of some results, and replace the loop by one that
    also stacks the values that the backward loop needs.

    Returns (value, contribution of the loop to its gradient) for the `active` values that it reads. Both loops run all
    steps. Raises MeshloomError, located, for a loop that must not run all steps.
    """
    if not loop.may_run_all:
        error = MeshloomError("no gradient is known for a loop whose number of steps is known at run time only")
        raise located(error, loop)
    return _Differentiated(loop, given, active, graph, accumulate, keep).build()


@dataclass
class _Inputs:
    """The body of the backward loop while it is built, and its carried and scanned values."""

    block: Block = field(default_factory=Block)
    carried: list[SSAValue] = field(default_factory=list[SSAValue])
    """Initial values of the carried arguments."""
    scanned: list[tuple[SSAValue, Along]] = field(default_factory=list[tuple[SSAValue, Along]])

    def carry(self, initial: SSAValue) -> BlockArgument:
        """Add a carried value; all of these precede the scanned ones."""
        self.carried.append(initial)
        return self.block.insert_arg(initial.type, len(self.carried) - 1)

    def scan(self, value: SSAValue, along: Along) -> BlockArgument:
        """Add a scanned value."""
        self.scanned.append((value, along))
        type = tensor(element_of(value), along.of_step(shape_of(value)))
        return self.block.insert_arg(type, len(self.block.args))


class _Differentiated:
    """A loop that is being split into a forward and a backward loop."""

    def __init__(
        self,
        loop: LoopOp,
        given: Mapping[SSAValue, SSAValue],
        active: set[SSAValue],
        graph: Graph,
        accumulate: Accumulate,
        keep: Keep,
    ) -> None:
        self.loop, self.given, self.graph, self.accumulate, self.keep = loop, given, graph, accumulate, keep
        self.initial, self.scanned, self.scans = list(loop.initial), list(loop.scanned), loop.scans
        self.outside = [value for value in values_read(loop) if value in active and is_float(element_of(value))]
        self.inside = self._active_inside(active)
        self.states = [number for number, argument in enumerate(loop.carried_arguments) if self._has_gradient(argument)]
        """Numbers of the carried values with a gradient."""
        self.rows = [
            number
            for number, argument in enumerate(loop.scanned_arguments)
            if self._has_gradient(argument) and loop.scanned[number] in active
        ]
        """Numbers of the scanned values with a gradient."""

    def _has_gradient(self, value: SSAValue) -> bool:
        return value in self.inside and is_float(element_of(value))

    def _active_inside(self, active: set[SSAValue]) -> set[SSAValue]:
        """Values of the body that depend on an active value in some step."""
        loop = self.loop
        found = set(active)
        entering = zip(loop.body.block.args, [*loop.initial, *loop.scanned], strict=True)
        found.update(argument for argument, value in entering if value in active)
        while True:
            for op in loop.body.block.ops:
                if any(value in found for value in values_read(op)):
                    found.update(op.results)
            carried = zip(loop.carried_arguments, loop.yielded, strict=False)
            new = {argument for argument, after in carried if after in found and argument not in found}
            if not new:
                return found
            found |= new

    def build(self) -> list[tuple[SSAValue, SSAValue]]:
        """Build both loops. Returns the gradients."""
        loop, block = self.loop, self.loop.body.block
        last = block.last_op
        assert isinstance(last, YieldOp)
        yielded = list(last.operands)
        last.detach()
        last.erase()
        arguments = list(block.args)
        between = ConstantOp.splat(0.0, tensor(f32, ()))
        block.add_op(between)
        backward = _Inputs()
        seeds: dict[SSAValue, SSAValue] = {}
        inner = Graph(block)

        def seed(value: SSAValue, gradient: SSAValue) -> None:
            seeds[value] = inner.add(seeds[value], gradient) if value in seeds else gradient

        for number in self.states:
            final = loop.outputs[number]
            start = self.given[final] if final in self.given else self.graph.zeros_like(final)
            seed(yielded[number], backward.carry(start))
        stacks = zip(yielded[len(loop.initial) :], loop.stacked, loop.stacks, strict=True)
        for value, result, along in stacks:
            if result in self.given and value in self.inside:
                seed(value, backward.scan(self.given[result], _flipped(along)))
        wanted = [arguments[number] for number in self.states]
        rows = [arguments[len(loop.initial) + number] for number in self.rows]
        self.accumulate(seeds, self.inside, [*wanted, *rows, *self.outside], inner)
        self._take_backward_operations(backward, between, arguments, yielded)

        back = Graph(backward.block)
        gradients = [seeds[value] if value in seeds else back.zeros_like(value) for value in wanted]
        row_gradients = [seeds[value] if value in seeds else back.zeros_like(value) for value in rows]
        parts = [seeds.get(value) for value in self.outside]
        products = [_product_of_steps(part, backward.block) for part in parts]
        for value, part, product in zip(self.outside, parts, products, strict=True):
            if part is not None and product is None:
                gradients.append(back.add(backward.carry(self.graph.zeros_like(value)), part))
        factors = [value for product in products if product is not None for value in (product.lhs, product.rhs)]
        backward.block.add_op(YieldOp([*gradients, *row_gradients, *factors]))
        alongs = [_flipped(self.scans[number]) for number in self.rows] + [Along(0, True)] * len(factors)
        made = LoopOp(loop.step_count, backward.carried, backward.scanned, alongs, Region(backward.block))
        self.graph.block.add_op(made)
        return self._collect(made, parts, products)

    def _take_backward_operations(
        self, backward: _Inputs, between: Operation, arguments: Sequence[BlockArgument], yielded: Sequence[SSAValue]
    ) -> None:
        """
        Move the operations after `between` to the backward body, and replace the old loop by one that stacks the
        earlier values that they read.
        """
        loop, block = self.loop, self.loop.body.block
        before, after = _split(block, between)
        defined = {*arguments, *(result for op in before for result in op.results)}
        needed = {value for op in after for value in values_read(op) if value in defined}
        again: list[Operation] = []
        saved: list[SSAValue] = []
        for op in before[::-1]:
            read = [result for result in op.results if result in needed]
            if read and (self.keep == "recompute" or isinstance(op, MOVES)):
                again.append(op)
                needed.update(value for value in values_read(op) if value in defined)
            else:
                saved += read
        count = len(loop.initial)
        saved += [argument for argument in arguments[:count] if argument in needed]
        scanned = [(number, argument) for number, argument in enumerate(arguments[count:]) if argument in needed]
        Rewriter.erase_op(between)
        for op in after:
            op.detach()
        block.add_op(YieldOp([*yielded, *saved]))
        stacks = [*loop.stacks, *[Along(0)] * len(saved)]
        sources = list(zip(loop.scanned, loop.scans, strict=True))
        forward = LoopOp(loop.step_count, list(loop.initial), sources, stacks, loop.detach_region(loop.body))
        forward.attributes.update(loop.attributes)
        for old, new in zip(loop.outputs, forward.outputs, strict=False):
            new.name_hint = old.name_hint
        kept = forward.outputs[len(loop.outputs) :]
        Rewriter.replace_op(loop, forward, forward.outputs[: len(loop.outputs)])
        mapped: dict[SSAValue, SSAValue] = {}
        for number, argument in scanned:
            value, along = sources[number]
            mapped[argument] = backward.scan(value, _flipped(along))
        for value, stacked in zip(saved, kept, strict=True):
            mapped[value] = backward.scan(stacked, Along(0, True))
        for op in again[::-1]:
            backward.block.add_op(op.clone(mapped))
        for op in after:
            for inner in op.walk():
                for index, value in enumerate(inner.operands):
                    if value in mapped:
                        inner.operands[index] = mapped[value]
            backward.block.add_op(op)

    def _collect(
        self, made: LoopOp, parts: Sequence[SSAValue | None], products: Sequence[MatmulOp | None]
    ) -> list[tuple[SSAValue, SSAValue]]:
        """The gradients of the values that the forward loop reads, from the results of the backward loop."""
        results = list(made.outputs)
        found = [(self.initial[number], results[position]) for position, number in enumerate(self.states)]
        sums, rest = iter(results[len(self.states) :]), made.stacked
        found += [(self.scanned[number], result) for number, result in zip(self.rows, rest, strict=False)]
        factors = iter(rest[len(self.rows) :])
        for value, part, product in zip(self.outside, parts, products, strict=True):
            if product is not None:
                found.append((value, self._all_steps(next(factors), next(factors))))
            elif part is not None:
                found.append((value, next(sums)))
        return found

    def _all_steps(self, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """The sum over the steps of lhs' rhs (' is the transpose), computed by one product of the rows of all steps."""
        flat = [
            self.graph.reshape(value, (math.prod(shape_of(value)[:-1]), shape_of(value)[-1])) for value in (lhs, rhs)
        ]
        return self.graph.matmul(flat[0], flat[1], transpose_a=True)


def _split(block: Block, between: Operation) -> tuple[list[Operation], list[Operation]]:
    """The operations before and after one of them."""
    ops = list(block.ops)
    position = ops.index(between)
    return ops[:position], ops[position + 1 :]


def _flipped(along: Along) -> Along:
    """The arrangement by which steps in the opposite order read or write the same elements."""
    return Along(along.axis, not along.backwards)


def _product_of_steps(part: SSAValue | None, block: Block) -> MatmulOp | None:
    """
    The product a' b of matrices, if the gradient of each step is one; else None. Its sum over the steps is one product
    of the rows of all steps, so that the loop needs no accumulator.
    """
    op = None if part is None else part.owner
    if not isinstance(op, MatmulOp) or op.parent is not block or op.transpose_a is None or op.transpose_b is not None:
        return None
    return op if len(shape_of(op.lhs)) == 2 and len(shape_of(op.rhs)) == 2 else None

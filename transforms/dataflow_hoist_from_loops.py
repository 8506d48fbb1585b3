"""
Pass `dataflow-hoist-from-loops`: compute operations that need no carried value before a loop, for all steps at once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import groupby
from typing import ClassVar

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, PatternRewriteWalker, RewritePattern, op_type_rewrite_pattern
from xdsl.rewriter import InsertPoint, Rewriter

from ..analysis.semantic_effect import SemanticEffect, reassociating
from ..dialects.dataflow import (
    AddOp,
    Along,
    ConcatOp,
    ConstantOp,
    GatherOp,
    IotaOp,
    LoopOp,
    MatmulOp,
    SliceOp,
    TransposeOp,
    WeightOp,
    YieldOp,
)
from ..dialects.dataflow.tiling import Box, OpCost, TilingInterface
from ..dialects.dataflow.types import element_of, is_pair, shape_of
from ..dialects.dataflow.unroll_loops import canonicalize_loops
from ..dialects.locations import KeepLocations, at
from .shared.all_steps import Operand, Steps, can_do_all_steps, do_all_steps
from .shared.constants import constant_array, constant_source, new_name, source_name, source_of
from .shared.rewrite_once import erase_unread
from .shared.unit_dims import UnitDimsBelowElementwise

NARROW = ("f16", "bf16")
"""Element types for which a product is not split, because its partial sums would be rounded."""


class DataflowHoistFromLoopsPass(ModulePass):
    """
    Compute before a loop, for all of its steps at once, operations that only depend on scanned values and loop
    invariants: the product of a recurrent layer with its inputs becomes one product of many rows, for which matrix
    units are more efficient and whose weights are read once. The loop scans the results.

    For this purpose, a product with [x, h] becomes the sum of those with x and with h, if h depends on carried values
    and x does not, and in sums, terms that do not depend on carried values are added first. An operation is not hoisted
    if its results would only be larger (an elementwise operation whose results have more elements than its scanned
    operands), or if it only moves elements, unless a hoisted operation that computes needs it.
    """

    name = "dataflow-hoist-from-loops"
    semantic_effect: ClassVar[SemanticEffect] = reassociating(1e-5)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        hoist_from_loops(op)


def hoist_from_loops(module: ModuleOp) -> None:
    """Bring all loops of a module into canonical form and hoist from them, inner loops first."""
    if not any(isinstance(op, LoopOp) for op in module.walk()):
        return
    canonicalize_loops(module)
    names = {weight.sym_name.data for weight in module.walk() if isinstance(weight, WeightOp)}
    pattern = HoistFromLoop(names)
    for loop in [op for op in module.walk() if isinstance(op, LoopOp)][::-1]:
        with at(loop):
            pattern.match_and_rewrite(loop, PatternRewriter(loop))
    PatternRewriteWalker(KeepLocations(UnitDimsBelowElementwise())).rewrite_module(module)


class HoistFromLoop(RewritePattern):
    """Hoist from a loop of at least two steps."""

    def __init__(self, names: set[str]) -> None:
        self.names = names
        """Names of all weights of the module; the names of new parts of weights are added."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: LoopOp, rewriter: PatternRewriter) -> None:
        if op.step_count < 2 or (op.ending and len({along.backwards for along in op.scans}) > 1):
            return  # rows of values scanned in opposite directions cannot be matched
        for inner in list(op.body.block.ops):
            if isinstance(inner, MatmulOp):
                _split_product(op, inner, self.names)
        for inner in list(op.body.block.ops)[::-1]:
            if isinstance(inner, AddOp) and inner.parent is not None:
                _regroup_sum(op, inner)
        _Hoisted(op).rewrite(rewriter)


def _free(loop: LoopOp) -> set[SSAValue]:
    """
    Values of the body that do not depend on carried values, computed by operations that can process all steps at once.
    """
    free: set[SSAValue] = set(loop.scanned_arguments)
    for op in loop.body.block.ops:
        stepped = [value in free for value in op.operands]
        same = all(known or loop.is_outside(value) for value, known in zip(op.operands, stepped, strict=True))
        if same and any(stepped) and can_do_all_steps(op, stepped):
            free.update(op.results)
    return free


def _is_free(loop: LoopOp, free: set[SSAValue], value: SSAValue) -> bool:
    return value in free or loop.is_outside(value)


def _split_product(loop: LoopOp, op: MatmulOp, names: set[str]) -> None:
    """[x, h] W == x W_x + h W_h, where x is free and h is not; for weights W from outside."""
    joined, weights = op.lhs.owner, op.rhs
    whole = not isinstance(joined, ConcatOp) or op.transpose_a is not None or not loop.is_outside(weights)
    if whole or op.nonzero is not None or str(element_of(op.result)) in NARROW or is_pair(element_of(weights)):
        return
    assert isinstance(joined, ConcatOp)
    free = _free(loop)
    if joined.axis_index != len(joined.result_shape) - 1 or loop.is_outside(joined.result):
        return
    runs = [(key, list(group)) for key, group in groupby(joined.inputs, lambda value: _is_free(loop, free, value))]
    if len(runs) < 2:
        return
    axis = len(shape_of(weights)) - (1 if op.transpose_b is not None else 2)
    start = 0
    total: SSAValue | None = None
    with at(op):
        for _, values in runs:
            build = _Before(op)
            lhs = values[0] if len(values) == 1 else build.add(ConcatOp(values, joined.axis_index))
            size = shape_of(lhs)[-1]
            part = _rows(loop, weights, axis, start, size, names)
            start += size
            properties = {"transpose_b": op.transpose_b} if op.transpose_b is not None else {}
            product = build.add(
                MatmulOp.create(operands=[lhs, part], result_types=[op.result.type], properties=properties)
            )
            total = product if total is None else build.add(AddOp(total, product))
        assert total is not None
        total.name_hint = op.result.name_hint
        op.result.replace_all_uses_with(total)
        erase_unread(op.result)


def _rows(loop: LoopOp, weights: SSAValue, axis: int, start: int, size: int, names: set[str]) -> SSAValue:
    """A part of the weights, defined before the loop; a part of constant weights becomes a separate weight."""
    shape = shape_of(weights)
    array = constant_array(weights)
    if array is None:
        starts, sizes = [0] * len(shape), list(shape)
        starts[axis], sizes[axis] = start, size
        return _Before(loop).add(SliceOp(weights, starts, sizes))
    source = constant_source(weights)
    assert source is not None
    if array.shape[axis] != 1:
        array = array.take(range(start, start + size), axis)
    name = new_name(f"{source_name(source)}.{start}", names)
    full = tuple(size if dim == axis else one for dim, one in enumerate(shape))
    return _Before(loop).add(source_of(np.ascontiguousarray(np.broadcast_to(array, full)), element_of(weights), name))


def _regroup_sum(loop: LoopOp, op: AddOp) -> None:
    """(x + h) + b == h + (x + b), where x and b are free and h is not, so that x + b can be hoisted."""
    users = [use.operation for use in op.result.uses]
    if len(users) == 1 and isinstance(users[0], AddOp) and users[0].parent is op.parent:
        return  # it is a term of a longer sum
    if str(element_of(op.result)) in NARROW:
        return
    free = _free(loop)
    terms = list(_terms(op))
    early = [value for value in terms if _is_free(loop, free, value)]
    late = [value for value in terms if not _is_free(loop, free, value)]
    stepped = any(value in free for value in early)
    if len(early) < 2 or not late or not stepped:
        return
    build = _Before(op)
    with at(op):
        rest = early[0]
        for value in early[1:]:
            rest = build.add(AddOp(rest, value))
        total = late[0]
        for value in [*late[1:], rest]:
            total = build.add(AddOp(total, value))
    total.name_hint = op.result.name_hint
    op.result.replace_all_uses_with(total)
    erase_unread(op.result)


def _terms(op: AddOp) -> Iterator[SSAValue]:
    """The terms of a sum, in order; a partial sum with another reader is a term."""
    for value in op.operands:
        inner = value.owner
        if isinstance(inner, AddOp) and inner.parent is op.parent and value.has_one_use():
            yield from _terms(inner)
        else:
            yield value


class _Before:
    """Inserts operations before an operation."""

    def __init__(self, op: Operation) -> None:
        self.point = InsertPoint.before(op)

    def add(self, op: Operation) -> SSAValue:
        """Insert an operation; returns its result."""
        Rewriter.insert_op(op, self.point)
        return op.results[0]


class _Hoisted:
    """The values that are hoisted from one loop."""

    def __init__(self, loop: LoopOp) -> None:
        self.loop = loop
        self.free = _free(loop)
        self.known = self._known()
        """Values of the body that would be constants if the loop were unrolled, such as the number of the step."""
        self.steps = Steps(loop.step_count)
        self.backwards = any(along.backwards for along in loop.scans)
        """Whether the steps of hoisted values are in reverse order; the same for all of them."""
        self.whole: dict[SSAValue, SSAValue] = {}
        """Value of the body -> the value for all steps, with the steps as its first axis."""

    def rewrite(self, rewriter: PatternRewriter) -> None:
        """Replace the loop if something can be hoisted."""
        loop, block = self.loop, self.loop.body.block
        leaving = [op for op in block.ops if self._is_worthwhile(op)]
        if not leaving:
            return
        gone = set(leaving)
        read = [op for op in leaving if any(use.operation not in gone for use in op.results[0].uses)]
        added = [self._whole(op.results[0]) for op in read]  # all of them before the body changes
        for op in read:
            argument = block.insert_arg(op.results[0].type, len(block.args))
            argument.name_hint = op.results[0].name_hint
            op.results[0].replace_uses_with_if(argument, lambda use: use.operation not in gone)
        for op in list(block.ops)[::-1]:
            if not isinstance(op, YieldOp) and all(result.first_use is None for result in op.results):
                Rewriter.erase_op(op)
        along = Along(0, self.backwards)
        scanned = [*zip(loop.scanned, loop.scans, strict=True), *((value, along) for value in added)]
        first = len(loop.initial)
        unread = [number for number in range(len(scanned)) if block.args[first + number].first_use is None]
        for number in unread[::-1]:
            block.erase_arg(block.args[first + number])
            del scanned[number]
        new = LoopOp(
            loop.step_count, list(loop.initial), scanned, loop.stacks, loop.detach_region(loop.body), loop.ending
        )
        new.attributes.update(loop.attributes)
        for old, result in zip(loop.outputs, new.outputs, strict=True):
            result.name_hint = old.name_hint
        rewriter.replace(loop, [*self.steps.ops, new], list(new.outputs))

    def _is_worthwhile(self, op: Operation) -> bool:
        """Whether an operation computes, and does not only repeat elements of its operands."""
        if not op.results or op.results[0] not in self.free or op.results[0] in self.known:
            return False
        if isinstance(op, GatherOp):
            return True
        cost = _cost(op)
        if cost is None or not (cost.macs or cost.vpu_ops):
            return False
        read = sum(math.prod(shape_of(value)) for value in op.operands if value in self.free)
        return bool(cost.macs) or math.prod(shape_of(op.results[0])) <= read

    def _known(self) -> set[SSAValue]:
        scanned = zip(self.loop.scanned_arguments, self.loop.scanned, strict=True)
        known: set[SSAValue] = {argument for argument, value in scanned if isinstance(value.owner, ConstantOp | IotaOp)}
        for op in self.loop.body.block.ops:
            if op.operands and all(value in known or isinstance(value.owner, ConstantOp) for value in op.operands):
                known.update(op.results)
        return known

    def _whole(self, value: SSAValue) -> SSAValue:
        """The value for all steps of a value of the body."""
        if value not in self.whole:
            self.whole[value] = self._scanned(value) if value in self.loop.scanned_arguments else self._computed(value)
        return self.whole[value]

    def _scanned(self, argument: SSAValue) -> SSAValue:
        number = list(self.loop.scanned_arguments).index(argument)  # pyright: ignore[reportArgumentType]
        value, along = self.loop.scanned[number], self.loop.scans[number]
        rank = len(shape_of(value))
        if along.axis:
            order = [along.axis, *(axis for axis in range(rank) if axis != along.axis)]
            value = self.steps.add(TransposeOp(value, order))
        if along.backwards != self.backwards:
            shape = shape_of(value)
            starts = [shape[0] - 1, *(0,) * (rank - 1)]
            value = self.steps.add(SliceOp(value, starts, shape, [-1, *(1,) * (rank - 1)]))
        return value

    def _computed(self, value: SSAValue) -> SSAValue:
        op = value.owner
        assert isinstance(op, Operation)
        operands = [self._operand(one) for one in op.operands]
        with at(op):
            result = do_all_steps(op, operands, self.steps)
        result.name_hint = value.name_hint
        return result

    def _operand(self, value: SSAValue) -> Operand:
        return Operand(self._whole(value), True) if value in self.free else Operand(value, False)


def _cost(op: Operation) -> OpCost | None:
    if not isinstance(op, TilingInterface):
        return None
    return op.cost(Box.whole(tuple(dim.size for dim in op.iteration_space())))

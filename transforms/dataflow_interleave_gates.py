"""Pass `dataflow-interleave-gates`: store the gates of recurrent cells unit by unit instead of gate by gate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ..analysis.semantic_effect import SemanticEffect, reassociating
from ..dialects.dataflow import AddOp, CastOp, LoopOp, MatmulOp, MulOp, ReshapeOp, SliceOp, SubOp, WeightOp
from ..dialects.dataflow.base import ints
from ..dialects.dataflow.elementwise import UnaryOp
from ..dialects.dataflow.types import element_of, is_pair, shape_of, tensor
from ..dialects.locations import at
from .shared.constants import constant_array, constant_source, new_name, source_name, source_of
from .shared.rewrite_once import after_value, erase_unread

Leaf: TypeAlias = tuple[Operation, int, int]
"""(operation, number of a constant operand, axis of this operand that holds the gates, counted from the end)."""


class DataflowInterleaveGatesPass(ModulePass):
    """
    In loops, reorder values [..., G * H] that are read by slices [..., H] only, which are the G gates of a cell with H
    units, so that the gates of a unit are contiguous, [..., H, G]: the core that computes some units then computes all
    of their gates, and no gate is sent to another core. The weights and biases from which the value is computed are
    stored in this order; nothing is moved at run time. Gates with the same activation function come first, and their
    activation is computed together.

    A value does not change unless it is computed by sums and products from constants, products with constant weights,
    and scanned values that are computed in this way, without other readers.
    """

    name = "dataflow-interleave-gates"
    semantic_effect: ClassVar[SemanticEffect] = reassociating(1e-5)
    """Products may add the terms in another order in another column."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        names = {weight.sym_name.data for weight in op.walk() if isinstance(weight, WeightOp)}
        for loop in [inner for inner in op.walk() if isinstance(inner, LoopOp)]:
            computed = (result for inner in list(loop.body.block.ops) for result in inner.results)
            for value in (*loop.scanned_arguments, *computed):
                gates = _gates(value)
                found = None if gates is None else _reordered(gates)
                if gates is not None and found is not None:
                    leaves, values = found
                    _interleave(gates, leaves, names)
                    _rename(values)


@dataclass(frozen=True)
class _Gates:
    """A value whose last axis holds gates of `units` elements each, and the slices that read them."""

    value: SSAValue
    slices: tuple[SliceOp, ...]
    units: int

    @property
    def count(self) -> int:
        """The number of gates."""
        return shape_of(self.value)[-1] // self.units

    def number(self, gate: SliceOp) -> int:
        """The number of the gate that a slice reads."""
        return ints(gate.starts)[-1] // self.units


def _gates(value: SSAValue) -> _Gates | None:
    """The gates that a value consists of, if all of its readers are slices of one gate each."""
    readers = [use.operation for use in value.uses]
    read = [one for one in readers if isinstance(one, SliceOp)]
    if len(readers) < 2 or len(read) < len(readers) or len({one.parent for one in read}) > 1:
        return None
    shape, units = shape_of(value), shape_of(read[0].result)[-1]
    for one in read:
        starts = ints(one.starts)
        is_part = any(starts[:-1]) or ints(one.sizes) != (*shape[:-1], units) or set(ints(one.steps)) != {1}
        if is_part or starts[-1] % units:
            return None
    first = {ints(one.starts)[-1] for one in read}
    if units < 2 or shape[-1] % units or len(first) < len(read):  # duplicate gates are merged by `cse`
        return None
    return _Gates(value, tuple(sorted(read, key=lambda one: ints(one.starts))), units)


def _reordered(gates: _Gates) -> tuple[list[Leaf], list[SSAValue]] | None:
    """
    (Constants that must be reordered to interleave the gates of a value, values that are then in the new order); None
    if this is not sufficient, or if there is no product.
    """
    size = gates.units * gates.count
    found: list[Leaf] = []
    start = _source(gates.value)
    if start is None:
        return None
    pending, values = [start], [gates.value]
    while pending:
        values.append(value := pending.pop())
        op = value.owner
        match op:
            case AddOp() | SubOp() | MulOp():
                operands = range(2)
            case UnaryOp() | CastOp():
                operands = range(1)
            case MatmulOp() if op.nonzero is None and _is_shared(op.rhs) is False:
                found.append((op, 1, -2 if op.transpose_b is not None else -1))
                continue
            case ReshapeOp() if shape_of(op.operand)[-1:] == (size,):
                operands = range(1)
            case _:
                return None
        for number in operands:
            operand = op.operands[number]
            if shape_of(operand)[-1:] in ((), (1,)):
                continue  # one element for all gates
            if _is_shared(operand) is not None:
                found.append((op, number, -1))
                continue
            below = _source(operand) if operand.has_one_use() else None
            if below is None:
                return None
            pending.append(below)
    return (found, values) if any(isinstance(op, MatmulOp) for op, _, _ in found) else None


def _rename(values: Sequence[SSAValue]) -> None:
    """
    Append `.units` to the names of reordered values, as they no longer equal the network's tensors of these names.
    """
    for value in dict.fromkeys(values):
        value.name_hint = f"{value.name_hint}.units" if value.name_hint else None


def _is_shared(value: SSAValue) -> bool | None:
    """Whether a constant has other readers, which would need a copy; None for other values."""
    source = constant_source(value)
    if source is None or is_pair(element_of(value)):
        return None
    return not (value.has_one_use() and source.result.has_one_use())


def _source(value: SSAValue) -> SSAValue | None:
    """
    The operation's result behind a value: the value itself, or the value that is scanned for it, if that has no other
    reader and the same last axis; else None.
    """
    if isinstance(value.owner, Operation):
        return value
    loop = value.owner.parent_op()
    if not isinstance(loop, LoopOp) or value not in loop.scanned_arguments:
        return None
    number = list(loop.scanned_arguments).index(value)  # pyright: ignore[reportArgumentType]
    scanned = loop.scanned[number]
    is_last = loop.scans[number].axis == len(shape_of(scanned)) - 1
    return None if is_last or not scanned.has_one_use() else _source(scanned)


def _interleave(gates: _Gates, leaves: Sequence[Leaf], names: set[str]) -> None:
    """Store the constants in the new order, and read the gates from there."""
    together = _same_activation(gates)
    others = [one for one in gates.slices if one not in together]
    read = [gates.number(one) for one in (*together, *others)]
    order = [*read, *(number for number in range(gates.count) if number not in read)]
    for op, number, axis in leaves:
        _reorder(op, number, axis, order, names)
    build = _After(gates.value)
    with at(gates.slices[0]):
        if together:
            active = _activate(gates, together, build)
            for position, one in enumerate(together):
                activation = next(iter(one.result.uses)).operation
                build.replace(activation, _strided(active, gates.units, position))
        for position, one in enumerate(others, len(together)):
            build.replace(one, _strided(gates.value, gates.units, position))


def _same_activation(gates: _Gates) -> list[SliceOp]:
    """
    The slices of the largest group of gates that have the same activation function as their only reader; empty if it is
    one gate.
    """
    functions: dict[str, list[SliceOp]] = {}
    for one in gates.slices:
        if one.result.has_one_use():
            reader = next(iter(one.result.uses)).operation
            if isinstance(reader, UnaryOp) and reader.parent is one.parent:
                functions.setdefault(f"{reader.name} {reader.properties}", []).append(one)
    most = max(functions.values(), key=len) if functions else []
    return most if len(most) > 1 else []


def _activate(gates: _Gates, together: Sequence[SliceOp], build: _After) -> SSAValue:
    """The activation function of the first gates of each unit: [..., H * len(together)]."""
    value, (*lead, _) = gates.value, shape_of(gates.value)
    if len(together) < gates.count:
        cells = build.add(ReshapeOp(value, [*lead, gates.units, gates.count]))
        sizes = [*lead, gates.units, len(together)]
        value = build.add(SliceOp(cells, [0] * len(sizes), sizes))
    activation = next(iter(together[0].result.uses)).operation
    assert isinstance(activation, UnaryOp)
    result = tensor(element_of(activation.result), shape_of(value))
    active = build.add(
        type(activation).create(operands=[value], result_types=[result], properties=activation.properties)
    )
    return build.add(ReshapeOp(active, [*lead, gates.units * len(together)]))


def _strided(value: SSAValue, units: int, position: int) -> SliceOp:
    """The slice with the gate at this position in each unit, of a value [..., H * gates]."""
    *lead, size = shape_of(value)
    zeros, ones = [0] * len(lead), [1] * len(lead)
    return SliceOp(value, [*zeros, position], [*lead, units], [*ones, size // units])


def _reorder(op: Operation, number: int, axis: int, order: Sequence[int], names: set[str]) -> None:
    """Replace a constant operand by one in which the gates of a unit are contiguous along an axis."""
    operand = op.operands[number]
    array, source = constant_array(operand), constant_source(operand)
    assert array is not None
    assert source is not None
    array = np.moveaxis(np.broadcast_to(array, shape_of(operand)), axis, -1)
    gates = array.reshape(*array.shape[:-1], len(order), -1)[..., list(order), :]
    units = np.moveaxis(np.swapaxes(gates, -1, -2).reshape(array.shape), -1, axis)
    name = new_name(f"{source_name(source)}.units", names)
    with at(source):
        new = source_of(np.ascontiguousarray(units), element_of(operand), name)
    Rewriter.insert_op(new, InsertPoint.after(source))
    new.results[0].name_hint = source.result.name_hint
    op.operands[number] = new.results[0]
    erase_unread(operand)


class _After:
    """Inserts operations after the definition of a value, in order."""

    def __init__(self, value: SSAValue) -> None:
        self._last = value

    def add(self, op: Operation) -> SSAValue:
        """Insert an operation; returns its result."""
        Rewriter.insert_op(op, after_value(self._last))
        self._last = op.results[0]
        return self._last

    def replace(self, old: Operation, new: Operation) -> None:
        """Insert an operation that replaces another one."""
        result = self.add(new)
        result.name_hint = old.results[0].name_hint
        old.results[0].replace_all_uses_with(result)
        erase_unread(old.results[0])

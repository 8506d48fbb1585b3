"""Pass `dataflow-merge-products`: merge the products of a value with the weights of several gates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ..analysis.semantic_effect import SemanticEffect, reassociating
from ..dialects.dataflow import AddOp, LoopOp, MatmulOp, SliceOp, SubOp, WeightOp
from ..dialects.dataflow.elementwise import BinaryOp, UnaryOp
from ..dialects.dataflow.types import element_of, is_pair, shape_of
from ..dialects.locations import at
from .shared.constants import constant_array, constant_source, new_name, source_name, source_of
from .shared.rewrite_once import erase_unread


@dataclass(frozen=True)
class Constant:
    """A constant of a sum."""

    element: Attribute
    lead: tuple[int, ...]
    """Its shape without the last axis."""


@dataclass(frozen=True)
class Product:
    """A product of a value with constant weights."""

    factor: SSAValue
    type: Attribute
    weights: Attribute
    transposed: tuple[bool, bool]


@dataclass(frozen=True)
class Sum:
    """A sum or difference."""

    name: str
    type: Attribute
    terms: tuple[Constant | Product | Sum, ...]


Form: TypeAlias = Product | Sum
"""The form of an expression without its constants; expressions of equal form can be merged."""


class DataflowMergeProductsPass(ModulePass):
    """
    Merge products that compute the gates of a recurrent cell, in loops: products of one value with different constant
    weights become one product with the weights side by side, and each gate a slice of it. A step then gathers the value
    once, and `dataflow-interleave-gates` can store the weights unit by unit. Sums of such products, with each other and
    with constants, are merged in the same way.

    Gates are read by elementwise operations, have equal sizes, and are computed from the same values in the same way,
    with constants that nothing else reads.
    """

    name = "dataflow-merge-products"
    semantic_effect: ClassVar[SemanticEffect] = reassociating(1e-5)
    """Products may add the terms in another order in another column."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        merge_products(op)


def merge_products(module: ModuleOp) -> None:
    """Rewrite all loops of a module as the pass does."""
    names = {weight.sym_name.data for weight in module.walk() if isinstance(weight, WeightOp)}
    for loop in [inner for inner in module.walk() if isinstance(inner, LoopOp)]:
        for gates in _gates_of(loop):
            with at(gates):
                _merge(gates, names)


def _gates_of(loop: LoopOp) -> list[list[Operation]]:
    """The operations of the body that compute gates, grouped by form; groups of one are omitted."""
    block = loop.body.block
    groups: dict[Form, list[Operation]] = {}
    for op in block.ops:
        form = _form(op, block)
        if form is not None and _is_gate(op) and any(value not in loop.scanned_arguments for value in _factors(form)):
            groups.setdefault(form, []).append(op)
    return [group for group in groups.values() if len(group) > 1]


def _is_gate(op: Operation) -> bool:
    """Whether only elementwise operations of the same block read a result, and these do not continue its sum."""
    readers = [use.operation for use in op.results[0].uses]
    return bool(readers) and all(
        isinstance(reader, UnaryOp | BinaryOp)
        and reader.parent is op.parent
        and (len(readers) > 1 or _form(reader, op.parent) is None)
        for reader in readers
    )


def _form(op: Operation, block: Block | None) -> Form | None:
    """The form of a product with constant weights, or of a sum of such products and constants; None for others."""
    if op.parent is not block:
        return None
    match op:
        case MatmulOp() if op.nonzero is None and len(shape_of(op.rhs)) == 2 and _is_own_constant(op.rhs):
            flags = op.transpose_a is not None, op.transpose_b is not None
            return Product(op.lhs, op.result.type, element_of(op.rhs), flags)
        case AddOp() | SubOp():
            terms = tuple(term for value in op.operands if (term := _term(value, op)) is not None)
            if len(terms) < len(op.operands) or all(isinstance(term, Constant) for term in terms):
                return None
            return Sum(op.name, op.result.type, terms)
        case _:
            return None


def _term(value: SSAValue, op: Operation) -> Constant | Form | None:
    """The form of an operand of a sum."""
    shape = shape_of(value)
    if _is_own_constant(value) and shape[-1:] in ((), (1,), shape_of(op.results[0])[-1:]):
        return Constant(element_of(value), shape[:-1])
    if value.type != op.results[0].type or not isinstance(value.owner, Operation) or not value.has_one_use():
        return None
    return _form(value.owner, op.parent)


def _is_own_constant(value: SSAValue) -> bool:
    """Whether a value is a constant that has no other reader."""
    source = constant_source(value)
    return source is not None and not is_pair(element_of(value)) and value.has_one_use() and source.result.has_one_use()


def _factors(form: Constant | Form) -> list[SSAValue]:
    """The values that the products of an expression multiply by their weights."""
    match form:
        case Product():
            return [form.factor]
        case Sum():
            return [value for term in form.terms for value in _factors(term)]
        case Constant():
            return []


def _merge(gates: Sequence[Operation], names: set[str]) -> None:
    """Replace expressions of the same form by slices of one merged expression."""
    point = InsertPoint.before(gates[0])
    merged = _merged(gates, point, names)
    *lead, width = shape_of(gates[0].results[0])
    for number, gate in enumerate(gates):
        part = SliceOp(merged, [*(0 for _ in lead), number * width], [*lead, width])
        Rewriter.insert_op(part, point)
        part.result.name_hint = gate.results[0].name_hint
        gate.results[0].replace_all_uses_with(part.result)
    for gate in gates:
        erase_unread(gate.results[0])


def _merged(ops: Sequence[Operation], point: InsertPoint, names: set[str]) -> SSAValue:
    """The merged expression: the results of operations of the same form, concatenated along the last axis."""
    first = ops[0]
    if isinstance(first, MatmulOp):
        turned = first.transpose_b is not None
        rhs = _constants([op.operands[1] for op in ops], -2 if turned else -1, names)
        made: Operation = MatmulOp(
            first.lhs, rhs, transpose_a=first.transpose_a is not None, transpose_b=turned,
            result_element=element_of(first.result),
        )  # fmt: skip
    else:
        width = shape_of(first.results[0])[-1]
        terms: list[SSAValue] = []
        for values in zip(*(op.operands for op in ops), strict=True):
            if constant_source(values[0]) is not None:
                terms.append(_constants(values, -1, names, width))
            else:
                owners = [value.owner for value in values if isinstance(value.owner, Operation)]
                terms.append(_merged(owners, point, names))
        assert isinstance(first, AddOp | SubOp)
        made = type(first)(*terms)
    Rewriter.insert_op(made, point)
    return made.results[0]


def _constants(values: Sequence[SSAValue], axis: int, names: set[str], width: int | None = None) -> SSAValue:
    """
    The concatenation of constants along an axis, as a constant at the first of them; `width`: size of each, if given.
    """
    arrays: list[NDArray[Any]] = []
    for value in values:
        array = constant_array(value)
        assert array is not None
        shape = shape_of(value) if width is None else (*shape_of(value)[:-1], width)
        arrays.append(np.broadcast_to(array, shape))
    sources = [constant_source(value) for value in values]
    first = sources[0]
    assert first is not None
    name = new_name(f"{source_name(first)}.gates", names)
    new = source_of(np.ascontiguousarray(np.concatenate(arrays, axis)), element_of(values[0]), name)
    with at([source for source in sources if source is not None]):
        Rewriter.insert_op(new, InsertPoint.after(first))
    return new.results[0]

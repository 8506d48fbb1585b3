"""Names of operations in IRDL, and which operations it can declare."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Dialect, Operation, ParametrizedAttribute
from xdsl.irdl import BaseAttr, EqAttrConstraint, IRDLOperation, RangeConstraint, RangeOf, VarConstraint
from xdsl.irdl.operations import OptionalDef, VariadicDef
from xdsl.traits import IsTerminator, NoTerminator

UNCHECKED = "unchecked"
"""Prefix of the names of operations that IRDL cannot declare; MLIR verifies only their bodies."""
END = f'"{UNCHECKED}.end"() : () -> ()'
"""Ends a block that needs no terminator: MLIR requires one because operations have no traits."""


def symbol_of(name: str) -> str:
    """The name of an operation or attribute without its dialect, and without dots, which IRDL does not allow."""
    return Dialect.split_name(name)[1].replace(".", "_")


def can_declare(operation: type[IRDLOperation]) -> bool:
    """Whether IRDL can express the operands and results of an operation, and its allowed positions."""
    definition = operation.get_irdl_definition()
    if any(isinstance(trait, IsTerminator) for trait in definition.traits.traits):
        return False
    values = [part for _, part in (*definition.operands, *definition.results)]
    return all(
        _is_one_type(part.constr)
        for part in values
        if isinstance(part, VariadicDef) and not isinstance(part, OptionalDef)
    )


def _is_one_type(constraint: RangeConstraint) -> bool:
    """Whether all values that satisfy a constraint have the same type."""
    if not isinstance(constraint, RangeOf):
        return False
    match constraint.constr:
        case EqAttrConstraint() | VarConstraint():
            return True
        case BaseAttr() as base:
            kind = base.attr
            return issubclass(kind, ParametrizedAttribute) and not kind.get_irdl_definition().parameters
        case _:
            return False


def shown_name(op: Operation, own: Iterable[str]) -> str:
    """The name of an operation in the text for MLIR; `own` are the names of the dialects that are declared."""
    dialect = Dialect.split_name(op.name)[0]
    if dialect not in own or not isinstance(op, IRDLOperation):
        return op.name
    name = f"{dialect}.{symbol_of(op.name)}"
    return name if can_declare(type(op)) else f"{UNCHECKED}.{name}"


def needs_end(block: Block, own: Iterable[str]) -> bool:
    """Whether the text ends a block with `END`: if it has no terminator, and its operation is declared."""
    parent, last = block.parent_op(), block.last_op
    if not isinstance(parent, IRDLOperation) or isinstance(parent, ModuleOp):
        return False
    declared = Dialect.split_name(parent.name)[0] in own and can_declare(type(parent))
    return declared and parent.has_trait(NoTerminator) and not (last is not None and last.has_trait(IsTerminator))

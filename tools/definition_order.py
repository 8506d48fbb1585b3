"""Check that definitions dominate uses, which xDSL's parser and verifier do not do."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from ..dialects.locations import located
from ..support.errors import InputError

DIALECTS = ("dataflow", "sparse", "manycore", "memory", "func")
"""Dialects whose operations run in the order of the text (others have graph regions)."""


def check_definition_order(module: ModuleOp) -> None:
    """
    Raises InputError if an operation uses a value of a region that does not enclose it, or a value that the operation
    itself or a later one in the same block defines.
    """
    position = {op: number for number, op in enumerate(module.walk())}
    for op in position:
        in_order = op.name.partition(".")[0] in DIALECTS
        for number, operand in enumerate(op.operands):
            name = f" %{operand.name_hint}" if operand.name_hint else ""
            what = f"operand {number}{name} of {op.name}"
            block = _block_of(operand)
            if block is None:
                raise located(InputError(f"{what} is not defined, or is defined inside the operation itself"), op)
            user: Operation | None = op
            while user is not None and user.parent is not block:
                user = user.parent_op()
            if user is None:
                raise located(InputError(f"{what} is defined in a region that does not contain the operation"), op)
            owner = operand.owner
            if not in_order or not isinstance(owner, Operation):
                continue
            if operand.type.name == "memory.token" and op.name.startswith("memory.") and op.name != "memory.wait":
                continue  # Its verifier distinguishes a cycle of control edges from a wrong order.
            if position[owner] >= position[user]:
                raise located(InputError(f"{what} is used before {owner.name} defines it"), op)


def _block_of(value: SSAValue) -> Block | None:
    """The block in which a value is visible; None for a placeholder of the parser that was never replaced."""
    try:
        owner = value.owner
    except ValueError:
        return None
    return owner if isinstance(owner, Block) else owner.parent

"""Values are defined before they are used: what xDSL's verifier leaves out."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from ..dialects.locations import located
from ..support.errors import InputError

DIALECTS = ("dataflow", "manycore", "memory")
"""Dialects whose operations run in the order of the text (others have regions that are graphs)."""


def check_definition_order(module: ModuleOp) -> None:
    """Raises InputError where an operation uses a value that itself or a later one of the same block defines."""
    position = {op: number for number, op in enumerate(module.walk())}
    for op in position:
        if op.name.partition(".")[0] not in DIALECTS:
            continue
        for number, operand in enumerate(op.operands):
            owner = operand.owner
            if operand.type.name == "memory.token" and op.name.startswith("memory."):
                continue  # Its verifier tells a cycle of control edges from a wrong order.
            if not isinstance(owner, Operation) or owner not in position:
                continue
            user: Operation | None = op
            while user is not None and user.parent is not owner.parent:
                user = user.parent_op()
            if user is not None and position[owner] >= position[user]:
                name = f" %{operand.name_hint}" if operand.name_hint else ""
                message = f"operand {number}{name} of {op.name} is used before {owner.name} defines it"
                raise located(InputError(message), op)

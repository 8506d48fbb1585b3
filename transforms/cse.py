"""
Pass `cse`, as xDSL's, except for bodies of tasks over buffers (see `scheduled_bodies`) and offloaded values (see
`offloaded_values`).
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.transforms import common_subexpression_elimination as elimination

from .shared.offloaded_values import may_stand_for
from .shared.scheduled_bodies import is_scheduled_body


class _Driver(elimination.CSEDriver):
    def _simplify_block(self, block: Block) -> None:
        if not is_scheduled_body(block):
            super()._simplify_block(block)

    def _replace_and_delete(self, op: Operation, existing: Operation) -> None:
        if all(map(may_stand_for, existing.results, op.results)):
            super()._replace_and_delete(op, existing)
        else:
            self._known_ops[op] = op  # later operations may be equal to this one


class CommonSubexpressionElimination(elimination.CommonSubexpressionElimination):
    """Replace operations that compute the same as an earlier one by its results."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        _Driver().simplify(op)

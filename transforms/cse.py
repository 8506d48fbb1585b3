"""Pass `cse`, as xDSL's, but for bodies of tasks over buffers (see `written_bodies`)."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block
from xdsl.transforms import common_subexpression_elimination as elimination

from .written_bodies import is_written_body


class _Driver(elimination.CSEDriver):
    def _simplify_block(self, block: Block) -> None:
        if not is_written_body(block):
            super()._simplify_block(block)


class CommonSubexpressionElimination(elimination.CommonSubexpressionElimination):
    """Operations that compute the same as an earlier one are left out."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        _Driver().simplify(op)

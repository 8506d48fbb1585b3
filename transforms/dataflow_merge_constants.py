"""Pass `dataflow-merge-constants`: merge equal constants."""

from __future__ import annotations

from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter
from xdsl.transforms.common_subexpression_elimination import OperationInfo

from ..analysis.cost_graphs.function_graph import is_source
from ..analysis.semantic_effect import EXACT, SemanticEffect
from ..dialects.manycore import SubgraphOp
from .shared.offloaded_values import is_offloaded


class DataflowMergeConstantsPass(ModulePass):
    """
    Replace equal constants and weights by the first of them, in each function and subgraph. Offloaded ones are not
    merged.
    """

    name = "dataflow-merge-constants"
    semantic_effect: ClassVar[SemanticEffect] = EXACT

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for holder in op.walk():
            if isinstance(holder, FuncOp | SubgraphOp):
                for block in holder.body.blocks:
                    merge_constants(block)


def merge_constants(block: Block) -> None:
    """Merge the constants of a block."""
    first: dict[OperationInfo, Operation] = {}
    for op in list(block.ops):
        if is_source(op) and not any(map(is_offloaded, op.results)):
            kept = first.setdefault(OperationInfo(op), op)
            if kept is not op:
                Rewriter.replace_op(op, [], kept.results)

"""Pass `dataflow-merge-constants`: values that are known stand once."""

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
    Let constants and weights that are equal be one, where the first of them stands, in each function and subgraph.
    Those whose memory is given up for a while stay by themselves.
    """

    name = "dataflow-merge-constants"
    semantic_effect: ClassVar[SemanticEffect] = EXACT

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for holder in op.walk():
            if isinstance(holder, FuncOp | SubgraphOp):
                for block in holder.body.blocks:
                    merge_constants(block)


def merge_constants(block: Block) -> None:
    """Merge those of a block."""
    first: dict[OperationInfo, Operation] = {}
    for op in list(block.ops):
        if is_source(op) and not any(map(is_offloaded, op.results)):
            kept = first.setdefault(OperationInfo(op), op)
            if kept is not op:
                Rewriter.replace_op(op, [], kept.results)

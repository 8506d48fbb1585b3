"""Operations of `dataflow` as subgraphs of one operation each, where memory operations stand between them already."""

from __future__ import annotations

from xdsl.dialects.func import FuncOp
from xdsl.ir import Block
from xdsl.rewriter import InsertPoint

from ...analysis.cost_graphs.function_graph import is_source
from ...dialects.dataflow import ReshapeOp
from ...dialects.dataflow.base import DataflowOp
from ...dialects.locations import at
from ...dialects.memory.stash import RecomputeOp
from ...transforms.shared.outline import erase_unread_sources, outline_operations
from ..subgraphs.subgraph import name_of


def wrap_operations(function: FuncOp) -> None:
    """Each operation that cores run becomes a subgraph, in the bodies of recomputations too. Constants go into them."""
    block = function.body.block
    for inner in [block, *(op.body.block for op in block.ops if isinstance(op, RecomputeOp))]:
        _wrap_block(inner)


def _wrap_block(block: Block) -> None:
    for op in list(block.ops):
        if isinstance(op, DataflowOp) and not isinstance(op, ReshapeOp) and not is_source(op):
            with at(op):
                outline_operations([op], name_of(op), InsertPoint.before(op))
    erase_unread_sources(block)

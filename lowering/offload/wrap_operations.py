"""Wrap operations of `dataflow` that have memory operations between them as subgraphs of one operation each."""

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
    """
    Wrap each operation that the cores execute in a subgraph, in the bodies of recomputations too. Constants are copied
    into it.
    """
    block = function.body.block
    for inner in [block, *(op.body.block for op in block.ops if isinstance(op, RecomputeOp))]:
        _wrap_block(inner)


def _wrap_block(block: Block) -> None:
    for op in list(block.ops):
        if isinstance(op, DataflowOp) and not isinstance(op, ReshapeOp) and not is_source(op):
            with at(op):
                outline_operations([op], name_of(op), InsertPoint.before(op))
    erase_unread_sources(block)

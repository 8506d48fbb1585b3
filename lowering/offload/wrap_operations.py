"""Operations of `dataflow` as subgraphs of one operation each, where memory operations stand between them already."""

from __future__ import annotations

from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ...analysis.function_graph import is_source
from ...dialects.dataflow import ReshapeOp
from ...dialects.dataflow.base import DataflowOp
from ...dialects.locations import keeps_location
from ...dialects.manycore import SubgraphOp, YieldOp
from ...dialects.memory.stash import RecomputeOp
from ..subgraph import name_of


def wrap_operations(function: FuncOp) -> None:
    """Each operation that cores run becomes a subgraph, in the bodies of recomputations too. Constants go into them."""
    block = function.body.block
    for inner in [block, *(op.body.block for op in block.ops if isinstance(op, RecomputeOp))]:
        _wrap_block(inner)


def _wrap_block(block: Block) -> None:
    for op in list(block.ops):
        if isinstance(op, DataflowOp) and not isinstance(op, ReshapeOp) and not is_source(op):
            _wrap(op)
    for op in reversed([op for op in block.ops if is_source(op)]):
        if op.results[0].first_use is None:
            Rewriter.erase_op(op)


@keeps_location
def _wrap(op: DataflowOp) -> None:
    entering: list[SSAValue] = []
    sources: dict[Operation, None] = {}
    for value in op.operands:
        owner = value.owner
        if isinstance(owner, Operation) and is_source(owner):
            _add_sources(owner, sources)
        elif value not in entering:
            entering.append(value)
    body = Block(arg_types=[value.type for value in entering])
    mapping: dict[SSAValue, SSAValue] = dict(zip(entering, body.args, strict=True))
    copies = [one.clone(mapping) for one in (*sources, op)]
    body.add_ops([*copies, YieldOp(*copies[-1].results)])
    subgraph = SubgraphOp(name_of(op), entering, [result.type for result in op.results], Region(body))
    Rewriter.insert_op(subgraph, InsertPoint.before(op))
    for result, value in zip(op.results, subgraph.outputs, strict=True):
        value.name_hint = result.name_hint
        result.replace_all_uses_with(value)
    Rewriter.erase_op(op)


def _add_sources(op: Operation, sources: dict[Operation, None]) -> None:
    for value in op.operands:
        assert isinstance(value.owner, Operation)
        _add_sources(value.owner, sources)
    sources[op] = None

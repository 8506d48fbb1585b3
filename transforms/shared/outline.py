"""Outlining and inlining of subgraphs, shared by passes and the compile driver."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.rewriter import InsertPoint, Rewriter

from ...analysis.cost_graphs.function_graph import BlockGraph, is_source
from ...analysis.subgraphs.op_graph import Segments
from ...dialects.locations import at
from ...dialects.manycore import SubgraphOp, YieldOp


def outline(block: Block, nodes: BlockGraph, segments: Segments) -> list[SubgraphOp]:
    """
    Replace the operations of a block by one subgraph for each group, in order, named by number.

    Constants and weights are copied into each subgraph that reads them; those without readers are erased.
    """
    last = block.last_op
    assert last is not None, "a function's block ends with a terminator"
    made: list[SubgraphOp] = []
    for number, part in enumerate(segments.parts):
        ops = [nodes.ops[int(node)] for node in part.nodes]
        with at(ops[0]):  # the fused location of all operators would be a long list
            made.append(outline_operations(ops, str(number), InsertPoint.before(last)))
    erase_unread_sources(block)
    return made


def erase_unread_sources(block: Block) -> None:
    """Erase constants and weights without readers."""
    for op in reversed([op for op in block.ops if is_source(op)]):
        if op.results[0].first_use is None:
            Rewriter.erase_op(op)


def outline_operations(ops: Sequence[Operation], name: str, point: InsertPoint) -> SubgraphOp:
    """Move operations into a new subgraph at `point`; constants and weights that they read are copied into it."""
    members = set(ops)
    entering: dict[SSAValue, None] = {}
    sources: dict[Operation, None] = {}
    for op in ops:
        for value in op.operands:
            owner = value.owner
            if isinstance(owner, Operation) and is_source(owner):
                _add_sources(owner, sources)
            elif owner not in members:
                entering[value] = None
    leaving = [
        result for op in ops for result in op.results if any(use.operation not in members for use in result.uses)
    ]
    body = Block(arg_types=[value.type for value in entering])
    mapping: dict[SSAValue, SSAValue] = dict(zip(entering, body.args, strict=True))
    for value, argument in mapping.items():
        argument.name_hint = value.name_hint
    copies = [op.clone(mapping) for op in (*sources, *ops)]
    body.add_ops([*copies, YieldOp(*(mapping[value] for value in leaving))])
    subgraph = SubgraphOp(name, list(entering), [value.type for value in leaving], Region(body))
    Rewriter.insert_op(subgraph, point)
    for value, result in zip(leaving, subgraph.outputs, strict=True):
        result.name_hint = value.name_hint
        value.replace_all_uses_with(result)
    for op in reversed(ops):
        Rewriter.erase_op(op)
    return subgraph


def _add_sources(op: Operation, sources: dict[Operation, None]) -> None:
    """Append a source after those that it depends on."""
    for value in op.operands:
        assert isinstance(value.owner, Operation)
        _add_sources(value.owner, sources)
    sources[op] = None


class InlineSubgraph(RewritePattern):
    """Replace a subgraph by its body."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: SubgraphOp, rewriter: PatternRewriter) -> None:
        block = op.body.block
        last = block.last_op
        assert isinstance(last, YieldOp)
        values: dict[SSAValue, SSAValue] = dict(zip(block.args, op.inputs, strict=True))
        yielded = [values.get(value, value) for value in last.operands]
        rewriter.erase(last)
        rewriter.inline_block(block, InsertPoint.before(op), op.inputs)
        rewriter.replace(op, (), yielded)

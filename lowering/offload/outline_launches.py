"""A function's operations as subgraphs, one for each launch: what memory saving moves values between."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ...dialects.dataflow import ConstantOp, ReshapeOp, WeightOp
from ...dialects.dataflow.entry_function import find_main
from ...dialects.locations import at
from ...dialects.manycore import SubgraphOp, YieldOp
from ..serial import Part, PartModule, part_module
from ..subgraph import name_of


def outline_launches(function: FuncOp, parts: Sequence[Part], names: Sequence[str]) -> list[SubgraphOp]:
    """
    Replace all operators of a function by one subgraph for each part, in the parts' order.

    Only values with memory of their own cross: constants and reshapes stand again in every subgraph that reads them.
    The function keeps those that it returns.
    """
    block = function.body.block
    last = block.last_op
    assert isinstance(last, ReturnOp)
    modules = [part_module(part) for part in parts]
    now: dict[SSAValue, SSAValue] = {argument: argument for argument in block.args}
    made: list[SubgraphOp] = []
    for part, module, name in zip(parts, modules, names, strict=True):
        with at(part[0] if part else function):  # those of all operators would be a long list
            made.append(_subgraph(module, name, now))
    for subgraph in made:
        Rewriter.insert_op(subgraph, InsertPoint.before(last))
    added: list[Operation] = []
    last.operands = [_returned(value, now, added) for value in last.operands]
    for op in added:
        Rewriter.insert_op(op, InsertPoint.before(last))
    kept = {*made, *added, last}
    for op in reversed([op for op in block.ops if op not in kept]):
        Rewriter.erase_op(op)
    return made


def _subgraph(part: PartModule, name: str, now: dict[SSAValue, SSAValue]) -> SubgraphOp:
    body: Block = find_main(part.module).body.detach_block(0)
    last = body.last_op
    assert isinstance(last, ReturnOp)
    body.add_op(YieldOp(*last.operands))
    Rewriter.erase_op(last)
    subgraph = SubgraphOp(
        name, [now[value] for value in part.arguments], [value.type for value in part.results], Region(body)
    )
    for value, result in zip(part.results, subgraph.outputs, strict=True):
        owner = value.owner
        result.name_hint = value.name_hint or (name_of(owner) if isinstance(owner, Operation) else None)
        now[value] = result
    return subgraph


def _returned(value: SSAValue, now: dict[SSAValue, SSAValue], added: list[Operation]) -> SSAValue:
    """What the function returns for a value: a constant or another shape of what a subgraph gives stands once more."""
    if value not in now:
        owner = value.owner
        assert isinstance(owner, ConstantOp | WeightOp | ReshapeOp)
        copy = owner.clone({operand: _returned(operand, now, added) for operand in owner.operands})
        copy.results[0].name_hint = value.name_hint
        added.append(copy)
        now[value] = copy.results[0]
    return now[value]

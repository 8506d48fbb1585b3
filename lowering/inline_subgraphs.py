"""A function in subgraphs as a function of operations in groups."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from ..dialects.manycore import SubgraphOp
from ..transforms.outline import InlineSubgraph
from ..transforms.rewrite_once import rewrite_once


@dataclass
class Group:
    """Operations that are to become one launch."""

    name: str
    operations: list[Operation]
    to_fit: bool = False
    """It is apart because more does not fit."""


def inline_subgraphs(function: FuncOp) -> list[Group]:
    """
    Put the operations of subgraphs into the function. Returns which these were, each group with the operations between
    its subgraph and the next; none where there is no subgraph.
    """
    groups: list[Group] = []
    loose = False
    subgraphs = [op for op in function.body.block.ops if isinstance(op, SubgraphOp)]
    for op in function.body.block.ops if subgraphs else ():
        if isinstance(op, SubgraphOp):
            groups.append(Group(op.sym_name.data, list(op.body.block.ops)[:-1], op.to_fit is not None))
        elif loose:
            groups[-1].operations.append(op)
        else:
            groups.append(Group(str(len(groups)), [op]))
        loose = not isinstance(op, SubgraphOp)
    rewrite_once(function, {SubgraphOp: (InlineSubgraph(),)})
    return groups

"""A function in subgraphs as a function of operations in groups."""

from __future__ import annotations

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from ..dialects.manycore import SubgraphOp
from ..transforms.outline import inline


def inline_subgraphs(function: FuncOp) -> list[list[Operation]]:
    """Put the operations of subgraphs into the function; which these were, with those between them. None: no list."""
    groups: list[list[Operation]] = []
    loose = False
    subgraphs = [op for op in function.body.block.ops if isinstance(op, SubgraphOp)]
    for op in function.body.block.ops if subgraphs else ():
        if isinstance(op, SubgraphOp):
            groups.append(list(op.body.block.ops)[:-1])
        elif loose:
            groups[-1].append(op)
        else:
            groups.append([op])
        loose = not isinstance(op, SubgraphOp)
    for subgraph in subgraphs:
        inline(subgraph)
    return groups

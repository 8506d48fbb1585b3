"""Inlining of subgraphs into their function; the operations of each are returned as groups."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from ...dialects.manycore import SubgraphOp
from ...transforms.shared.outline import InlineSubgraph
from ...transforms.shared.rewrite_once import rewrite_once
from .launch_sequence import is_operator
from .residency_decisions import Residence


@dataclass
class Group:
    """Operations that are to become one launch."""

    name: str
    operations: list[Operation]
    to_fit: bool = False
    """Whether it is a separate launch because larger launches do not fit the chip."""
    residence: Residence = field(default_factory=Residence)
    subgraph: SubgraphOp | None = None
    """The erased subgraph that held these operations: for its location and attributes."""
    results: tuple[SSAValue, ...] = ()
    """Its results, as values of the function."""


def inline_subgraphs(function: FuncOp) -> list[Group]:
    """
    Inline the operations of subgraphs into the function. Returns a group for each subgraph, and one for the operations
    between two subgraphs; none if there is no subgraph.
    """
    groups: list[Group] = []
    in_loose_group = False
    subgraphs = [op for op in function.body.block.ops if isinstance(op, SubgraphOp)]
    for op in function.body.block.ops if subgraphs else ():
        if isinstance(op, SubgraphOp):
            operations = list(op.body.block.ops)[:-1]
            groups.append(Group(op.sym_name.data, operations, op.to_fit is not None, Residence.of(op), op, op.yielded))
        elif in_loose_group:
            groups[-1].operations.append(op)
        else:
            groups.append(Group(str(len(groups)), [op]))
        in_loose_group = not isinstance(op, SubgraphOp)
    rewrite_once(function, {SubgraphOp: (InlineSubgraph(),)})
    return groups


def launches_of(function: FuncOp) -> list[Group]:
    """As `inline_subgraphs`, with operators only; groups without operators need no launch, and are omitted."""
    groups = inline_subgraphs(function)
    for group in groups:
        group.operations = list(filter(is_operator, group.operations))
    return [group for group in groups if group.operations]

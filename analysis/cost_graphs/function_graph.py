"""Conversion of the operations of a block to the graph for splitting and ordering."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import IsTerminator

from ...dialects.dataflow import ConstantOp, LoopOp, ReshapeOp, WeightOp
from ...dialects.dataflow.loop_reads import values_read
from ...dialects.dataflow.tiling import Box, TilingInterface
from ...dialects.dataflow.types import tensor_bytes, tensor_of
from ...dialects.manycore import TaskOp
from ..subgraphs.deferrable_nodes import deferrable_nodes
from ..subgraphs.op_graph import Adjacency, NodeInfo, OpGraph
from ..subgraphs.updates import state_types, update_nodes


@dataclass(frozen=True, eq=False)
class BlockGraph:
    """The graph of a block's operations: node n is `ops[n]`. Constants and weights are not nodes, see `is_source`."""

    graph: OpGraph
    ops: tuple[Operation, ...]


def is_source(op: Operation) -> bool:
    """
    Whether an operation is a constant or a weight: it has no position in an order, and is copied to each part that
    reads it. Reshapes of these count too, because they move no data.
    """
    while isinstance(op, ReshapeOp):
        owner = op.operand.owner
        if not isinstance(owner, Operation):
            return False
        op = owner
    return isinstance(op, ConstantOp | WeightOp)


def source_of_value(value: SSAValue) -> Operation | None:
    """The constant or weight whose elements a value has, in any shape; None for other values."""
    owner = value.owner
    while isinstance(owner, ReshapeOp):
        owner = owner.operand.owner
    return owner if isinstance(owner, ConstantOp | WeightOp) else None


def block_graph(block: Block) -> BlockGraph:
    """
    The graph of all operations of a block but sources and the terminator.

    Names are the results' names if they have any (made unique), otherwise the operation's. Costs come from the tiling
    interface; a reshape costs nothing. Constants of any size count as weights; a table that is read by index counts
    with all its bytes. Operators that are assigned to others in the search for key nodes (`is_update`) are deferrable
    operators, and in a training step those that depend on a single weight; there, weights are not inputs.
    """
    ops = tuple(op for op in block.ops if not is_source(op) and not op.has_trait(IsTerminator))
    number_of: dict[SSAValue, int] = {result: number for number, op in enumerate(ops) for result in op.results}
    edges = [
        (number_of[value], number) for number, op in enumerate(ops) for value in values_read(op) if value in number_of
    ]
    last = block.last_op
    leaving = last.operands if last is not None and last.has_trait(IsTerminator) else ()
    costs = [_work(op) for op in ops]
    macs = np.array([macs for macs, _ in costs], np.int64)
    outputs = [(number_of[value], value.type) for value in leaving if value in number_of]
    state = state_types([value.type for value in leaving], [argument.type for argument in block.args])
    inputs = {argument for argument in block.args if argument.type not in state}
    successors = Adjacency.of(len(ops), *np.array(edges, np.int64).reshape(-1, 2).T)
    graph = OpGraph.build(
        edges,
        list(_names(ops)),
        NodeInfo(
            op_types=[op.name.partition(".")[2] for op in ops],
            macs=macs,
            other_ops=[others for _, others in costs],
            weight_bytes=[_weight_bytes(op) for op in ops],
            result_bytes=[sum(tensor_bytes(tensor_of(result)) for result in op.results) for op in ops],
            outputs=[number for number, _ in outputs],
            inputs=[number for number, op in enumerate(ops) if any(value in inputs for value in values_read(op))],
            updates=sorted({*update_nodes(successors, outputs, state), *deferrable_nodes(successors, macs)}),
        ),
    )
    return BlockGraph(graph, ops)


def _names(ops: Sequence[Operation]) -> Iterator[str]:
    taken: set[str] = set()
    for op in ops:
        hint = next((result.name_hint for result in op.results if result.name_hint), None)
        name = unique = hint or op.name.partition(".")[2]
        number = 1
        while unique in taken:
            unique, number = f"{name}.{number}", number + 1
        taken.add(unique)
        yield unique


def _work(op: Operation) -> tuple[int, int]:
    """Multiply-accumulates and other element operations, moved elements among them, of a whole operation or task."""
    if isinstance(op, TaskOp | LoopOp):
        inside = [_work(inner) for inner in op.body.block.ops]
        times = op.step_count if isinstance(op, LoopOp) else 1
        return times * sum(macs for macs, _ in inside), times * sum(others for _, others in inside)
    if not isinstance(op, TilingInterface) or isinstance(op, ReshapeOp):
        return 0, 0
    cost = op.cost(Box.whole(tuple(dim.size for dim in op.iteration_space())))
    if cost.macs:
        return cost.macs, 0
    return 0, cost.vpu_ops


def _weight_bytes(op: Operation) -> int:
    """Bytes of the distinct constants and weights that an operation reads."""
    sources = {source for value in values_read(op) if (source := source_of_value(value)) is not None}
    return sum(tensor_bytes(tensor_of(source.results[0])) for source in sources)

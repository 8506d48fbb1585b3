"""The tasks of a block as a graph, and reordering of the tasks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import is_side_effect_free

from ...analysis.cost_graphs.function_graph import block_graph
from ...analysis.cost_graphs.graph import Ints
from ...analysis.subgraphs.key_nodes import cut_nodes
from ...analysis.subgraphs.op_graph import OpGraph
from ...analysis.subgraphs.segments_between import segments_between
from ...dialects.dataflow import ConstantOp, WeightOp
from ...dialects.dataflow.loop_reads import values_read
from ...dialects.manycore import TaskOp


def tasks_of(block: Block) -> list[TaskOp]:
    """The tasks directly in a block, in order."""
    return [op for op in block.ops if isinstance(op, TaskOp)]


def task_predecessors(block: Block) -> list[list[int]]:
    """
    For each task, the numbers of the tasks whose results it reads, directly or through other operations; ascending.
    """
    sources: dict[SSAValue, frozenset[int]] = {}
    found: list[list[int]] = []
    for op in block.ops:
        reads = frozenset[int]().union(*(sources.get(value, frozenset()) for value in values_read(op)))
        if isinstance(op, TaskOp):
            reads, before = frozenset({len(found)}), reads
            found.append(sorted(before))
        sources.update((value, reads) for value in op.results)
    return found


def task_segments(block: Block) -> list[Ints]:
    """
    The numbers of the tasks between key nodes, segment by segment, in a topological order (spec 3, step 2): segments
    that exclude no order of tasks, or if there are none, as in a training step, those found without deferrable tasks.
    """
    tasks, before = tasks_of(block), task_predecessors(block)
    edges = [(source, task) for task, sources in enumerate(before) for source in sources]
    graph = OpGraph.build(edges, [task.sym_name.data for task in tasks])
    parts = segments_between(graph, cut_nodes(graph)).parts
    if len(parts) > 1:
        return [np.sort(part.nodes) for part in parts]
    number = {task: index for index, task in enumerate(tasks)}
    nodes = block_graph(block)
    parts = segments_between(nodes.graph, cut_nodes(nodes.graph)).parts
    found = [[number[op] for node in part.nodes if isinstance(op := nodes.ops[int(node)], TaskOp)] for part in parts]
    return [np.sort(np.array(one, np.int64)) for one in found if one]


def is_free_to_order(block: Block) -> bool:
    """Whether the operations of a block are ordered by their results only: none but the last has side effects."""
    return all(is_side_effect_free(op) for op in block.ops if op is not block.last_op)


def arrange_tasks(block: Block, tasks: Sequence[TaskOp]) -> None:
    """Put the tasks of a block in this order; those in loops do not move. Raises the errors of `reorder_tasks`."""
    number = {task: index for index, task in enumerate(tasks_of(block))}
    order = [number[task] for task in tasks if task in number]
    if order != list(range(len(order))):
        reorder_tasks(block, order)


def reorder_tasks(block: Block, order: Sequence[int]) -> None:
    """
    Put the tasks in this order. Constants come first, in their order; other operations are placed directly before the
    first task that needs them, or at the end.

    Raises ValueError if a task would precede one whose result it reads, or if operations have side effects.
    """
    tasks, before = tasks_of(block), task_predecessors(block)
    position = {number: index for index, number in enumerate(order)}
    if len(order) != len(tasks) or len(position) != len(tasks):
        raise ValueError(f"the order should name each of the {len(tasks)} tasks once")
    for number, sources in enumerate(before):
        for source in sources:
            if position[source] > position[number]:
                late = tasks[number].sym_name.data
                raise ValueError(f"task '{late}' comes before '{tasks[source].sym_name.data}', whose result it reads")
    if not is_free_to_order(block):
        raise ValueError("operations with effects cannot change their order")
    sequence: dict[Operation, None] = {op: None for op in block.ops if isinstance(op, ConstantOp | WeightOp)}
    for number in order:
        todo: list[Operation] = [tasks[number]]
        while todo:
            op = todo[-1]
            missing = [
                value.owner
                for value in values_read(op)
                if isinstance(value.owner, Operation) and value.owner not in sequence
            ]
            if missing:
                todo += reversed(missing)
                continue
            sequence.setdefault(op)
            todo.pop()
    for op in (*sequence, *[op for op in block.ops if op not in sequence]):
        op.detach()
        block.add_op(op)

"""
Orders by segments: each segment between key nodes is ordered separately, then the orders are concatenated (spec 3,
steps 2 and 4). Segments are joined without a barrier: the queues of the units continue from one to the next. If an
order of the whole graph is better, it is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..cost_graphs.graph import LOAD_PHASE, CostGraph, Ints
from ..subgraphs.key_nodes import cut_nodes
from ..subgraphs.op_graph import NodeInfo, OpGraph
from ..subgraphs.segments_between import segments_between
from .anneal import anneal, anneal_from
from .lists import list_schedule, unlimited_orders
from .memory_list import memory_list_order
from .problem import OrderProblem
from .search import Effort, Found, OrderCost, UnitCost, cheaper
from .simple import all_if_few, program_order
from .simulate import INFEASIBLE, makespan_of


def segments_of(graph: CostGraph) -> list[Ints]:
    """The operations of each segment; loads of weights are with their first readers, updates with their gradients."""
    kinds = np.array([*graph.tensor_kinds, ""])
    makes = np.zeros(graph.ops, np.bool_)
    makes[graph.outputs.rows[kinds[graph.outputs.values] == "wgrad"]] = True
    reads = np.zeros(graph.ops, np.bool_)
    reads[graph.inputs.rows[kinds[graph.inputs.values] == "wgrad"]] = True
    ends = np.diff(graph.successors.starts) == 0
    edges = np.stack([graph.predecessors.values, graph.predecessors.rows], axis=1)
    loads = [op for op, phase in enumerate(graph.phases) if phase == LOAD_PHASE]
    updates = np.flatnonzero(makes | (reads & ends)).tolist()
    nodes = OpGraph.build(edges, graph.op_names, NodeInfo(weight_loads=loads, updates=updates))
    return [np.sort(part.nodes) for part in segments_between(nodes, cut_nodes(nodes)).parts]


def by_segments(parts: Sequence[Ints], cost: OrderCost, effort: Effort) -> Found | None:
    """The joined order of the segments or the list schedule of the whole graph, whichever is better."""
    whole = list_schedule(cost, effort)
    if (order := linked_order(cost.problem, parts)) is None:
        return whole
    return cheaper(whole, Found(order, cost.cost(order), "segments"))


def in_segments(parts: Sequence[Ints], cost: OrderCost, effort: Effort) -> Found | None:
    """
    The segments one after the other, each in its best order, or, if it has many orders, in one that annealing finds.
    Each segment gets a share of the effort by its size. Queues continue from one segment to the next.
    """

    def best(part: Ints) -> Ints:
        alone, share = cost.part(part), replace(effort, steps=effort.steps * len(part) // cost.problem.ops, good=0.0)
        found = all_if_few(alone, share) or anneal(alone, share)
        return part if found is None else part[found.order]

    order = np.concatenate([best(part) for part in parts])
    return Found(order, cost.cost(order), "segments")


def segments_first(parts: Sequence[Ints], cost: OrderCost, effort: Effort) -> Found | None:
    """The segments ordered separately, then annealing of the whole from this order or from that of `anneal`."""
    begin = cheaper(program_order(cost, effort), list_schedule(cost, effort))
    if len(parts) > 1:
        begin = cheaper(in_segments(parts, cost, effort), begin)
    return None if begin is None else anneal_from(cost, begin, effort)


def linked_order(problem: OrderProblem, parts: Sequence[Ints]) -> Ints | None:
    """Segment after segment, each in the best order found for it alone; None if that does not fit the memory."""
    order = np.concatenate([part[best_alone(problem.part(part))] for part in parts])
    if makespan_of(problem, order) < INFEASIBLE or not problem.capped:
        return order
    # One operation at a time in the program's order inside of each segment, as far ahead as memory allows.
    made, start = np.empty((2, problem.ops), np.int64)
    priority = np.empty(problem.ops, np.int64)
    priority[order] = np.arange(problem.ops)[::-1]
    units, reference = len(problem.unit_names), np.concatenate(parts)
    makespan = memory_list_order(problem.arrays, units, problem.cap, reference, priority, problem.ops, made, start)
    return made if makespan < INFEASIBLE else None


def best_alone(problem: OrderProblem) -> Ints:
    """The best of the list schedules of one segment."""
    cost = UnitCost(problem)
    best = np.arange(problem.ops, dtype=np.int64)
    price = cost.cost(best)
    for order in unlimited_orders(problem, cost.bound):
        if (other := cost.cost(order)) < price:
            best, price = order.copy(), other
    return best

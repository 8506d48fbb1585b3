"""Search for an order by the name of a method."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal, get_args

import numpy as np

from ...support.errors import MeshloomError
from ..cost_graphs.graph import CostGraph
from ..cost_graphs.read import parse_cost_graph
from .anneal import anneal
from .least_memory import least_peak_found
from .lists import list_schedule
from .mcts import tree_search
from .portfolio import portfolio
from .problem import NO_CAP, problem_of
from .search import Effort, Found, OrderCost, Search, UnitCost
from .segments import by_segments, segments_of
from .simple import exhaustive, program_order, random_orders
from .simulate import Timeline, serial_peak, simulate

Method = Literal["default", "program", "random", "list", "anneal", "mcts", "exhaustive", "segments"]
METHODS: tuple[Method, ...] = get_args(Method)
Preset = Literal["fast", "normal"]
PRESETS: tuple[Preset, ...] = get_args(Preset)
STEPS: dict[tuple[Preset, bool], int] = {
    ("fast", False): 200_000,
    ("fast", True): 800_000,
    ("normal", False): 1_400_000,
    ("normal", True): 6_500_000,
}
"""Steps by preset and whether memory is limited: about 5 ms without and 50 ms with a limit, a tenth for "fast"."""


@dataclass(frozen=True)
class OrderPlan:
    """An order of a graph's operations, and its execution."""

    graph: CostGraph
    timeline: Timeline
    method: str
    """The method that found the order."""
    bound: int
    """ns: the busiest unit's load, or the critical path."""
    proven_bound: int
    """ns: a bound from each unit with the heads and tails of its operations."""


def plan_order(
    graph: CostGraph,
    method: Method = "default",
    cap: int = NO_CAP,
    preset: Preset = "normal",
    seed: int = 0,
    stop_at: float = 0.0,
) -> OrderPlan:
    """
    Find an order of a graph's operations such that values take at most `cap` bytes.

    Raises MeshloomError naming the smallest limit known to suffice if none is found, InputError for an exhaustive
    search among too many orders.
    """
    cost = UnitCost(problem_of(graph, cap))
    effort = Effort(STEPS[preset, cost.problem.capped], seed, stop_at)
    if method == "segments":
        search: Search = partial(by_segments, segments_of(graph))
    else:
        search = search_of(method)
    found = search(cost, effort)
    timeline = None if found is None else simulate(cost.problem, found.order)
    if found is None or timeline is None:
        raise MeshloomError(_does_not_fit(cost, method))
    return OrderPlan(graph, timeline, found.method, cost.problem.bound, int(cost.bound))


def search_of(method: Method) -> Callable[[OrderCost, Effort], Found | None]:
    """The search of that name. "segments" is not among them, since it needs a graph."""
    searches: dict[str, Search] = {
        "default": portfolio,
        "program": program_order,
        "random": random_orders,
        "list": list_schedule,
        "anneal": anneal,
        "mcts": tree_search,
        "exhaustive": exhaustive,
    }
    return searches[method]


def _does_not_fit(cost: UnitCost, method: str) -> str:
    problem = cost.problem
    least = least_peak_found(problem)
    if least > problem.cap:
        return (
            f"no order is known whose values fit {problem.cap:,} bytes: the smallest limit for which one was found "
            f"is {least:,}"
        )
    program = serial_peak(problem, np.arange(problem.ops, dtype=np.int64))
    return (
        f"method '{method}' found no order whose values fit {problem.cap:,} bytes (the program's order takes "
        f"{program:,}): use method default, which finds one"
    )


def warm_up(method: Method = "default") -> None:
    """Load or compile the kernels of a method, so that the first plan takes no longer than others."""
    tensors = [{"id": i, "size": 4, "kind": "act", "shape": [1]} for i in range(4)]
    operations: list[tuple[str, list[int], int]] = [("A", [], 1), ("B", [0], 5), ("A", [0], 3), ("A", [0], 4)]
    ops = [
        {"id": i, "unit": unit, "ins": ins, "outs": [i], "dur_ns": time}
        for i, (unit, ins, time) in enumerate(operations)
    ]
    graph = parse_cost_graph({"tensors": tensors, "ops": ops})
    for cap in (NO_CAP, 16):
        plan_order(graph, method, cap)
        if method != "segments":
            search_of(method)(_Unbounded(problem_of(graph, cap)), Effort(100))


class _Unbounded(UnitCost):
    """The fast model without a lower bound, so that a search uses all of its effort."""

    @property
    def bound(self) -> float:
        return -1.0

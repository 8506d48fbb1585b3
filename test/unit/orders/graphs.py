"""Graphs for the tests, from the specification's figures and random; a simple simulation of orders as an oracle."""

from __future__ import annotations

from typing import Any

import numpy as np
from meshloom.analysis.cost_graphs.graph import CostGraph
from meshloom.analysis.cost_graphs.read import parse_cost_graph
from meshloom.analysis.orders.problem import OrderProblem

FIGURE_1: dict[str, tuple[list[str], str]] = {
    "relu": ([], "VPU"), "conv1": (["relu"], "MPU"), "matmul": (["conv1"], "MPU"), "mean": (["matmul"], "VPU"),
    "add1": (["mean"], "VPU"), "conv2": (["relu"], "MPU"), "axpy": (["conv2"], "VPU"), "sub": (["axpy"], "VPU"),
    "add2": (["sub"], "VPU"), "softmax": (["add1", "add2"], "VPU"),
}  # fmt: skip
FIGURE_3: dict[str, tuple[list[str], str]] = {
    "conv": ([], "MPU"), "matmul": (["conv"], "MPU"), "mean": (["conv"], "VPU"), "softmax": (["matmul", "mean"], "VPU"),
}  # fmt: skip


def figure(operations: dict[str, tuple[list[str], str]]) -> CostGraph:
    """A graph of operations of 10 ns with one result of 1 byte each, given by name, predecessors and unit."""
    names = list(operations)
    ops = [
        {"id": i, "name": name, "unit": unit, "ins": [names.index(one) for one in before], "outs": [i], "dur_ns": 10}
        for i, (name, (before, unit)) in enumerate(operations.items())
    ]
    return parse_cost_graph({"tensors": [{"id": i, "size": 1, "kind": "act"} for i in range(len(names))], "ops": ops})


def random_json(seed: int, count: int, units: int = 3, zeros: bool = True) -> dict[str, Any]:
    """A random cost graph as JSON data; operations have no result, one or two."""
    rng = np.random.default_rng(seed)
    tensors: list[dict[str, Any]] = [
        {"id": 100 + i, "size": int(rng.integers(1, 9)), "kind": "weight"} for i in range(3)
    ]
    ops: list[dict[str, Any]] = []
    made: list[int] = []
    for number in range(count):
        reads = (
            set(rng.choice(made, size=min(len(made), int(rng.integers(0, 3))), replace=False).tolist())
            if made
            else set[int]()
        )
        reads |= {100 + int(rng.integers(3))} if rng.random() < 0.3 else set()
        outs = [1000 + len(made) + i for i in range(int(rng.choice([0, 1, 1, 1, 2])))]
        tensors += [{"id": out, "size": int(rng.integers(0, 20)), "kind": "act"} for out in outs]
        made += outs
        ops.append(
            {
                "id": number,
                "name": f"op{number}",
                "unit": f"U{rng.integers(units)}",
                "ins": sorted(reads),
                "outs": outs,
                "dur_ns": int(rng.integers(0 if zeros else 1, 12)),
                "phase": "fwd" if number < count // 2 else "bwd",
            }
        )
    return {"name": "random", "tensors": tensors, "ops": ops}


def random_graph(seed: int, count: int, units: int = 3, zeros: bool = True) -> CostGraph:
    return parse_cost_graph(random_json(seed, count, units, zeros))


def run_slowly(problem: OrderProblem, order: list[int]) -> list[int] | None:
    """
    Start times of the operations, simulated event by event; None if the order is stuck.

    Each unit runs its operations in `order`; with a limit on memory, all operations start in `order`.
    """
    queues = {unit: [op for op in order if problem.unit[op] == unit] for unit in range(len(problem.unit_names))}
    makes = [sum(int(size) for size in problem.size[problem.producer == op]) for op in range(problem.ops)]
    start: dict[int, int] = {}
    end: dict[int, int] = {}
    now = 0
    while any(queues.values()):
        moved = False
        for unit, queue in queues.items():
            if not queue:
                continue
            op = queue[0]
            busy = any(problem.unit[one] == unit and end[one] > now for one in start)
            waits = any(before not in end or end[before] > now for before in problem.predecessors[op].tolist())
            if problem.capped:
                turn = len(start) == order.index(op)
                waits |= not turn or alive(problem, start, end, now) + makes[op] > problem.cap
            if not busy and not waits:
                start[op], end[op] = now, now + int(problem.duration[op])
                queue.pop(0)
                moved = True
        if not moved:
            later = [time for time in end.values() if time > now]
            if not later:
                return None
            now = min(later)
    return [start[op] for op in range(problem.ops)]


def alive(problem: OrderProblem, start: dict[int, int], end: dict[int, int], now: int) -> int:
    """Bytes of the values that are live at `now`."""
    total = 0
    for value in range(len(problem.size)):
        if int(problem.producer[value]) not in start:
            continue
        readers = [op for op in range(problem.ops) if value in problem.reads[op].tolist()]
        if not readers or any(op not in end or end[op] > now for op in readers):
            total += int(problem.size[value])
    return total

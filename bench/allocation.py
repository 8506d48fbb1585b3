"""
Static allocation of buffers: the peak over the largest number of live bytes, one JSON line for each case.

    python bench/allocation.py [GRAPH.json ...] [--cases FOLDER]

Graphs (default: those in bench/data/graphs): buffers in program order, and buffers with swaps within half of the peak,
each compared with greedy allocation alone and with plans for fixed addresses. With `units`, the buffers of units that
run in parallel: in the order that `meshloom-plan --units` finds, and in an order within 0.9 of its memory, or within
the least memory for which an order is found if that is more. With `--cases`, the cases of MiniMalloc: whether they fit
their capacity. MiniMalloc's own solver fits all eleven in 58 s.
"""

from __future__ import annotations

import argparse
import csv
import json
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from meshloom.analysis.allocation.allocate import allocate
from meshloom.analysis.allocation.allocation_search import fitting_offsets
from meshloom.analysis.cost_graphs.read import read_cost_graph
from meshloom.analysis.offload.evaluate import Evaluator
from meshloom.analysis.offload.kinds import Kind
from meshloom.analysis.offload.model import Model
from meshloom.analysis.offload.placed import plan_placed
from meshloom.analysis.offload.plan import plan_offload
from meshloom.analysis.offload.problem import offload_problem
from meshloom.analysis.offload.residency import ALIGNMENT, Residency, residency
from meshloom.analysis.orders.least_memory import least_peak_found
from meshloom.analysis.orders.plan import plan_order, warm_up
from meshloom.analysis.orders.problem import NO_CAP, problem_of
from meshloom.analysis.orders.simulate import lifetimes
from meshloom.support.errors import InputError

GRAPHS = Path(__file__).resolve().parent / "data" / "graphs"


def graph_lines(path: Path) -> Iterator[dict[str, object]]:
    """Plans with swaps: for a budget of live bytes, and for buffers at fixed offsets within the budget."""
    problem = offload_problem(read_cost_graph(path))
    evaluator = Evaluator(problem, Model(16e9))
    for share in (1.0, 0.5):
        budget = max(problem.smallest_budget, int(share * problem.peak))
        plan = plan_offload(evaluator, budget, (Kind.SWAP,))
        held = residency(evaluator, plan)
        began = time.process_time()
        found = held.offsets(budget)
        seconds = time.process_time() - began
        stacked = allocate(held.size.tolist(), *held.moments(), ALIGNMENT)
        began = time.process_time()
        try:
            placed = plan_placed(evaluator, budget, (Kind.SWAP,))
            time_ns, limit = placed.plan.time_ns, placed.plan.limit
        except InputError:
            time_ns, limit = None, None
        yield {
            "bench": "allocation",
            "case": path.stem,
            "budget": round(budget / problem.peak, 4),
            "buffers": len(held.size),
            "over_live_bytes": round(found.peak / found.lower_bound, 4),
            "over_budget": round(found.peak / budget, 4),
            "greedy_over_budget": round(stacked.peak / budget, 4),
            "cpu_s": round(seconds, 4),
            "placed_limit": None if limit is None else round(limit / budget, 4),
            "placed_over_plan_ns": None if time_ns is None else round(time_ns / plan.time_ns, 4),
            "placed_cpu_s": round(time.process_time() - began, 4),
        }


def units_lines(path: Path) -> Iterator[dict[str, object]]:
    """Orders for units in parallel: a value lives from the start of its producer to the end of its last reader."""
    graph = read_cost_graph(path)
    problem = problem_of(graph)
    free = plan_order(graph).timeline
    for cap in (NO_CAP, max(least_peak_found(problem), int(0.9 * free.peak))):
        timeline = free if cap == NO_CAP else plan_order(graph, cap=cap).timeline
        start, end = lifetimes(problem, timeline.start)
        end = np.minimum(end, timeline.makespan)
        some = np.flatnonzero(end > start)
        held = Residency(some, problem.size[some], start[some], end[some])
        began = time.process_time()
        found = held.offsets()
        seconds = time.process_time() - began
        stacked = allocate(held.size.tolist(), *held.moments(), ALIGNMENT)
        yield {
            "bench": "allocation",
            "case": path.stem,
            "units": True,
            "memory_cap": None if cap == NO_CAP else cap,
            "buffers": len(held.size),
            "time_over_one_by_one": round(timeline.makespan / int(graph.duration.sum()), 4),
            "over_live_bytes": round(found.peak / found.lower_bound, 6),
            "greedy_over_live_bytes": round(stacked.peak / stacked.lower_bound, 6),
            "cpu_s": round(seconds, 4),
        }


def minimalloc_lines(folder: Path, work: int) -> None:
    """Print a line a case, and how many fit their capacity."""
    fitting, total = 0, 0.0
    cases = sorted(folder.glob("*.csv"))
    for path in cases:
        capacity = int(path.name.split(".")[1])
        with path.open() as file:
            rows = [{key: int(value) for key, value in row.items()} for row in csv.DictReader(file)]
        size, first, last = ([row[key] - (key == "upper") for row in rows] for key in ("size", "lower", "upper"))
        began = time.process_time()
        found = allocate(size, first, last, 1, capacity, work)
        seconds = time.process_time() - began
        fitting += found.peak <= capacity
        total += seconds
        result = {
            "bench": "allocation",
            "case": f"minimalloc {path.stem}",
            "buffers": len(rows),
            "over_capacity": round(found.peak / capacity, 4),
            "over_live_bytes": round(found.peak / found.lower_bound, 4),
            "greedy_over_capacity": round(allocate(size, first, last, 1).peak / capacity, 4),
            "fits": found.peak <= capacity,
            "cpu_s": round(seconds, 4),
        }
        print(json.dumps(result), flush=True)
    print(
        json.dumps(
            {
                "bench": "allocation",
                "case": "minimalloc",
                "fits": fitting,
                "of": len(cases),
                "cpu_s": round(total, 4),
            }
        )
    )


def main() -> None:
    """Print the lines."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graphs", nargs="*", type=Path, default=sorted(GRAPHS.glob("*.json")))
    parser.add_argument("--cases", type=Path, help="folder of MiniMalloc's cases (*.csv)")
    parser.add_argument("--work", type=float, default=60e9, help="on one of them; about a nanosecond each")
    options = parser.parse_args()
    one = np.array([1], np.int64)
    fitting_offsets(one, one, one, 1, 1000)  # compiles
    warm_up()
    for path in options.graphs:
        for result in (*graph_lines(path), *units_lines(path)):
            print(json.dumps(result), flush=True)
    if options.cases is not None:
        minimalloc_lines(options.cases, int(options.work))


if __name__ == "__main__":
    main()

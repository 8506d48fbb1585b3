"""
Orders on in-order units, compared with other methods: makespan over max(unit load, critical path), one JSON line for
each case.

    python bench/orders.py [GRAPH.json ...] [--cp-sat SECONDS] [--cases fwd,loads,all] [--caps 0,1,0.8]

Cases: forward (fwd), forward with weights loaded at 100 GB/s (loads), the whole graph (all). Caps are memory limits
relative to the peak of program order, 0 for none. Compared with: program order, the best of 300 random orders, plain
list scheduling, and CP-SAT with two workers for this number of seconds (with the list schedule as hint).
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

from meshloom.analysis.cost_graphs.graph import CostGraph
from meshloom.analysis.cost_graphs.read import read_cost_graph
from meshloom.analysis.cost_graphs.select import forward_graph, with_weight_loads
from meshloom.analysis.orders.plan import Method, plan_order, warm_up
from meshloom.analysis.orders.problem import NO_CAP, problem_of
from meshloom.analysis.orders.search import UnitCost, best_of
from meshloom.analysis.orders.simple import draw
from meshloom.analysis.orders.simulate import Timeline
from meshloom.support.errors import MeshloomError

GRAPHS = Path(__file__).resolve().parent / "data" / "graphs"
LOAD_BANDWIDTH = 100e9
RANDOM_ORDERS = 300


def case_of(graph: CostGraph, case: str) -> CostGraph:
    """The graph of a case."""
    match case:
        case "fwd":
            return forward_graph(graph)
        case "loads":
            return with_weight_loads(forward_graph(graph), LOAD_BANDWIDTH)
        case _:
            return graph


def compare(graph: CostGraph, cap: int, cp_sat: float) -> dict[str, object]:
    """Ratios to the lower bound; None if a method finds no order that fits."""
    problem = problem_of(graph, cap)
    bound = max(problem.bound, 1)
    line: dict[str, object] = {}
    for method in ("program", "list", "segments", "anneal", "default"):
        ratio, seconds = _planned(graph, method, cap, bound)
        line[method] = ratio
        if method == "default":
            line["plan_ms"] = None if seconds is None else round(seconds * 1e3, 2)
    drawn = best_of(UnitCost(problem), draw(UnitCost(problem), RANDOM_ORDERS, 0), "random", 0.0)
    line["random_300"] = None if drawn is None else round(drawn.cost / bound, 4)
    line["proven_bound"] = round(UnitCost(problem).bound / bound, 4)
    if cp_sat:
        from cp_sat_orders import solve

        found = solve(problem, cp_sat, _hint(graph, cap))
        line["cp_sat"] = None if found.makespan is None else round(found.makespan / bound, 4)
        line["cp_sat_bound"] = round(found.bound / bound, 4)
        if isinstance(line["cp_sat"], float) and isinstance(line["default"], float):
            line["over_cp_sat"] = round(line["default"] / line["cp_sat"], 4)
    return line


def _planned(graph: CostGraph, method: Method, cap: int, bound: int) -> tuple[float | None, float | None]:
    began = time.process_time()
    try:
        plan = plan_order(graph, method, cap)
    except MeshloomError:
        return None, None
    return round(plan.timeline.makespan / bound, 4), time.process_time() - began


def _hint(graph: CostGraph, cap: int) -> Timeline | None:
    try:
        return plan_order(graph, "list", cap).timeline
    except MeshloomError:
        return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graphs", nargs="*", type=Path, default=sorted(GRAPHS.glob("*.json")))
    parser.add_argument("--cp-sat", type=float, default=0.0)
    parser.add_argument("--cases", default="fwd,loads,all")
    parser.add_argument("--caps", default="0,1,0.8,0.6")
    options = parser.parse_args()
    for method in ("program", "list", "segments", "anneal", "default"):
        warm_up(method)
    for path in options.graphs:
        whole = read_cost_graph(path)
        for case in options.cases.split(","):
            graph = case_of(whole, case)
            peak = plan_order(graph, "program").timeline.peak
            for share in map(float, options.caps.split(",")):
                cap = int(share * peak) if share else NO_CAP
                head = {"bench": "orders", "graph": whole.name, "case": case, "ops": graph.ops, "cap": share}
                print(json.dumps({**head, **compare(graph, cap, options.cp_sat)}), flush=True)


if __name__ == "__main__":
    main()

"""
Saving of memory under budgets: one JSON line a graph, link and budget.

    python bench/offload.py [GRAPH.json ...] [--kinds swap] [--links 16e9,64e9] [--budgets 0.8,0.5] [--cells]
        [--cp-sat SECONDS]

Overheads are time over computing alone, minus 1: of the default method in both presets, of the spec's rule (no
thresholds), of the orders of slack and of size, and of the closed-form lower bound. The smallest feasible budget is
added to the budgets. `--cells`: the cells of the table of best-known overheads (swap only), with the best known.
`--cp-sat`: also the best schedule of swaps that CP-SAT (OR-Tools) finds in this time, and whether that is proven.
Graphs: by default those in bench/data/graphs.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

from meshloom.analysis.cost_graphs.read import read_cost_graph
from meshloom.analysis.offload.bounds import lower_bound_ns
from meshloom.analysis.offload.effort import Preset
from meshloom.analysis.offload.evaluate import Evaluator
from meshloom.analysis.offload.kinds import Kind, allowed_kinds
from meshloom.analysis.offload.model import Model
from meshloom.analysis.offload.plan import OffloadPlan, plan_by_rule, plan_offload
from meshloom.analysis.offload.problem import OffloadProblem, offload_problem
from meshloom.analysis.offload.residency import residency
from meshloom.analysis.offload.rules import Rule, Thresholds
from meshloom.analysis.offload.warm_up import warm_up
from meshloom.support.errors import InputError

GRAPHS = Path(__file__).resolve().parent / "data" / "graphs"
BEST_KNOWN = (
    ("vgg16", 16e9, 0.7, 3.12),
    ("resnet50", 16e9, 0.6, 30.0),
    ("resnet50", 16e9, 0.5, 62.7),
    ("resnet50", 64e9, 0.3, 0.0),
    ("resnet50", 64e9, 0.2, 9.7),
    ("unet", 16e9, 0.5, 0.0),
    ("unet", 16e9, 0.3, 9.4),
    ("bert12", 16e9, 0.5, 7.7),
    ("bert12", 16e9, 0.3, 22.6),
    ("densenet121", 16e9, 0.6, 49.0),
    ("densenet121", 64e9, 0.4, 1.7),
)


def overhead(problem: OffloadProblem, time_ns: int) -> float:
    """Increase of the time over computing alone, in percent."""
    return round(100 * (time_ns / problem.compute_ns - 1), 2)


def line(
    name: str, problem: OffloadProblem, link: float, budget: int, kinds: tuple[Kind, ...], cp_sat: float
) -> dict[str, object]:
    """The figures of one cell."""
    evaluator = Evaluator(problem, Model(link))
    bound = lower_bound_ns(evaluator, kinds, budget)
    result: dict[str, object] = {
        "bench": "offload",
        "graph": name,
        "link": link,
        "budget": round(budget / problem.peak, 4),
        "budget_bytes": budget,
        "bound": overhead(problem, bound),
    }
    for preset in Preset:
        fresh, began = Evaluator(problem, Model(link)), time.process_time()
        try:
            plan: OffloadPlan = plan_offload(fresh, budget, kinds, preset)
        except InputError as error:
            return {**result, "error": str(error)}
        result[f"{preset}_cpu_s"] = round(time.process_time() - began, 4)
        result[str(preset)] = overhead(problem, plan.time_ns)
        if preset is Preset.NORMAL:
            held = residency(evaluator, plan)
            result["over_bound"] = round(plan.time_ns / bound, 4)
            result["peak_over_budget"] = round(held.peak / budget, 4)
    for rule in Rule:
        try:
            result[str(rule)] = overhead(problem, plan_by_rule(evaluator, budget, kinds, rule, Thresholds()).time_ns)
        except InputError:
            result[str(rule)] = None
    if cp_sat:
        from cp_sat_swaps import solve

        found = solve(problem, budget, link, cp_sat)
        result["cp_sat"] = None if found.time_ns is None else overhead(problem, found.time_ns)
        result["cp_sat_proven"] = found.time_ns == found.bound_ns
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graphs", nargs="*", type=Path, default=sorted(GRAPHS.glob("*.json")))
    parser.add_argument("--kinds", default="swap")
    parser.add_argument("--links", default="16e9,64e9")
    parser.add_argument("--budgets", default="0.8,0.7,0.6,0.5,0.4,0.3")
    parser.add_argument("--cells", action="store_true")
    parser.add_argument("--cp-sat", type=float, default=0.0, metavar="SECONDS")
    options = parser.parse_args()
    if not options.graphs:
        parser.error(f"no graphs in {GRAPHS}: name at least one")
    warm_up()
    problems = {path.stem: offload_problem(read_cost_graph(path)) for path in options.graphs}
    kinds = allowed_kinds(frozenset(options.kinds.split(",")))
    if options.cells:
        for name, link, share, best in BEST_KNOWN:
            if name in problems:
                problem = problems[name]
                found = line(name, problem, link, problem.budget_bytes(share), (Kind.SWAP,), options.cp_sat)
                print(json.dumps({**found, "best_known": best}), flush=True)
        return
    for name, problem in problems.items():
        budgets = [problem.budget_bytes(float(share)) for share in options.budgets.split(",")]
        feasible = [budget for budget in budgets if budget > problem.smallest_budget]
        for link in map(float, options.links.split(",")):
            for budget in (*feasible, problem.smallest_budget):
                print(json.dumps(line(name, problem, link, budget, kinds, options.cp_sat)), flush=True)


if __name__ == "__main__":
    main()

"""
Static allocation of buffers: peaks over the most bytes alive at once, one JSON line a case.

    python bench/allocation.py [GRAPH.json ...]

Graphs (default: those in ../shared/graphs): buffers in program order, and under half of the peak with swaps. Then the
cases of MiniMalloc in ../shared/minimalloc, where they are there: whether they fit their capacity.
"""

from __future__ import annotations

import argparse
import csv
import json
import time
from pathlib import Path

import numpy as np
from meshloom.analysis.cost_graphs.read import read_cost_graph
from meshloom.analysis.offload.evaluate import Evaluator
from meshloom.analysis.offload.kinds import Kind
from meshloom.analysis.offload.model import Model
from meshloom.analysis.offload.plan import plan_offload
from meshloom.analysis.offload.problem import offload_problem
from meshloom.analysis.offload.residency import residency
from meshloom.analysis.offload.tight import tight_allocation

SHARED = Path(__file__).resolve().parents[2] / "shared"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graphs", nargs="*", type=Path, default=sorted((SHARED / "graphs").glob("*.json")))
    options = parser.parse_args()
    one = np.array([1], np.int64)
    tight_allocation(one, one, one, 1)  # compiles
    for path in options.graphs:
        problem = offload_problem(read_cost_graph(path))
        evaluator = Evaluator(problem, Model(16e9))
        for share in (1.0, 0.5):
            budget = max(problem.smallest_budget, int(share * problem.peak))
            held = residency(evaluator, plan_offload(evaluator, budget, (Kind.SWAP,)))
            began = time.process_time()
            found = held.offsets(budget)
            result = {
                "bench": "allocation",
                "case": path.stem,
                "budget": round(budget / problem.peak, 4),
                "buffers": len(held.size),
                "over_live_bytes": round(found.peak / found.lower_bound, 4),
                "over_budget": round(found.peak / budget, 4),
                "cpu_s": round(time.process_time() - began, 4),
            }
            print(json.dumps(result), flush=True)
    fitting = 0
    cases = sorted((SHARED / "minimalloc").glob("*.csv"))
    for path in cases:
        capacity = int(path.name.split(".")[1])
        with path.open() as file:
            rows = [{key: int(value) for key, value in row.items()} for row in csv.DictReader(file)]
        began = time.process_time()
        found = tight_allocation(
            np.array([row["size"] for row in rows], np.int64),
            np.array([row["lower"] for row in rows], np.int64),
            np.array([row["upper"] - 1 for row in rows], np.int64),
            capacity,
        )
        fitting += found.peak <= capacity
        result = {
            "bench": "allocation",
            "case": f"minimalloc {path.stem}",
            "buffers": len(rows),
            "over_capacity": round(found.peak / capacity, 4),
            "over_live_bytes": round(found.peak / found.lower_bound, 4),
            "fits": found.peak <= capacity,
            "cpu_s": round(time.process_time() - began, 4),
        }
        print(json.dumps(result), flush=True)
    if cases:
        print(json.dumps({"bench": "allocation", "case": "minimalloc", "fits": fitting, "of": len(cases)}))
    else:
        print(
            json.dumps({"bench": "allocation", "case": "minimalloc", "error": f"no cases in {SHARED / 'minimalloc'}"})
        )


if __name__ == "__main__":
    main()

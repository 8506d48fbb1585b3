"""`meshloom-plan --least-peak`: find and prove the order with the least peak of memory, one operation at a time."""

from __future__ import annotations

import argparse
import json
import time
from typing import TYPE_CHECKING

from ..support.files import write_atomically
from .progress import Progress

if TYPE_CHECKING:
    from ..analysis.cost_graphs.graph import CostGraph


def run_least_peak(options: argparse.Namespace, graph: CostGraph, progress: Progress) -> str:
    """Search and write the files. Returns the output."""
    from ..analysis.offload.least_peak import least_peak
    from ..analysis.offload.problem import offload_problem

    progress("search")
    began = time.process_time()
    found = least_peak(graph)
    seconds = time.process_time() - began
    problem = offload_problem(graph)
    figures = {
        "graph": graph.name,
        "ops": graph.ops,
        "peak_bytes": found.peak,
        "proven": found.proven,
        "program_peak_bytes": problem.peak,
        "largest_working_set_bytes": problem.smallest_budget,
        "states": found.states,
        "plan_s": round(seconds, 6),
    }
    if options.order is not None:
        rows = [{"id": graph.op_ids[op], "name": graph.op_names[op]} for op in found.order]
        write_atomically(options.order, json.dumps(rows, indent=1) + "\n")
    if options.stats is not None:
        write_atomically(options.stats, json.dumps(figures, indent=1) + "\n")
    words = "which is the minimum" if found.proven else "which may not be the minimum: the search reached its limit"
    return (
        f"{graph.name}: peak {found.peak:,} bytes, {words} ({found.states:,} states); program order "
        f"{problem.peak:,}, largest working set {problem.smallest_budget:,}"
    )

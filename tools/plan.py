"""`meshloom-plan`: plan the execution of a network from the costs of its operations, without compiling it."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..support.errors import InputError
from ..support.files import all_or_none, write_atomically
from .cli import check_folders, make_parser, parse_shapes, run_tool
from .plan_budget import METHODS as BUDGET_METHODS
from .plan_budget import add_budget_options, run_budget
from .plan_least_peak import run_least_peak
from .plan_modes import BUDGET, LEAST_PEAK, UNITS, check_modes
from .progress import Progress
from .values import add_value_option, parse_values

if TYPE_CHECKING:
    from ..analysis.cost_graphs.graph import CostGraph
    from ..analysis.orders.plan import OrderPlan
    from ..analysis.orders.simulate import Timeline

EXAMPLES = """
  meshloom-plan graph.json --units --stats plan.json
  meshloom-plan graph.json --units --forward --weight-loads 100e9 --memory-cap 350e6 --gantt plan.svg
  meshloom-plan net.onnx --units --chip edge --method anneal --seed 1 --order order.json
  meshloom-plan graph.json --budget 0.5 --link 16e9 --kinds swap,compress --stats plan.json --plot plan.svg
"""
METHODS = ("default", "program", "random", "list", "anneal", "mcts", "exhaustive", "segments")
PRESETS = ("fast", "normal")
CHIP = "edge"


def main(args: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit status."""

    def plan() -> None:
        parser = _parser()
        options = parser.parse_args(args)
        given = {name for name, value in vars(options).items() if value != parser.get_default(name)}
        _plan(options, given)

    return run_tool(plan)


def _parser() -> argparse.ArgumentParser:
    parser = make_parser(
        "meshloom-plan",
        "Plan the order of a network's operations on parallel units, or memory saving within a budget.",
        EXAMPLES,
    )
    parser.add_argument(
        "graph", type=Path, metavar="GRAPH.json|MODEL.onnx", help="a cost graph, or a network (.onnx, .mlir)"
    )
    parser.add_argument(
        "--units", action="store_true", help="order the operations for the units, each with one in-order queue"
    )
    parser.add_argument(
        "--least-peak",
        action="store_true",
        help="find the order with the least peak of memory, one operation at a time",
    )
    parser.add_argument("--forward", action="store_true", help="plan only operations of phase fwd, as in inference")
    parser.add_argument(
        "--weight-loads", type=_positive, metavar="BW", help="add loads of weights on unit DMA, at BW bytes per second"
    )
    parser.add_argument(
        "--memory-cap", type=_positive, metavar="BYTES", help="limit the values in memory at one time to BYTES"
    )
    methods = (*METHODS, *(method for method in BUDGET_METHODS if method not in METHODS))
    names = ", ".join(methods)
    parser.add_argument(
        "--method", metavar="NAME", choices=methods, default="default", help=f"{names} (default: %(default)s)"
    )
    parser.add_argument(
        "--preset", choices=PRESETS, default="normal", help="effort of the search (default: %(default)s)"
    )
    parser.add_argument("--seed", type=_seed, default=0, help="seed of randomised methods (default: %(default)s)")
    parser.add_argument(
        "--stop-at", type=_positive, metavar="NS", help="stop the search at the first order of at most NS nanoseconds"
    )
    parser.add_argument("--chip", metavar="NAME|FILE.toml", help=f"chip for the costs of MODEL.onnx (default: {CHIP})")
    parser.add_argument(
        "--shape", action="append", default=[], metavar="NAME=1x3x224x224", help="shape of an input of MODEL.onnx"
    )
    add_value_option(parser)
    parser.add_argument("--order", type=Path, metavar="OUT.json", help="write the order, with start and end times")
    parser.add_argument("--gantt", type=Path, metavar="OUT.svg", help="draw the units over time, before and after")
    parser.add_argument("--stats", type=Path, metavar="OUT.json", help="write the statistics as JSON")
    parser.add_argument("--report", type=Path, metavar="OUT.html", help="write an HTML report")
    parser.add_argument("-q", "--quiet", action="store_true", help="print errors only")
    add_budget_options(parser)
    return parser


def _positive(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text}: expected a positive number")
    return value


def _seed(text: str) -> int:
    value = int(text)
    if not 0 <= value < 1 << 32:
        raise argparse.ArgumentTypeError(f"{text}: expected a number from 0 to 2^32 - 1")
    return value


def _plan(options: argparse.Namespace, given: set[str]) -> None:
    saving = options.budget is not None or options.budgets is not None
    if options.units + saving + options.least_peak != 1:
        raise InputError(
            "give one mode: --units orders operations for the units, --least-peak finds the order with the least peak "
            "of memory, --budget or --budgets saves memory"
        )
    mode = BUDGET if saving else UNITS if options.units else LEAST_PEAK
    check_modes(mode, given)
    pages = (options.gantt, options.plot, options.report)
    check_folders(options.order, options.stats, options.actions, options.offsets, *pages, inputs=[options.graph])
    if options.gantt is not None and options.gantt.suffix.lower() != ".svg":
        raise InputError(f"--gantt {options.gantt}: the chart is an SVG file: give a name that ends in .svg")
    with Progress("meshloom-plan", options.quiet) as progress:
        progress("read")
        graph = _read(options, progress)
        if not graph.ops:
            raise InputError(f"{options.graph} has no operations: there is nothing to plan")
        modes = {BUDGET: run_budget, LEAST_PEAK: run_least_peak, UNITS: _ordered}
        with all_or_none():
            text = modes[mode](options, graph, progress)
    if not options.quiet:
        print(text)


def _ordered(options: argparse.Namespace, graph: CostGraph, progress: Progress) -> str:
    """Find an order and write the files; returns the text to print."""
    from ..analysis.orders.plan import plan_order, warm_up
    from ..analysis.orders.problem import NO_CAP

    if options.method not in METHODS:
        raise InputError(f"--method {options.method} saves memory; with --units: {', '.join(METHODS)}")
    progress("order")
    cap = NO_CAP if options.memory_cap is None else min(int(options.memory_cap), NO_CAP)
    warm_up(options.method)
    began = time.process_time()
    plan = plan_order(graph, options.method, cap, options.preset, options.seed, options.stop_at or 0.0)
    seconds = time.process_time() - began
    progress("write")
    figures = _figures(plan, options, seconds)
    if options.order is not None:
        write_atomically(options.order, json.dumps(_order(plan), indent=1) + "\n")
    if options.gantt is not None:
        write_atomically(options.gantt, _gantt(plan))
    if options.report is not None:
        from .report.order_report import OrderFacts, order_report

        write_atomically(options.report, order_report(OrderFacts(plan.graph, _runs(plan), figures)))
    if options.stats is not None:
        write_atomically(options.stats, json.dumps(figures, indent=1) + "\n")
    return _summary(figures)


def _read(options: argparse.Namespace, progress: Progress) -> CostGraph:
    from ..analysis.cost_graphs.select import forward_graph, with_weight_loads

    if options.graph.suffix.lower() == ".json":
        from ..analysis.cost_graphs.read import read_cost_graph

        if options.chip is not None or options.shape or options.value:
            option = "--shape" if options.shape else "--value" if options.value else "--chip"
            raise InputError(
                f"{option} is for networks: cost graph {options.graph} contains the costs of its operations"
            )
        graph = read_cost_graph(options.graph)
    elif options.graph.suffix.lower() not in (".onnx", ".mlir"):
        raise InputError(f"{options.graph}: unknown kind of file, expected .json (a cost graph), .onnx or .mlir")
    else:
        from ..analysis.cost_graphs.from_dataflow import cost_graph_of
        from ..chips import load_chip
        from ..dialects.dataflow.entry_function import find_main
        from ..dialects.dataflow.unroll_loops import unroll_loops
        from .read_module import read_module

        chip, shapes = load_chip(options.chip or CHIP), parse_shapes(options.shape)
        module = read_module(options.graph, shapes, progress.note, parse_values(options.value))
        unroll_loops(module)
        graph = cost_graph_of(find_main(module), chip, options.graph.stem)
    if options.forward:
        graph = forward_graph(graph)
    return graph if options.weight_loads is None else with_weight_loads(graph, options.weight_loads)


def _figures(plan: OrderPlan, options: argparse.Namespace, seconds: float) -> dict[str, Any]:
    from ..analysis.orders.problem import problem_of
    from ..analysis.orders.simulate import simulate

    graph, chosen = plan.graph, plan.timeline
    program: Timeline | None = simulate(problem_of(graph), _numbered(graph.ops))
    return {
        "graph": graph.name,
        "ops": graph.ops,
        "makespan_ns": chosen.makespan,
        "bound_ns": plan.bound,
        "proven_bound_ns": plan.proven_bound,
        "program_ns": None if program is None else program.makespan,
        "method": options.method,
        "found_by": plan.method,
        "plan_s": round(seconds, 6),
        "peak_bytes": chosen.peak,
        "program_peak_bytes": None if program is None else program.peak,
        "memory_cap": None if options.memory_cap is None else int(options.memory_cap),
        "unit_busy_ns": {
            unit: int(graph.duration[graph.unit == index].sum()) for index, unit in enumerate(graph.unit_names)
        },
        "preset": options.preset,
        "seed": options.seed,
    }


def _numbered(count: int) -> Any:
    import numpy as np

    return np.arange(count, dtype=np.int64)


def _order(plan: OrderPlan) -> list[dict[str, Any]]:
    """Operations in the order found; ids as in the file, followed by those of loads."""
    graph, run = plan.graph, plan.timeline
    return [
        {
            "id": graph.op_ids[op],
            "name": graph.op_names[op],
            "unit": graph.unit_names[int(graph.unit[op])],
            "start_ns": int(run.start[op]),
            "end_ns": int(run.end[op]),
        }
        for op in run.order.tolist()
    ]


def _gantt(plan: OrderPlan) -> str:
    from ..analysis.orders.gantt import gantt_svg

    return gantt_svg(plan.graph, [(f"{when}: {title}", run) for when, title, run in _runs(plan)])


def _runs(plan: OrderPlan) -> list[tuple[str, str, Timeline]]:
    """("before" or "after", method and time, run): in program order, where that fits, and as planned."""
    from ..analysis.orders.gantt import time_text
    from ..analysis.orders.problem import problem_of
    from ..analysis.orders.simulate import simulate

    runs = [("after", f"{plan.method}, {time_text(plan.timeline.makespan)}", plan.timeline)]
    before = simulate(problem_of(plan.graph), _numbered(plan.graph.ops))
    if before is not None:
        runs.insert(0, ("before", f"program order, {time_text(before.makespan)}", before))
    return runs


def _summary(figures: dict[str, Any]) -> str:
    """A line about the time, and a line about the memory."""
    from ..analysis.orders.gantt import time_text

    ratio = figures["makespan_ns"] / max(figures["bound_ns"], 1)
    before = figures["program_ns"] / max(figures["bound_ns"], 1)
    return (
        f"{figures['graph']}: {time_text(figures['makespan_ns'])}, {ratio:.3f} x the bound (program order "
        f"{before:.3f} x), found by {figures['found_by']} in {figures['plan_s'] * 1e3:.1f} ms\n"
        f"{' ' * len(figures['graph'])}  peak {figures['peak_bytes']:,} bytes (program order "
        f"{figures['program_peak_bytes']:,})"
    )


if __name__ == "__main__":
    sys.exit(main())

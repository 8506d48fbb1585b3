"""`meshloom-plan --budget`: save memory so that the execution stays within a budget."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..support.errors import InputError
from ..support.files import write_atomically
from .progress import Progress

if TYPE_CHECKING:
    from ..analysis.cost_graphs.graph import CostGraph
    from ..analysis.offload.actions import Action
    from ..analysis.offload.chart import Chart
    from ..analysis.offload.evaluate import Evaluator
    from ..analysis.offload.kinds import Kind
    from ..analysis.offload.placed import PlacedPlan
    from ..analysis.offload.plan import OffloadPlan
    from ..analysis.offload.problem import OffloadProblem
    from ..analysis.offload.residency import Residency
    from .report.plan_sections import SavedMemory

KINDS = ("swap", "compress", "recompute")
METHODS = ("default", "spec", "slack", "size")
QUICK = 20_000_000
"""Steps of the search for fixed offsets if `--offsets` is not given; about a nanosecond each."""
MOST_PLACED = 20_000
"""Largest number of buffers for that search."""
ROWS = 40
"""Actions on the terminal; `--actions` writes all."""


def add_budget_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this mode only."""
    group = parser.add_argument_group(
        "saving memory",
        "The operations run one at a time in the order of the file; tensors are offloaded between two uses. "
        "Weights and inputs are not counted.",
    )
    group.add_argument(
        "--budget",
        type=_budget,
        metavar="M",
        help="memory budget: up to 1, a share of the peak in program order; above 1, bytes",
    )
    group.add_argument(
        "--budgets", type=_budgets, metavar="A..B[:STEP]", help="plan for each budget from A to B (default step 0.1)"
    )
    group.add_argument(
        "--kinds",
        type=_kinds,
        metavar="LIST",
        default=("swap", "recompute"),
        help="kinds of offloading: swap, compress, recompute; compress changes values (default: swap,recompute)",
    )
    group.add_argument("--link", type=_rate, metavar="BW", default=16e9, help="bandwidth of the host link in each "
                       "direction, in bytes per second (default: 16e9)")  # fmt: skip
    group.add_argument(
        "--compress-rate",
        type=_rate,
        metavar="BW",
        default=200e9,
        help="rate of compression on the VPU, in bytes per second (default: 200e9)",
    )
    group.add_argument("--f8", action="store_true", help="compress to a quarter (default: to half, as f16)")
    group.add_argument(
        "--th-tts", type=_count, metavar="NS", default=0, help="method spec: least slack of an offloaded tensor"
    )
    group.add_argument(
        "--th-size", type=_count, metavar="BYTES", default=0, help="method spec: least size of an offloaded tensor"
    )
    group.add_argument("--most", type=_most, metavar="N", help="method spec: number of offloaded tensors per round")
    group.add_argument(
        "--actions", type=Path, metavar="OUT.json", help="write the actions that save memory, with times and reasons"
    )
    group.add_argument(
        "--offsets", type=Path, metavar="OUT.json", help="write fixed offsets of all buffers, within budget M"
    )
    group.add_argument(
        "--plot",
        type=Path,
        metavar="OUT.svg|png",
        help="plot memory over time, and the overhead for each budget",
    )


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        hint = ", such as 0.5 for 50%" if text.endswith("%") else ""
        raise argparse.ArgumentTypeError(f"{text}: expected a number{hint}") from None


def _rate(text: str) -> float:
    value = _number(text)
    if not 1 <= value < 1e18:
        raise argparse.ArgumentTypeError(f"{text}: expected bytes per second, from 1 to 1e18")
    return value


def _budget(text: str) -> float:
    value = _number(text)
    if not 0 < value < 1 << 62:
        raise argparse.ArgumentTypeError(f"{text}: expected a share up to 1, or a number of bytes")
    return value


def _budgets(text: str) -> tuple[float, ...]:
    span, _, step_text = text.partition(":")
    low_text, dots, high_text = span.partition("..")
    if not dots:
        return tuple(_budget(part) for part in text.split(","))
    low, high, step = _budget(low_text), _budget(high_text), _budget(step_text or "0.1")
    count = int((high - low) / step + 1e-9) + 1
    if not 0 < count <= 1000:
        raise argparse.ArgumentTypeError(f"{text}: expected A..B:STEP with A <= B, and at most 1000 steps")
    return tuple(round(low + index * step, 9) for index in range(count))


def _kinds(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(text.split(",")))
    for name in names:
        if name not in KINDS:
            raise argparse.ArgumentTypeError(f"{name}: expected some of {', '.join(KINDS)}")
    return names


def _count(text: str) -> int:
    value = _number(text)
    if not 0 <= value < 1 << 62:
        raise argparse.ArgumentTypeError(f"{text}: expected a number that is not negative")
    return int(value)


def _most(text: str) -> int:
    value = _number(text)
    if not 1 <= value < 1 << 62:
        raise argparse.ArgumentTypeError(f"{text}: expected a positive number")
    return int(value)


def check_options(options: argparse.Namespace) -> None:
    """Raises InputError for options of this mode that cannot be combined."""
    if options.method not in METHODS:
        raise InputError(f"--method {options.method} orders operations; with a budget use one of {', '.join(METHODS)}")
    if options.plot is not None and options.plot.suffix.lower() not in (".svg", ".png"):
        raise InputError(f"--plot {options.plot}: give a name that ends in .svg or .png")
    for name in ("actions", "offsets"):
        if options.budget is None and getattr(options, name) is not None:
            raise InputError(f"--{name} needs --budget")
    thresholds = (options.th_tts, options.th_size, options.most) != (0, 0, None)
    if thresholds and options.method != "spec":
        raise InputError("--th-tts, --th-size and --most are thresholds of --method spec: name it")
    if options.offsets is not None and options.method != "default":
        raise InputError(f"--offsets has its own method: leave out --method {options.method}")


def run_budget(options: argparse.Namespace, graph: CostGraph, progress: Progress) -> str:
    """Plan and write the files. Returns the output."""
    from ..analysis.offload.evaluate import Evaluator
    from ..analysis.offload.kinds import allowed_kinds
    from ..analysis.offload.model import Model
    from ..analysis.offload.problem import offload_problem
    from ..analysis.offload.warm_up import warm_up

    check_options(options)
    progress("load")
    warm_up()
    began = time.process_time()
    evaluator = Evaluator(offload_problem(graph), Model(options.link, options.compress_rate, 4 if options.f8 else 2))
    problem, kinds = evaluator.problem, allowed_kinds(frozenset(options.kinds))
    figures: dict[str, Any] = {
        "graph": graph.name,
        "ops": graph.ops,
        "compute_ns": problem.compute_ns,
        "program_peak_bytes": problem.peak,
        "smallest_budget": problem.smallest_budget,
        "method": str(options.method),
        "kinds": list(options.kinds),
        "link": options.link,
        "compress_rate": options.compress_rate,
        "f8": bool(options.f8),
        "preset": options.preset,
        "seed": options.seed,
    }
    words: list[str] = []
    charts: list[Chart] = []
    saved: SavedMemory | None = None
    if options.budget is not None:
        progress("plan")
        found = _plan(options, graph, evaluator, kinds, began)
        figures |= found.figures
        words = [_summary(figures), *_warning(figures), *_table(graph, found.actions)]
        charts.append(_profile(problem, found.held, found.budget, graph.name))
        if options.report is not None:
            progress("find reasons")
            saved = found.with_reasons(evaluator, kinds)
        if options.actions is not None:
            write_atomically(options.actions, json.dumps([_row(graph, one) for one in found.actions], indent=1) + "\n")
    if options.budgets is not None:
        progress("plan for each budget")
        began = time.process_time()
        curve = _curve(evaluator, kinds, options)
        figures["curve"] = curve
        figures["curve_s"] = round(time.process_time() - began, 6)
        words += _curve_table(curve)
        charts += _curve_chart(curve, graph.name)
    progress("write")
    _write(options, charts, figures, evaluator, saved)
    return "\n".join(words)


@dataclass(frozen=True)
class _Planned:
    """A plan for one budget, in bytes."""

    plan: OffloadPlan
    held: Residency
    budget: int
    actions: list[Action]
    figures: dict[str, Any]

    def with_reasons(self, evaluator: Evaluator, kinds: tuple[Kind, ...]) -> SavedMemory:
        """The plan for the report."""
        from .report.plan_reasons import reasons
        from .report.plan_sections import SavedMemory

        why = reasons(evaluator, self.plan, self.budget, self.actions, kinds)
        return SavedMemory(self.plan, self.held, self.budget, self.actions, why)


def _plan(
    options: argparse.Namespace, graph: CostGraph, evaluator: Evaluator, kinds: tuple[Kind, ...], began: float
) -> _Planned:
    """The plan for the budget, timed from `began`; with `--offsets`, also the file of fixed offsets."""
    from ..analysis.offload.actions import actions
    from ..analysis.offload.effort import Preset
    from ..analysis.offload.placed import plan_placed
    from ..analysis.offload.residency import residency

    problem = evaluator.problem
    budget = problem.budget_bytes(options.budget)
    if options.offsets is None:
        plan = _one(evaluator, budget, kinds, options)
        held = residency(evaluator, plan)
        seconds = time.process_time() - began
        peak = held.offsets(budget, QUICK).peak if len(held.size) <= MOST_PLACED else None
    else:
        placed = plan_placed(evaluator, budget, kinds, Preset(options.preset), options.seed)
        plan, held, peak = placed.plan, placed.residency, placed.allocation.peak
        write_atomically(options.offsets, json.dumps(_places(graph, placed), indent=1) + "\n")
        seconds = time.process_time() - began
    done = list(actions(problem, plan, budget))
    figures = {"offsets_peak_bytes": peak} | _figures(evaluator, plan, held, budget, kinds)
    figures |= {"actions": _counts(done), "plan_s": round(seconds, 6)}
    return _Planned(plan, held, budget, done, figures)


def _write(
    options: argparse.Namespace, charts: list[Chart], figures: dict[str, Any], evaluator: Evaluator,
    saved: SavedMemory | None,
) -> None:  # fmt: skip
    """Write the plot, the report and the figures, as far as they were requested."""
    if options.plot is not None and charts:
        from ..analysis.offload.chart import png, svg

        write_atomically(options.plot, svg(charts) if options.plot.suffix.lower() == ".svg" else png(charts))
    if options.report is not None:
        from .report.plan_report import plan_report
        from .report.plan_sections import PlanFacts

        write_atomically(options.report, plan_report(PlanFacts(evaluator, figures, saved)))
    if options.stats is not None:
        write_atomically(options.stats, json.dumps(figures, indent=1) + "\n")


def _one(evaluator: Evaluator, budget: int, kinds: tuple[Kind, ...], options: argparse.Namespace) -> OffloadPlan:
    from ..analysis.offload.effort import Preset
    from ..analysis.offload.plan import plan_by_rule, plan_offload
    from ..analysis.offload.rules import Rule, Thresholds

    if options.method == "default":
        return plan_offload(evaluator, budget, kinds, Preset(options.preset), options.seed)
    thresholds = Thresholds(options.th_tts, options.th_size, options.most)
    return plan_by_rule(evaluator, budget, kinds, Rule(options.method), thresholds)


def _curve(evaluator: Evaluator, kinds: tuple[Kind, ...], options: argparse.Namespace) -> list[dict[str, Any]]:
    """One entry for each budget; the time is None where no plan fits."""
    from ..analysis.offload.bounds import lower_bound_ns
    from ..analysis.offload.effort import Preset
    from ..analysis.offload.plan import plans_for

    problem = evaluator.problem
    budgets = [problem.budget_bytes(budget) for budget in options.budgets]
    plans: list[OffloadPlan | None]
    if options.method == "default":
        plans = plans_for(evaluator, budgets, kinds, Preset(options.preset), options.seed)
    else:
        plans = []
        for budget in budgets:
            try:
                plans.append(_one(evaluator, budget, kinds, options))
            except InputError:
                plans.append(None)
    bounds = [lower_bound_ns(evaluator, kinds, budget) for budget in budgets]
    return [
        {
            "budget": share,
            "budget_bytes": budget,
            "time_ns": None if plan is None else plan.time_ns,
            "overhead": None if plan is None else _over(plan.time_ns, problem.compute_ns),
            "bound_ns": bound,
            "bound_overhead": _over(bound, problem.compute_ns),
        }
        for share, budget, plan, bound in zip(options.budgets, budgets, plans, bounds, strict=True)
    ]


def _over_budget(name: str, over: int) -> str:
    """The reason why a tensor is offloaded; within the budget, it may free memory for copies."""
    return f"{name} {over / 1e6:.1f} MB over" if over else "within the budget"


def _over(time_ns: int, compute_ns: int) -> float:
    """Increase of the time relative to computing without transfers."""
    return round(time_ns / compute_ns - 1, 6) if compute_ns else 0.0


def _figures(
    evaluator: Evaluator, plan: OffloadPlan, held: Residency, budget: int, kinds: tuple[Kind, ...]
) -> dict[str, Any]:
    from ..analysis.offload.bounds import lower_bound_ns

    problem = evaluator.problem
    bound = lower_bound_ns(evaluator, kinds, budget)
    return {
        "budget_bytes": budget,
        "peak_bytes": held.peak,
        "time_ns": plan.time_ns,
        "bound_ns": bound,
        "overhead": _over(plan.time_ns, problem.compute_ns),
        "bound_overhead": _over(bound, problem.compute_ns),
        "gap_to_bound": _over(plan.time_ns, bound),
    }


def _places(graph: CostGraph, placed: PlacedPlan) -> list[dict[str, Any]]:
    """Buffers in the order of their starts; a restored tensor has another buffer."""
    held = placed.residency
    rows = zip(held.tensor, held.size, placed.allocation.offsets, held.start, held.end, strict=True)
    return [
        {
            "tensor": None if tensor < 0 else graph.tensor_ids[tensor],
            "bytes": int(size),
            "offset": int(offset),
            "start_ns": int(start),
            "end_ns": int(end),
        }
        for tensor, size, offset, start, end in sorted(rows, key=lambda row: (int(row[3]), int(row[2])))
    ]


def _counts(done: Iterable[Action]) -> dict[str, int]:
    counts: dict[str, int] = {"swap": 0, "compress": 0, "compress+swap": 0, "recompute": 0}
    for one in done:
        counts[one.kind] += 1
    return counts


def _row(graph: CostGraph, one: Action) -> dict[str, Any]:
    """An action in machine-readable form; ids as in the file."""

    def op(number: int) -> dict[str, Any]:
        return {"id": graph.op_ids[number], "name": graph.op_names[number]}

    return {
        "kind": one.kind,
        "tensor": graph.tensor_ids[one.tensor],
        "bytes": one.bytes,
        "produced_by": op(one.producer),
        "after": op(one.after),
        "before": op(one.before),
        "leave_ns": one.leave_ns,
        "gone_ns": one.gone_ns,
        "return_ns": one.return_ns,
        "back_ns": one.back_ns,
        "prefetch_after": op(one.prefetch_after) if one.prefetch_after >= 0 else None,
        "serialize_before": op(one.serialize_before),
        "idle_ns": one.idle_ns,
        "over_budget_at": op(one.worst),
        "over_budget_bytes": one.over,
        "again": [op(number) for number in one.again],
    }


def _table(graph: CostGraph, done: list[Action]) -> list[str]:
    """A table of the actions, with times and reasons."""
    if not done:
        return ["no tensor needs to be offloaded"]
    names = [f"{name} {number}" for name, number in zip(graph.op_names, graph.op_ids, strict=True)]
    rows = [("kind", "result of", "MB", "offload ms", "restore ms", "used by", "reason")]
    rows += [
        (
            one.kind,
            names[one.producer],
            f"{one.bytes / 1e6:.1f}",
            f"{one.gone_ns / 1e6:.2f}",
            f"{one.back_ns / 1e6:.2f}",
            names[one.before],
            f"idle {one.idle_ns / 1e6:.2f} ms; {_over_budget(names[one.worst], one.over)}",
        )
        for one in done[:ROWS]
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(7)]
    lines = [
        "  ".join(
            cell.rjust(width) if 2 <= column <= 4 else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    return lines + ([f"... and {len(done) - ROWS} more (--actions writes all)"] if len(done) > ROWS else [])


def _summary(figures: dict[str, Any]) -> str:
    counts = ", ".join(f"{count} {kind}" for kind, count in figures["actions"].items() if count)
    return (
        f"{figures['graph']}: {figures['time_ns'] / 1e6:.3f} ms, overhead {100 * figures['overhead']:.2f}% "
        f"(bound {100 * figures['bound_overhead']:.2f}%); peak {figures['peak_bytes']:,} of "
        f"{figures['budget_bytes']:,} bytes, before {figures['program_peak_bytes']:,}; "
        f"{counts or 'no actions'}; planned in {figures['plan_s'] * 1e3:.0f} ms"
    )


def _warning(figures: dict[str, Any]) -> list[str]:
    """Check that buffers at fixed offsets, with the gaps between them, fit the budget, which counts live bytes only."""
    placed = figures["offsets_peak_bytes"]
    if placed is None or placed <= figures["budget_bytes"]:
        return []
    return [f"at fixed offsets the buffers need {placed:,} bytes: --offsets finds offsets within the budget"]


def _curve_table(curve: list[dict[str, Any]]) -> list[str]:
    lines = ["    budget bytes  overhead %   bound %"]
    for point in curve:
        over = "no plan" if point["overhead"] is None else f"{100 * point['overhead']:.2f}"
        lines.append(f"{point['budget_bytes']:>16,}{over:>12}{100 * point['bound_overhead']:>10.2f}")
    return lines


def _profile(problem: OffloadProblem, held: Residency, budget: int, name: str) -> Chart:
    """Memory over time, before and after."""
    import numpy as np

    from ..analysis.offload.chart import Chart, Line

    ends = np.concatenate([[0], np.cumsum(problem.duration)])
    times, held_bytes = held.profile()
    last = max(int(ends[-1]), int(times.max(initial=0)))
    return Chart(
        f"{name}: memory over time",
        "ms",
        "GB",
        [
            Line("before", ends / 1e6, np.append(problem.live, 0) / 1e9, steps=True),
            Line("after", times / 1e6, held_bytes / 1e9, steps=True),
            Line("budget", np.array([0, last]) / 1e6, np.full(2, budget) / 1e9, dashed=True),
        ],
    )


def _curve_chart(curve: list[dict[str, Any]], name: str) -> list[Chart]:
    """The increase of the time over budgets, for budgets with a plan."""
    import numpy as np

    from ..analysis.offload.chart import Chart, Line

    found = sorted((point for point in curve if point["time_ns"] is not None), key=lambda point: point["budget_bytes"])
    if not found:
        return []
    budgets = np.array([point["budget_bytes"] for point in found]) / 1e9
    times, bounds = (100 * np.array([point[key] for point in found]) for key in ("overhead", "bound_overhead"))
    return [
        Chart(
            f"{name}: overhead by budget",
            "budget, GB",
            "%",
            [Line("plan", budgets, times), Line("bound", budgets, bounds, dashed=True)],
            x_from_zero=False,
        )
    ]

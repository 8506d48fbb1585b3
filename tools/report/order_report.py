"""The report of an order of operations on units: the units and the memory over time, before and after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...analysis.orders.problem import problem_of
from ...analysis.orders.simulate import profile
from .bars import legend
from .gantt import Interval, Row, gantt
from .html import Child, join, tag
from .line_chart import Limit, Line, line_chart
from .page import Figure, Section, SectionMaker, page, sections_of
from .scale import unit_of_bytes, unit_of_ns
from .versions import versions
from .words import in_bytes, percent, plural, significant

if TYPE_CHECKING:
    from ...analysis.cost_graphs.graph import CostGraph
    from ...analysis.orders.simulate import Timeline

PHASES = ("mpu", "vpu", "load", "dau", "store", "recv")
"""Colours of phases, in the order of their first occurrence."""


@dataclass(frozen=True)
class OrderFacts:
    """The facts of the report."""

    graph: CostGraph
    runs: Sequence[tuple[str, str, Timeline]]
    """("before" or "after", method and time, run): in program order, where that fits, and as planned."""
    figures: Mapping[str, Any]
    """The figures of `--stats`."""

    @property
    def longest(self) -> int:
        """ns of the longest run."""
        return max(run.makespan for _, _, run in self.runs)


def units(facts: OrderFacts) -> Section:
    """The units over time."""
    graph = facts.graph
    phases = {phase: PHASES[number % len(PHASES)] for number, phase in enumerate(dict.fromkeys(graph.phases))}
    parts: list[Child] = []
    for when, method, run in facts.runs:
        title = f"{when}: {method}"
        intervals: list[list[Interval]] = [[] for _ in graph.unit_names]
        for op in np.argsort(run.start, kind="stable").tolist():
            name = f"{graph.op_names[op]} {graph.op_ids[op]}"
            interval = Interval(name, int(run.start[op]), int(run.end[op]), phases[graph.phases[op]])
            intervals[int(graph.unit[op])].append(interval)
        rows = [
            Row(unit, found, percent(sum(interval.end - interval.start for interval in found) / max(run.makespan, 1)))
            for unit, found in zip(graph.unit_names, intervals, strict=True)
        ]
        chart = gantt(f"units over time, {title}", rows, facts.longest, unit_of_ns(facts.longest))
        parts += [tag("h3", title), chart]
    names = [(phase or "operation", colour) for phase, colour in phases.items()]
    parts.append(legend(names))
    note = "One in-order queue for each unit; on the right the busy share of each run."
    return Section("Units over time", join(parts), note)


def memory(facts: OrderFacts) -> Section:
    """Bytes of values over time."""
    problem = problem_of(facts.graph)
    lines: list[Line] = []
    for when, _, run in facts.runs:
        times, held = profile(problem, run.start)
        shown = times <= run.makespan
        after = when == "after"
        x, y = times[shown].astype(float), held[shown].astype(float)
        # The last of several entries with equal times is used.
        final = np.append(np.flatnonzero(np.diff(x)), len(x) - 1) if len(x) else np.zeros(0, np.int64)
        lines.append(Line(when, x[final], y[final], "heat" if after else "muted", steps=True, filled=after))
    cap = facts.figures["memory_cap"]
    limits = [] if cap is None else [Limit(f"limit {in_bytes(cap)}", cap)]
    most = max(run.peak for _, _, run in facts.runs)
    chart = line_chart("bytes of values over time", lines, unit_of_ns(facts.longest), unit_of_bytes(most), limits)
    return Section("Memory over time", chart, "Bytes of live values, from the start of the producer to the last use.")


SECTIONS: tuple[SectionMaker[OrderFacts], ...] = (units, memory)
"""All sections, in the order of the page."""


def order_report(facts: OrderFacts) -> str:
    """The page; its title is the name of the graph."""
    figures = facts.figures
    unit = unit_of_ns(figures["makespan_ns"])
    over = figures["makespan_ns"] / max(figures["bound_ns"], 1)
    before = [run.makespan for when, _, run in facts.runs if when == "before"]
    remark = "".join(f"in program order {ns / unit.size:,.4g} {unit.name}" for ns in before)
    tiles = [
        Figure("Time", f"{significant(figures['makespan_ns'] / unit.size)} {unit.name}", remark),
        Figure("Against the bound", f"{over:.3f}\N{MULTIPLICATION SIGN}", "the busiest unit, or the longest path"),
        Figure("Peak", in_bytes(figures["peak_bytes"]), "of values"),
        Figure("Planned in", f"{significant(1000 * figures['plan_s'])} ms", f"found by {figures['found_by']}"),
    ]
    subtitle = f"{plural(figures['ops'], 'operation')}, ordered by {versions()}"
    return page(figures["graph"], subtitle, tiles, sections_of(SECTIONS, facts))

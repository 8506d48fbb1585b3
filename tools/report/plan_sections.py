"""The sections of the report of a plan that saves memory, one function each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...analysis.offload.simulate import AGAIN, IN, OP, OUT, PACK, UNPACK
from .bars import Bar, bar_chart, legend
from .gantt import Interval, Row, gantt
from .html import Child, join, key_values, name_cell, table, tag
from .line_chart import Limit, Line, line_chart
from .page import Section, SectionMaker
from .plan_reasons import Otherwise, moving_ns
from .scale import Unit, unit_of_bytes, unit_of_ns
from .words import in_bytes, percent, plural, significant

if TYPE_CHECKING:
    from ...analysis.offload.actions import Action
    from ...analysis.offload.evaluate import Evaluator
    from ...analysis.offload.plan import OffloadPlan
    from ...analysis.offload.residency import Residency

MOST_ROWS = 1000
"""Rows of the table; `--actions` writes all."""
KINDS = {"swap": "load", "compress": "dau", "compress+swap": "store", "recompute": "vpu"}
"""Colour by kind."""
UNITS = {"MPU": "mpu", "VPU": "vpu", "DAU": "dau", "DMA": "load"}


@dataclass(frozen=True)
class SavedMemory:
    """A plan for one budget, in bytes."""

    plan: OffloadPlan
    held: Residency
    budget: int
    done: Sequence[Action]
    otherwise: Mapping[int, Sequence[Otherwise]]
    """By gap."""


@dataclass(frozen=True)
class PlanFacts:
    """The facts of the report of a plan."""

    evaluator: Evaluator
    figures: Mapping[str, Any]
    """The figures of `--stats`."""
    saved: SavedMemory | None
    """The plan of `--budget`."""

    @property
    def names(self) -> list[str]:
        """Operations with their ids."""
        graph = self.evaluator.problem.graph
        return [f"{name} {number}" for name, number in zip(graph.op_names, graph.op_ids, strict=True)]


def profile(facts: PlanFacts) -> Section | None:
    """Memory over time, before and after."""
    if facts.saved is None:
        return None
    problem, saved = facts.evaluator.problem, facts.saved
    ends = np.concatenate([[0], np.cumsum(problem.duration)])
    times, held = saved.held.profile()
    before = Line("before", ends.astype(float), np.append(problem.live, 0).astype(float), "muted", steps=True)
    after = Line("after", times.astype(float), held.astype(float), "heat", steps=True, filled=True)
    budget = Limit(f"budget {in_bytes(saved.budget)}", saved.budget)
    last = max(float(ends[-1]), float(times.max(initial=0)))
    chart = line_chart(
        "device memory over time", [before, after], unit_of_ns(last), unit_of_bytes(problem.peak), [budget]
    )
    working = f"{in_bytes(problem.smallest_budget)} by {facts.names[int(np.argmax(problem.working_set))]}"
    note = (
        "Results of operations in device memory, without weights and inputs. Before: the operations in program order "
        "without offloading. The largest working set of an operation is "
        f"{working}, a lower bound of the budget."
    )
    return Section("Memory over time", chart, note)


def engines(facts: PlanFacts) -> Section | None:
    """Units, host link and conversions over time."""
    if facts.saved is None:
        return None
    problem, log, names = facts.evaluator.problem, facts.saved.plan.log, facts.names
    graph, kinds = problem.graph, {one.gap: one.kind for one in facts.saved.done}
    intervals: dict[str, list[Interval]] = {unit: [] for unit in graph.unit_names}
    queues = {OUT: "to host", IN: "from host", PACK: "convert", UNPACK: "convert", AGAIN: "again"}
    entries: list[list[int]] = log[np.argsort(log[:, 2], kind="stable")].tolist()
    for kind, number, start, end in entries:
        if kind == OP:
            unit = graph.unit_names[int(graph.unit[number])]
            intervals[unit].append(Interval(names[number], start, end, UNITS.get(unit, "host")))
        else:
            what = f"result of {names[int(problem.producer[number])]}"
            colour = KINDS.get(kinds.get(number, ""), "host")
            intervals.setdefault(queues[kind], []).append(Interval(what, start, end, colour))
    total = max(facts.saved.plan.time_ns, 1)
    rows = [
        Row(name, found, percent(sum(interval.end - interval.start for interval in found) / total))
        for name, found in intervals.items()
        if found
    ]
    chart = gantt("units and host link over time", rows, total, unit_of_ns(total))
    colours = legend([(kind, colour) for kind, colour in KINDS.items() if facts.figures["actions"][kind]])
    note = (
        "At the top the units with the operations, one at a time; below, the queues that save memory, coloured by "
        "kind: copies in each direction, conversions on the vector unit, recomputed operations. On the right the busy "
        "share."
    )
    return Section("Units and host link", join([chart, colours]), note)


def kinds(facts: PlanFacts) -> Section | None:
    """Bytes and work by kind."""
    if facts.saved is None or not facts.saved.done:
        return None
    done, evaluator = facts.saved.done, facts.evaluator
    bars: list[Bar] = []
    for kind, colour in KINDS.items():
        own = [one for one in done if one.kind == kind]
        if not own:
            continue
        size = sum(one.bytes for one in own)
        spent = sum(moving_ns(evaluator, one) for one in own)
        rate = spent / max(size, 1) * (1 << 20)
        words = f"{in_bytes(size)}, {plural(len(own), 'time')}; {_time(rate)} a MiB"
        bars.append(Bar(kind, size, words, colour))
    note = (
        "Offloaded bytes by kind, and the time of link, converter or units per MiB, in both directions. Time "
        "that overlaps with operations is hidden, so the cheapest kind per byte is not always the best."
    )
    return Section("Kinds", bar_chart("bytes by kind", bars), note)


def actions(facts: PlanFacts) -> Section | None:
    """The offloaded tensors, with times and reasons."""
    if facts.saved is None:
        return None
    if not facts.saved.done:
        return Section("Offloaded tensors", "", "No tensor needs to be offloaded: all fit the budget.")
    names, done = facts.names, facts.saved.done
    longest = unit_of_ns(facts.saved.plan.time_ns)
    ways = list(dict.fromkeys(one.kind for found in facts.saved.otherwise.values() for one in found))
    head: list[Child] = ["kind", "result of", "offloaded after", "restored for", "at the worst time", "size"]
    head += ["offloaded", "restored", "idle", "moving", *(f"if {way}" for way in ways)]
    rows: list[list[Child]] = []
    for one in done[:MOST_ROWS]:
        more_ns = {other.kind: other.more_ns for other in facts.saved.otherwise.get(one.gap, ())}
        worst = f"{names[one.worst]}: {in_bytes(one.over)} over" if one.over else "below the budget"
        texts = (names[one.producer], names[one.after], names[one.before], worst)
        times = (one.gone_ns, one.back_ns, one.idle_ns, moving_ns(facts.evaluator, one))
        rows.append(
            [
                _kind(one.kind, [names[op] for op in one.again]),
                *(name_cell(name, room) for name, room in zip(texts, (16, 16, 16, 30), strict=True)),
                in_bytes(one.bytes),
                *(_figure(longest, value) for value in times),
                *(_more(longest, more_ns[way]) if way in more_ns else "" for way in ways),
            ]
        )
    left = len(done) - MOST_ROWS
    more = [tag("p", f"{left:,} more are not shown: --actions writes all.", class_="note")] if left > 0 else []
    note = (
        "Each tensor is idle from the end of one use to the start of the next; moving is the time that link, converter "
        "or units need to offload and to restore it, which can be hidden if it is less than the idle time. The worst "
        "time is the operation in between with the most bytes in memory without offloading, and the bytes over the "
        f"budget. On the right, the increase of the total time with another decision for this tensor, the others as "
        f"planned; \N{EN DASH}: the plan would not fit. Times in {longest.name}."
    )
    return Section("Offloaded tensors", join([table(head, rows, 5, "wide"), more]), note)


def _kind(kind: str, again: Sequence[str]) -> Child:
    """A kind with its colour; the recomputed operations as tooltip."""
    dot = tag("i", "", style=f"background:var(--{KINDS[kind]})", class_="dot")
    return tag("span", dot, kind, title=f"recomputes: {', '.join(again)}" if again else None)


def _more(unit: Unit, ns: int | None) -> str:
    """A difference of two times, with its sign."""
    return "\N{EN DASH}" if ns is None else "0" if ns == 0 else f"{ns / unit.size:+.2f}"


def _time(ns: float) -> str:
    unit = unit_of_ns(ns * 2)
    return f"{significant(ns / unit.size)} {unit.name}"


def _figure(unit: Unit, ns: int) -> str:
    return f"{ns / unit.size:.2f}" if unit.size > 1 else f"{ns:,}"


def curve(facts: PlanFacts) -> Section | None:
    """Time against budget."""
    points = facts.figures.get("curve")
    if not points:
        return None
    found = sorted((one for one in points if one["time_ns"] is not None), key=lambda one: one["budget_bytes"])
    every = sorted(points, key=lambda one: one["budget_bytes"])
    x_unit = unit_of_bytes(max(one["budget_bytes"] for one in every))
    bound = Line(
        "lower bound", np.array([float(one["budget_bytes"]) for one in every]),
        np.array([100 * one["bound_overhead"] for one in every]), "muted", dashed=True,
    )  # fmt: skip
    plan = Line(
        "plan", np.array([float(one["budget_bytes"]) for one in found]),
        np.array([100 * one["overhead"] for one in found]), "heat",
    )  # fmt: skip
    chart = line_chart(
        "overhead by budget", [bound, plan], Unit(f"budget, {x_unit.name}", x_unit.size),
        Unit("overhead, %"), x_from_zero=False,
    )  # fmt: skip
    rows: list[list[Child]] = [
        [
            f"{one['budget_bytes'] / facts.evaluator.problem.peak:.3f}",
            in_bytes(one["budget_bytes"]),
            f"{one['budget_bytes']:,}",
            "no plan" if one["time_ns"] is None else _time(one["time_ns"]),
            "" if one["time_ns"] is None else f"{100 * one['overhead']:.2f}%",
            f"{100 * one['bound_overhead']:.2f}%",
        ]
        for one in every
    ]
    head = ["share of the peak", "budget", "bytes", "time", "overhead", "lower bound"]
    note = (
        "Overhead: increase of the time over computation without offloading, in percent, for each budget. "
        "The lower bound holds for plans of "
        "these kinds; no plan fits in less than the largest working set."
    )
    return Section("Time against budget", join([chart, table(head, rows, 0)]), note)


def model(facts: PlanFacts) -> Section:
    """The assumptions of the plan."""
    figures, machine = facts.figures, facts.evaluator.model
    rows = [
        ("Operations", f"{figures['ops']:,}"),
        ("Computation without offloading", _time(figures["compute_ns"])),
        ("Peak in program order", in_bytes(figures["program_peak_bytes"])),
        ("Largest working set", in_bytes(figures["smallest_budget"])),
        ("Host link, each way", f"{machine.link / 1e9:g} GB/s"),
        ("Compression", f"{machine.compress_rate / 1e9:g} GB/s, to 1/{machine.ratio}"),
        ("Kinds allowed", ", ".join(figures["kinds"])),
        ("Method", f"{figures['method']}, {figures['preset']}, seed {figures['seed']}"),
    ]
    return Section("Model", key_values(rows))


SECTIONS: tuple[SectionMaker[PlanFacts], ...] = (profile, kinds, actions, engines, curve, model)
"""All sections, in the order of the page."""

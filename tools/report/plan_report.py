"""The report of a plan that saves memory."""

from __future__ import annotations

from .page import Figure, page, sections_of
from .plan_sections import SECTIONS, PlanFacts
from .scale import unit_of_ns
from .versions import versions
from .words import in_bytes, percent, plural, significant


def plan_report(facts: PlanFacts) -> str:
    """The page; its title is the name of the graph."""
    figures = facts.figures
    tiles: list[Figure] = []
    if facts.saved is not None:
        unit = unit_of_ns(figures["time_ns"])
        counts = [f"{count} {kind}" for kind, count in figures["actions"].items() if count]
        tiles = [
            Figure("Time", f"{significant(figures['time_ns'] / unit.size)} {unit.name}", "one pass of all operations"),
            Figure("Overhead", percent(figures["overhead"]), f"bound {percent(figures['bound_overhead'])}"),
            Figure("Peak", in_bytes(figures["peak_bytes"]), f"of {in_bytes(figures['budget_bytes'])}"),
            Figure("Before", in_bytes(figures["program_peak_bytes"]), "in program order, nothing saved"),
            Figure("Saved", plural(len(facts.saved.done), "time"), ", ".join(counts)),
            Figure("Planned in", f"{significant(1000 * figures['plan_s'])} ms", "processor time"),
        ]
    subtitle = f"{plural(figures['ops'], 'operation')}, memory planned by {versions()}"
    return page(figures["graph"], subtitle, tiles, sections_of(SECTIONS, facts))

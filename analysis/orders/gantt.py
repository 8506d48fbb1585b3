"""A chart of units over time (Gantt), as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from ..cost_graphs.graph import CostGraph
from .simulate import Timeline

COLOURS = ("#4878a8", "#e08040", "#5a9a5a", "#a05070", "#8a7a40", "#6a6a9a")
WIDTH, ROW, LABEL, MARGIN, TICKS = 1200, 28, 70, 30, 10


def gantt_svg(graph: CostGraph, runs: Sequence[tuple[str, Timeline]]) -> str:
    """
    One panel for each run (title, timeline), all with the same time axis; a row for each unit, a bar for each
    operation.

    Bars are coloured by phase; hovering over one shows its operation's name, start and duration.
    """
    longest = max((run.makespan for _, run in runs), default=0) or 1
    scale = (WIDTH - LABEL - MARGIN) / longest
    panel = ROW * len(graph.unit_names) + 60
    phases = list(dict.fromkeys(graph.phases))
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{panel * len(runs) + 40}" '
        f'font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    for index, (title, run) in enumerate(runs):
        top = 30 + index * panel
        lines.append(f'<text x="{LABEL}" y="{top - 10}" font-weight="bold">{escape(title)}</text>')
        for row, unit in enumerate(graph.unit_names):
            y = top + row * ROW
            lines.append(f'<text x="{LABEL - 8}" y="{y + 18}" text-anchor="end">{escape(unit)}</text>')
            lines.append(f'<rect x="{LABEL}" y="{y}" width="{WIDTH - LABEL - MARGIN}" height="{ROW - 4}" fill="#eee"/>')
        for op, (start, duration) in enumerate(zip(run.start.tolist(), graph.duration.tolist(), strict=True)):
            x, y = LABEL + start * scale, top + int(graph.unit[op]) * ROW
            colour = COLOURS[phases.index(graph.phases[op]) % len(COLOURS)]
            text = f"{graph.op_names[op]}: {start:,} + {duration:,} ns"
            lines.append(
                f'<rect x="{x:.2f}" y="{y}" width="{max(duration * scale, 0.2):.2f}" height="{ROW - 4}" '
                f'fill="{colour}" stroke="white" stroke-width="0.3"><title>{escape(text)}</title></rect>'
            )
        foot = top + ROW * len(graph.unit_names) + 12
        for tick in range(TICKS + 1):
            x = LABEL + (WIDTH - LABEL - MARGIN) * tick / TICKS
            label = time_text(longest * tick / TICKS)
            lines.append(f'<text x="{x:.1f}" y="{foot}" text-anchor="middle" fill="#666">{label}</text>')
    legend = panel * len(runs) + 28
    for index, phase in enumerate(phases):
        x = LABEL + 90 * index
        lines.append(f'<rect x="{x}" y="{legend - 10}" width="12" height="12" fill="{COLOURS[index % len(COLOURS)]}"/>')
        lines.append(f'<text x="{x + 18}" y="{legend}">{escape(phase or "operation")}</text>')
    return "\n".join([*lines, "</svg>", ""])


def time_text(ns: float) -> str:
    """A time in a suitable unit."""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if ns >= size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns:.3g} ns"

"""Line charts, one below the other, as SVG, or as PNG by matplotlib (extra `report`)."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from ...support.errors import InputError
from ..cost_graphs.graph import Flat

COLOURS = ("#c05a3a", "#3a70a8", "#5a9a5a", "#8a6aa0", "#777777")
WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM, GAP = 960, 300, 80, 40, 24, 44, 24
POINTS = 1000
"""Largest number of points drawn of a line; of points that coincide, the highest is drawn."""


@dataclass(frozen=True)
class Line:
    """Points of a line; with `steps`, a value holds until the next point."""

    name: str
    x: Flat
    y: Flat
    steps: bool = False
    dashed: bool = False


@dataclass(frozen=True)
class Chart:
    """Lines in one frame, whose y axis begins at 0."""

    title: str
    x_label: str
    y_label: str
    lines: Sequence[Line]
    x_from_zero: bool = True


def svg(charts: Sequence[Chart]) -> str:
    """All charts as one SVG picture."""
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{(HEIGHT + GAP) * len(charts)}" '
        'font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    for index, chart in enumerate(charts):
        lines += _frame(chart, index * (HEIGHT + GAP))
    return "\n".join([*lines, "</svg>", ""])


def png(charts: Sequence[Chart]) -> bytes:
    """All charts as one PNG picture. Raises InputError if matplotlib is not installed."""
    try:
        import matplotlib
    except ImportError as error:
        raise InputError(
            "a picture as PNG needs matplotlib (pip install 'meshloom[report]'); FILE.svg needs no package"
        ) from error
    matplotlib.use("Agg")
    from matplotlib.figure import Figure

    figure: Any = Figure(figsize=(9.6, 3.2 * len(charts)), dpi=100, layout="constrained")
    for index, chart in enumerate(charts):
        axes: Any = figure.add_subplot(len(charts), 1, index + 1)
        for number, line in enumerate(chart.lines):
            axes.plot(
                line.x, line.y, label=line.name, color=COLOURS[number % len(COLOURS)],
                drawstyle="steps-post" if line.steps else "default", linestyle="--" if line.dashed else "-",
                linewidth=1.2, marker="" if line.steps or line.dashed else "o", markersize=3,
            )  # fmt: skip
        axes.set(title=chart.title, xlabel=chart.x_label, ylabel=chart.y_label)
        axes.set_ylim(0, _top(chart))
        if chart.x_from_zero:
            axes.set_xlim(left=0)
        axes.grid(alpha=0.3)
        axes.legend(fontsize=8)
    data = io.BytesIO()
    # Without metadata: the same plan gives the same bytes.
    figure.savefig(data, format="png", metadata={"Software": None})
    return data.getvalue()


def ticks(low: float, high: float, wanted: int = 6) -> list[float]:
    """About `wanted` round numbers from `low` to `high`."""
    if high <= low:
        return [low]
    raw = (high - low) / wanted
    size = 10.0 ** np.floor(np.log10(raw))
    step = next(size * factor for factor in (1, 2, 5, 10) if size * factor >= raw * 0.999)
    first = int(np.ceil(low / step - 1e-9))
    return [float(round(number * step, 12)) for number in range(first, int(np.floor(high / step + 1e-9)) + 1)]


def _top(chart: Chart) -> float:
    """The end of the y axis: a margin above the highest point."""
    return 1.05 * max((float(np.max(line.y)) for line in chart.lines if len(line.y)), default=0.0) or 1.0


def _frame(chart: Chart, top: int) -> list[str]:
    x_all = np.concatenate([np.asarray(line.x, np.float64) for line in chart.lines])
    low = 0.0 if chart.x_from_zero else float(x_all.min(initial=np.inf))
    right = float(x_all.max(initial=0.0))
    high = _top(chart)
    across = (WIDTH - LEFT - RIGHT) / ((right - low) or 1.0)
    foot, up = top + HEIGHT - BOTTOM, (HEIGHT - TOP - BOTTOM) / high
    head = top + TOP
    lines = [f'<text x="{LEFT}" y="{top + 18}" font-weight="bold">{escape(chart.title)}</text>']
    for tick in ticks(0.0, high):
        y = foot - tick * up
        lines.append(f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}" stroke="#e4e4e4"/>')
        lines.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end" fill="#555">{tick:g}</text>')
    for tick in ticks(low, right, 10):
        x = LEFT + (tick - low) * across
        lines.append(f'<line x1="{x:.1f}" y1="{foot}" x2="{x:.1f}" y2="{foot + 4}" stroke="#555"/>')
        lines.append(f'<text x="{x:.1f}" y="{foot + 17}" text-anchor="middle" fill="#555">{tick:g}</text>')
    middle = (LEFT + WIDTH - RIGHT) // 2
    lines.append(f'<text x="{middle}" y="{foot + 36}" text-anchor="middle">{escape(chart.x_label)}</text>')
    half = (head + foot) // 2
    lines.append(
        f'<text x="18" y="{half}" text-anchor="middle" transform="rotate(-90 18 {half})">{escape(chart.y_label)}</text>'
    )
    lines.append(f'<path d="M{LEFT} {head}V{foot}H{WIDTH - RIGHT}" fill="none" stroke="#555"/>')
    at = WIDTH - RIGHT
    for number, line in reversed(list(enumerate(chart.lines))):
        colour = COLOURS[number % len(COLOURS)]
        dash = ' stroke-dasharray="6 4"' if line.dashed else ""
        path = _path(line, low, right, LEFT, foot, across, up)
        lines.append(f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="1.5"{dash}/>')
        at -= 7 * len(line.name) + 34
        lines.append(f'<path d="M{at} {top + 24}h18" stroke="{colour}" stroke-width="2"{dash}/>')
        lines.append(f'<text x="{at + 23}" y="{top + 28}">{escape(line.name)}</text>')
    return lines


def _path(line: Line, low: float, right: float, left: int, foot: int, across: float, up: float) -> str:
    x, y = np.asarray(line.x, np.float64), np.asarray(line.y, np.float64)
    if len(x) > POINTS:
        # The highest value of each column, so that no peak is lost.
        column = np.minimum(((x - low) * POINTS / ((right - low) or 1.0)).astype(np.int64), POINTS - 1)
        first = np.flatnonzero(np.diff(column, prepend=-1))
        x, y = x[first], np.maximum.reduceat(y, first)
    points = [(left + (a - low) * across, foot - b * up) for a, b in zip(x.tolist(), y.tolist(), strict=True)]
    if not points:
        return ""
    words = [f"M{points[0][0]:.1f} {points[0][1]:.1f}"]
    for a, b in points[1:]:
        words.append(f"H{a:.1f}V{b:.1f}" if line.steps else f"L{a:.1f} {b:.1f}")
    return "".join(words)

"""Gantt charts: a row of time intervals for each queue or unit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .html import Markup, tag
from .lanes import LEFT, PLOT
from .scale import Axis, Unit
from .style import fill
from .svg import CHARACTER, WIDTH, drawing, line, rect, shortened, text

HEIGHT, GAP = 24, 6
LEAST = 0.4
"""Pixels: intervals closer than this are drawn as one, so that drawings of many intervals stay small."""


@dataclass(frozen=True)
class Interval:
    """A named time interval."""

    name: str
    start: float
    end: float
    colour: str


@dataclass(frozen=True)
class Row:
    """Intervals in the order of their starts; `text` is printed on the right."""

    name: str
    intervals: Sequence[Interval]
    text: str = ""


def gantt(label: str, rows: Sequence[Row], total: float, unit: Unit) -> Markup:
    """The rows over 0 to `total`, and the axis below."""
    axis = Axis(0.0, total, LEFT, LEFT + PLOT, unit)
    bottom = len(rows) * (HEIGHT + GAP)
    marks = axis.marks(10)
    parts: list[Markup] = []
    for row, y in zip(rows, range(0, bottom, HEIGHT + GAP), strict=True):
        parts += [
            rect(LEFT, y, PLOT, HEIGHT, class_="track"),
            text(LEFT - 8, y + HEIGHT / 2 + 4, row.name, "end"),
            text(LEFT + PLOT + 8, y + HEIGHT / 2 + 4, row.text, "muted"),
        ]
    parts += [line(x, 0, x, bottom, class_="axis", stroke_opacity=0.7) for x, _ in marks]
    for row, y in zip(rows, range(0, bottom, HEIGHT + GAP), strict=True):
        for interval, count in merged(row.intervals, LEAST * (total or 1.0) / PLOT):
            parts += _bar(interval, count, y, axis)
    parts += [text(x, bottom + 14, shown, "small muted middle") for x, shown in marks]
    parts.append(text(WIDTH, bottom + 14, unit.name, "small muted end"))
    return drawing(WIDTH, bottom + 20, label, *parts)


def _bar(interval: Interval, count: int, y: float, axis: Axis) -> list[Markup]:
    x, end = axis.at(interval.start), axis.at(interval.end)
    more = f" and {count - 1} more" if count > 1 else ""
    span = f"{axis.unit.text(interval.start)} to {axis.unit.text(interval.end)} {axis.unit.name}"
    inset = 0.4 if end - x > 2 else 0.0
    title = tag("title", f"{interval.name}{more}: {span}")
    style = {"style": fill(interval.colour), "fill_opacity": 0.85}
    drawn = [rect(x + inset, y, max(end - x - 2 * inset, LEAST), HEIGHT, title, **style)]
    if count == 1 and (name := shortened(interval.name, end - x - CHARACTER)):
        drawn.append(text((x + end) / 2, y + HEIGHT / 2 + 4, name, "small middle inverse"))
    return drawn


def merged(intervals: Sequence[Interval], least: float) -> list[tuple[Interval, int]]:
    """Merge neighbouring intervals of one colour that are shorter than `least` and not further apart; with counts."""
    found: list[tuple[Interval, int]] = []
    for interval in intervals:
        if found:
            last, count = found[-1]
            short = interval.end - interval.start < least and (count > 1 or last.end - last.start < least)
            if short and interval.colour == last.colour and interval.start - last.end < least:
                found[-1] = Interval(last.name, last.start, max(last.end, interval.end), last.colour), count + 1
                continue
        found.append((interval, 1))
    return found

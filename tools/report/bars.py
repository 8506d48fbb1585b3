"""Bar charts: one bar per row, and stacked bars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .html import Markup, join, tag
from .style import colour_of, fill
from .svg import WIDTH, drawing, line, rect, shortened, text

ROW, BAR = 24, 14
NAME, VALUE = 170, 230
"""Pixels of a chart's columns: names on the left, values on the right."""


@dataclass(frozen=True)
class Bar:
    """A row of a bar chart."""

    name: str
    value: float
    text: str
    colour: str


def bar_chart(
    label: str, bars: Sequence[Bar], maximum: float | None = None, mark: tuple[float, str] | None = None
) -> Markup:
    """
    Horizontal bars from 0 to `maximum` (the largest value or mark, if not given); `mark` is a line over all rows.

    A bar takes the share value / maximum of the width between names and values, at most all of it.
    """
    top = max([*(bar.value for bar in bars), 0.0 if mark is None else mark[0]], default=0.0)
    scale = (WIDTH - NAME - VALUE) / (maximum or top or 1.0)
    high = 0 if mark is None else 16
    parts: list[Markup] = []
    for row, bar in enumerate(bars):
        y = high + row * ROW
        parts += [
            text(0, y + 15, shortened(bar.name, NAME - 10)),
            rect(NAME, y + 4, WIDTH - NAME - VALUE, BAR, class_="track", rx=3),
            rect(NAME, y + 4, min(bar.value * scale, WIDTH - NAME - VALUE), BAR, style=fill(bar.colour), rx=2),
            text(WIDTH - VALUE + 10, y + 15, bar.text),
        ]
    height = high + ROW * len(bars)
    if mark is not None:
        x = NAME + mark[0] * scale
        parts += [line(x, 14, x, height - 2, class_="mark"), text(x, 10, mark[1], "small muted end")]
    return drawing(WIDTH, height, label, *parts)


def stacked_bar(label: str, parts: Sequence[Bar], total: float) -> Markup:
    """One bar of `total` length in which each part takes its share, in order; a legend below."""
    scale = WIDTH / (total or 1.0)
    x, marks = 0.0, [rect(0, 0, WIDTH, 26, class_="track", rx=4)]
    for part in parts:
        title = tag("title", f"{part.name}: {part.text}")
        marks.append(rect(x, 0, part.value * scale, 26, title, style=fill(part.colour)))
        x += part.value * scale
    legends = [(f"{part.name}: {part.text}", part.colour) for part in parts]
    return join([drawing(WIDTH, 26, label, *marks), legend(legends)])


def legend(entries: Sequence[tuple[str, str]]) -> Markup:
    """Names with their colours."""
    items = [tag("span", tag("i", "", style=f"background:{colour_of(colour)}"), name) for name, colour in entries]
    return tag("div", items, class_="legend")

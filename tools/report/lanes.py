"""Timelines: a lane for each unit, with the busy share as height."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .html import Markup, number, tag
from .style import fill
from .svg import CHARACTER, WIDTH, drawing, line, rect, shortened, text, ticks

HEIGHT, GAP, STRIP = 28, 6, 18
LEFT, RIGHT = 70, 60
"""Pixels left and right of the lanes, for names and figures."""
PLOT = WIDTH - LEFT - RIGHT


@dataclass(frozen=True)
class Lane:
    """A unit over time: its busy share (0 to 1) in each of equally long intervals."""

    name: str
    shares: Sequence[float]
    colour: str
    text: str = ""


@dataclass(frozen=True)
class Span:
    """A named time interval."""

    name: str
    start: float
    end: float


def lane_chart(label: str, lanes: Sequence[Lane], total: float, spans: Sequence[Span] = ()) -> Markup:
    """Lanes over 0 to `total`, above them a strip with `spans`, below them the axis."""
    scale = PLOT / (total or 1.0)
    top = STRIP + GAP if spans else 0
    bottom = top + len(lanes) * (HEIGHT + GAP)
    parts: list[Markup] = []
    for lane, y in zip(lanes, range(top, bottom, HEIGHT + GAP), strict=True):
        parts += [
            rect(LEFT, y, PLOT, HEIGHT, class_="track"),
            tag("path", d=_outline(lane.shares, y), style=fill(lane.colour)),
            text(LEFT - 8, y + HEIGHT / 2 + 4, lane.name, "end"),
            text(LEFT + PLOT + 8, y + HEIGHT / 2 + 4, lane.text, "muted"),
        ]
    for value in ticks(total, 10):
        x = LEFT + value * scale
        parts += [
            line(x, 0, x, bottom, class_="axis", stroke_opacity=0.7),
            text(x, bottom + 14, f"{value:,.0f}", "small muted middle"),
        ]
    parts.append(text(WIDTH, bottom + 14, "cycles", "small muted end"))
    parts += _strip(spans, scale)
    return drawing(WIDTH, bottom + 20, label, *parts)


def _strip(spans: Sequence[Span], scale: float) -> list[Markup]:
    parts: list[Markup] = [text(LEFT - 8, STRIP - 5, "task", "end muted")] if spans else []
    for index, span in enumerate(spans):
        x, width = LEFT + span.start * scale, (span.end - span.start) * scale
        title = tag("title", f"{span.name}: {span.start:,.0f} to {span.end:,.0f}")
        parts.append(rect(x, 0, width, STRIP, title, class_="odd" if index % 2 else "even"))
        if name := shortened(span.name, width - CHARACTER):
            parts.append(text(x + width / 2, STRIP - 5, name, "small middle"))
    return parts


def _outline(shares: Sequence[float], top: float) -> str:
    """The area under the steps of a lane, as an SVG path; equal neighbours are one step."""
    step = PLOT / max(len(shares), 1)
    ground = top + HEIGHT
    path = [f"M{number(LEFT)} {number(ground)}"]
    last = ground
    for index, share in enumerate(shares):
        y = ground - HEIGHT * min(max(share, 0.0), 1.0)
        if number(y) != number(last):
            path.append(f"H{number(LEFT + index * step)}V{number(y)}")
            last = y
    path.append(f"H{number(LEFT + PLOT)}V{number(ground)}Z")
    return "".join(path)

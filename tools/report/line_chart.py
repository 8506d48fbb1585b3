"""Line charts; the vertical axis begins at 0."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .bars import legend
from .html import Markup, join, number, tag
from .scale import Axis, Unit
from .style import colour_of
from .svg import WIDTH, drawing, line, rect, text

HEIGHT, TOP, BOTTOM, LEFT, RIGHT = 260, 20, 36, 74, 16
"""Pixels of the frame, and around it."""
GROUND = TOP + HEIGHT


@dataclass(frozen=True)
class Line:
    """Points of a line, by x; with `steps`, a value holds until the next point."""

    name: str
    x: NDArray[np.float64]
    y: NDArray[np.float64]
    colour: str
    steps: bool = False
    dashed: bool = False
    filled: bool = False


@dataclass(frozen=True)
class Limit:
    """A limit of the values, drawn across the whole frame."""

    name: str
    value: float
    colour: str = "warn"


def line_chart(
    label: str,
    lines: Sequence[Line],
    x_unit: Unit,
    y_unit: Unit,
    limits: Sequence[Limit] = (),
    x_from_zero: bool = True,
) -> Markup:
    """The lines, the last one on top, and a legend. Units say in what the axes count, and what is written at them."""
    every_x = np.concatenate([one.x for one in lines]) if lines else np.zeros(1)
    high = max([*(float(one.y.max(initial=0.0)) for one in lines), *(one.value for one in limits)], default=0.0)
    across = Axis(
        0.0 if x_from_zero else float(every_x.min(initial=np.inf)), float(every_x.max(initial=0.0)),
        LEFT, WIDTH - RIGHT, x_unit,
    )  # fmt: skip
    up = Axis(0.0, 1.06 * high or 1.0, GROUND, TOP, y_unit)
    parts: list[Markup] = [rect(LEFT, TOP, WIDTH - RIGHT - LEFT, HEIGHT, class_="track")]
    for y, shown in up.marks(6):
        parts += [line(LEFT, y, WIDTH - RIGHT, y, class_="axis"), text(LEFT - 8, y + 4, shown, "small muted end")]
    for x, shown in across.marks(10):
        parts += [line(x, GROUND, x, GROUND + 4, class_="axis"), text(x, GROUND + 16, shown, "small muted middle")]
    parts += [
        text(WIDTH - RIGHT, GROUND + 31, x_unit.name, "small muted end"),
        text(LEFT, TOP - 7, y_unit.name, "small muted"),
    ]
    for one in lines:
        parts += _drawn(one, across, up)
    for limit in limits:
        y = up.at(limit.value)
        style = f"stroke:{colour_of(limit.colour)}"
        parts.append(line(LEFT, y, WIDTH - RIGHT, y, class_="limit", style=style))
    names = [(one.name, one.colour) for one in (*lines, *limits)]
    return join([drawing(WIDTH, GROUND + BOTTOM, label, *parts), legend(names)])


def _drawn(one: Line, across: Axis, up: Axis) -> list[Markup]:
    x, y = thinned(one.x, one.y, int(across.last - across.first)) if one.steps else (one.x, one.y)
    if not len(x):
        return []
    points = [(number(across.at(a)), number(up.at(b))) for a, b in zip(x.tolist(), y.tolist(), strict=True)]
    words = [f"M{points[0][0]} {points[0][1]}"]
    words += [f"H{a}V{b}" if one.steps else f"L{a} {b}" for a, b in points[1:]]
    path = "".join(words)
    stroke = f"stroke:{colour_of(one.colour)}"
    dash = "6 4" if one.dashed else None
    drawn: list[Markup] = []
    if one.filled:
        area = f"{path}V{GROUND}H{points[0][0]}Z"
        drawn.append(tag("path", d=area, style=f"fill:{colour_of(one.colour)}", fill_opacity=0.22))
    drawn.append(tag("path", d=path, fill="none", style=stroke, stroke_width=1.6, stroke_dasharray=dash))
    if not one.steps and not one.dashed:
        style = f"fill:{colour_of(one.colour)}"
        drawn += [tag("circle", cx=float(a), cy=float(b), r=2.6, style=style) for a, b in points]
    return drawn


def thinned(
    x: NDArray[np.float64], y: NDArray[np.float64], columns: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """
    Fewer steps with the same appearance in a frame of so many columns: of more than four steps in one column only the
    first, the lowest, the highest and the last are kept.
    """
    if len(x) <= 4 * columns:
        return x, y
    span = float(x[-1] - x[0]) or 1.0
    column = np.minimum(((x - x[0]) * (columns / span)).astype(np.int64), columns - 1)
    starts = np.flatnonzero(np.diff(column, prepend=-1))
    ends = np.append(starts[1:], len(x)) - 1
    order = np.lexsort((y, column))
    kept = np.unique(np.concatenate([starts, order[starts], order[ends], ends]))
    return x[kept], y[kept]

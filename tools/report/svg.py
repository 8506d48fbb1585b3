"""Drawings in SVG: the frame, text, round numbers on axes."""

from __future__ import annotations

import math

from .html import Child, Markup, number, tag
from .words import middle_out

WIDTH = 1076
"""Width of a chart over the whole page, in pixels."""
CHARACTER = 6.3
"""Average width of a character in charts, in pixels."""


def drawing(width: float, height: float, label: str, *children: Child) -> Markup:
    """The frame of a chart; `label` is its description for screen readers."""
    size = f"0 0 {number(width)} {number(height)}"
    return tag("svg", *children, viewBox=size, width=width, height=height, role="img", aria_label=label)


def text(x: float, y: float, content: str, class_: str | None = None) -> Markup:
    """Text whose base line starts (or ends, or has its middle, by class) at a point."""
    return tag("text", content, x=x, y=y, class_=class_)


def rect(x: float, y: float, width: float, height: float, *children: Child, **attributes: str | float | None) -> Markup:
    """A rectangle; children are its title."""
    return tag("rect", *children, x=x, y=y, width=max(width, 0.0), height=max(height, 0.0), **attributes)


def line(x1: float, y1: float, x2: float, y2: float, *children: Child, **attributes: str | float | None) -> Markup:
    """A straight line."""
    return tag("line", *children, x1=x1, y1=y1, x2=x2, y2=y2, **attributes)


def ticks(maximum: float, count: int = 8) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten from 0 up to `maximum`, at most `count` + 1 of them."""
    if not maximum > 0:
        return [0.0]
    power = 10.0 ** math.floor(math.log10(maximum / count))
    step = next(power * factor for factor in (1, 2, 5, 10) if maximum / (power * factor) <= count)
    return [step * index for index in range(math.floor(maximum / step + 1e-9) + 1)]


def round_up(value: float, count: int = 8) -> float:
    """The least multiple of the step of `ticks` that is not below `value`."""
    marks = ticks(value, count)
    return marks[-1] if len(marks) == 1 or marks[-1] >= value else marks[-1] + marks[1]


def shortened(content: str, pixels: float) -> str:
    """The beginning of `content` that fits; empty if fewer than four characters fit."""
    room = int(pixels / CHARACTER)
    return content if len(content) <= room else middle_out(content, room) if room >= 4 else ""

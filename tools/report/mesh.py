"""Heat maps of a chip: a square for each core, a line for each link."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from .html import Markup, join, tag
from .svg import drawing, line, rect, text

EAST, WEST, NORTH, SOUTH, INTO_CORE = range(5)
"""Names of the five outputs of a router, in the order of the columns of `links`."""
WAYS = ("east", "west", "north", "south", "into the core")


@dataclass(frozen=True)
class Mesh:
    """Rows and columns of cores; core number = row * columns + column."""

    rows: int
    cols: int
    unusable: Collection[int] = ()


def opacity(value: float, maximum: float) -> float:
    """Opacity of a value: proportional, but visible if the value is not 0."""
    return 0.0 if value <= 0 or maximum <= 0 else 0.08 + 0.92 * min(value / maximum, 1.0)


def core_map(
    label: str, mesh: Mesh, values: Sequence[float], shown: Callable[[float], str], maximum: float, width: float = 250
) -> Markup:
    """A square a core, coloured by value / maximum; `shown` gives the text of a value."""
    pitch = min(max(width / mesh.cols, 12), 60)
    side = pitch - (2 if pitch < 24 else 4)
    parts: list[Markup] = []
    for core, value in enumerate(values):
        x, y = core % mesh.cols * pitch, core // mesh.cols * pitch
        title = tag("title", f"{_name(mesh, core)}: {'not usable' if core in mesh.unusable else shown(value)}")
        parts += _square(x, y, side, opacity(value, maximum), title, core in mesh.unusable)
        inverse = " inverse" if opacity(value, maximum) > 0.8 else ""
        if pitch >= 40 and core not in mesh.unusable:
            parts.append(text(x + side / 2, y + side / 2 + 4, shown(value), f"small middle{inverse}"))
    return drawing(mesh.cols * pitch, mesh.rows * pitch, label, *parts)


def link_map(
    label: str,
    mesh: Mesh,
    links: Sequence[Sequence[float]],
    ports: Sequence[tuple[int, float]],
    width: float = 720,
) -> Markup:
    """
    A square for each core, coloured by the bytes sent to it, and a line for each link, coloured by its bytes.

    `links` [cores][5] are bytes by output of the router; of the two links of a pair, each is drawn on its right
    side. `ports` are (row, bytes) of each DRAM port at the west edge. Links are coloured in proportion to the
    busiest link, ports to the busiest port.
    """
    most, most_of_port = max(map(max, links), default=0.0), max((value for _, value in ports), default=0.0)
    pitch = min(max(width / mesh.cols, 26), 96)
    side, lane, left = pitch * 0.46, pitch * 0.11, 30.0
    stroke = max(pitch * 0.09, 2.0)
    parts: list[Markup] = []

    def flow(x1: float, y1: float, x2: float, y2: float, value: float, maximum: float, name: str) -> None:
        strength = opacity(value, maximum)
        style = {"class_": "flow"} if strength else {"class_": "axis"}
        title = tag("title", f"{name}: {value:,.0f} bytes")
        parts.append(line(x1, y1, x2, y2, title, stroke_width=stroke, stroke_opacity=strength or None, **style))

    for core, row in enumerate(links):
        x, y = left + (core % mesh.cols + 0.5) * pitch, (core // mesh.cols + 0.5) * pitch
        near, far = side / 2 + stroke, pitch - side / 2 - stroke
        ends = {
            EAST: (x + near, y + lane, x + far, y + lane),
            WEST: (x - near, y - lane, x - far, y - lane),
            NORTH: (x + lane, y - near, x + lane, y - far),
            SOUTH: (x - lane, y + near, x - lane, y + far),
        }
        for way, (x1, y1, x2, y2) in ends.items():
            if left < x2 < left + mesh.cols * pitch and 0 < y2 < mesh.rows * pitch:
                flow(x1, y1, x2, y2, row[way], most, f"{_name(mesh, core)}, {WAYS[way]}")
        title = tag("title", f"{_name(mesh, core)}, {WAYS[INTO_CORE]}: {row[INTO_CORE]:,.0f} bytes")
        strength = opacity(row[INTO_CORE], most)
        parts += _square(x - side / 2, y - side / 2, side, strength, title, core in mesh.unusable)
    for number, (row, value) in enumerate(ports):
        y = (row + 0.5) * pitch
        flow(left - 2, y, left + pitch / 2 - side / 2 - stroke, y, value, most_of_port, f"DRAM port {number}")
        parts.append(text(0, y + 4, f"D{number}", "small muted"))
    return drawing(left + mesh.cols * pitch, mesh.rows * pitch, label, *parts)


def scale_legend(least: str, most: str) -> Markup:
    """The legend of the colours."""
    steps = 24
    blocks = [
        rect(index * 6, 0, 6, 10, class_="heat", fill_opacity=opacity(index + 1, steps)) for index in range(steps)
    ]
    bar = drawing(6 * steps, 10, f"colours from {least} to {most}", *blocks)
    return tag("div", [least, tag("span", bar), most], class_="legend")


def _square(x: float, y: float, side: float, strength: float, title: Markup, unusable: bool) -> list[Markup]:
    corner = 2 if side < 20 else 4
    back = rect(x, y, side, side, class_="track", rx=corner)
    if unusable:
        return [
            back,
            rect(x, y, side, side, title, class_="frame", rx=corner),
            text(x + side / 2, y + side / 2 + 4, "\N{MULTIPLICATION SIGN}", "middle muted"),
        ]
    return [join([back]), rect(x, y, side, side, title, class_="heat", fill_opacity=strength, rx=corner)]


def _name(mesh: Mesh, core: int) -> str:
    return f"core {core} (row {core // mesh.cols}, column {core % mesh.cols})"

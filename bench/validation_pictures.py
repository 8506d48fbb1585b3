"""
Plots of what the benchmarks of the network-on-chip print, as SVG files.

    python bench/booksim.py > points.jsonl
    python bench/noc.py >> points.jsonl
    python bench/validation_pictures.py points.jsonl docs/pictures

Writes `noc-booksim.svg` (latency by load, BookSim2's and the emulator's), `noc-queue.svg` (waiting on a shared link,
and that of an M/D/1 queue) and `noc-saturation.svg` (what is delivered by what is offered).
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from meshloom.tools.report.html import Markup, join
from meshloom.tools.report.line_chart import LEFT, TOP, Limit, Line, line_chart
from meshloom.tools.report.scale import Unit
from meshloom.tools.report.style import colour_of
from meshloom.tools.report.svg import rect, text
from report_pictures import as_file

BISECTION = 0.5
"""What uniform traffic can have of a link's rate a core, on a mesh of 8 x 8: 4 over its width."""
Point = Mapping[str, Any]


def _line(name: str, points: Sequence[Point], x: str, y: str, colour: str, dashed: bool = False) -> Line:
    values = sorted((float(point[x]), float(point[y])) for point in points)
    across, up = np.array(values, np.float64).reshape(-1, 2).T
    return Line(name, across, up, colour, dashed=dashed)


def _picture(label: str, lines: Sequence[Line], x_unit: Unit, y_unit: Unit, limits: Sequence[Limit] = ()) -> str:
    """A chart as a file, with its legend in the frame."""
    found = re.search(r"<svg\b(.*?)>(.*)</svg>", str(line_chart(label, lines, x_unit, y_unit, limits)), re.DOTALL)
    assert found is not None
    names: list[Markup] = []
    for number, (name, colour) in enumerate([(one.name, one.colour) for one in (*lines, *limits)]):
        y = TOP + 18 + 17 * number
        names.append(rect(LEFT + 12, y - 8, 10, 10, style=f"fill:{colour_of(colour)}"))
        names.append(text(LEFT + 28, y + 1, name, "small"))
    return as_file(found[1], found[2] + str(join(names)))


def booksim_picture(points: Sequence[Point]) -> str:
    """Latency by load; a colour for each size of packets, dashed for BookSim2."""
    lines: list[Line] = []
    sizes = sorted({int(point["flits"]) for point in points})
    for flits, colour in zip(sizes, ("mpu", "vpu", "load", "send"), strict=False):
        own = [point for point in points if point["flits"] == flits]
        lines.append(_line(f"{flits} flits, BookSim2 (dashed)", own, "load", "booksim", colour, dashed=True))
        lines.append(_line(f"{flits} flits", own, "load", "in_turn", colour))
    return _picture("latency by load", lines, Unit("flits a core and cycle"), Unit("cycles"))


def queue_picture(points: Sequence[Point]) -> str:
    """Waiting on a shared link by load."""
    lines = [
        _line("M/D/1", points, "load", "theory", "load", dashed=True),
        _line("emulator", points, "load", "waiting", "mpu"),
    ]
    return _picture("waiting on a shared link", lines, Unit("of the link's rate"), Unit("cycles"))


def saturation_picture(points: Sequence[Point]) -> str:
    """What is delivered by what is offered."""
    lines = [_line("delivered", points, "load", "accepted", "mpu")]
    limit = Limit("half of the packets cross the middle", BISECTION)
    offered, delivered = Unit("offered, of a link's rate a core"), Unit("delivered")
    return _picture("delivered by offered", lines, offered, delivered, [limit])


def main() -> None:
    parser = argparse.ArgumentParser(description="Plots of the network-on-chip's benchmarks.")
    parser.add_argument("points", type=Path, help="what booksim.py and noc.py printed")
    parser.add_argument("folder", type=Path, help="where to write the pictures")
    options = parser.parse_args()
    points = [json.loads(line) for line in options.points.read_text().splitlines()]
    made = {
        "noc-booksim": (booksim_picture, [one for one in points if "booksim" in one]),
        "noc-queue": (queue_picture, [one for one in points if one.get("case") == "m_d_1"]),
        "noc-saturation": (saturation_picture, [one for one in points if one.get("case") == "uniform"]),
    }
    for name, (picture, own) in made.items():
        if own:
            (options.folder / f"{name}.svg").write_text(picture(own))


if __name__ == "__main__":
    main()

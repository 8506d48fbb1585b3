"""Charts: every length, place and colour strength against arithmetic done here."""

from __future__ import annotations

import re
from itertools import pairwise
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from meshloom.tools.report import bars, lanes, memory_map, mesh, svg
from meshloom.tools.report import gantt as gantts
from meshloom.tools.report import line_chart as line_charts
from meshloom.tools.report.bars import Bar, bar_chart, stacked_bar
from meshloom.tools.report.gantt import Interval, Row, gantt, merged
from meshloom.tools.report.lanes import Lane, Span, lane_chart
from meshloom.tools.report.line_chart import Limit, Line, line_chart, thinned
from meshloom.tools.report.memory_map import Block, alive_bytes
from meshloom.tools.report.memory_map import memory_map as draw_memory
from meshloom.tools.report.mesh import Mesh, core_map, link_map, opacity
from meshloom.tools.report.scale import Axis, Unit, unit_of_bytes, unit_of_ns


def parse(markup: str) -> Element:
    return ElementTree.fromstring(f"<r>{markup}</r>")


def rects(root: Element, style: str) -> list[Element]:
    return [one for one in root.iter("rect") if one.get("style") == f"fill:var(--{style})"]


def place(element: Element, *names: str) -> tuple[float, ...]:
    return tuple(float(element.attrib[name]) for name in names)


def titles(root: Element) -> list[str]:
    return [title.text or "" for title in root.iter("title")]


@pytest.mark.parametrize(("maximum", "count", "expected"), [
    (10, 5, [0, 2, 4, 6, 8, 10]), (7, 8, [0, 1, 2, 3, 4, 5, 6, 7]), (0.3, 3, [0, 0.1, 0.2, 0.3]),
    (4621, 10, [0, 500, 1000, 1500, 2000, 2500, 3000, 3500, 4000, 4500]), (0, 8, [0]),
])  # fmt: skip
def test_ticks(maximum: float, count: int, expected: list[float]) -> None:
    assert svg.ticks(maximum, count) == pytest.approx(expected)


def test_rounding_up_to_ticks() -> None:
    assert [svg.round_up(value, 6) for value in (96.6, 100, 101)] == [100, 100, 120]


def test_bars_are_as_long_as_their_values() -> None:
    room = svg.WIDTH - bars.NAME - bars.VALUE
    shown = [Bar("one", 50, "50", "mpu"), Bar("two", 200, "200", "vpu")]
    root = parse(bar_chart("chart", shown))
    assert place(rects(root, "mpu")[0], "x", "width") == (bars.NAME, room / 4)
    assert place(rects(root, "vpu")[0], "width") == (room,)
    assert [text.text for text in root.iter("text")] == ["one", "50", "two", "200"]
    marked = parse(bar_chart("chart", shown, mark=(400, "limit")))
    assert place(rects(marked, "vpu")[0], "width") == (room / 2,)
    (line,) = marked.iter("line")
    assert place(line, "x1", "x2") == (bars.NAME + room, bars.NAME + room)
    assert place(rects(parse(bar_chart("chart", shown, maximum=100)), "vpu")[0], "width") == (room,)
    assert not rects(parse(bar_chart("nothing", [])), "mpu")


def test_parts_of_a_bar_follow_each_other() -> None:
    root = parse(stacked_bar("parts", [Bar("a", 1, "1", "input"), Bar("b", 3, "3", "output")], 8))
    assert place(rects(root, "input")[0], "x", "width") == (0, svg.WIDTH / 8)
    assert place(rects(root, "output")[0], "x", "width") == (svg.WIDTH / 8, svg.WIDTH * 3 / 8)
    assert titles(root) == ["a: 1", "b: 3"]


def test_lanes_are_as_high_as_the_busy_share() -> None:
    root = parse(lane_chart("time", [Lane("MPU", [0, 1, 1, 0.5], "mpu", "62%")], 400, [Span("conv", 100, 300)]))
    top = lanes.STRIP + lanes.GAP
    ground, left, step = top + lanes.HEIGHT, lanes.LEFT, lanes.PLOT / 4
    (path,) = root.iter("path")
    numbers = [float(value) for value in re.findall(r"-?[\d.]+", path.attrib["d"])]
    # Start; up at the second piece; half way down at the fourth; along to the end; down to the ground.
    expected = [left, ground, left + step, top, left + 3 * step, top + lanes.HEIGHT / 2, left + lanes.PLOT, ground]
    assert numbers == pytest.approx(expected, abs=0.01)
    (span,) = [one for one in root.iter("rect") if one.get("class") in ("odd", "even")]
    assert place(span, "x", "width") == pytest.approx((left + lanes.PLOT / 4, lanes.PLOT / 2), abs=0.01)
    texts = [text.text for text in root.iter("text")]
    assert {"MPU", "62%", "task", "conv", "100", "400", "cycles"} <= set(texts)


def test_empty_lanes_stay_on_the_ground() -> None:
    root = parse(lane_chart("time", [Lane("MPU", [0, 0], "mpu")], 10))
    assert [path.attrib["d"] for path in root.iter("path")] == [
        f"M{lanes.LEFT} {lanes.HEIGHT}H{lanes.LEFT + lanes.PLOT}V{lanes.HEIGHT}Z"
    ]


def test_names_that_do_not_fit_are_left_out() -> None:
    spans = [Span("a" * 30, 0, 999), Span("b" * 30, 999, 1000)]
    texts = [text.text or "" for text in parse(lane_chart("t", [], 1000, spans)).iter("text")]
    assert "a" * 30 in texts
    assert not [text for text in texts if "b" in text]


def test_strength_of_colours() -> None:
    assert opacity(0, 10) == 0
    assert opacity(10, 10) == opacity(20, 10) == 1
    assert opacity(5, 10) == pytest.approx(0.54)
    assert opacity(1, 0) == 0


def test_cores_lie_in_rows_and_columns() -> None:
    root = parse(core_map("cores", Mesh(2, 3, {4}), [0, 1, 2, 3, 4, 5], str, 5, width=150))
    pitch, side = 50, 46
    heats = [one for one in root.iter("rect") if one.get("class") == "heat"]
    assert [place(one, "x", "y") for one in heats] == [(0, 0), (50, 0), (100, 0), (0, 50), (100, 50)]
    assert place(heats[1], "width", "fill-opacity") == (side, pytest.approx(0.08 + 0.92 / 5, abs=0.005))
    assert titles(root)[4] == "core 4 (row 1, column 1): not usable"
    assert titles(root)[5] == "core 5 (row 1, column 2): 5"
    assert place(next(iter(root)), "width", "height") == (3 * pitch, 2 * pitch)


def test_links_keep_to_the_right_and_end_at_the_mesh() -> None:
    # Two cores side by side: bytes east from core 0, west from core 1, into both; a DRAM port in row 0.
    links = [[10.0, 0, 0, 0, 3], [0, 20, 0, 0, 4]]
    root = parse(link_map("links", Mesh(1, 2), links, [(0, 7)], width=192))
    found = {(line[0].text or ""): line for line in root.iter("line")}
    east = found["core 0 (row 0, column 0), east: 10 bytes"]
    west = found["core 1 (row 0, column 1), west: 20 bytes"]
    assert len(found) == 3  # no links beyond the edges
    assert "DRAM port 0: 7 bytes" in found
    (x1, y1, x2), (x3, y3, x4) = (place(one, "x1", "y1", "x2") for one in (east, west))
    assert x1 < x2
    assert x3 > x4
    assert y1 > y3  # who drives east on the right has west on the left, further up
    assert place(east, "stroke-opacity") == (0.54,)
    assert place(west, "stroke-opacity") == (1,)
    assert "core 1 (row 0, column 1), into the core: 4 bytes" in titles(root)


BLOCKS = [Block("a", 0, 1024, 0, 1, "tile"), Block("b", 1024, 2048, 1, 1, "slice"), Block("c", 0, 512, 2, 2, "tile")]


def test_bytes_in_use() -> None:
    assert alive_bytes(BLOCKS, 3) == [1024, 3072, 512]


def test_buffers_are_rectangles_of_addresses_and_tasks() -> None:
    # 3 KiB of 4 KiB are in use: the axis ends at the capacity.
    root = parse(draw_memory("map", BLOCKS, ["t0", "t1", "t2"], 4096))
    column, kib, ground = memory_map.PLOT / 3, memory_map.HEIGHT / 4, memory_map.TOP + memory_map.HEIGHT
    (b,) = rects(root, "slice")
    expected = (memory_map.LEFT + column + 0.5, ground - 3 * kib + 0.5, column - 1, 2 * kib - 1)
    assert place(b, "x", "y", "width", "height") == pytest.approx(expected, abs=0.02)
    assert "b: 2 KiB at 1024, task 1" in titles(root)
    assert "a: 1 KiB at 0, task 0 to 1" in titles(root)
    (line,) = root.iter("path")
    heights = [float(value) for value in re.findall(r"[ML][\d.]+ ([\d.]+)", line.attrib["d"])]
    assert heights == pytest.approx([ground - kib, ground - 3 * kib, ground - kib / 2], abs=0.1)


def test_axis_ends_near_the_peak_where_little_is_used() -> None:
    root = parse(draw_memory("map", BLOCKS, ["t0", "t1", "t2"], 1 << 20))
    (b,) = rects(root, "slice")
    assert place(b, "height") == (pytest.approx(memory_map.HEIGHT * 2 / 3 - 1, abs=0.02),)
    texts = [text.text for text in root.iter("text")]
    assert texts[:7] == ["0 KiB", "0 KiB", "1 KiB", "2 KiB", "2 KiB", "2 KiB", "3 KiB"] or "3 KiB" in texts


def test_maps_of_nothing() -> None:
    assert "<svg" in draw_memory("map", [], [], 4096)
    assert "<svg" in core_map("cores", Mesh(1, 1), [0], str, 0)
    assert mesh.scale_legend("0", "1").count("<rect") == 24


def points(path: str) -> list[float]:
    return [float(value) for value in re.findall(r"-?[\d.]+", path)]


def test_axes_mark_round_values_in_their_unit() -> None:
    axis = Axis(700 * 1024, 2000 * 1024, 0, 1300, Unit("KiB", 1024))
    assert axis.marks(4) == [(300, "1,000"), (800, "1,500"), (1300, "2,000")]
    assert [unit_of_bytes(size).name for size in (1, 2047, 2048, 3 << 30)] == ["B", "B", "KiB", "GiB"]
    assert unit_of_ns(5e6).text(2_500_000) == "2.5"


def test_steps_hold_until_the_next_point() -> None:
    held = Line("held", np.array([0.0, 5, 10]), np.array([2.0, 4, 0]), "heat", steps=True)
    root = parse(line_chart("memory", [held], Unit("ms"), Unit("B"), [Limit("budget", 5.0)]))
    assert ["".join(span.itertext()) for span in root.iter("span")] == ["held", "budget"]
    (path,) = root.iter("path")
    width, height = svg.WIDTH - line_charts.LEFT - line_charts.RIGHT, line_charts.HEIGHT
    up = [line_charts.GROUND - height * value / (1.06 * 5) for value in (2, 4, 0)]
    left = line_charts.LEFT
    assert points(path.attrib["d"]) == pytest.approx(
        [left, up[0], left + width / 2, up[1], left + width, up[2]], abs=0.01
    )
    (limit,) = [one for one in root.iter("line") if one.get("class") == "limit"]
    assert place(limit, "y1") == pytest.approx((line_charts.GROUND - height / 1.06,), abs=0.01)
    assert {"ms", "B"} <= {text.text for text in root.iter("text")}


@given(st.lists(st.tuples(st.integers(0, 999), st.integers(0, 99)), min_size=1, max_size=600))
def test_thinned_steps_keep_every_extreme(values: list[tuple[int, int]]) -> None:
    x, y = (np.array(column, float) for column in zip(*sorted(values), strict=True))
    columns = 10
    kept_x, kept_y = thinned(x, y, columns)
    assert len(kept_x) <= max(4 * columns, 4)
    assert (kept_x[0], kept_y[0], kept_x[-1], kept_y[-1]) == (x[0], y[0], x[-1], y[-1])
    edges = x[0] + np.arange(columns + 1) * ((x[-1] - x[0] or 1) / columns)
    for low, high in pairwise(edges):
        inside, kept = (x >= low) & (x < high), (kept_x >= low) & (kept_x < high)
        if inside.any():
            assert (y[inside].min(), y[inside].max()) == (kept_y[kept].min(), kept_y[kept].max())


def test_pieces_of_time_lie_in_their_rows() -> None:
    queues = [Row("MPU", [Interval("conv", 0, 50, "mpu")], "50%"), Row("link", [Interval("copy", 25, 100, "load")])]
    root = parse(gantt("units", queues, 100, Unit("ms")))
    (copy,) = rects(root, "load")
    row = gantts.HEIGHT + gantts.GAP
    assert place(copy, "x", "y", "width") == pytest.approx(
        (lanes.LEFT + lanes.PLOT / 4 + 0.4, row, lanes.PLOT * 3 / 4 - 0.8), abs=0.01
    )
    assert titles(root) == ["conv: 0 to 50 ms", "copy: 25 to 100 ms"]


def test_short_neighbours_are_drawn_as_one() -> None:
    short = [Interval(f"p{n}", 2 * n, 2 * n + 1, "mpu") for n in range(5)]
    long, other = Interval("long", 20, 80, "mpu"), Interval("other", 80, 81, "vpu")
    assert merged([*short, long, other], 1.5) == [(Interval("p0", 0, 9, "mpu"), 5), (long, 1), (other, 1)]
    assert merged(short, 0.5) == [(interval, 1) for interval in short]

"""The section on device memory, compared with counts for a plan of a few steps."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import pytest
from meshloom.emulator.reports.device_memory import PlannedBuffer, PlannedMemory
from meshloom.tools.compile import main as compile_main
from meshloom.tools.report.device_memory import device_memory_section, rows_of, saved_steps
from meshloom.tools.run import main as run_main

from .pages import parsed, rows, section

PLAN = PlannedMemory(
    capacity=1000, unsaved=1500, peak=900, cycles=600,
    steps=(
        ("x", "input", 0, 50), ("a", "compute", 50, 150), ("b", "compute", 150, 250), ("a", "swap out", 170, 270),
        ("c", "compute", 270, 400), ("a", "swap in", 350, 450), ("d", "compute", 450, 550), ("d", "output", 550, 600),
    ),
    buffers=(
        PlannedBuffer("x", 0, 100, 0, 1, 1),
        PlannedBuffer("a", 100, 400, 1, 3, 3), PlannedBuffer("b", 500, 300, 2, 4, 4),
        PlannedBuffer("c", 100, 500, 4, 6, 6), PlannedBuffer("a", 600, 400, 5, 6, 6),
        PlannedBuffer("d", 0, 50, 6, 7, 7), PlannedBuffer("", 960, 40, -1, -1, -1),
    ),
)  # fmt: skip


def test_what_was_moved() -> None:
    spans = [(start, end) for _, _, start, end in PLAN.steps]
    out, back = saved_steps(PLAN, spans)
    assert (out.purpose, out.name, out.nbytes, out.span) == ("swap out", "a", 400, (170, 270))
    # Of the copy out 80 of 100 cycles are beside `b`; the other way 50 beside `c`.
    assert (out.beside, back.beside) == (0.8, 0.5)
    assert out.away == back.away == (270, 350)
    # Meanwhile b, c and the constant: 840 bytes, and 400 of its own.
    assert out.crowded == 840 + 400


def test_rows_of_the_queues() -> None:
    found = {row.name: row for row in rows_of(PLAN, [(start, end) for _, _, start, end in PLAN.steps])}
    assert [interval.name for interval in found["cores"].intervals] == ["a", "b", "c", "d"]
    assert [interval.name for interval in found["to host"].intervals] == ["swap out a", "output d"]
    assert found["from host"].text == "25.0%"


def test_section_of_a_plan() -> None:
    root = ElementTree.fromstring(f"<r>{device_memory_section(PLAN, None).body}</r>")
    (table,) = root.iter("tbody")
    assert [[cell.text for cell in row][:3] for row in table] == [["swap out", "a", "400"], ["swap in", "a", "400"]]
    assert [row[-1].text for row in table] == ["1.24\N{MULTIPLICATION SIGN}"] * 2
    assert "needed without memory saving 1.46 KiB" in legends(root)
    assert "needed without memory saving" not in "".join(legends(in_room_enough()))


def in_room_enough() -> Element:
    enough = replace(PLAN, capacity=1500)
    return ElementTree.fromstring(f"<r>{device_memory_section(enough, None).body}</r>")


def legends(root: Element) -> list[str]:
    return ["".join(span.itertext()) for span in root.iter("span")]


def test_reports_of_the_command_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Four layers whose results are used again in the opposite order."""
    monkeypatch.chdir(tmp_path)
    kind = "tensor<64x16xf32>"
    lines = [f"func.func @main(%h0: {kind}) -> {kind} {{"]
    lines += [f"%h{n + 1} = dataflow.tanh %h{n} : ({kind}) -> {kind}" for n in range(4)]
    before = "h4"
    for n in reversed(range(1, 4)):
        lines.append(f"%g{n} = dataflow.mul %{before}, %h{n} : ({kind}, {kind}) -> {kind}")
        before = f"g{n}"
    Path("net.mlir").write_text("\n".join([*lines, f"func.return %{before} : {kind}", "}"]))
    options = ["--chip", "tiny", "-o", "net.mlx", "--budget", "17000", "--launch-bytes", "1", "--save", "swap", "-q"]
    assert compile_main(["net.mlir", *options, "--report", "compile.html"]) == 0
    assert run_main(["net.mlx", "--random", "0", "-q", "--report", "run.html"]) == 0
    moved: list[list[list[str]]] = []
    for name in ("compile.html", "run.html"):
        root = parsed(Path(name).read_text())
        moved.append(rows(root, "device-memory"))
        assert {row[0] for row in moved[-1]} == {"swap out", "swap in"}
        text = "".join(section(root, "device-memory").itertext())
        assert ("planned: the same" in text) == (name == "run.html")
    assert moved[0] == moved[1]

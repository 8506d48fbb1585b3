"""Reports of `meshloom-plan`, compared with arithmetic and with the other files of the same call."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from meshloom.tools.plan import main

from .pages import parsed, rows, section, tiles


@pytest.fixture
def chain(tmp_path: Path) -> Path:
    """
    `first` (100 ns), ten operations of 1000 ns in a row and `last` (100 ns), which reads what `first` has made, and so
    does the first of the ten. All results but the last one have 1000 bytes.
    """
    tensors = [{"id": i, "kind": "act", "size": 1000 if i < 11 else 0} for i in range(12)]
    names = ["first", *(f"step{i}" for i in range(10)), "last"]
    ops: list[dict[str, Any]] = [
        {"id": i, "name": name, "unit": "MPU", "dur_ns": 1000 if name.startswith("step") else 100, "outs": [i],
         "ins": [i - 1] if i else []}
        for i, name in enumerate(names)
    ]  # fmt: skip
    ops[-1]["ins"].append(0)
    path = tmp_path / "chain.json"
    path.write_text(json.dumps({"tensors": tensors, "ops": ops}))
    return path


def test_what_leaves_when_and_why(chain: Path) -> None:
    page, list_of_actions = chain.with_name("plan.html"), chain.with_name("actions.json")
    options = ["--budget", "2000", "--link", "1e9", "--kinds", "swap,recompute", "-q"]
    assert main([str(chain), *options, "--report", str(page), "--actions", str(list_of_actions)]) == 0
    root = parsed(page.read_text())
    (row,) = rows(root, "offloaded-tensors")
    (action,) = json.loads(list_of_actions.read_text())
    # Two results of 1000 bytes fit: that of `first` has to go after `step0`, and only fits again before `last`.
    assert row[:4] == ["recompute", "first 0", "step0 1", "last 11"]
    assert row[4] == "step1 2: 1000 B over"
    assert action["over_budget_bytes"] == 1000
    # In us: gone at 1.1, computed again from 10.1 to 10.2; kept it would not fit; a copy back takes 1 instead of 0.1.
    assert row[5:] == ["1000 B", "1.10", "10.20", "9.10", "0.10", "\N{EN DASH}", "+0.90"]
    heads = ["".join(cell.itertext()) for cell in next(section(root, "offloaded-tensors").iter("tr"))]
    assert heads[-2:] == ["if kept", "if swap"]
    found = tiles(root)
    assert (found["Time"], found["Peak"], found["Before"]) == ("10.3 us", "1.95 KiB", "2.93 KiB")
    names = [text.text for text in section(root, "units-and-host-link").iter("text")]
    assert {"MPU", "again"} <= set(names)


def test_nothing_to_save(chain: Path) -> None:
    page = chain.with_name("plan.html")
    assert main([str(chain), "--budget", "1.0", "-q", "--report", str(page)]) == 0
    root = parsed(page.read_text())
    assert "No tensor needs to be offloaded" in "".join(section(root, "offloaded-tensors").itertext())
    assert not [one for one in root.iter("section") if one.attrib["id"] == "kinds"]


def test_curve_of_time_against_budget(chain: Path) -> None:
    page, stats = chain.with_name("plan.html"), chain.with_name("stats.json")
    options = ["--budgets", "1000,2000,3000", "--link", "1e9", "--kinds", "swap", "-q", "--stats", str(stats)]
    assert main([str(chain), *options, "--report", str(page)]) == 0
    curve = json.loads(stats.read_text())["curve"]
    found = rows(parsed(page.read_text()), "time-against-budget")
    assert [row[2:5] for row in found] == [
        ["1,000", "no plan", ""], ["2,000", "11.2 us", "9.80%"], ["3,000", "10.2 us", "0.00%"],
    ]  # fmt: skip
    assert [row[5] for row in found] == [f"{100 * one['bound_overhead']:.2f}%" for one in curve]


def test_order_of_units(chain: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = chain.with_name("order.html")
    assert main([str(chain), "--units", "-q", "--report", str(page)]) == 0
    root = parsed(page.read_text())
    assert tiles(root)["Time"] == "10.2 us"
    titles = ["".join(title.itertext()) for title in section(root, "units-over-time").iter("h3")]
    assert [title.partition(":")[0] for title in titles] == ["before", "after"]
    assert main([str(chain), "--least-peak", "--report", str(page)]) == 2
    assert "--report has no effect with --least-peak" in capsys.readouterr().err

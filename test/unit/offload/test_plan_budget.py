"""Tests of `meshloom-plan --budget`: figures, files, errors."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from meshloom.tools.plan import main


def chain(path: Path, layers: int) -> Path:
    """Layers of 1000 bytes and 1000 ns, and their gradients; the peak is LAYERS + 1 results, the working set 3."""
    tensors = [{"id": i, "kind": "act", "size": 1000} for i in range(2 * layers)]
    forward = [{"ins": [i - 1] if i else [], "outs": [i]} for i in range(layers)]
    backward = [{"ins": [layers + i - 1, layers - 1 - i], "outs": [layers + i]} for i in range(layers)]
    ops = [{"id": i, "unit": "MPU", "dur_ns": 1000, **one} for i, one in enumerate(forward + backward)]
    path.write_text(json.dumps({"tensors": tensors, "ops": ops}))
    return path


@pytest.fixture
def step(tmp_path: Path) -> Path:
    """20 layers: a peak of 21 results."""
    return chain(tmp_path / "step.json", 20)


def figures(step: Path, *options: str) -> dict[str, Any]:
    stats = step.with_name("stats.json")
    assert main([str(step), "--stats", str(stats), "-q", *options]) == 0
    return json.loads(stats.read_text())


def test_figures_of_a_plan(step: Path) -> None:
    found = figures(step, "--budget", "0.5", "--link", "4e9", "--kinds", "swap")
    assert found["compute_ns"] == 40_000
    assert found["program_peak_bytes"] == 21_000
    assert found["budget_bytes"] == 10_500
    assert found["peak_bytes"] <= 10_500
    assert found["compute_ns"] <= found["bound_ns"] <= found["time_ns"]
    # A copy of 1000 bytes takes 250 ns, an operation 1000 ns: all copies run concurrently with operations.
    assert found["time_ns"] == 40_000
    assert found["actions"]["swap"] >= 10
    assert found["smallest_budget"] == 3000
    assert found["plan_s"] < 1


@pytest.mark.parametrize("method", ["spec", "slack", "size"])
def test_rules(step: Path, method: str) -> None:
    found = figures(step, "--budget", "0.5", "--method", method, "--kinds", "swap", "--link", "1e9")
    assert found["peak_bytes"] <= found["budget_bytes"]
    assert figures(step, "--budget", "0.5", "--kinds", "swap", "--link", "1e9")["time_ns"] <= found["time_ns"]


def test_too_small_a_budget_reports_the_operation_and_the_smallest_budget(
    step: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stats = step.with_name("none.json")
    assert main([str(step), "--budget", "2999", "--stats", str(stats)]) == 2
    error = capsys.readouterr().err
    assert "alone needs 3000 bytes; the smallest budget that works is 3000" in error
    assert not stats.exists()
    assert main([str(step), "--budget", "3000", "-q"]) == 0


def test_table_actions_and_pictures(step: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plot, written = step.with_name("memory.svg"), step.with_name("actions.json")
    options = ["--budget", "0.6", "--budgets", "0.3..1.0", "--plot", str(plot), "--actions", str(written)]
    assert main([str(step), "--kinds", "swap", *options]) == 0
    table = capsys.readouterr().out
    actions = json.loads(written.read_text())
    assert table.count("swap  ") == len(actions)
    for one in actions:
        assert one["leave_ns"] <= one["gone_ns"] <= one["return_ns"] <= one["back_ns"]
        assert one["prefetch_after"]["id"] < one["before"]["id"], "fetched before it is needed"
    texts = [text.text for text in ElementTree.fromstring(plot.read_text()).iter("{http://www.w3.org/2000/svg}text")]
    assert {"before", "after", "budget", "plan", "bound"} <= set(texts)


def test_fixed_offsets_within_the_budget(step: Path) -> None:
    offsets = step.with_name("offsets.json")
    found = figures(step, "--budget", "0.5", "--kinds", "swap", "--link", "1e9", "--offsets", str(offsets))
    assert found["peak_bytes"] <= found["offsets_peak_bytes"] <= found["budget_bytes"]
    rows = json.loads(offsets.read_text())
    assert len(rows) == 40 + found["actions"]["swap"], "what comes back is another buffer"
    assert max(row["offset"] + row["bytes"] for row in rows) <= found["budget_bytes"]
    for one, other in itertools.combinations(rows, 2):
        apart_in_time = one["end_ns"] <= other["start_ns"] or other["end_ns"] <= one["start_ns"]
        low, high = sorted((one, other), key=lambda row: row["offset"])
        assert apart_in_time or low["offset"] + low["bytes"] <= high["offset"]


def test_buffers_that_need_more_at_fixed_offsets_are_reported(step: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stats = step.with_name("stats.json")
    assert main([str(step), "--budget", "3000", "--kinds", "swap", "--stats", str(stats)]) == 0
    found = json.loads(stats.read_text())
    # Three results of 1000 bytes, each rounded up to a multiple of 256.
    assert found["offsets_peak_bytes"] >= 3 * 1024
    assert f"at fixed offsets the buffers need {found['offsets_peak_bytes']:,} bytes" in capsys.readouterr().out
    assert main([str(step), "--budget", "1.0", "--stats", str(stats)]) == 0
    assert "at fixed offsets" in capsys.readouterr().out, "21 results of 1024 bytes"
    assert main([str(step), "--budget", "30000", "--stats", str(stats)]) == 0
    assert "at fixed offsets" not in capsys.readouterr().out


def test_options_for_networks_are_refused_with_a_cost_graph(step: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for option in (["--chip", "edge"], ["--shape", "x=1x3"]):
        assert main([str(step), "--budget", "0.5", *option]) == 2
        error = capsys.readouterr().err
        assert f"{option[0]} is for networks" in error
        assert "step.json" in error


def test_an_unknown_kind_of_tensor_is_refused(step: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = json.loads(step.read_text())
    data["tensors"][3]["kind"] = "activation"
    step.write_text(json.dumps(data))
    assert main([str(step), "--budget", "0.5"]) == 2
    expected = "tensor 3: 'kind' is \"activation\", expected one of input, weight, act, grad, wgrad"
    assert expected in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--budget", "--budgets", "--link", "--th-tts", "--most"])
def test_options_without_a_number_are_reported(step: Path, option: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([str(step), "--budget", "0.5", option, "half"])
    assert f"argument {option}: half: expected a number" in capsys.readouterr().err


def test_time_does_not_grow_with_the_budget(step: Path) -> None:
    found = figures(step, "--budgets", "0.2..1.0:0.1", "--link", "1e9")["curve"]
    times = [point["time_ns"] for point in found]
    assert len(times) == 9
    assert times == sorted(times, reverse=True)
    assert times[-1] == 40_000


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--budget", "0.5", "--units"],
        ["--budget", "0.5", "--method", "mcts"],
        ["--units", "--method", "slack"],
        ["--budget", "0.5", "--plot", "memory.gif"],
        ["--budget", "0.5", "--link", "0"],
        ["--budget", "0"],
        ["--budget", "0.5", "--kinds", "burn"],
        ["--budgets", "1.0..0.3"],
        ["--budgets", "0.3..1.0", "--offsets", "offsets.json"],
        ["--budget", "0.5", "--offsets", "offsets.json", "--method", "size"],
    ],
)
def test_bad_usage(step: Path, options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    try:
        status = main([str(step), "-q", *options])
    except SystemExit as exit:
        status = exit.code
    assert status == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert error.count("\n") == 1, "one line"


def test_large_graphs_use_all_kinds_that_help(tmp_path: Path) -> None:
    """
    A large plan uses compression if swap alone is slower.

    The graph has 6,000 layers and their gradients, the budget is a tenth of 6 MB: nine tenths of the results are
    offloaded. Swapped without compression, 0.9 x 1000 bytes per layer at 0.6 bytes per ns take 1500 ns; compressed to
    half 750 ns, less than the 1000 ns of a layer.
    """
    step = chain(tmp_path / "large.json", 6_000)
    slow = figures(step, "--budget", "0.1", "--link", "0.6e9", "--kinds", "swap", "--preset", "fast")
    both = figures(step, "--budget", "0.1", "--link", "0.6e9", "--kinds", "swap,compress", "--preset", "fast")
    again = figures(step, "--budget", "0.1", "--link", "0.6e9", "--kinds", "swap,recompute", "--preset", "fast")
    assert slow["overhead"] > 0.4
    assert both["overhead"] < 0.05
    assert again["overhead"] <= slow["overhead"]
    assert max(one["peak_bytes"] for one in (slow, both, again)) <= slow["budget_bytes"]


@pytest.mark.parametrize("mode", [["--budget", "0.5"], ["--units"], ["--least-peak"]])
def test_a_graph_without_operations_is_refused(
    mode: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty.json").write_text('{"tensors": [{"id": 0, "kind": "act", "size": 4}], "ops": []}')
    assert main([str(tmp_path / "empty.json"), *mode, "--stats", str(tmp_path / "stats.json")]) == 2
    assert "empty.json has no operations" in capsys.readouterr().err
    assert not (tmp_path / "stats.json").exists()


@pytest.mark.parametrize(
    ("arguments", "modes"),
    [
        (["--budget", "0.5", "--gantt", "OUT.svg"], "--units"),
        (["--budget", "0.5", "--order", "OUT.json"], "--units and --least-peak"),
        (["--budgets", "0.5..1", "--memory-cap", "1e6"], "--units"),
        (["--units", "--plot", "OUT.svg"], "--budget"),
        (["--units", "--kinds", "swap"], "--budget"),
        (["--least-peak", "--report", "OUT.html"], "--units and --budget"),
        (["--least-peak", "--method", "mcts"], "--units and --budget"),
    ],
)
def test_options_of_another_mode_are_refused(
    step: Path, arguments: list[str], modes: str, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [option.replace("OUT", str(step.with_name("out"))) for option in arguments]
    assert main([str(step), *given]) == 2
    error = capsys.readouterr().err
    assert next(option for option in arguments[1:] if option.startswith("--")) in error
    assert error.strip().endswith(f"it belongs to {modes}")
    assert [path.name for path in step.parent.iterdir()] == [step.name]


def test_all_files_are_written_or_none(step: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [step.with_name(name) for name in ("actions.json", "offsets.json", "plot.svg")]
    options = [text for file in files for text in (f"--{file.stem}", str(file))]
    assert main([str(step), "--budget", "0.5", *options, "--stats", "/dev/full"]) == 1
    assert capsys.readouterr().err.startswith("error: cannot write /dev/full")
    assert not any(file.exists() for file in files)

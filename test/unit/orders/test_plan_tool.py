"""Tests of `meshloom-plan --units`: figures, files, errors."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from meshloom.tools.plan import METHODS as NAMES
from meshloom.tools.plan import PRESETS as PRESET_NAMES
from meshloom.tools.plan import main

from .graphs import random_json


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    path = tmp_path / "graph.json"
    path.write_text(json.dumps(random_json(5, 40)))
    return path


def test_names_equal_those_of_the_search() -> None:
    from meshloom.analysis.orders.plan import METHODS, PRESETS

    assert NAMES == METHODS
    assert PRESET_NAMES == PRESETS


def test_writes_figures_order_and_chart(graph: Path, tmp_path: Path) -> None:
    files = {name: tmp_path / name for name in ("stats.json", "order.json", "gantt.svg")}
    given = ["--units", "--forward", "--weight-loads", "1e9", "--memory-cap", "10000", "-q"]
    written = ["--stats", files["stats.json"], "--order", files["order.json"], "--gantt", files["gantt.svg"]]
    assert main([str(one) for one in (graph, *given, *written)]) == 0
    stats = json.loads(files["stats.json"].read_text())
    assert {"makespan_ns", "bound_ns", "method", "plan_s", "peak_bytes"} <= stats.keys()
    order = json.loads(files["order.json"].read_text())
    assert max(one["end_ns"] for one in order) == stats["makespan_ns"] >= stats["bound_ns"] > 0
    assert 0 < stats["peak_bytes"] <= 10000
    busy = sum(one["end_ns"] - one["start_ns"] for one in order if one["unit"] == "DMA")
    assert busy == stats["unit_busy_ns"]["DMA"] > 0
    chart = ElementTree.parse(files["gantt.svg"]).getroot()
    titles = [title.text or "" for title in chart.iter("{http://www.w3.org/2000/svg}title")]
    assert len(titles) == 2 * len(order)


def test_same_seed_same_files(graph: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        main([str(graph), "--units", "-q", "--method", "anneal", "--seed", "3", "--order", str(tmp_path / name)])
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_onnx(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from onnx import TensorProto, helper

    info = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [64, 64]) for name in "xwy"]
    nodes = [helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node("Relu", ["p"], ["y"])]
    path = tmp_path / "net.onnx"
    whole = helper.make_model(helper.make_graph(nodes, "net", info[:2], info[2:]), ir_version=9)
    path.write_bytes(whole.SerializeToString())
    assert main([str(path), "--units", "--chip", "tiny", "--stats", str(tmp_path / "s.json")]) == 0
    stats = json.loads((tmp_path / "s.json").read_text())
    # 64^3 multiply-accumulates on 4 arrays of 8 x 8 at 0.5 GHz; 64^2 elements on 4 x 8 lanes.
    assert stats["unit_busy_ns"] == {"MPU": 2048, "VPU": 256}
    assert stats["makespan_ns"] == stats["bound_ns"] == 2304
    assert stats["peak_bytes"] == 2 * 64 * 64 * 4
    assert capsys.readouterr().out.startswith("net: 2.3 us, 1.000 x the bound")


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["graph.json"], 2, "give one mode"),
        (["none.json", "--units"], 2, "none.json: no such file"),
        (["broken.json", "--units"], 2, "broken.json is not JSON"),
        (["figure.json", "--units", "--forward"], 2, "no operations of phase 'fwd'"),
        (["graph.json", "--units", "--memory-cap", "3"], 1, "the smallest limit for which one was found is"),
        (["graph.json", "--units", "--method", "exhaustive"], 2, "more than 20,000 orders"),
        (["graph.json", "--units", "--stats", "no/where.json"], 2, "there is no folder no"),
        (["graph.json", "--units", "--gantt", "a.gif"], 2, "give a name that ends in .svg"),
        (["graph.json", "--units", "--weight-loads", "-1"], 2, "argument --weight-loads: -1: expected a positive"),
        (["graph.txt", "--units"], 2, "unknown kind of file, expected .json"),
    ],
)
def test_errors_are_one_line(
    graph: Path,
    arguments: list[str],
    status: int,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(graph.parent)
    Path("broken.json").write_text("{")
    Path("graph.txt").write_text("")
    ops: list[object] = [{"id": i, "unit": "A", "ins": [], "outs": [], "dur_ns": 1} for i in range(3)]
    Path("figure.json").write_text(json.dumps({"tensors": [], "ops": ops}))
    try:
        code = main(arguments)
    except SystemExit as leave:
        code = leave.code
    errors = capfd.readouterr().err
    assert (code, message in errors) == (status, True), errors
    assert errors.count("error: ") == 1
    assert not Path("stats.json").exists()


def test_as_a_process(graph: Path) -> None:
    tool = Path(sys.executable).with_name("meshloom-plan")
    done = subprocess.run([str(tool), str(graph), "--units"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "x the bound" in done.stdout

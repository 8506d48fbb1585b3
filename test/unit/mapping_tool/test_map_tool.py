"""Tests of `meshloom-map`: input and output files, exit statuses and messages."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mapping_graphs import random_network
from meshloom.frontend.topology.read import read_topology
from meshloom.mapping.checkpoints import FolderCheckpoints
from meshloom.mapping.mesh import Mesh
from meshloom.mapping.methods import METHODS
from meshloom.mapping.metrics.costs import costs_of
from meshloom.support.errors import InputError
from meshloom.tools.map import main
from meshloom.tools.run import main as run_main

TOPOLOGY = random_network(5, 80)
STATS = {
    "method", "vertices", "edges", "cores", "cut", "hop_cost", "delivered_traffic", "max_link_load", "imbalance",
    "cpu_s", "peak_rss_mb", "seconds",
}  # fmt: skip


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    arrays: dict[str, Any] = {
        "indptr": TOPOLOGY.indptr,
        "indices": TOPOLOGY.indices,
        "data": TOPOLOGY.data,
        "src_indptr": TOPOLOGY.src_indptr,
        "src_indices": TOPOLOGY.src_indices,
        "spikes": TOPOLOGY.spikes,
    }
    np.savez(tmp_path / "graph.npz", **arrays)
    return tmp_path / "graph.npz"


def run(graph: Path, *options: str) -> int:
    return main([str(graph), *options, "-q", "-o", str(graph.parent / "map.npy")])


@pytest.mark.parametrize("method", ["default", "literal", "greedy"])
def test_results_agree_with_each_other(graph: Path, method: str) -> None:
    folder = graph.parent
    files = ["--stats", str(folder / "s.json"), "--text", str(folder / "m.txt"), "--picture", str(folder / "p.svg")]
    assert run(graph, "--mesh", "4x3", "--unusable", "0,5-6", "--method", method, *files) == 0
    core_of = np.load(folder / "map.npy")
    assert core_of.dtype == np.int32
    assert [int(line) for line in (folder / "m.txt").read_text().split()] == core_of.tolist()
    stats = json.loads((folder / "s.json").read_text())
    assert STATS <= stats.keys()
    expected = costs_of(TOPOLOGY, Mesh(4, 3, unusable=(0, 5, 6)), core_of).as_dict()
    assert {key: stats[key] for key in expected} == expected
    assert stats["capacity"] == -(-80 * 105 // (100 * 9))
    assert stats["max_load"] <= stats["capacity"]
    squares = [e for e in ET.parse(folder / "p.svg").iter("{http://www.w3.org/2000/svg}rect") if len(e)]
    assert len(squares) == 12


def test_busiest_links_have_one_name_for_each_figure(graph: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The summary prints the busiest link of both ways of sending, the picture that of one, in the same words."""
    folder = graph.parent
    files = ["--stats", str(folder / "s.json"), "--picture", str(folder / "p.svg")]
    assert main([str(graph), "--mesh", "4x3", *files, "-o", str(folder / "map.npy")]) == 0
    out = capsys.readouterr().out
    alone, trees = (int(text.replace(",", "")) for text in re.findall(r"(?:per edge|trees) ([\d,]+)", out))
    core_of = np.load(folder / "map.npy")
    # Packets are sent along the row, then along the column; a multicast tree counts each link once per source.
    ends, targets, weights = TOPOLOGY.src_indptr, TOPOLOGY.src_indices, TOPOLOGY.spikes
    assert ends is not None
    assert targets is not None
    assert weights is not None
    one_by_one, along_trees = np.zeros((4, 12)), np.zeros((4, 12))
    for source in range(TOPOLOGY.vertices):
        most: dict[tuple[int, int], int] = {}
        for edge in range(int(ends[source]), int(ends[source + 1])):
            spikes = int(weights[edge])
            for link in route(int(core_of[source]), int(core_of[targets[edge]])):
                one_by_one[link] += spikes
                most[link] = max(most.get(link, 0), spikes)
        for link, spikes in most.items():
            along_trees[link] += spikes
    assert (alone, trees) == (one_by_one.max(), along_trees.max())
    picture = (folder / "p.svg").read_text()
    assert f"multicast trees, XY routing; busiest link: {trees:,}" in picture
    stats = json.loads((folder / "s.json").read_text())
    assert (stats["max_link_load"], stats["max_tree_link_load"]) == (alone, trees)


def route(source: int, target: int) -> list[tuple[int, int]]:
    """Links (direction, core at its start) of a route on the 4 x 3 mesh: along the row first."""
    (y, x), (v, u) = divmod(source, 4), divmod(target, 4)
    links: list[tuple[int, int]] = []
    while x != u:
        links.append((0 if u > x else 1, 4 * y + x))
        x += 1 if u > x else -1
    while y != v:
        links.append((2 if v < y else 3, 4 * y + x))
        y += 1 if v > y else -1
    return links


def test_undirected_networks_have_no_delivered_traffic(graph: Path) -> None:
    folder = graph.parent
    np.savez(graph, indptr=TOPOLOGY.indptr, indices=TOPOLOGY.indices, data=TOPOLOGY.data)
    assert run(graph, "--mesh", "4x4", "--method", "greedy", "--stats", str(folder / "s.json")) == 0
    assert json.loads((folder / "s.json").read_text())["delivered_traffic"] is None


def test_chip_rectangle_array(graph: Path) -> None:
    assert run(graph, "--chip", "grid", "--rectangle", "2,3,3x2", "--method", "hilbert") == 0
    used = set(np.load(graph.parent / "map.npy").tolist())
    assert used <= {y * 8 + x for y in (3, 4) for x in (2, 3, 4)}
    assert run(graph, "--mesh", "2x2", "--array", "3x2", "--link-cost", "9", "--method", "random") == 0
    assert np.load(graph.parent / "map.npy").max() < 6 * 4


def test_limits_on_vertices_and_edges_hold(graph: Path) -> None:
    limits = ["--max-vertices", "9", "--max-edges", "60"]
    assert run(graph, "--mesh", "4x4", "--method", "greedy", *limits) == 0
    core_of = np.load(graph.parent / "map.npy")
    assert np.bincount(core_of).max() <= 9
    assert np.bincount(core_of, np.diff(TOPOLOGY.indptr)).max() <= 60


@pytest.mark.parametrize(
    ("options", "status", "message"),
    [
        (["--mesh", "4x4", "--capacity", "3"], 1, "needs 80 of size, 16 usable cores hold 3 each, 48 together; use 27"),
        (["--mesh", "4by4"], 2, "expected WIDTHxHEIGHT"),
        ([], 2, "--chip NAME or --mesh WxH"),
        (["--mesh", "4x4", "--unusable", "16"], 2, "cores of 4x4 are 0 to 15"),
        (["--mesh", "4x4", "--unusable", "0-15"], 2, "no core of 4x4 is usable"),
        (["--mesh", "4x4", "--rectangle", "2,2,3x1"], 2, "is not within"),
        (["--mesh", "4x4", "--resume"], 2, "--work DIR"),
        (["--mesh", "4x4", "--picture", "loads.jpg"], 2, "FILE.svg or FILE.png"),
        (["--mesh", "4x4", "--seed", "-1"], 2, "expected 0 or more"),
    ],
)
def test_errors_state_location_and_remedy(
    graph: Path, capsys: pytest.CaptureFixture[str], options: list[str], status: int, message: str
) -> None:
    assert run(graph, *options) == status
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert message in error
    assert not (graph.parent / "map.npy").exists()


def test_multicast_needs_directions(graph: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.savez(graph, indptr=TOPOLOGY.indptr, indices=TOPOLOGY.indices, data=TOPOLOGY.data)
    assert run(graph, "--mesh", "4x4", "--objective", "multicast") == 2
    assert "directed edges" in capsys.readouterr().err


@pytest.mark.parametrize("method", ["default", "literal"])
def test_a_resumed_run_gives_the_same_mapping(graph: Path, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    options = ["--mesh", "2x2", "--method", method]
    assert run(graph, *options) == 0
    whole = np.load(graph.parent / "map.npy")
    (graph.parent / "map.npy").unlink()
    save = FolderCheckpoints.save
    work = ["--work", str(graph.parent / "steps")]

    def save_and_stop(self: FolderCheckpoints, step: str, arrays: Any) -> None:
        save(self, step, arrays)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(FolderCheckpoints, "save", save_and_stop)
        assert run(graph, *options, *work) == 130
    assert not (graph.parent / "map.npy").exists()
    restored: list[str] = []
    restore = FolderCheckpoints.restore

    def restore_and_note(self: FolderCheckpoints, step: str) -> Any:
        kept = restore(self, step)
        restored.extend([] if kept is None else [step])
        return kept

    monkeypatch.setattr(FolderCheckpoints, "restore", restore_and_note)
    assert run(graph, *options, *work, "--resume") == 0
    assert restored
    assert (np.load(graph.parent / "map.npy") == whole).all()


def test_a_folder_of_another_run_is_refused(graph: Path, capsys: pytest.CaptureFixture[str]) -> None:
    work = ["--work", str(graph.parent / "steps"), "--method", "literal"]
    assert run(graph, "--mesh", "4x4", *work) == 0
    assert run(graph, "--mesh", "4x4", *work) == 2
    assert "--resume" in capsys.readouterr().err
    assert run(graph, "--mesh", "4x4", "--seed", "1", *work, "--resume") == 2
    assert "another input or other options" in capsys.readouterr().err


def test_the_graph_of_a_step_is_a_topology_file(tmp_path: Path) -> None:
    """Restored rows keep their order, on which later steps depend; the file is a valid topology archive."""
    kept = FolderCheckpoints(tmp_path, {}, resume=False)
    graph = {"indptr": np.array([0, 2, 3, 4]), "indices": np.array([2, 1, 0, 0], np.int32)}
    graph |= {"data": np.array([5, 7, 7, 5], np.int32), "size": np.array([3, 0, 2])}
    kept.save("one", {**graph, "of": np.arange(3)})
    restored = kept.restore("one") or {}
    assert {name: array.tolist() for name, array in restored.items()} == {
        name: array.tolist() for name, array in (graph | {"of": np.arange(3)}).items()
    }
    assert {name: array.dtype for name, array in restored.items()}["data"] == np.int32
    topology = read_topology(tmp_path / "one.zip")
    assert topology.indices.tolist() == [1, 2, 0, 0]
    assert topology.data.tolist() == [7, 5, 7, 5]
    (tmp_path / "one.zip").write_bytes(b"PK no archive")
    with pytest.raises(InputError, match=r"one\.zip"):
        kept.restore("one")


def test_a_damaged_step_is_an_error(tmp_path: Path) -> None:
    kept = FolderCheckpoints(tmp_path, {}, resume=False)
    kept.save("one", {"a": np.arange(3)})
    assert (kept.restore("one") or {})["a"].tolist() == [0, 1, 2]
    (tmp_path / "one.npz").write_bytes(b"PK\3\4 no archive")
    with pytest.raises(InputError, match="damaged"):
        kept.restore("one")


def test_png_picture(graph: Path) -> None:
    pytest.importorskip("matplotlib")
    picture = graph.parent / "p.png"
    assert run(graph, "--mesh", "3x3", "--array", "2x1", "--method", "greedy", "--picture", str(picture)) == 0
    assert picture.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_help_lists_all_methods_without_numpy() -> None:
    """The table of methods imports none of them, nor NumPy, so that help is printed quickly."""
    check = (
        "import sys, meshloom.tools.map as tool\ntry: tool.main(['--help'])\nfinally: assert 'numpy' not in sys.modules"
    )
    environment = {**os.environ, "COLUMNS": "1000"}
    done = subprocess.run([sys.executable, "-c", check], check=True, capture_output=True, text=True, env=environment)
    assert ", ".join(name for name, method in METHODS.items() if isinstance(method, str)) in done.stdout


def test_a_step_is_run_and_its_program_written(graph: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = graph.parent
    program = folder / "step.mlx"
    options = ["--mesh", "4x3", "--emulate", "grid", "--spike-bytes", "6", "--program", str(program)]
    assert main([str(graph), *options, "--stats", str(folder / "s.json"), "-o", str(folder / "map.npy")]) == 0
    printed = capsys.readouterr().out
    stats = json.loads((folder / "s.json").read_text())
    step = stats["step"]
    assert stats["objective"] == "cycles"
    assert f"one step on 'grid': {step['cycles']:,} cycles" in printed
    # The program runs with `meshloom-run` and gives the same figures.
    assert run_main([str(program), "--stats", str(folder / "run.json"), "-q"]) == 0
    again = json.loads((folder / "run.json").read_text())
    assert (again["cycles"], again["energy_pj"]) == (step["cycles"], step["energy_pj"])
    assert step["link_bytes"]["into_cores"] == step["delivered_bytes"]
    assert step["link_bytes"]["horizontal"] + step["link_bytes"]["vertical"] == 6 * stats["tree_traffic"]
    shares = [link["utilisation"] for link in step["busiest_links"]]
    assert shares == sorted(shares, reverse=True)
    assert 0 < shares[0] <= 1


def test_a_step_of_a_mapping_for_another_objective(graph: Path) -> None:
    stats = graph.parent / "s.json"
    assert run(graph, "--chip", "tiny", "--emulate", "--objective", "hops", "--stats", str(stats)) == 0
    assert json.loads(stats.read_text())["step"]["chip"] == "tiny"
    assert json.loads(stats.read_text())["objective"] == "hops"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--mesh", "4x3", "--emulate"], "--emulate with --mesh needs a chip that describes the cores: --emulate NAME"),
        (["--chip", "grid", "--emulate", "edge"], "--emulate edge: --chip grid names the cores already"),
        (
            ["--chip", "tiny", "--array", "2x1", "--emulate"],
            "links are all one hop: leave out --array, or add --link-cost 1",
        ),
        (["--chip", "tiny", "--program", "step.mlx"], "--program writes the step of --emulate: give both"),
        (["--chip", "tiny", "--emulate", "--spike-bytes", "0"], "--spike-bytes 0: expected 1 to 65536"),
    ],
)
def test_steps_that_cannot_be_run(
    graph: Path, options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(graph, *options) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not (graph.parent / "map.npy").exists()


def test_a_step_needs_directions(graph: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.savez(graph, indptr=TOPOLOGY.indptr, indices=TOPOLOGY.indices, data=TOPOLOGY.data)
    assert run(graph, "--chip", "tiny", "--emulate") == 2
    assert "needs directed edges" in capsys.readouterr().err


def test_an_array_of_chips_is_emulated_as_one_mesh_if_links_between_chips_cost_one_hop(graph: Path) -> None:
    stats = graph.parent / "s.json"
    options = ["--chip", "tiny", "--array", "2x1", "--link-cost", "1", "--emulate"]
    assert run(graph, *options, "--stats", str(stats)) == 0
    assert json.loads(stats.read_text())["step"]["cycles"] > 0

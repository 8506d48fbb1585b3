"""Tests of networks in parts on the command line: options, log, table, cache, IR of the parts."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
RNET = ROOT / "models" / "rnet.onnx"
SHAPE = ("--shape", "input_2=1x24x24x3")
Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def small_chip(tmp_path: Path) -> Path:
    """`tiny` with 128 KiB of DRAM."""
    lines = (ROOT / "chips" / "tiny.toml").read_text().splitlines()
    changed = {"name": 'name = "small"', "dram_bytes": f"dram_bytes = {128 << 10}"}
    path = tmp_path / "small.toml"
    path.write_text("\n".join(changed.get(line.partition(" ")[0], line) for line in lines))
    return path


def test_a_network_that_exceeds_the_dram(run: Run, small_chip: Path, tmp_path: Path) -> None:
    options = ("--chip", small_chip, *SHAPE, "--cache", "cache", "--log", "log.txt")
    done = run("meshloom-compile", RNET, *options, "-o", "a.mlx")
    out, err = done.stdout, done.stderr
    assert done.returncode == 0, err
    log = (tmp_path / "log.txt").read_text().splitlines()
    assert log[0].startswith("subgraph all (31 operators, ")
    assert "131,072 are available" in log[0]
    assert err.splitlines() == log
    assert (
        out.splitlines()[2].split() == "subgraph operators tasks cycles (estimate) SRAM per core DRAM weights".split()
    )
    assert "from host" in out
    again = run("meshloom-compile", RNET, *options, "-o", "b.mlx", "-q", "--jobs", 1)
    assert (again.stdout, again.stderr) == ("", "")
    assert (tmp_path / "a.mlx").read_bytes() == (tmp_path / "b.mlx").read_bytes()
    checked = run("meshloom-run", "a.mlx", "--random", 0, "--check", RNET, "--validate")
    assert checked.returncode == 0
    assert "\n  launch   1: subgraph " in checked.stdout


def test_a_network_that_must_stay_whole_is_an_error(run: Run, small_chip: Path, tmp_path: Path) -> None:
    options = ("--chip", small_chip, *SHAPE, "--subgraphs", "whole", "--log", "log.txt", "-q")
    done = run("meshloom-compile", RNET, *options, "-o", "a.mlx")
    assert done.returncode == 1
    assert done.stderr.startswith("error: the network does not fit chip 'small': it needs ")
    assert len((tmp_path / "log.txt").read_text().splitlines()) == 1
    assert not (tmp_path / "a.mlx").exists()


def test_invalid_options(run: Run) -> None:
    done = run("meshloom-compile", RNET, "--chip", "tiny", "--fuse", "everything", "-o", "a.mlx")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1


def test_ir_of_the_parts(run: Run, tmp_path: Path) -> None:
    options = ("--chip", "tiny", *SHAPE, "--subgraphs", "fewest-bytes,parts=2", "--print-ir-after-all", "ir")
    done = run("meshloom-compile", RNET, *options, "-o", "a.mlx", "-q")
    assert done.returncode == 0
    (tiled,) = (tmp_path / "ir").glob("*-manycore.mlir")
    assert tiled.read_text().count("= manycore.subgraph @") == 2
    (lowered,) = (tmp_path / "ir").glob("*-memory.mlir")
    assert lowered.read_text().count("= manycore.launch @") == 2

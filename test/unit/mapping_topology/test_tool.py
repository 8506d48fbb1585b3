"""Tests of `meshloom-topology`: conversions by extension, output, exit statuses."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from meshloom.frontend.topology.read import read_topology
from meshloom.mapping.topology.npz import write_npz
from meshloom.mapping.topology.topology import Topology, from_directed
from meshloom.tools.topology import main


def ring(n: int, size: int = 1) -> Topology:
    """Each vertex sends 3 spikes to the next."""
    return from_directed(np.arange(n + 1), (np.arange(n) + 1) % n, np.full(n, 3), np.full(n, size))


def test_every_conversion_keeps_the_graph(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_npz(ring(5), tmp_path / "ring.npz")
    kinds = ["npz", "zip", "graph", "mtx"]
    for kind in kinds:
        assert main(["convert", str(tmp_path / "ring.npz"), str(tmp_path / f"a.{kind}"), "-q"]) == 0
    for source, target in itertools.product(kinds, kinds):
        assert main(["convert", str(tmp_path / f"a.{source}"), str(tmp_path / f"b.{target}")]) == 0
        assert capsys.readouterr().out == f"{tmp_path}/b.{target}: 5 vertices, 5 edges\n"
        again = read_topology(tmp_path / f"b.{target}")
        for name in ("indptr", "indices", "data", "size"):
            assert np.array_equal(getattr(again, name), getattr(ring(5), name))
        directed = "graph" not in (source, target)
        assert again.directed_edges == (5 if directed else None)


def test_info(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_npz(ring(100, size=4), tmp_path / "net.npz")
    assert main(["info", str(tmp_path / "net.npz")]) == 0
    printed = dict(line.split(": ") for line in capsys.readouterr().out.splitlines())
    assert printed["vertices"] == "100"
    assert printed["edges"] == printed["directed edges"] == "100"
    assert printed["total size"] == "400"
    assert printed["total weight"] == "300"
    assert printed["largest degree"] == "2"
    assert printed["vertices without edges"] == "0"


def test_errors_are_one_line_and_leave_no_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_npz(ring(3, size=2), tmp_path / "net.npz")
    (tmp_path / "bad.zip").write_bytes(b"PK nothing")
    folder = str(tmp_path)
    for arguments, message in [
        (["info", f"{folder}/none.zip"], "none.zip: no such file"),
        (["info", f"{folder}/bad.zip"], "bad.zip: the zip directory: File is not a zip file"),
        (["info", f"{folder}/net.doc"], "net.doc: unknown kind of topology"),
        (["convert", f"{folder}/net.npz", f"{folder}/out.onnx"], "out.onnx: cannot write this kind"),
        (["convert", f"{folder}/net.npz", f"{folder}/no/out.zip"], "there is no folder"),
        (["convert", f"{folder}/net.npz", f"{folder}/out.mtx"], "have no sizes"),
        (["convert", f"{folder}/net.npz", f"{folder}/out.zip", "--shape", "x"], "expected NAME=SHAPE"),
        (["convert", f"{folder}/net.npz", f"{folder}/out.zip", "--shape", "x=1"], "only ONNX models"),
    ]:
        assert main(arguments) == 2
        error = capsys.readouterr().err
        assert error.startswith("error: ")
        assert error.count("\n") == 1
        assert message in error
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.zip", "net.npz"]
    with pytest.raises(SystemExit) as left:
        main(["convert", "one"])
    assert left.value.code == 2

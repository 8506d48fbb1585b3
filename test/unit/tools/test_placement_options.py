"""Tests of `--placement`, on the command line, as an option of passes, and in Python."""

from __future__ import annotations

from argparse import ArgumentParser
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from meshloom.analysis.placement.methods import PLACE_METHODS
from meshloom.lowering.options.effort import EFFORTS
from meshloom.support.errors import InputError
from meshloom.tools.api import CompiledNetwork, compile
from meshloom.tools.compile import main as compile_main
from meshloom.tools.oracle import Oracle, compare
from meshloom.tools.subgraphs import add_subgraph_options

RNET = Path(__file__).parents[3] / "models" / "rnet.onnx"
SHAPES = {"input_2": (1, 24, 24, 3)}
MAPPED = ("matched", "literal", "hops", "multicast")


@cache
def rnet(placement: str, chip: str = "edge") -> CompiledNetwork:
    return compile(RNET, chip, SHAPES, placement=placement)


def placed(network: CompiledNetwork) -> list[str]:
    """The lines of the log about placements that were tried in addition to the first one."""
    return [line.partition("tiles placed by ")[2] for line in network.report["log"] if "tiles placed by" in line]


@pytest.mark.parametrize("chip", [pytest.param("edge", marks=pytest.mark.slow), "grid"])
@pytest.mark.parametrize("method", EFFORTS["default"].placements)
def test_the_search_is_about_as_fast_as_any_single_method(chip: str, method: str) -> None:
    """Not always as fast: only for the best tilings and order with the first method, others are tried."""
    assert rnet("searched", chip).timing.cycles <= 1.01 * rnet(method, chip).timing.cycles


def test_the_log_has_the_cycles_of_each_placement() -> None:
    lines = placed(rnet("searched", "grid"))
    assert {line.partition("'")[2].partition("'")[0] for line in lines} >= {"matched", "literal", "hops"}
    for line in lines:
        assert line.endswith(("taken", "not tried"))
        assert "cycles" in line


def test_a_single_method_is_the_only_one_tried() -> None:
    assert placed(rnet("hops")) == []


@pytest.mark.parametrize("method", MAPPED)
def test_placed_networks_compute_the_same(method: str) -> None:
    inputs = {"input_2": np.random.default_rng(7).standard_normal((1, 24, 24, 3)).astype(np.float32)}
    outputs = rnet(method).run(inputs).outputs
    for name, expected in Oracle(RNET.read_bytes()).run(inputs).items():
        assert compare(name, outputs[name], expected).equal


def test_invalid_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "net.mlx"
    arguments = [str(RNET), "--chip", "edge", "--shape=input_2=1x24x24x3", "-o", str(out), "--placement", "best"]
    assert compile_main(arguments) == 2
    error = capsys.readouterr().err
    assert "no placement is named 'best': choose from searched, default, planned" in error
    assert error.count("\n") == 1
    assert not out.exists()
    with pytest.raises(InputError, match="no placement is named 'best'"):
        compile(RNET, "edge", SHAPES, placement="best")


def test_the_option_becomes_an_option_of_passes(capsys: pytest.CaptureFixture[str]) -> None:
    assert compile_main(["any.onnx", "--chip=edge", "--placement=literal", "--print-pipeline"]) == 0
    given = [one for one in capsys.readouterr().out.split(",") if 'placement="literal"' in one]
    assert [one.partition("{")[0] for one in given] == [
        "manycore-outline-to-fit",
        "manycore-fuse-subgraphs",
        "manycore-autotune",
        "manycore-to-memory",
    ]


def test_the_help_lists_all_methods() -> None:
    parser = ArgumentParser()
    add_subgraph_options(parser)
    text = next(action.help for action in parser._actions if action.dest == "placement")
    assert text is not None
    assert [name for name in PLACE_METHODS if name != "default" and name not in text] == []
    assert all(set(effort.placements) <= set(PLACE_METHODS) for effort in EFFORTS.values())

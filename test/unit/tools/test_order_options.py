"""Tests of `--order` and `--stop-at`, on the command line, as options of passes, and in Python."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from meshloom.lowering.options.subgraph_options import SubgraphOptions, parse_subgraphs
from meshloom.support.errors import InputError
from meshloom.tools.api import CompiledNetwork, compile
from meshloom.tools.compile import main as compile_main

RNET = Path(__file__).parents[3] / "models" / "rnet.onnx"
SHAPES = {"input_2": (1, 24, 24, 3)}


@cache
def rnet(order: str, stop_at: float | None = None) -> CompiledNetwork:
    return compile(RNET, "edge", SHAPES, order=order, stop_at=stop_at)


def searched(network: CompiledNetwork) -> list[str]:
    """The lines of the log about searched orders."""
    return [line for line in network.report["log"] if "order of tasks by search" in line]


@pytest.mark.parametrize("order", ["searched", "mcts"])
def test_a_searched_order_is_never_slower_than_the_programs(order: str) -> None:
    assert searched(rnet("program")) == []
    assert len(searched(rnet(order))) == 1
    assert rnet(order).timing.cycles <= rnet("program").timing.cycles


def test_orders_are_searched_inside_subgraphs() -> None:
    rule, _ = parse_subgraphs("fewest-bytes,parts=2")
    found = {
        order: compile(RNET, "edge", SHAPES, subgraphs=SubgraphOptions(rule), order=order)
        for order in ("program", "searched")
    }
    assert searched(found["program"]) == []
    assert any(line.startswith("subgraph 2 ") for line in searched(found["searched"]))
    assert found["searched"].timing.cycles <= found["program"].timing.cycles


def test_the_first_variant_within_the_given_cycles_is_taken() -> None:
    program = rnet("program").timing.cycles
    first = rnet("searched", stop_at=program)
    assert first.timing.cycles == program
    assert all(line.endswith(f"at most {program:,} cycles are enough: not tried") for line in searched(first))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--order", "best"], "no order is named 'best': choose from program, searched, random, anneal, mcts"),
        (["--stop-at", "0"], "stop-at=0: expected a positive number"),
        (["--stop-at", "soon"], "stop-at=soon: expected a number"),
    ],
)
def test_invalid_options(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "net.mlx"
    assert compile_main([str(RNET), "--chip", "edge", "--shape=input_2=1x24x24x3", "-o", str(out), *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not out.exists()


def test_an_invalid_order_in_python() -> None:
    with pytest.raises(InputError, match="no order is named 'best'"):
        compile(RNET, "edge", SHAPES, order="best")


def test_the_options_become_options_of_passes(capsys: pytest.CaptureFixture[str]) -> None:
    assert compile_main(["any.onnx", "--chip=edge", "--order=mcts", "--stop-at=3000", "--print-pipeline"]) == 0
    passes = capsys.readouterr().out.split(",")
    given = [one for one in passes if 'order="mcts" stop_at="3000"' in one]
    assert [one.partition("{")[0] for one in given] == [
        "manycore-outline-to-fit",
        "manycore-fuse-subgraphs",
        "manycore-autotune",
        "manycore-to-memory",
    ]

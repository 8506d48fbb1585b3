"""Tests of the values of `-t`: every error is one line with exit status 2, before any pass runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from meshloom.tools.opt import main

MODULE = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = dataflow.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
"""


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("interpret{", "Expected argument name here"),
        ("interpret{inputs=ones}", "'ones' is not one of 'random', 'iota'"),
        ("interpret{seed=-1}", "seed=-1: expected 0 or more"),
        ("interpret{seed=x}", "'x' is not a whole number"),
        ("interpret{precision=-1}", "precision=-1: expected 0 or more"),
        ("interpret{chip=tiny}", "there is no option 'chip'; the options are 'seed', 'inputs', 'precision'"),
        ("emulate{chip=tiny cycles=maybe}", "'maybe' is not true or false"),
        ("emulate{chip=tiny seed=-1}", "seed=-1: expected 0 or more"),
    ],
)
def test_a_wrong_target_or_option_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], target: str, message: str
) -> None:
    path = tmp_path / "net.mlir"
    path.write_text(MODULE)
    assert main([str(path), "-t", target]) == 2
    errors = capsys.readouterr().err
    assert errors.startswith("error: ")
    assert errors.count("\n") == 1
    assert message in errors


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["--no-such"], "unrecognized arguments: --no-such"), (["-t", "no-such"], "argument -t/--target: invalid choice")],
)
def test_bad_usage_of_the_tool_is_one_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as left:
        main(arguments)
    assert left.value.code == 2
    errors = capsys.readouterr().err
    assert errors.startswith(f"error: {message}")
    assert errors.endswith("; meshloom-opt --help lists the options\n")
    assert errors.count("\n") == 1


def test_interpreter_and_emulator_print_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Interpreter and emulator print the relu of -3, -2, -1, 0."""
    path = tmp_path / "net.mlir"
    path.write_text(MODULE)
    for target in ("interpret{inputs=iota}", "emulate{chip=tiny inputs=iota}"):
        assert main([str(path), "-t", target]) == 0
        assert capsys.readouterr().out.strip() == "result0: tensor<4xf32> = [0., 0., 0., 0.]"

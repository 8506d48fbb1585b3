"""Tests of `--budget` and related options: incompatible or repeated ones are errors of one line and status 2."""

from __future__ import annotations

from pathlib import Path

import pytest
from meshloom.lowering.options.subgraph_options import SubgraphOptions
from meshloom.support.errors import InputError
from meshloom.tools.compile import main
from meshloom.tools.opt import main as opt_main
from meshloom.tools.read_module import read_module

import meshloom

CHAIN = """
func.func @main(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %a = dataflow.relu %x : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %b = dataflow.tanh %a : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %c = dataflow.exp %b : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %d = dataflow.neg %c : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %e = dataflow.sub %d, %b : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %f = dataflow.sub %e, %a : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  func.return %f : tensor<64x64xf32>
}
"""


@pytest.fixture
def chain(tmp_path: Path) -> Path:
    path = tmp_path / "chain.mlir"
    path.write_text(CHAIN)
    return path


def test_a_budget_refuses_a_network_that_must_stay_whole(chain: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--subgraphs whole` with a budget is an error, also in Python."""
    program = chain.with_suffix(".mlx")
    options = ["--budget", "chip", "--subgraphs", "whole"]
    assert main([str(chain), "--chip", "tiny", "-o", str(program), *options]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "memory saving needs several launches" in line
    assert "leave out --subgraphs" in line
    assert not program.exists()
    with pytest.raises(InputError, match="memory saving needs several launches"):
        meshloom.compile(read_module(chain, {}), "tiny", subgraphs=SubgraphOptions(split_failures=False), budget=0.9)


def test_the_log_of_a_budget_lists_launches(chain: Path) -> None:
    program, log = chain.with_suffix(".mlx"), chain.with_suffix(".log")
    options = ["--budget", "chip", "--launch-bytes", "1", "-q", "--log", str(log)]
    assert main([str(chain), "--chip", "tiny", "-o", str(program), *options]) == 0
    lines = log.read_text().splitlines()
    assert [line.partition(" (")[0] for line in lines] == [f"subgraph {name}" for name in "abcdef"]
    assert all(": is a launch of 1 task, " in line for line in lines)


def test_a_module_that_saves_memory_is_compiled_unchanged(chain: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saving = chain.with_name("saving.mlir")
    passes = "manycore-outline-subgraphs{rule=named names=a,b,c,d,e},memory-insert-offload{chip=tiny th-tts=5000}"
    assert opt_main([str(chain), "-p", passes, "-o", str(saving)]) == 0
    assert "memory.swap_out" in saving.read_text()
    compile_it = [str(saving), "--chip", "tiny", "-q", "-o", str(saving.with_suffix(".mlx"))]
    assert main(compile_it) == 0
    capsys.readouterr()
    for options, message in (
        (["--fuse", "forward"], "the launches of a module with memory saving"),
        (["--budget", "chip", "--launch-bytes", "1"], "the module already saves memory"),
        (["--budget", "chip", "--save", "swap"], "the module already saves memory"),
    ):
        assert main([*compile_it, *options]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert message in line


RECOMPUTED = """
func.func @main(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %s = dataflow.neg %x : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %a = dataflow.exp %x : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %b = dataflow.concat %a, %a axis 1 : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x128xf32>
  %c = dataflow.tanh %b : (tensor<64x128xf32>) -> tensor<64x128xf32>
  %t = dataflow.slice %c starts [0, 64] sizes [64, 64] steps [1, 1] : (tensor<64x128xf32>) -> tensor<64x64xf32>
  %d = dataflow.sub %t, %x : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %y = dataflow.mul %d, %s : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  func.return %y : tensor<64x64xf32>
}
"""


def test_an_operation_needed_only_after_a_gap_is_computed_once(tmp_path: Path) -> None:
    """
    An operation whose result is needed only after a gap is computed once, at the end of the gap.

    %s is read by the last product only, after %b and %c, which have 65536 bytes. The printed level compiles to the same
    bytes.
    """
    model, stages, program, again = (tmp_path / name for name in ("net.mlir", "stages", "net.mlx", "again.mlx"))
    model.write_text(RECOMPUTED)
    options = ["--budget", "75000", "--launch-bytes", "1", "--save", "recompute", "--print-ir-after-all", str(stages)]
    assert main([str(model), "--chip", "tiny", *options, "-q", "-o", str(program)]) == 0
    (level,) = stages.glob("*-offload.mlir")
    text = level.read_text()
    assert "memory.recompute" in text
    assert text.count("dataflow.neg") == 1
    assert main([str(level), "--chip", "tiny", "-q", "-o", str(again)]) == 0
    assert again.read_bytes() == program.read_bytes()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--offload", "th-tts=1,n=2,th-tts=3"], "--offload: 'th-tts' is given twice: leave out one of them"),
        (["--offload", "n=2.5"], "--offload: n=2.5: expected a whole number"),
        (["--fuse", "grouped,max-tasks=4,max-tasks=5"], "--fuse: 'max-tasks' is given twice: leave out one of them"),
        (["--subgraphs", "key-nodes,span=2,span=3"], "--subgraphs: 'span' is given twice: leave out one of them"),
        (["--subgraphs", "key-nodes,key-nodes"], "--subgraphs: 'key-nodes' is given twice: leave out one of them"),
        (["--budget", "0.9", "--save", "swap,swap"], "--save: 'swap' is given twice: leave out one of them"),
        (["--shape", "x=1", "--shape", "x=2"], "--shape: 'x' is given twice: leave out one of them"),
        (["-p", "memory-insert-offload{n=2 th-tts=1 n=3}"], "pass 'memory-insert-offload': 'n' is given twice"),
        (["-p", "canonicalize,memory-insert-offload{th-tts=1 th_tts=2}"], "'th-tts' is given twice"),
    ],
)
def test_a_setting_that_is_given_twice_is_an_error(
    options: list[str], message: str, chain: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(chain), "--chip", "tiny", "-q", "-o", str(chain.with_suffix(".mlx")), *options]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line
    assert not chain.with_suffix(".mlx").exists()


@pytest.mark.parametrize("save", [[], ["--save", "swap"]])
def test_a_format_needs_something_to_compress(save: list[str], chain: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--budget", "0.9", *save, "--compress-to", "f16"]
    assert main([str(chain), "--chip", "tiny", "-o", str(chain.with_suffix(".mlx")), *options]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "add it to --save, as in --save swap" in line
    assert "leave out --compress-to" in line


@pytest.mark.parametrize(
    ("options", "remedies"),
    [
        (["--save", "swap"], ["--budget", "--offload", "leave it out"]),
        (["--compress-to", "f16"], ["--budget", "--offload", "leave it out"]),
        (["--launch-bytes", "1000"], ["--budget", "leave it out"]),
    ],
)
def test_options_of_memory_saving_need_a_budget_or_thresholds(
    options: list[str], remedies: list[str], chain: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Options that specify how to save memory are errors without a budget or thresholds, also with --print-pipeline."""
    for more in ([], ["--print-pipeline"]):
        assert main([str(chain), "--chip", "tiny", "-o", str(chain.with_suffix(".mlx")), *options, *more]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith(f"error: {options[0]} ")
        assert all(remedy in line for remedy in remedies)

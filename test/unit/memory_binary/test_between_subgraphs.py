"""
Tests of memory saving between existing subgraphs: each subgraph is one launch.

The subgraphs come from a rule, from fusion or from the user; the oracle of the results is NumPy.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from meshloom.dialects.dataflow.entry_function import find_main
from meshloom.dialects.manycore import SubgraphOp
from meshloom.tools import assemble, opt
from meshloom.tools.api import CompiledNetwork
from meshloom.tools.compile import main
from meshloom.tools.read_module import read_module

import meshloom

CHAIN = """
func.func @main(%x: tensor<64x64xf32> {dataflow.name = "x"}) -> (tensor<64x64xf32> {dataflow.name = "y"}) {
  %a = dataflow.tanh %x : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %b = dataflow.matmul %a, %a : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %c = dataflow.tanh %b : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %d = dataflow.matmul %c, %c : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %e = dataflow.tanh %d : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %f = dataflow.add %e, %c : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %g = dataflow.sub %f, %a : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  func.return %g : tensor<64x64xf32>
}
"""
RULE = ["--subgraphs", "named,names=b,names=d,names=f"]
EACH = ["--subgraphs", "named,names=a,names=b,names=c,names=d,names=e,names=f"]
BUDGET = 52_000
"""Bytes of three tensors: while %c and %d are computed from %b, %a is offloaded."""


@pytest.fixture
def chain(tmp_path: Path) -> Path:
    path = tmp_path / "chain.mlir"
    path.write_text(CHAIN)
    return path


def compiled(chain: Path, *options: str) -> CompiledNetwork:
    """The network compiled by `meshloom-compile`; its results are checked against NumPy."""
    out = chain.with_suffix(".mlx")
    assert main([str(chain), "--chip", "tiny", "-o", str(out), "--jobs", "1", *options]) == 0
    network = meshloom.load(out)
    assert isinstance(network, CompiledNetwork)
    x = np.random.default_rng(0).standard_normal((64, 64)).astype(np.float32) / 8
    a = np.tanh(x.astype(np.float64))
    c = np.tanh(a @ a)
    found = network.run({"x": x}, check=True).outputs["y"]
    np.testing.assert_allclose(found, np.tanh(c @ c) + c - a, atol=1e-5)
    return network


def test_subgraphs_of_a_rule_are_the_launches(chain: Path, capsys: pytest.CaptureFixture[str]) -> None:
    network = compiled(chain, *RULE, "--budget", str(BUDGET))
    assert len(network.executable.launches) == 4
    assert network.executable.dram_bytes_used <= BUDGET
    assert "swap out" in capsys.readouterr().out


def test_fused_subgraphs_are_the_launches(chain: Path) -> None:
    network = compiled(chain, *EACH, "--fuse", "pairs", "--budget", str(BUDGET))
    assert len(network.executable.launches) == 4
    assert network.executable.dram_bytes_used <= BUDGET


def test_subgraphs_that_are_too_large_are_cut(chain: Path) -> None:
    """The first three subgraphs use three tensors each, more than `--launch-bytes`: they are cut into more launches."""
    network = compiled(chain, *RULE, "--budget", "chip", "--launch-bytes", "40000")
    assert len(network.executable.launches) > 4


def test_thresholds_select_among_the_results_of_subgraphs(chain: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """%a and %c wait for their second use; launches without a copy between them are joined."""
    network = compiled(chain, *EACH, "--offload", "th-tts=5000")
    assert len(network.executable.launches) == 5
    assert capsys.readouterr().out.count("swap out") == 2


@pytest.mark.parametrize("subgraphs", [RULE, [*EACH, "--fuse", "pairs"]], ids=["rule", "fused"])
def test_the_list_of_passes_gives_the_same_bytes(
    chain: Path, subgraphs: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    options = [*subgraphs, "--budget", str(BUDGET)]
    compiled(chain, *options)
    capsys.readouterr()
    assert main([str(chain), "--chip", "tiny", *options, "--print-pipeline"]) == 0
    passes = capsys.readouterr().out.strip()
    order = re.findall("manycore-outline-to-fit|manycore-fuse-subgraphs|memory-insert-offload", passes)
    assert order == ["manycore-outline-to-fit", "manycore-fuse-subgraphs", "memory-insert-offload"]
    text, again = chain.with_name("all.mlir"), chain.with_name("again.mlx")
    assert opt.main([str(chain), "-p", passes, "-o", str(text)]) == 0
    assert assemble.main([str(text), "-o", str(again)]) == 0
    assert again.read_bytes() == chain.with_suffix(".mlx").read_bytes()


def test_the_pass_keeps_values_and_names(chain: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The pass keeps results and names, and removes the subgraphs' residence attributes: the plan decides instead."""
    outline = "manycore-outline-subgraphs{rule=named names=b,d,f}"
    given, saved = chain.with_name("given.mlir"), chain.with_name("saved.mlir")
    assert opt.main([str(chain), "-p", outline, "-o", str(given)]) == 0
    passes = f"memory-insert-offload{{chip=tiny budget={BUDGET}}}"
    assert opt.main([str(given), "-p", passes, "--check-semantics", "-o", str(saved)]) == 0
    launches = [op for op in find_main(read_module(saved, {})).walk() if isinstance(op, SubgraphOp)]
    names = [op.sym_name.data for op in find_main(read_module(given, {})).walk() if isinstance(op, SubgraphOp)]
    assert [op.sym_name.data for op in launches] == names
    assert not any(op.specifies_residence for op in launches)

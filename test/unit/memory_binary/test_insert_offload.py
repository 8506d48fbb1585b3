"""
Tests of `memory-insert-offload` and the executables made from its output: thresholds, budgets without gain, and the
pass applied to its own output.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from meshloom.analysis.execution.interpret import make_inputs, run_main
from meshloom.dialects.dataflow.entry_function import find_main
from meshloom.dialects.manycore import SubgraphOp
from meshloom.dialects.memory.stash import RecomputeOp, SwapOutOp
from meshloom.emulator.reports.device_memory import device_memory
from meshloom.lowering.offload.budget_options import parse_budget
from meshloom.lowering.offload.compile_launches import Budget
from meshloom.support.errors import BudgetError
from meshloom.support.warn import MeshloomWarning
from meshloom.tools import assemble, opt
from meshloom.tools import compile as compile_tool
from meshloom.tools.api import compile
from meshloom.tools.read_module import read_module
from xdsl.dialects.builtin import ModuleOp

FIGURE_5 = Path(__file__).parents[2] / "data" / "spec1_fig5.mlir"
ONE_LAUNCH = 2 * 64 * 64 * 4
"""Bytes of the network's input and result; in one launch, all other values stay in the cores."""
THRESHOLDS = "th-tts=10000,th-size=150"
NESTED = """
func.func @main(%x: tensor<64x64xf32> {dataflow.name = "x"}) -> (tensor<64x64xf32> {dataflow.name = "y"}) {
  %a = dataflow.neg %x : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %b = dataflow.tanh %a : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %c = dataflow.exp %b : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %d = dataflow.abs %c : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %e = dataflow.sub %d, %c : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %f = dataflow.sub %e, %b : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %g = dataflow.sub %f, %a : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  func.return %g : tensor<64x64xf32>
}
"""
"""Three results are read in reverse order: up to five tensors of 16384 bytes are live at a time."""


def inserted(options: str, source: Path, folder: Path) -> Path:
    """The file with the output of the pass."""
    path = folder / "inserted.mlir"
    passes = f"memory-insert-offload{{chip=tiny {options}}}"
    assert opt.main([str(source), "-p", passes, "-o", str(path)]) == 0
    return path


def outlined(folder: Path, source: Path = FIGURE_5) -> Path:
    """
    A network with a subgraph for each operation, as a user may write it. In figure 5, four tensors are live at a time.
    """
    path = folder / "outlined.mlir"
    operations = [op for op in find_main(read_module(source, {})).body.block.ops if op.results]
    names = ",".join(op.results[0].name_hint or "" for op in operations[:-1])
    passes = f"manycore-outline-subgraphs{{rule=named names={names}}}"
    assert opt.main([str(source), "-p", passes, "-o", str(path)]) == 0
    return path


def check(path: Path, source: Path = FIGURE_5) -> int:
    """
    Check that a module gives the results of a network, interpreted and emulated, with the planned peak and cycles.

    Returns the peak, in bytes.
    """
    module = read_module(path, {})
    inputs = make_inputs(module)
    expected = run_main(read_module(source, {}), inputs)
    network = compile(module, "tiny")
    for outputs in (run_main(read_module(path, {}), inputs), network.run(inputs, check=True).outputs):
        np.testing.assert_array_equal(outputs["y"], expected["y"])
    memory = device_memory(network.executable, network.timing)
    assert memory is not None
    assert memory.peak == network.report["memory"]["peak_bytes"]
    assert network.timing.total_cycles == network.report["memory"]["planned_cycles"]
    return memory.peak


def count(path: Path, kind: type[SwapOutOp | RecomputeOp]) -> int:
    module: ModuleOp = read_module(path, {})
    return sum(isinstance(op, kind) for op in module.walk())


@pytest.mark.slow
def test_no_gain_where_one_launch_needs_the_least_memory() -> None:
    """
    If one launch for the whole network needs the least memory, a budget has no gain.

    A budget that is a share, or more bytes than needed, gives a warning and the network as compiled without; fewer
    bytes are refused, with the bytes of one launch in the message.
    """
    plain = compile(read_module(FIGURE_5, {}), "tiny")
    for budget in (0.8, 1.0, 1e6):
        with pytest.warns(MeshloomWarning, match=f"memory saving has no gain: .*{ONE_LAUNCH} bytes"):
            network = compile(read_module(FIGURE_5, {}), "tiny", budget=budget)
        assert network.executable.dram_bytes_used == plain.executable.dram_bytes_used == ONE_LAUNCH
        assert network.timing.cycles == plain.timing.cycles
    with pytest.raises(BudgetError, match=f"memory saving has no gain: .*; {ONE_LAUNCH} bytes are enough"):
        compile(read_module(FIGURE_5, {}), "tiny", budget=Budget(26214))


def test_the_pass_accepts_its_own_output(tmp_path: Path) -> None:
    """The pass, applied to its own output with a lower threshold, offloads a further tensor and keeps the others."""
    first = inserted("th-tts=10000 th-size=150", outlined(tmp_path), tmp_path)
    assert count(first, SwapOutOp) == 2
    check(first)
    second = inserted("th-tts=3000 th-size=150", first, tmp_path)
    assert count(second, SwapOutOp) == 3
    check(second)


def test_operations_without_offloads_in_between_share_a_launch(tmp_path: Path) -> None:
    """A launch begins where an operation depends on one of `memory`; no launch uses more than three tensors, as 412."""
    text = inserted("th-tts=10000 th-size=150", outlined(tmp_path), tmp_path)
    module = read_module(text, {})
    names = [op.results[0].name_hint for op in module.walk() if isinstance(op, SubgraphOp)]
    assert names == ["n400", "n404", "n408", "n412", "n414", "n416", "n418"]
    check(text)


def test_a_smaller_budget_on_its_own_output(tmp_path: Path) -> None:
    """Existing offloads are kept; more are added until the function fits."""
    source = tmp_path / "nested.mlir"
    source.write_text(NESTED)
    first = inserted("th-tts=10000 n=1 budget=80000", outlined(tmp_path, source), tmp_path)
    before, swaps = check(first, source), count(first, SwapOutOp)
    second = inserted("budget=50000", first, tmp_path)
    assert check(second, source) <= 50000 < before
    assert count(second, SwapOutOp) > swaps > 0


def test_thresholds_are_applied_until_the_budget_is_kept(tmp_path: Path) -> None:
    """Thresholds are applied repeatedly; if no more tensor reaches them, the error states the peak reached."""
    kept = inserted("th-tts=10000 n=1 budget=60000", outlined(tmp_path), tmp_path)
    assert check(kept) <= 60000
    with pytest.raises(BudgetError, match=r"the thresholds select no further tensor to offload; \d+ bytes are enough"):
        compile(read_module(kept, {}), "tiny", passes="memory-insert-offload{th-tts=10000000 budget=20000}")


def test_thresholds_end_where_two_tensors_wait_for_each_other(tmp_path: Path) -> None:
    """Without a slack threshold, two tensors restored for one reader wait for each other; none is offloaded again."""
    with pytest.raises(BudgetError, match="the thresholds select no further tensor to offload") as raised:
        compile(read_module(outlined(tmp_path), {}), "tiny", budget=parse_budget(40000, offload="n=1"))
    assert raised.value.enough == 49152  # the three tensors of a product, which waits for the restored one
    assert check(inserted(f"n=1 budget={raised.value.enough}", outlined(tmp_path), tmp_path)) <= raised.value.enough


def test_thresholds_with_a_budget_need_no_more_than_without() -> None:
    """
    Thresholds with a budget are not applied if one launch for the whole network fits.

    A warning is given then, and for a smaller share; fewer bytes than one launch needs are refused.
    """
    plain = compile(read_module(FIGURE_5, {}), "tiny")
    for budget in (40000, ONE_LAUNCH, 0.8):
        with pytest.warns(MeshloomWarning, match=f"memory saving has no gain: .*needs {ONE_LAUNCH} bytes"):
            network = compile(read_module(FIGURE_5, {}), "tiny", budget=parse_budget(budget, offload=THRESHOLDS))
        assert network.executable.dram_bytes_used == plain.executable.dram_bytes_used == ONE_LAUNCH
        assert network.timing.cycles == plain.timing.cycles
    with pytest.raises(BudgetError, match=f"memory saving has no gain: .*; {ONE_LAUNCH} bytes are enough"):
        compile(read_module(FIGURE_5, {}), "tiny", budget=parse_budget(ONE_LAUNCH - 1, offload=THRESHOLDS))


def test_thresholds_that_need_more_memory_change_nothing() -> None:
    """Launches with offloaded tensors that need more memory than one launch for the whole network are not used."""
    plain = compile(read_module(FIGURE_5, {}), "tiny")
    needs = f"the network needs {ONE_LAUNCH} bytes of DRAM without it, 49152 with"
    with pytest.warns(MeshloomWarning, match=f"memory saving has no gain: {needs}"):
        network = compile(read_module(FIGURE_5, {}), "tiny", budget=parse_budget(None, offload=THRESHOLDS))
    assert network.executable.dram_bytes_used == plain.executable.dram_bytes_used == ONE_LAUNCH
    assert network.timing.cycles == plain.timing.cycles


def test_thresholds_select_tensors_to_recompute(tmp_path: Path) -> None:
    text = inserted("th-tts=0 kinds=recompute budget=60000", outlined(tmp_path), tmp_path)
    assert count(text, RecomputeOp) == 3
    check(text)


def test_offload_on_the_command_line_is_the_printed_list(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`meshloom-compile --offload` and the passes that it prints give the same executable."""
    options = ["--chip=tiny", "--offload", f"{THRESHOLDS},n=2", "--save", "swap,recompute"]
    expected, text, again = (tmp_path / name for name in ("a.mlx", "b.mlir", "b.mlx"))
    source = outlined(tmp_path)
    assert compile_tool.main([str(source), *options, "-q", "-o", str(expected)]) == 0
    capsys.readouterr()
    assert compile_tool.main(["any.onnx", *options, "--print-pipeline"]) == 0
    passes = capsys.readouterr().out.strip()
    assert "memory-insert-offload{" in passes
    assert opt.main([str(source), "-p", passes, "-o", str(text)]) == 0
    assert assemble.main([str(text), "-o", str(again)]) == 0
    assert again.read_bytes() == expected.read_bytes()


@pytest.mark.parametrize("text", ["th-tts", "th=3", "n=-1", "th-size=x"])
def test_invalid_values_of_offload_are_refused(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "a.mlx"
    assert compile_tool.main([str(FIGURE_5), "--chip=tiny", "--offload", text, "-o", str(out)]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
    assert not out.exists()

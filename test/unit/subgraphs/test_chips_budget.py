"""Tests of networks on several chips with a budget: each chip keeps it."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from dense_networks import dense_layers
from meshloom.frontend.parameters import import_with_parameters
from meshloom.support.errors import BudgetError
from meshloom.support.warn import MeshloomWarning
from meshloom.tools import assemble, opt
from meshloom.tools import compile as compile_tool
from meshloom.tools.chips_api import CompiledPipeline
from meshloom.tools.oracle import Oracle, compare
from meshloom.transforms.dataflow_differentiate import DataflowDifferentiatePass
from onnx import TensorProto, helper
from onnx.numpy_helper import from_array
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

import meshloom

BUDGET = 40_000
"""The weights of one layer (36,864 bytes) fit, but not those of two."""
LAYERS = dense_layers([96] * 5)


@pytest.fixture(scope="module")
def two() -> CompiledPipeline:
    return meshloom.compile(LAYERS, "tiny", budget=BUDGET, chips=2, effort="fast")


def test_each_chip_keeps_the_budget(two: CompiledPipeline) -> None:
    """Reserved bytes and bytes in use are within the budget on each chip; without it, each chip needs more."""
    assert len(two.pipeline.chips) == 2
    for exe, figures in zip(two.pipeline.chips, two.report["memory"], strict=True):
        assert exe.dram_bytes_used <= BUDGET < figures["unsaved_bytes"]
        assert figures["budget_bytes"] == BUDGET
        assert figures["peak_bytes"] <= BUDGET


def test_results_equal_those_of_the_network(two: CompiledPipeline) -> None:
    inputs = {"x": np.random.default_rng(0).standard_normal((2, 96)).astype(np.float32)}
    found = two.run(inputs, check=True).outputs
    for name, value in Oracle(LAYERS.SerializeToString()).run(inputs).items():
        assert compare(name, found[name], value).equal


def test_a_share_is_relative_to_the_bytes_of_each_stage() -> None:
    made = meshloom.compile(LAYERS, "tiny", budget=0.75, chips=2, effort="fast")
    for figures in made.report["memory"]:
        assert figures["budget_bytes"] == pytest.approx(0.75 * figures["unsaved_bytes"], abs=1)
        assert figures["peak_bytes"] <= figures["budget_bytes"]


def test_warnings_name_the_chips_of_the_chosen_cut() -> None:
    """Warnings that memory saving has no gain name the chips of the chosen cut, and none is of a rejected cut."""
    with pytest.warns(MeshloomWarning) as notes:
        made = meshloom.compile(LAYERS, "tiny", budget=1, chips=2, effort="fast")
    printed = [str(note.message).rpartition(": ")[0] for note in notes]
    assert printed == [f"chip {number}: memory saving has no gain" for number in range(len(made.pipeline.chips))]


def step() -> ModuleOp:
    """
    The training step of a perceptron.

    The backward pass reads values of the forward pass. A stage of the step needs more DRAM than the whole step, whose
    values stay in the cores.
    """
    rng = np.random.default_rng(0)
    weights = [from_array(rng.standard_normal((32, 32)).astype(np.float32) / 6, f"w{n}") for n in range(4)]
    nodes = [
        node
        for n in range(4)
        for node in (
            helper.make_node("MatMul", [f"h{n}", f"w{n}"], [f"m{n}"]),
            helper.make_node("Tanh", [f"m{n}"], [f"h{n + 1}"]),
        )
    ]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [128, 32]) for name in ("h0", "h4")]
    graph = helper.make_graph(nodes, "perceptron", ends[:1], ends[1:], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    module, _ = import_with_parameters(model, {})
    DataflowDifferentiatePass(loss="mean-squared-error", optimizer="sgd", rate=0.01).apply(Context(), module)
    return module


@pytest.mark.slow
def test_a_share_needs_no_more_than_no_budget() -> None:
    """With a share as budget, no chip needs more DRAM than the most of a chip without a budget."""
    plain = meshloom.compile(step(), "tiny", chips=3, effort="fast")
    saved = meshloom.compile(step(), "tiny", budget=0.9, chips=3, effort="fast")
    most = max(chip.dram_bytes_used for chip in plain.pipeline.chips)
    assert max(chip.dram_bytes_used for chip in saved.pipeline.chips) <= most


@pytest.mark.slow
def test_a_budget_that_is_too_small_is_reported_with_the_chip_and_a_sufficient_one() -> None:
    layers = dense_layers([16] * 3)
    with pytest.raises(BudgetError, match=r"a budget of 200 bytes of DRAM is too small: on chip \d, ") as raised:
        meshloom.compile(layers, "tiny", budget=200, chips=2, effort="fast")
    made = meshloom.compile(layers, "tiny", budget=raised.value.enough, chips=2, effort="fast")
    assert all(exe.dram_bytes_used <= raised.value.enough for exe in made.pipeline.chips)


def test_a_module_in_subgraphs_saves_memory_between_these() -> None:
    """Each chip has two of the given subgraphs, each with the weights of one layer."""
    outline = "manycore-outline-subgraphs{rule=named names=r0,r1,r2}"
    made = meshloom.compile(LAYERS, "tiny", budget=BUDGET, chips=2, effort="fast", passes=outline)
    assert [len(chip.launches) for chip in made.pipeline.chips] == [2, 2]
    assert all(chip.dram_bytes_used <= BUDGET for chip in made.pipeline.chips)
    inputs = {"x": np.random.default_rng(0).standard_normal((2, 96)).astype(np.float32)}
    found = made.run(inputs, check=True).outputs
    for name, value in Oracle(LAYERS.SerializeToString()).run(inputs).items():
        assert compare(name, found[name], value).equal


@pytest.mark.slow
def test_the_list_of_passes_gives_the_same_bytes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The printed passes, and compilation of the network cut for two chips, give the same executable."""
    model, out, again = (str(tmp_path / name) for name in ("layers.onnx", "a.mlx", "b.mlx"))
    text, ir = str(tmp_path / "all.mlir"), tmp_path / "ir"
    Path(model).write_bytes(LAYERS.SerializeToString())
    options = ["--chip", "tiny", "--chips", "2", "--budget", str(BUDGET), "--effort", "fast"]
    assert compile_tool.main([model, *options, "-o", out, "--print-ir-after-all", str(ir)]) == 0
    lines = re.findall(r"chip \d: device memory: .* bytes needed, ([\d,]+) available", capsys.readouterr().out)
    assert lines == ["40,000", "40,000"]
    assert compile_tool.main([model, *options, "--print-pipeline"]) == 0
    passes = capsys.readouterr().out.strip()
    assert opt.main([model, "-p", passes, "-o", text]) == 0
    assert assemble.main([text, "-o", again]) == 0
    assert Path(again).read_bytes() == Path(out).read_bytes()
    (stages,) = ir.glob("*-stages.mlir")
    last = ["--budget", str(BUDGET), "--effort", "fast", "-q", "-o", again]
    assert compile_tool.main([str(stages), *last]) == 0
    assert Path(again).read_bytes() == Path(out).read_bytes()

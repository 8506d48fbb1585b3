"""Tests of efforts of the search: `fast` does not emulate, and more effort never gives a slower network."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from meshloom.chips import load_chip
from meshloom.frontend.onnx_import import import_onnx
from meshloom.lowering.driver.compile_network import CompileOptions, compile_network
from meshloom.lowering.offload.compile_launches import Budget
from meshloom.lowering.options.effort import EFFORTS
from meshloom.lowering.options.subgraph_options import SubgraphOptions, parse_subgraphs
from meshloom.support.errors import InputError
from meshloom.tools.api import CompiledNetwork, compile
from meshloom.tools.oracle import Oracle, compare
from meshloom.transforms.dataflow_prune import DataflowPrunePass
from xdsl.context import Context

RNET, PNET = (Path(__file__).parents[3] / "models" / f"{name}.onnx" for name in ("rnet", "pnet"))
SHAPES = {"input_2": (1, 24, 24, 3)}
FAST = SubgraphOptions(effort=EFFORTS["fast"])


@cache
def compiled(effort: str) -> CompiledNetwork:
    """RNet, compiled once for each effort."""
    return compile(RNET, "edge", SHAPES, effort=effort)


@pytest.fixture
def no_emulator(monkeypatch: pytest.MonkeyPatch) -> None:
    def emulated(*arguments: object) -> object:
        raise AssertionError("emulated")

    for name, module in list(sys.modules.items()):
        if name.startswith("meshloom.lowering.") and "run_timing" in vars(module):
            monkeypatch.setattr(module, "run_timing", emulated)


@pytest.mark.parametrize(
    "options",
    [
        CompileOptions(FAST),
        CompileOptions(replace(FAST, fuse="optimal", rule=parse_subgraphs("fewest-bytes,parts=3")[0])),
        CompileOptions(FAST, sparse=True),
        CompileOptions(FAST, budget=Budget(0.9)),
    ],
    ids=["whole", "fused by cycles", "sparse", "budget"],
)
@pytest.mark.usefixtures("no_emulator")
def test_fast_emulates_nothing(options: CompileOptions) -> None:
    module = import_onnx(PNET, {"input_1": (1, 12, 12, 3)})
    if options.sparse:
        DataflowPrunePass(density=0.1).apply(Context(), module)
    compile_network(module, load_chip("tiny"), options)


@pytest.mark.parametrize("effort", ["fast", pytest.param("high", marks=pytest.mark.slow)])
def test_results_equal_those_of_the_network(effort: str) -> None:
    inputs = {"input_2": np.random.default_rng(0).standard_normal(SHAPES["input_2"]).astype(np.float32)}
    found = compiled(effort).run(inputs, check=True).outputs
    for name, value in Oracle(RNET).run(inputs).items():
        assert compare(name, found[name], value).equal


def test_more_effort_is_not_slower() -> None:
    cycles = [compiled(one).timing.cycles for one in ("fast", "default", "high")]
    assert cycles == sorted(cycles, reverse=True)


def test_an_unknown_effort() -> None:
    with pytest.raises(InputError, match="no effort is named 'most': choose from fast, default, high"):
        compile(RNET, "edge", SHAPES, effort="most")

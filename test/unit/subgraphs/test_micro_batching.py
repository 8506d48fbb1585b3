"""Tests of micro-batches: a batch whose values do not fit the SRAM is computed in parts if that is faster."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from meshloom.analysis.execution.check_semantics import difference
from meshloom.analysis.execution.interpret import run_main
from meshloom.chips import load_chip
from meshloom.dialects.dataflow.entry_function import find_main
from meshloom.emulator.functional.engine import run_functional
from meshloom.emulator.timing.engine import run_timing
from meshloom.frontend.onnx_import import import_onnx
from meshloom.lowering.driver.compile_module import SubgraphOptions, compile_module
from meshloom.lowering.subgraphs.micro_batching import micro_batches
from meshloom.tools.oracle import Oracle, compare
from meshloom.transforms.dataflow_split_batch import DataflowSplitBatchPass
from xdsl.context import Context

from meshloom.testing import RandomNetwork

ONET = Path(__file__).parents[3] / "models" / "onet.onnx"


@pytest.mark.parametrize("seed", range(20))
def test_networks_keep_their_results(seed: int) -> None:
    network = RandomNetwork(seed, operations=8)
    x = {"x": network.input()}
    expected = run_main(network.module, x)
    pass_ = DataflowSplitBatchPass(parts=2)
    pass_.apply(Context(), network.module)
    network.module.verify()
    for name, value in run_main(network.module, x).items():
        assert difference(expected[name], value, pass_.semantic_effect) is None


@pytest.mark.slow
def test_a_batch_is_computed_a_few_frames_at_a_time() -> None:
    edge = load_chip("edge")
    shapes = {"input_3": (16, 48, 48, 3)}
    automatic = compile_module(import_onnx(ONET, shapes), edge)
    whole = compile_module(import_onnx(ONET, shapes), edge, options=SubgraphOptions(split_failures=False))
    assert "in 2 parts by frames" in automatic.log.entries[-1].text
    assert automatic.log.entries[-1].text.endswith("less: taken")
    # The values of 16 frames do not fit in the cores, those of 8 do: no intermediate values are in DRAM.
    assert whole.parts[0].code.segments[-1] > 0 == automatic.parts[0].code.segments[-1]
    assert run_timing(automatic.executable).cycles < 0.7 * run_timing(whole.executable).cycles
    # The weights are stored once.
    assert automatic.executable.weight_bytes == whole.executable.weight_bytes
    inputs = {"input_3": np.random.default_rng(0).standard_normal(shapes["input_3"]).astype(np.float32)}
    outputs = run_functional(automatic.executable, inputs, check=True).outputs
    for name, value in Oracle(ONET).run(inputs).items():
        assert compare(name, outputs[name], value).equal


def test_a_single_frame_has_no_micro_batches() -> None:
    function = find_main(import_onnx(ONET, {"input_3": (1, 48, 48, 3)}))
    assert micro_batches(function, load_chip("tiny")) == []

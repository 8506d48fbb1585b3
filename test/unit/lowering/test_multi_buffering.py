"""Weights of several steps are loaded while earlier tasks compute, into as many buffers as fit."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import meshloom.lowering.autotune.encode_subgraph as encode_subgraph
import meshloom.lowering.launch.lower_launch as lower_launch
import numpy as np
import pytest
from meshloom.analysis.planning.multi_buffering import lay_out_multi_buffered
from meshloom.analysis.planning.network_estimate import TaskWorks
from meshloom.analysis.planning.network_plan import NetworkPlan
from meshloom.analysis.planning.placement import column_major
from meshloom.analysis.planning.plan_network import plan_network
from meshloom.analysis.planning.prefetch_candidates import PREFETCH_POLICIES
from meshloom.analysis.planning.sram_layout import lay_out_sram
from meshloom.chips import load_chip
from meshloom.dialects.dataflow.entry_function import find_main
from meshloom.emulator.functional.engine import run_functional
from meshloom.emulator.timing.engine import run_timing
from meshloom.frontend.onnx_import import import_onnx
from meshloom.lowering.dataflow_to_manycore import lower_block
from meshloom.lowering.driver.compile_module import compile_module
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

TINY = load_chip("tiny")
ROWS = 32


def weights(*widths: int) -> list[NDArray[np.float32]]:
    generator = np.random.default_rng(0)
    return [generator.standard_normal(shape).astype(np.float32) for shape in pairwise(widths)]


def network(layers: list[NDArray[np.float32]]) -> bytes:
    """Matrix products one after the other."""
    stored = [numpy_helper.from_array(layer, f"w{number}") for number, layer in enumerate(layers)]
    nodes = [
        helper.make_node("MatMul", [f"x{number}", f"w{number}"], [f"x{number + 1}"]) for number in range(len(layers))
    ]
    ends = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [ROWS, width])
        for name, width in (("x0", layers[0].shape[0]), (f"x{len(layers)}", layers[-1].shape[1]))
    ]
    graph = helper.make_graph(nodes, "layers", ends[:1], ends[1:], stored)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]).SerializeToString()


def planned(layers: list[NDArray[np.float32]]) -> NetworkPlan:
    function = find_main(import_onnx(network(layers), {}))
    lower_block(function.body.block)
    return replace(plan_network(function, TINY, column_major(TINY)), policy=PREFETCH_POLICIES[1])


def test_weights_that_wait_for_dram_get_more_buffers() -> None:
    """Weights of 64 x 256 are 64 KiB, and take longer to load than their product with 32 rows takes."""
    plan = planned(weights(64, 64, 64, 64, 64, 256))
    works = TaskWorks(plan)
    before, after = lay_out_sram(plan, TINY, works), lay_out_multi_buffered(plan, TINY, works)
    assert not before.multi_buffered
    assert set(after.multi_buffered) == {4}
    last = plan.plans[4]
    (index,) = (number for number, read in enumerate(plan.plans[4].reads) if read.constant)
    buffers = {after.addresses["read", 4, index, slot] for slot in range(after.multi_buffered[4])}
    assert len(buffers) == last.buffers_of(index, after.multi_buffered[4]) > last.buffers_of(index)
    assert after.peak <= TINY.sram_bytes


def test_weights_that_arrive_in_time_get_no_more_buffers() -> None:
    plan = planned(weights(64, 64, 64, 64, 64, 64))
    assert not lay_out_multi_buffered(plan, TINY, TaskWorks(plan)).multi_buffered


def test_multi_buffering_keeps_results_and_saves_cycles(monkeypatch: pytest.MonkeyPatch) -> None:
    layers = weights(64, 64, 64, 64, 64, 256)
    x = np.random.default_rng(1).standard_normal((ROWS, 64)).astype(np.float32)
    expected = x
    for layer in layers:
        expected = expected @ layer
    multi_buffered = compile_module(import_onnx(network(layers), {}), TINY).executable
    # The run is checked: no part of the weights overwrites one that is still read.
    found = run_functional(multi_buffered, {"x0": x}, check=True).outputs["x5"]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4 * float(np.abs(expected).max()))
    monkeypatch.setattr(encode_subgraph, "lay_out_multi_buffered", lay_out_sram)
    monkeypatch.setattr(lower_launch, "lay_out_multi_buffered", lay_out_sram)
    shallow = compile_module(import_onnx(network(layers), {}), TINY).executable
    assert run_timing(multi_buffered).cycles < 0.985 * run_timing(shallow).cycles

"""Tests of the cut into launches for a budget: it is as fast as the best of the tried launch sizes."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from meshloom.chips import load_chip
from meshloom.lowering.offload.compile_launches import Budget
from meshloom.lowering.options.subgraph_options import SubgraphOptions
from meshloom.support.warn import MeshloomWarning
from meshloom.tools.api import CompiledNetwork, compile
from meshloom.tools.oracle import Oracle
from onnx import NodeProto, TensorProto, helper, numpy_helper

CHANNELS = (3, 32, 64, 64, 128)


def convolutions() -> bytes:
    """Pairs of convolution and pooling: the tensor between the two is four times as large as the one after them."""
    generator = np.random.default_rng(4)
    nodes: list[NodeProto] = []
    weights: list[TensorProto] = []
    for number, (before, after) in enumerate(pairwise(CHANNELS)):
        kernel = generator.standard_normal((after, before, 3, 3)).astype(np.float32) / (3 * before**0.5)
        weights.append(numpy_helper.from_array(kernel, f"k{number}"))
        nodes += [
            helper.make_node("Conv", [f"x{number}", f"k{number}"], [f"c{number}"], pads=[1] * 4),
            helper.make_node("MaxPool", [f"c{number}"], [f"x{number + 1}"], kernel_shape=[2, 2], strides=[2, 2]),
        ]
    ends = [("x0", [1, CHANNELS[0], 64, 64]), (f"x{len(CHANNELS) - 1}", [1, CHANNELS[-1], 4, 4])]
    source, result = (helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in ends)
    graph = helper.make_graph(nodes, "convolutions", [source], [result], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9).SerializeToString()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Cache of compiled launches, most of which both tests use."""
    return tmp_path_factory.mktemp("cache")


def check_values(network: CompiledNetwork) -> None:
    """The outputs equal those of ONNX Runtime; every memory access is checked."""
    inputs = {"x0": np.random.default_rng(5).standard_normal((1, CHANNELS[0], 64, 64)).astype(np.float32)}
    found = network.run(inputs, check=True).outputs
    for name, value in Oracle(convolutions()).run(inputs).items():
        np.testing.assert_allclose(found[name], value, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
def test_few_large_launches_are_tried_as_well_as_small_ones(folder: Path) -> None:
    """Launches of half the budget would separate convolutions from their poolings; larger ones are tried too."""
    options = SubgraphOptions(cache=folder)
    needed = compile(convolutions(), "edge", subgraphs=options).executable.dram_bytes_used
    amount = int(0.8 * needed)
    network = compile(convolutions(), "edge", subgraphs=options, budget=Budget(amount))
    check_values(network)
    assert network.executable.dram_bytes_used <= amount
    large, small = (
        compile(convolutions(), "edge", subgraphs=options, budget=Budget(amount, launch_bytes=size)).timing.total_cycles
        for size in (amount, needed // 4)
    )
    assert network.timing.total_cycles == large < small


@pytest.mark.slow
def test_a_budget_of_the_whole_chip_is_never_slower_than_none(folder: Path) -> None:
    options = SubgraphOptions(cache=folder)
    needed = compile(convolutions(), "edge", subgraphs=options).executable.dram_bytes_used
    chip = replace(load_chip("edge"), name="small", dram_bytes=int(0.8 * needed))
    plain = compile(convolutions(), chip, subgraphs=options)
    with pytest.warns(MeshloomWarning, match="parts of the network fit in turn, in"):
        network = compile(convolutions(), chip, subgraphs=options, budget=Budget())
    check_values(network)
    assert network.timing.total_cycles <= plain.timing.total_cycles

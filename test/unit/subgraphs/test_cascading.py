"""Tests of cascades: operands of a stripe, choice of cascades, and their gain."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce

import numpy as np
import pytest
from meshloom.analysis.execution.check_semantics import difference
from meshloom.analysis.execution.interpret import run_main
from meshloom.analysis.semantic_effect import EXACT, looser
from meshloom.analysis.tasks.cascades import choose_cascades
from meshloom.analysis.tasks.stripes import Stripe, stripes_of
from meshloom.chips import load_chip
from meshloom.dialects.dataflow.entry_function import find_main
from meshloom.emulator.functional.engine import run_functional
from meshloom.emulator.timing.engine import run_timing
from meshloom.frontend.onnx_import import import_onnx
from meshloom.lowering.driver.compile_module import SubgraphOptions, compile_module
from meshloom.tools.oracle import Oracle, compare
from meshloom.transforms.dataflow_cascade import run_in_stripes, weight_names
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from meshloom.testing import RandomNetwork

TINY = load_chip("tiny")


def convolutions(rows: int, columns: int, strides: tuple[int, ...], channels: int = 8) -> ModelProto:
    """Convolutions of 3 x 3 with padding 1, each followed by a Relu; the output is the mean of all positions."""
    rng = np.random.default_rng(0)
    nodes: list[NodeProto] = []
    weights: list[TensorProto] = []
    value, inputs = "x", 1
    for number, stride in enumerate(strides):
        weight = rng.standard_normal((channels, inputs, 3, 3)).astype(np.float32) / 6
        weights.append(numpy_helper.from_array(weight, f"w{number}"))
        nodes.append(
            helper.make_node("Conv", [value, f"w{number}"], [f"c{number}"], pads=[1] * 4, strides=[stride] * 2)
        )
        nodes.append(helper.make_node("Relu", [f"c{number}"], [f"r{number}"]))
        value, inputs = f"r{number}", channels
    nodes.append(helper.make_node("ReduceMean", [value], ["y"], axes=[2, 3]))
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1, rows, columns])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, channels, 1, 1])
    graph = helper.make_graph(nodes, "chain", [x], [y], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def test_stripes_grow_by_the_window_of_each_operator() -> None:
    block = find_main(import_onnx(convolutions(40, 8, (1, 2, 1)).SerializeToString(), {})).body.block
    ops = [op for op in block.ops if op.results and (op.results[0].name_hint or "") in ("c0 r0 c1 r1 c2 r2".split())]
    found = stripes_of(ops, ops[-1].results[0], Stripe(2, 6, 10))
    assert found is not None
    needed, tiles = found
    # A convolution reads rows stride x low - 1 to stride x (high - 1) + 2: 5 to 11, then 9 to 22, then 8 to 23.
    rows = {op.results[0].name_hint: (needed[op.results[0]].low, needed[op.results[0]].high) for op in ops}
    assert rows == {"c2": (6, 10), "r2": (6, 10), "c1": (5, 11), "r1": (5, 11), "c0": (9, 22), "r0": (9, 22)}
    assert needed[block.args[0]] == Stripe(2, 8, 23)
    assert list(tiles) == ops[::-1]


def test_values_that_are_needed_whole_have_no_stripes() -> None:
    block = find_main(import_onnx(convolutions(8, 8, (1, 1)).SerializeToString(), {})).body.block
    ops = [op for op in block.ops if op.operands and op is not block.last_op]
    assert (
        stripes_of(ops, ops[-1].results[0], Stripe(1, 0, 2)) is None
    )  # each channel of the second depends on all channels of the first


@pytest.mark.parametrize("seed", range(12))
def test_networks_keep_their_results(seed: int) -> None:
    network = RandomNetwork(seed, operations=10)
    x = {"x": network.input()}
    expected = run_main(network.module, x)
    function = find_main(network.module)
    chosen = choose_cascades(function.body.block, replace(TINY, sram_bytes=256), 0.5).cascades
    effects = run_in_stripes(function, chosen, weight_names(network.module))
    network.module.verify()
    for name, value in run_main(network.module, x).items():
        assert difference(expected[name], value, reduce(looser, effects, EXACT)) is None


@pytest.mark.slow
def test_values_that_do_not_fit_are_computed_in_stripes() -> None:
    model = convolutions(160, 100, (1, 2))  # values of 512,000 and 128,000 bytes; 'tiny' has 262,144 of SRAM
    automatic = compile_module(import_onnx(model.SerializeToString(), {}), TINY)
    whole = compile_module(
        import_onnx(model.SerializeToString(), {}), TINY, options=SubgraphOptions(split_failures=False)
    )
    assert "with chains in" in automatic.log.entries[-1].text
    taken, before = run_timing(automatic.executable), run_timing(whole.executable)
    # Without stripes, the first value is stored in DRAM.
    assert sum(before.port_written) >= 512_000 > sum(taken.port_written)
    assert taken.cycles < 0.7 * before.cycles
    inputs = {"x": np.random.default_rng(1).standard_normal((1, 1, 160, 100)).astype(np.float32)}
    outputs = run_functional(automatic.executable, inputs, check=True).outputs
    for name, value in Oracle(model.SerializeToString()).run(inputs).items():
        assert compare(name, outputs[name], value).equal


def test_values_that_fit_are_not_cut() -> None:
    block = find_main(import_onnx(convolutions(40, 40, (1, 2)).SerializeToString(), {})).body.block
    plan = choose_cascades(block, TINY, 0.5)
    assert plan.cascades == ()
    assert plan.cycles == plan.plain_cycles


@pytest.mark.parametrize("channels", [(5, 7), (1, 11), (16, 1)])
def test_chains_with_concatenated_channels_keep_their_results(channels: tuple[int, int]) -> None:
    """Cascades keep results over a concatenation of channels, of which a stripe may need one operand or both."""
    nodes = [helper.make_node("Conv", ["x", f"w{n}"], [f"c{n}"], pads=[1] * 4) for n in range(2)]
    nodes += [
        helper.make_node("Concat", ["c0", "c1"], ["c"], axis=1),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("ReduceMean", ["r"], ["y"], axes=[2, 3]),
    ]
    weights = [
        numpy_helper.from_array(
            np.random.default_rng(n).standard_normal((channels[n], 1, 3, 3)).astype(np.float32), f"w{n}"
        )
        for n in range(2)
    ]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1, 64, 64])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, sum(channels), 1, 1])
    graph = helper.make_graph(nodes, "joined", [x], [y], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    values = {"x": np.random.default_rng(3).standard_normal((1, 1, 64, 64)).astype(np.float32)}
    for share in (0.5, 0.25, 0.1, 0.05):
        module = import_onnx(model.SerializeToString(), {})
        expected = run_main(module, values)
        function = find_main(module)
        run_in_stripes(function, choose_cascades(function.body.block, TINY, share).cascades, weight_names(module))
        module.verify()
        np.testing.assert_allclose(run_main(module, values)["y"], expected["y"], rtol=1e-5, atol=1e-5)

"""Tests of weights with several readers, which stay resident in SRAM: bytes loaded from DRAM, and results."""

from __future__ import annotations

import numpy as np
import pytest
from meshloom.analysis.planning.kept_constants import find_sharing
from meshloom.analysis.planning.network_plan import NetworkPlan
from meshloom.analysis.planning.placement import column_major
from meshloom.analysis.planning.plan_memo import PlanMemo
from meshloom.analysis.planning.plan_network import plan_network
from meshloom.chips import Chip, load_chip
from meshloom.dialects.dataflow.entry_function import find_main
from meshloom.frontend.onnx_import import import_onnx
from meshloom.lowering.dataflow_to_manycore import lower_block
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

import meshloom

TINY = load_chip("tiny")


def chain(widths: list[int], times: int) -> tuple[ModelProto, list[np.ndarray]]:
    """Layers x = relu(x W) with square weights, repeated `times` times with the same weights; and the weights."""
    generator = np.random.default_rng(0)
    size = widths[0]
    weights = [(generator.standard_normal((size, size)) / np.sqrt(size)).astype(np.float32) for _ in widths]
    nodes: list[NodeProto] = []
    last = "x"
    for time in range(times):
        for number in range(len(widths)):
            nodes.append(helper.make_node("MatMul", [last, f"w{number}"], [f"m{time}_{number}"]))
            nodes.append(helper.make_node("Relu", [f"m{time}_{number}"], [f"r{time}_{number}"]))
            last = f"r{time}_{number}"
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "chain",
        [value("x", TensorProto.FLOAT, [1, size])],
        [value(last, TensorProto.FLOAT, [1, size])],
        [numpy_helper.from_array(weight, f"w{number}") for number, weight in enumerate(weights)],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)]), weights


def run(size: int, layers: int, times: int, chip: str = "tiny") -> int:
    """Bytes read from DRAM in a run, whose results are checked against float64."""
    model, weights = chain([size] * layers, times)
    x = np.random.default_rng(1).standard_normal((1, size)).astype(np.float32)
    expected = x.astype(np.float64)
    for _ in range(times):
        for weight in weights:
            expected = np.maximum(expected @ weight, 0)
    result = meshloom.compile(model, chip=chip).run({"x": x})
    (output,) = result.outputs.values()
    np.testing.assert_allclose(output, expected, atol=1e-4 * np.abs(expected).max() + 1e-6)
    return result.stats["bytes"]["dram_read"]


def planned(size: int, layers: int, times: int, chip: Chip = TINY) -> NetworkPlan:
    """The plan of the tasks of the network of `chain`."""
    function = find_main(import_onnx(chain([size] * layers, times)[0]))
    lower_block(function.body.block)
    return plan_network(function, chip, column_major(chip))


@pytest.mark.parametrize(("layers", "times"), [(1, 2), (1, 6), (2, 3)])
def test_weights_that_fit_are_read_from_dram_once(layers: int, times: int) -> None:
    weights = layers * 96 * 96 * 4
    read = run(96, layers, times)
    assert weights <= read <= 1.1 * (weights + 96 * 4)


def test_weights_that_do_not_fit_are_read_every_time() -> None:
    """Two matrices of 256 x 256 take 512 KB, but the four cores of `tiny` have 256 KB together."""
    weights = 2 * 256 * 256 * 4
    read = run(256, 2, 3)
    assert read >= 2 * weights


def test_weights_that_fit_are_resident_and_the_rest_is_not() -> None:
    """Of two matrices of 128 KB each, one is resident, as it fits into 0.7 of the 256 KB of the cores."""
    network = planned(180, 2, 3)
    assert set(network.kept) == {(0, 1), (2, 1), (4, 1)}
    assert [plan.sizes[1].found for plan in network.plans] == [False, False, True, False, True, False]


def test_only_the_first_task_loads_and_all_have_the_same_tiling() -> None:
    network = planned(96, 2, 4)
    assert len(network.tasks) == 8
    (weights,) = network.plans[0].kept_reads()
    for number, plan in enumerate(network.plans):
        assert plan.kept_reads() == [weights]
        assert plan.sizes[weights].found == (number >= 2)
        assert network.kept[number, weights] == (number % 2, weights)
        assert plan.tiling.cores == network.plans[number % 2].tiling.cores
        assert plan.tiling.grid == network.plans[number % 2].tiling.grid
        assert (plan.sizes[weights].dram_bytes == 0) == (number >= 2)
    assert network.kept_until == {(0, weights): 6, (1, weights): 7}


def test_equal_tasks_share_large_weights() -> None:
    """Weights of 32 x 32, which have 4096 bytes, are shared; those of 31 x 31, which have fewer, are not."""
    for size, expected in ((32, 1), (31, 0)):
        function = find_main(import_onnx(chain([size], 3)[0]))
        lower_block(function.body.block)
        memo = PlanMemo()
        tasks = plan_network(function, TINY, column_major(TINY), memo).tasks
        sharing = find_sharing(tasks, list(map(memo.number, tasks)))
        assert len(sharing) == expected
        if sharing:
            assert sharing[0].tasks == (0, 1, 2)
    assert not find_sharing(tasks[:1], [0])

"""Tests of pruned networks, dense and encoded: results, sizes, and declared cycles against counted ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from meshloom.analysis.execution.interpret import make_inputs, run_main
from meshloom.analysis.sparse.layer_cost import Objective
from meshloom.chips import load_chip
from meshloom.emulator.functional.engine import run_functional
from meshloom.emulator.timing.engine import run_timing
from meshloom.frontend.prune_onnx import prune_onnx
from meshloom.lowering.driver.compile_module import compile_module
from meshloom.lowering.driver.compile_sparse import compile_encoded, encode_weights
from meshloom.tools.compile import main as compile_main
from meshloom.tools.read_module import read_module
from meshloom.tools.report.sparse_cycles import sparse_cycles
from meshloom.tools.run import main as run_main_tool
from meshloom.tools.sparsity import main as sparsity_main
from meshloom.transforms.dataflow_fold_affine import DataflowFoldAffinePass
from meshloom.transforms.dataflow_prune import DataflowPrunePass
from meshloom.transforms.sparse_balance_lanes import balance_lanes
from onnx import ModelProto, TensorProto, helper, numpy_helper
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

ROOT = Path(__file__).resolve().parents[3]
RNET = ROOT / "models" / "rnet.onnx"
SHAPES = {"input_2": (1, 24, 24, 3)}


@pytest.mark.parametrize("name", ["tiny", pytest.param("edge", marks=pytest.mark.slow)])
def test_a_real_network(name: str) -> None:
    chip = load_chip(name)
    module = read_module(RNET, SHAPES)
    DataflowFoldAffinePass().apply(Context(), module)
    DataflowPrunePass(density=0.1).apply(Context(), module)
    inputs = make_inputs(module, 0)
    expected = run_main(module, inputs)
    dense = compile_module(module.clone(), chip).executable
    encode_weights(module, chip)
    sparse = compile_module(module, chip).executable
    run = run_functional(sparse, inputs, check=True)
    for output, value in expected.items():
        np.testing.assert_allclose(run.outputs[output], value, rtol=0, atol=1e-5 * float(np.abs(value).max()))
    assert dense.weight_bytes > 5 * sparse.weight_bytes
    layers = sparse_cycles(sparse, run.mapped)
    assert len(layers) >= 4
    for declared, counted in layers.values():
        assert abs(declared / counted - 1) < 0.05
    assert run_timing(sparse, mapped=run.mapped).cycles < run_timing(dense).cycles


@pytest.mark.parametrize(
    ("cycles", "objective", "taken"),
    [
        ([7000, 7100, 10000], "loads", True),
        ([7000, 6994, 10000], "loads", True),
        ([7000, 6992, 10000], "cycles", True),
        ([9991, 10100, 10000], "loads", False),
        ([9989, 10100, 10000], "loads", True),
    ],
)
def test_the_fastest_network_is_taken(cycles: list[int], objective: Objective, taken: bool) -> None:
    """
    The fastest of three variants is taken, within the accept ratio.

    The variants, with `cycles`, are: few loads of weights, few cycles of each layer, dense.
    """
    module = read_module(RNET, SHAPES)
    DataflowPrunePass(density=0.1, method="balanced", smallest=1000).apply(Context(), module)
    compiled: list[ModuleOp] = []

    def compile(one: ModuleOp) -> ModuleOp:
        compiled.append(one)
        return one

    network = compile_encoded(module, load_chip("edge"), compile, lambda one: cycles[compiled.index(one)])
    assert (network.objective, network.taken) == (objective, taken)
    assert compiled.index(network.compilation) == (["loads", "cycles"].index(objective) if taken else 2)
    assert ["sparse.encode" in {op.name for op in one.walk()} for one in compiled] == [True, True, False]


@pytest.mark.parametrize(
    ("cycles", "taken", "removed"),
    [
        ([7000, 7100, 7000, 7000, 8000, 10000], True, True),
        ([7000, 7100, 6999, 6994, 8000, 10000], True, True),
        ([7000, 7100, 6999, 6900, 8000, 10000], True, False),
        ([7000, 7100, 7000, 7000, 6500, 6500], False, True),
        ([7000, 7100, 7000, 7000, 6500, 6499], False, False),
        ([7000, 7100, 7000, 7000, 7500, 6990], False, False),
    ],
)
def test_zero_channels_are_kept_only_if_that_is_faster(cycles: list[int], taken: bool, removed: bool) -> None:
    """
    Zero channels are kept only if the network is faster with them.

    The variants, with `cycles`, are: two encoded networks without zero channels, two with them; dense without and with.
    """
    module = read_module(RNET, SHAPES)
    DataflowPrunePass(density=0.1).apply(Context(), module)
    compiled: list[ModuleOp] = []

    def compile(one: ModuleOp) -> ModuleOp:
        compiled.append(one)
        return one

    network = compile_encoded(module, load_chip("edge"), compile, lambda one: cycles[compiled.index(one)])
    assert (network.taken, bool(network.removed)) == (taken, removed)
    assert len(compiled) == 6
    expected = {(True, True): 0, (True, False): 3, (False, True): 4, (False, False): 5}[taken, removed]
    assert compiled.index(network.compilation) == expected


def test_balanced_lanes_keep_results() -> None:
    module = read_module(RNET, SHAPES)
    DataflowFoldAffinePass().apply(Context(), module)
    DataflowPrunePass(density=0.1).apply(Context(), module)
    inputs = make_inputs(module, 1)
    before = run_main(module, inputs)
    moved = balance_lanes(module, load_chip("tiny"))
    module.verify()
    # Channels of the inner layers are permuted; those of the results must not be.
    assert len(moved) >= 2
    assert all(one.before < one.after <= 1 for one in moved)
    for name, value in run_main(module, inputs).items():
        np.testing.assert_allclose(value, before[name], rtol=0, atol=1e-5 * float(np.abs(value).max()))


def test_pruned_model_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    generator = np.random.default_rng(0)
    initializers = [
        numpy_helper.from_array(generator.standard_normal(shape).astype(np.float32), name)
        for name, shape in (("w", (64, 32, 3, 3)), ("d", (64, 1, 3, 3)), ("v", (64, 40)), ("bias", (40,)))
    ]
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"]),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("Conv", ["b", "d"], ["c"], group=64),
        helper.make_node("ReduceMean", ["c"], ["e"], axes=[2, 3], keepdims=0),
        helper.make_node("Gemm", ["e", "v", "bias"], ["y"]),
    ]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 32, 10, 10])]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 40])]
    graph = helper.make_graph(nodes, "net", inputs, outputs, initializers)
    model, pruned, program = (str(tmp_path / name) for name in ("net.onnx", "pruned.onnx", "net.mlx"))
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    Path(model).write_bytes(made.SerializeToString())
    assert sparsity_main([model, "--prune", "0.1", "-o", pruned]) == 0
    written = ModelProto.FromString(Path(pruned).read_bytes()).graph.initializer
    counts = {tensor.name: np.count_nonzero(numpy_helper.to_array(tensor)) for tensor in written}
    assert counts == {"w": round(64 * 32 * 9 * 0.1), "d": 64 * 9, "v": round(64 * 40 * 0.1), "bias": 40}
    assert compile_main([pruned, "--chip", "edge", "--sparse", "-o", program]) == 0
    assert run_main_tool([program, "--random", "0", "--validate", "--check", pruned]) == 0
    assert "OK: all outputs equal ONNX Runtime's" in capsys.readouterr().out
    # The check can fail: the results differ from those of the network before pruning.
    assert run_main_tool([program, "--random", "0", "--check", model]) == 1
    assert sparsity_main([model, "-o", pruned]) == 2
    assert "give an .onnx model and --prune DENSITY" in capsys.readouterr().err


def test_pruning_includes_weights_used_in_subgraphs_of_nodes(tmp_path: Path) -> None:
    weights = numpy_helper.from_array(np.arange(1, 17, dtype=np.float32).reshape(4, 4), "w")
    value = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4])
    inner = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "inner", [], [value])
    choice = helper.make_node("If", ["flag"], ["y"], then_branch=inner, else_branch=inner)
    inputs = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4]),
        helper.make_tensor_value_info("flag", TensorProto.BOOL, []),
    ]
    graph = helper.make_graph([choice], "net", inputs, [value], [weights])
    path = tmp_path / "net.onnx"
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    path.write_bytes(made.SerializeToString())
    (kept,) = prune_onnx(path, 0.25).graph.initializer
    assert numpy_helper.to_array(kept).reshape(-1).tolist() == [0.0] * 12 + [13.0, 14.0, 15.0, 16.0]


def test_balanced_pruning_keeps_equally_many_weights_of_each_output_neuron(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    shapes = {
        "conv": (8, 3, 2, 2), "spread": (4, 5, 3, 3), "gemm": (6, 10), "turned": (10, 6), "left": (7, 12),
        "lstm": (2, 12, 8),
    }  # fmt: skip
    nodes = [
        helper.make_node("Conv", ["a", "conv"], ["1"], group=2),
        helper.make_node("ConvTranspose", ["b", "spread"], ["2"], group=2),
        helper.make_node("Gemm", ["c", "gemm"], ["3"]),
        helper.make_node("Gemm", ["c", "turned"], ["4"], transB=1),
        helper.make_node("MatMul", ["left", "d"], ["5"]),
        helper.make_node("LSTM", ["e", "lstm", "r"], ["6"], hidden_size=3, direction="bidirectional"),
    ]
    values = {name: generator.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    for value in values.values():
        value.reshape(-1)[: value.size // 2] *= 10  # so that pruning by magnitude alone would keep the first half only
    weights = [numpy_helper.from_array(value, name) for name, value in values.items()]
    result = helper.make_tensor_value_info("1", TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "net", [], [result], weights)
    path = tmp_path / "net.onnx"
    path.write_bytes(helper.make_model(graph).SerializeToString())
    written = prune_onnx(path, 0.5, "balanced").graph.initializer
    pruned = {tensor.name: numpy_helper.to_array(tensor) for tensor in written}
    kept = {name: value != 0 for name, value in pruned.items()}
    assert kept["conv"].sum(axis=(1, 2, 3)).tolist() == [6] * 8
    # Output neuron o of group g has the inputs 2g and 2g + 1.
    assert kept["spread"].reshape(2, 2, 5, 9).sum(axis=(1, 3)).tolist() == [[9] * 5] * 2
    assert kept["gemm"].sum(axis=0).tolist() == [3] * 10
    assert kept["turned"].sum(axis=1).tolist() == [3] * 10
    assert kept["left"].sum(axis=1).tolist() == [6] * 7
    assert kept["lstm"].sum(axis=2).tolist() == [[4] * 12] * 2
    assert all((pruned[name][mask] == values[name][mask]).all() for name, mask in kept.items())

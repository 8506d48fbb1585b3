"""Tests of the passes for pruning and for the choice of encodings: exact results, dense weights, shared weights."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from meshloom.analysis.execution.interpret import Array, make_inputs, run_main
from meshloom.analysis.semantic_effect import reassociating, semantic_effect_of
from meshloom.chips import load_chip
from meshloom.dialects import dataflow, sparse
from meshloom.dialects.dataflow.constants import widen_bf16
from meshloom.dialects.dataflow.types import element_bytes, element_of, shape_of, tensor
from meshloom.formats.sparse.index_formats import Kind
from meshloom.support.errors import InputError
from meshloom.transforms.dataflow_prune import DataflowPrunePass
from meshloom.transforms.shared.constants import rounded, source_of
from meshloom.transforms.shared.contraction_weights import numeric_values, weight_uses
from meshloom.transforms.shared.sparse_plan import plan_encodings
from meshloom.transforms.sparse_prune_groups import SparsePruneGroupsPass
from meshloom.transforms.sparse_select_encoding import SparseSelectEncodingPass
from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import FunctionType, ModuleOp, bf16, f32, i8
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

ROOT = Path(__file__).resolve().parents[3]


def network(weights: Array, element: Attribute = f32, transpose: bool = False) -> ModuleOp:
    """Two matrix products with the same weights: of the input, and of the input with reversed rows and columns."""
    inputs = weights.shape[1] if transpose else weights.shape[0]
    function = FuncOp("main", FunctionType.from_lists([tensor(element, (3, inputs))], []))
    builder = Builder(InsertPoint.at_end(function.body.block))
    (x,) = function.body.block.args
    stored = weights if element == i8 else rounded(weights.astype(np.float64), element)
    w = builder.insert(source_of(stored, element, "w")).results[0]
    reverse = builder.insert(dataflow.SliceOp(x, [2, 0], [3, inputs], [-1, 1])).results[0]
    results: list[SSAValue] = [
        builder.insert(dataflow.MatmulOp(neurons, w, transpose_b=transpose)).result for neurons in (x, reverse)
    ]
    builder.insert(ReturnOp(*results))
    function.function_type = FunctionType.from_lists([x.type], [value.type for value in results])
    module = ModuleOp([function])
    module.verify()
    return module


def sparse_ops(module: ModuleOp) -> list[str]:
    return [op.name for op in module.walk() if op.name.startswith("sparse.")]


@settings(max_examples=25, deadline=None)
@given(
    density=st.floats(0, 1),
    element=st.sampled_from([f32, bf16, i8]),
    transpose=st.booleans(),
    groups=st.sampled_from([(1,), (1, 4)]),
    seed=st.integers(0, 1 << 32),
)
def test_selection_changes_no_bit(
    density: float, element: Attribute, transpose: bool, groups: tuple[int, ...], seed: int
) -> None:
    generator = np.random.default_rng(seed)
    shape = (24, 16)
    weights = (generator.integers(1, 99, shape) * (generator.random(shape) < density)).astype(np.int8)
    module = network(weights, element, transpose)
    inputs = make_inputs(module, seed % 1000)
    before = run_main(module, inputs)
    select = SparseSelectEncodingPass(groups=groups)
    # No weight is -0, so that no bit changes; otherwise the sign of a zero result may change.
    assert semantic_effect_of(select) == reassociating(0.0)
    plans = plan_encodings(module, groups)
    select.apply(Context(), module)
    module.verify()
    after = run_main(module, inputs)
    assert {name: value.tobytes() for name, value in before.items()} == {
        name: value.tobytes() for name, value in after.items()
    }
    dense = weights.size * element_bytes(element)
    for plan in plans:
        assert plan.choice.nbytes <= dense
        assert (plan.choice.format is None) == (plan.choice.nbytes == dense)
    # Both products use one encoding.
    encoded = plans[0].choice.format is not None
    assert sparse_ops(module) == (["sparse.encode", "sparse.matmul", "sparse.matmul"] if encoded else [])


def test_convolution_in_groups_and_group_pruning() -> None:
    generator = np.random.default_rng(3)
    function = FuncOp("main", FunctionType.from_lists([tensor(f32, (1, 8, 5, 5))], []))
    builder = Builder(InsertPoint.at_end(function.body.block))
    weights = generator.standard_normal((6, 4, 3, 3)).astype(np.float32)
    w = builder.insert(source_of(weights, f32, "w")).results[0]
    x = function.body.block.args[0]
    conv = builder.insert(dataflow.ConvOp(x, w, pad_low=(1, 1), pad_high=(0, 1), strides=(1, 2), groups=2))
    builder.insert(ReturnOp(conv.result))
    function.function_type = FunctionType.from_lists([x.type], [conv.result.type])
    module = ModuleOp([function])
    SparsePruneGroupsPass(weight_group_size=9, weight_threshold=0.5, weight_limit=3, neuron_groups=5,
                          neuron_threshold=0.2, neuron_limit=4).apply(Context(), module)  # fmt: skip
    (use,) = weight_uses(module)
    # A group of 9 neighbours is the kernel of one output and one input channel.
    small = (np.abs(weights) <= 0.5).sum(axis=(2, 3), keepdims=True)
    wanted = np.where(small > 3, np.float32(0), weights)
    assert 0 < (wanted != 0).mean() < 1
    assert numeric_values(use.source).tolist() == wanted.tolist()
    inputs = make_inputs(module, 1)
    before = run_main(module, inputs)
    SparseSelectEncodingPass(groups=(1, 9)).apply(Context(), module)
    module.verify()
    assert sparse_ops(module) == ["sparse.prune_groups", "sparse.encode", "sparse.conv"]
    assert [a.tobytes() for a in run_main(module, inputs).values()] == [b.tobytes() for b in before.values()]


def test_pruned_densities() -> None:
    weights = np.random.default_rng(0).standard_normal((64, 32)).astype(np.float32)
    module = network(weights, bf16, transpose=True)
    DataflowPrunePass(method="n_m", n=1, m=8).apply(Context(), module)
    (use, _) = weight_uses(module)
    values = numeric_values(use.source)
    blocks = np.abs(widen_bf16(rounded(weights.astype(np.float64), bf16))).reshape(64, 4, 8)
    assert (np.abs(values).reshape(64, 4, 8).max(axis=2) == blocks.max(axis=2)).all()
    assert np.count_nonzero(values) == 64 * 4
    module = network(weights)
    DataflowPrunePass(density=0.1, smallest=64 * 32 + 1).apply(Context(), module)
    assert np.count_nonzero(numeric_values(weight_uses(module)[0].source)) == 64 * 32


@pytest.mark.parametrize("transpose", [False, True])
def test_balanced_pruning_keeps_equally_many_weights_of_each_output(transpose: bool) -> None:
    weights = np.random.default_rng(0).standard_normal((64, 32)).astype(np.float32)
    weights[:, 5] *= 10
    module = network(weights, f32, transpose=transpose)
    DataflowPrunePass(method="balanced", density=0.25).apply(Context(), module)
    (use, _) = weight_uses(module)
    kept = np.count_nonzero(numeric_values(use.source), axis=1 - use.axis)
    assert kept.tolist() == ([8] * 64 if transpose else [16] * 32)


def test_selection_by_cycles_is_never_slower() -> None:
    for density in (0.02, 0.2, 0.9):
        generator = np.random.default_rng(0)
        weights = generator.standard_normal((256, 256)) * (generator.random((256, 256)) < density)
        module = network(weights.astype(np.float32))
        for chip in ("tiny", "edge"):
            for plan in plan_encodings(module, chip=load_chip(chip)):
                assert plan.dense is not None
                assert plan.chosen is not None
                assert plan.chosen.cycles <= plan.dense.cycles
                assert plan.choice is plan.chosen.choice


def test_real_network_keeps_its_results() -> None:
    from meshloom.tools.read_module import read_module

    module = read_module(ROOT / "models" / "rnet.onnx", {"input_2": (1, 24, 24, 3)})
    DataflowPrunePass(density=0.15).apply(Context(), module)
    inputs = make_inputs(module, 0)
    before = run_main(module, inputs)
    SparseSelectEncodingPass().apply(Context(), module)
    module.verify()
    assert sparse_ops(module).count("sparse.conv") == 3
    assert [a.tobytes() for a in run_main(module, inputs).values()] == [b.tobytes() for b in before.values()]


@pytest.mark.parametrize("element", [f32, i8])
def test_encoded_neurons_and_weights_multiply_as_dense_ones(element: Attribute) -> None:
    generator = np.random.default_rng(5)
    kind = np.float32 if element == f32 else np.int8
    x, w = ((generator.integers(-9, 9, (4, 12)) * (generator.random((4, 12)) < 0.4)).astype(kind) for _ in range(2))
    function = FuncOp("main", FunctionType.from_lists([tensor(element, (4, 12))] * 2, []))
    builder = Builder(InsertPoint.at_end(function.body.block))
    neurons, weights = (
        builder.insert(sparse.EncodeOp(argument, index)).result
        for argument, index in zip(
            function.body.block.args, (sparse.IndexAttr(Kind.DIRECT), sparse.IndexAttr(Kind.STRIDE, 3)), strict=True
        )
    )
    dense = dataflow.MatmulOp(*function.body.block.args, transpose_b=True)
    product = builder.insert(sparse.MatmulOp.of(dense, neurons, weights))
    builder.insert(ReturnOp(product.result))
    function.function_type = FunctionType.from_lists([tensor(element, (4, 12))] * 2, [product.result.type])
    module = ModuleOp([function])
    module.verify()
    assert shape_of(product.result) == (4, 4)
    result = run_main(module, {"arg0": x, "arg1": w})["result0"]
    wanted = x.astype(np.int64) @ w.astype(np.int64).T
    assert result.tolist() == wanted.tolist()
    assert str(element_of(product.result)) == ("f32" if element == f32 else "i32")


@pytest.mark.parametrize(
    ("module_pass", "message"),
    [
        (DataflowPrunePass(density=1.5), "density=1.5: expected a number from 0 to 1"),
        (DataflowPrunePass(method="n_m", n=3, m=2), "n=3 m=2: expected 0 <= n <= m"),
        (SparsePruneGroupsPass(), "nothing to prune: give weight_groups, weight_group_size or neuron_groups"),
        (SparsePruneGroupsPass(weight_groups=2), "groups of weights and weight_limit: give both or none"),
        (SparsePruneGroupsPass(weight_groups=2, weight_group_size=2, weight_limit=1), "not both"),
        (SparsePruneGroupsPass(neuron_groups=0, neuron_limit=1), "neurons: expected at least 1 group"),
        (
            SparsePruneGroupsPass(weight_groups=2, weight_limit=1, weight_threshold=-1.0),
            "weight_threshold=-1.0: expected a number of at least 0",
        ),
        (SparseSelectEncodingPass(threshold=-1.0), "threshold=-1.0: expected a number of at least 0"),
        (SparseSelectEncodingPass(groups=(1, 0)), "groups=1,0: expected at least 1"),
        (SparseSelectEncodingPass(objective="cycles"), "no chip is given: use sparse-select-encoding{objective=cycles"),
    ],
)
def test_bad_options(module_pass: ModulePass, message: str) -> None:
    module = network(np.eye(8, dtype=np.float32))
    with pytest.raises(InputError, match=re.escape(message)):
        module_pass.apply(Context(), module)

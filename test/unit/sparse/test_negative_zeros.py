"""Tests of weights of -0, which result from multiplication by a mask: they are not stored, and no number changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from meshloom.analysis.execution.check_semantics import SemanticsChecker
from meshloom.analysis.execution.interpret import make_inputs, run_main
from meshloom.chips import load_chip
from meshloom.dialects import dataflow
from meshloom.dialects.dataflow.types import tensor
from meshloom.emulator.executable.executable import read_executable
from meshloom.emulator.functional.engine import run_functional
from meshloom.emulator.timing.engine import run_timing
from meshloom.tools.compile import main as compile_main
from meshloom.transforms.shared.constants import rounded, source_of
from meshloom.transforms.shared.sparse_plan import plan_encodings
from meshloom.transforms.sparse_select_encoding import SparseSelectEncodingPass
from meshloom.transforms.sparse_split_inputs import split_inputs
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import FunctionType, ModuleOp, bf16, f16, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute
from xdsl.rewriter import InsertPoint

EDGE = load_chip("edge")


def masked(inputs: int, outputs: int, density: float = 0.1) -> NDArray[np.float64]:
    """Weights multiplied by a mask; about half of the zeros are -0."""
    generator = np.random.default_rng(7)
    weights = generator.standard_normal((inputs, outputs)) * (generator.random((inputs, outputs)) < density)
    assert 0.3 < np.signbit(weights[weights == 0]).mean() < 0.7
    return weights


def product(weights: NDArray[np.float64], element: Attribute = f32, rows: int = 3) -> ModuleOp:
    """A matrix product with the given weights."""
    function = FuncOp("main", FunctionType.from_lists([tensor(element, (rows, len(weights)))], []))
    builder = Builder(InsertPoint.at_end(function.body.block))
    w = builder.insert(source_of(rounded(weights, element), element, "w")).results[0]
    result = builder.insert(dataflow.MatmulOp(function.body.block.args[0], w)).result
    builder.insert(ReturnOp(result))
    function.function_type = FunctionType.from_lists(function.body.block.arg_types, [result.type])
    module = ModuleOp([function])
    module.verify()
    return module


@pytest.mark.parametrize("element", [f32, bf16, f16], ids=str)
def test_negative_zeros_are_not_stored(element: Attribute) -> None:
    weights = masked(64, 32)
    plans = [plan_encodings(product(one, element)) for one in (weights, weights + 0.0)]
    (with_negative,), (without,) = plans
    assert with_negative.choice.format is not None
    assert with_negative.choice == without.choice
    assert with_negative.reason == ""


def test_negative_zeros_change_no_number() -> None:
    weights = masked(64, 32)
    module = product(weights)
    inputs = make_inputs(module, 3)
    (x,) = inputs.values()
    checker = SemanticsChecker()
    checker.visit(None, module)
    select = SparseSelectEncodingPass()
    select.apply(Context(), module)
    checker.visit(select, module)
    assert [op.name for op in module.walk() if op.name.startswith("sparse.")] == ["sparse.encode", "sparse.matmul"]
    (found,) = run_main(module, inputs).values()
    wanted = x.astype(np.float64) @ weights.astype(np.float32).astype(np.float64)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-6 * np.abs(wanted).max())


def test_only_the_sign_of_a_zero_result_may_change() -> None:
    """The product of an input and a weight of -0 is -0 if computed, and +0 if the weight is not stored."""
    weights = np.full((1, 16), -0.0)
    weights[0, 0] = 2.0
    module = product(weights, rows=1)
    select = SparseSelectEncodingPass()
    checker = SemanticsChecker()
    checker.visit(None, module)
    select.apply(Context(), module)
    checker.visit(select, module)
    assert any(op.name == "sparse.matmul" for op in module.walk())
    (found,) = run_main(module, {name: np.full_like(x, 3) for name, x in make_inputs(module, 0).items()}).values()
    assert found.reshape(-1).tolist() == [6.0] + [0.0] * 15


def test_split_along_inputs_treats_negative_zeros_as_positive_ones() -> None:
    inputs, outputs = 960, 96
    generator = np.random.default_rng(0)
    panel, lane = np.divmod(np.arange(outputs), 32)
    kept = generator.random((inputs, outputs)) < np.where(lane // 4 == panel, 0.5, 0.043)
    positive = np.where(kept, generator.integers(1, 9, (inputs, outputs)), 0.0)
    negative = np.where(kept, positive, -0.0)
    own = [split_inputs(product(one, rows=1), EDGE) for one in (positive, negative)]
    assert own[0] == own[1] != {}


def write_model(path: Path, weights: NDArray[Any]) -> None:
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"])]
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, len(weights)])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, weights.shape[1]])],
        [numpy_helper.from_array(weights.astype(np.float32), "w")],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    path.write_bytes(made.SerializeToString())


def test_a_masked_network_is_as_fast_and_small_as_a_pruned_one(tmp_path: Path) -> None:
    weights = masked(1024, 512)
    one = np.where(weights == 0, 0.0, weights)
    one[np.unravel_index(np.flatnonzero(one == 0)[0], one.shape)] = -0.0
    found: list[tuple[int, int]] = []
    for name, values in (("masked", weights), ("pruned", weights + 0.0), ("one", one)):
        model, program = tmp_path / f"{name}.onnx", tmp_path / f"{name}.mlx"
        write_model(model, values)
        assert compile_main([str(model), "--chip", "edge", "--sparse", "-q", "-o", str(program)]) == 0
        executable = read_executable(program)
        found.append((run_timing(executable).cycles, executable.weight_bytes))
        x = np.random.default_rng(1).standard_normal((4, 1024)).astype(np.float32)
        wanted = x.astype(np.float64) @ weights.astype(np.float32).astype(np.float64)
        np.testing.assert_allclose(
            run_functional(executable, {"x": x}).outputs["y"], wanted, rtol=0, atol=1e-5 * np.abs(wanted).max()
        )
    assert found[0] == found[1] == found[2]
    assert found[0][1] < weights.size * 4 / 5

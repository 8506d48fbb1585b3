"""Tests of the split of one-row products along their inputs: conditions, equal results, and emulated cycles."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from meshloom.analysis.execution.interpret import make_inputs, run_main
from meshloom.analysis.execution.nonzero_activations import nonzero_activations
from meshloom.analysis.planning.split_inputs import best_split, in_parts
from meshloom.analysis.sparse.layer_cost import Layer
from meshloom.analysis.sparse.smallest_encoding import all_choices
from meshloom.chips import Chip, load_chip
from meshloom.dialects import dataflow
from meshloom.dialects.coreasm.isa import Unit
from meshloom.dialects.dataflow.types import tensor
from meshloom.emulator.functional.engine import run_functional
from meshloom.emulator.timing.engine import run_timing
from meshloom.formats.sparse.fibers import Fibers
from meshloom.lowering.driver.compile_module import compile_module
from meshloom.lowering.driver.compile_sparse import encode_weights
from meshloom.tools.report.sparse_cycles import sparse_cycles
from meshloom.transforms.shared.constants import source_of
from meshloom.transforms.shared.sparse_plan import plan_encodings
from meshloom.transforms.sparse_select_encoding import convert
from meshloom.transforms.sparse_split_inputs import split_inputs
from numpy.typing import NDArray
from xdsl.builder import Builder
from xdsl.dialects.builtin import FunctionType, ModuleOp, f16, f32, i8
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute
from xdsl.rewriter import InsertPoint

EDGE = load_chip("edge")
OWN = replace(EDGE, map_lanes="own")
INPUTS, OUTPUTS = 960, 96


def uneven_weights(kind: str = "f4") -> NDArray[Any]:
    """
    Weights [inputs, outputs] of density 0.1: 12 output neurons have density 0.5, the others few weights.

    Each panel of 32 has 4 of the 12 neurons; in one panel of 96, each of them has a separate lane.
    """
    generator = np.random.default_rng(0)
    panel, lane = np.divmod(np.arange(OUTPUTS), 32)
    density = np.where(lane // 4 == panel, 0.5, 0.043)
    kept = generator.random((INPUTS, OUTPUTS)) < density
    return np.where(kept, generator.integers(1, 9, (INPUTS, OUTPUTS)), 0).astype(kind)


def network(
    weights: NDArray[Any], element: Attribute = f32, rows: int = 1, transpose_a: bool = False, transpose_b: bool = False
) -> ModuleOp:
    """The product of relu(x) and the weights."""
    shape = (INPUTS, rows) if transpose_a else (rows, INPUTS)
    function = FuncOp("main", FunctionType.from_lists([tensor(element, shape)], []))
    builder = Builder(InsertPoint.at_end(function.body.block))
    (x,) = function.body.block.args
    stored = weights.T.copy() if transpose_b else weights
    w = builder.insert(source_of(stored, element, "w")).results[0]
    neurons = builder.insert(dataflow.ReluOp(x)).result
    result = builder.insert(dataflow.MatmulOp(neurons, w, transpose_a=transpose_a, transpose_b=transpose_b)).result
    result.name_hint = "layer"
    builder.insert(ReturnOp(result))
    function.function_type = FunctionType.from_lists([x.type], [result.type])
    module = ModuleOp([function])
    module.verify()
    return module


def test_the_sum_of_parts_equals_the_product() -> None:
    generator = np.random.default_rng(1)
    matrix, x = generator.integers(-9, 9, (5, 12)), generator.integers(-9, 9, 12)
    for parts in (1, 2, 3, 4, 6, 12):
        groups = in_parts(matrix, parts).reshape(parts, 5, 12 // parts)
        sums = sum(group @ own for group, own in zip(groups, x.reshape(parts, -1), strict=True))
        assert np.asarray(sums).tolist() == (matrix @ x).tolist()


def test_cost_of_parts() -> None:
    matrix = uneven_weights().T.copy()
    layer = Layer(1, INPUTS, OUTPUTS, 4)
    choice = min(all_choices(matrix, Fibers(matrix.shape))[1:], key=lambda choice: choice.nbytes)
    split = best_split(OWN, layer, matrix != 0, choice)
    assert split.parts > 1
    assert INPUTS % split.parts == 0
    # Without a split, each panel has a neuron of at least 480 weights: 15 loads of 32 weights, of 94 cycles each.
    assert split.cost.cycles < 15 * 94
    # On one core, parts run one after the other, and there is no gain.
    alone = replace(OWN, rows=1, cols=1)
    assert best_split(alone, layer, matrix != 0, choice).parts == 1


@pytest.mark.parametrize("transpose_b", [False, True])
@pytest.mark.parametrize("transpose_a", [False, True])
def test_a_product_in_parts(transpose_a: bool, transpose_b: bool) -> None:
    module = network(uneven_weights(), transpose_a=transpose_a, transpose_b=transpose_b)
    inputs = make_inputs(module, 0)
    (before,) = run_main(module, inputs).values()
    assert split_inputs(module, OWN)
    module.verify()
    names = [op.name for op in module.walk() if op.name.startswith("dataflow.")]
    product = ["relu", "reshape", "constant" if "dataflow.constant" in names else "weight", "conv"]
    assert names == [f"dataflow.{name}" for name in (*product, "reshape", "reduce", "reshape")]
    (after,) = run_main(module, inputs).values()
    np.testing.assert_allclose(after, before, rtol=0, atol=1e-5 * float(np.abs(before).max()))


def test_integers_are_exact() -> None:
    module = network(uneven_weights("i1"), i8)
    inputs = make_inputs(module, 0)
    (before,) = run_main(module, inputs).values()
    # 4 rows, because a lane of 32 rows would hold 128 weights of 8 bits, and few loads would be saved.
    assert split_inputs(module, replace(OWN, mpu_rows=4))["w"] > 1
    (after,) = run_main(module, inputs).values()
    assert after.tolist() == before.tolist()


def few_weights() -> NDArray[np.float32]:
    """Ten weights for each output neuron, so that each lane loads once."""
    return (np.add.outer(np.arange(INPUTS), np.arange(OUTPUTS)) % 96 == 0).astype(np.float32)


@pytest.mark.parametrize(
    "module",
    [
        network(few_weights()),
        network(uneven_weights(), rows=2),
        network(uneven_weights("f2"), f16),
        network(np.ones((INPUTS, OUTPUTS), np.float32)),
    ],
    ids=["few weights", "rows", "sums of less precision", "dense"],
)
def test_products_that_are_not_split(module: ModuleOp) -> None:
    assert split_inputs(module, EDGE) == {}


def matrix_cycles(module: ModuleOp, chip: Chip, exact: bool) -> tuple[int, int]:
    """Cycles of matrix units and of the run; results are checked, and declared cycles as well if `exact`."""
    inputs = make_inputs(module, 0)
    (expected,) = run_main(module, inputs).values()
    executable = compile_module(module, chip).executable
    run = run_functional(executable, inputs, check=True)
    (found,) = run.outputs.values()
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5 * float(np.abs(expected).max()))
    for declared, counted in sparse_cycles(executable, run.mapped).values():
        assert not exact or abs(declared / counted - 1) < 0.05
    timing = run_timing(executable, mapped=run.mapped)
    return int(timing.busy.sum(axis=0)[Unit.MPU]), timing.cycles


@pytest.mark.parametrize("calibrated", [False, True])
def test_parts_take_fewer_cycles(calibrated: bool) -> None:
    whole = network(uneven_weights())
    parts = whole.clone()
    inputs = make_inputs(parts, 0) if calibrated else None
    neurons = None if inputs is None else nonzero_activations(whole, inputs)
    convert(plan_encodings(whole, chip=OWN, neurons=neurons))
    plans = encode_weights(parts, OWN, inputs)
    assert all(plan.choice.format is not None for plan in plans)
    (before, slow), (after, fast) = (matrix_cycles(module, OWN, calibrated) for module in (whole, parts))
    assert fast < slow
    assert after < before

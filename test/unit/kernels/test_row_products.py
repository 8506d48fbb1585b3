"""Products of one row whose terms are divided between matrix unit and vector unit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from meshloom.chips import load_chip
from meshloom.chips.cycles import matmul_cycles, shared_product, vector_cycles
from meshloom.tools.oracle import Oracle
from onnx import ModelProto, TensorProto, helper, numpy_helper

import meshloom

EDGE = load_chip("edge")


def test_terms_are_divided_so_that_both_units_take_a_similar_time() -> None:
    terms, cycles = shared_product(EDGE, 400, 75)
    # The matrix unit has 4 blocks of 32 terms, each of which takes 32 + 62 cycles and one for each column; the vector
    # unit has 272 x 75 products for 32 lanes, and then 75 sums.
    assert terms == 128
    assert 4 * (94 + 75) - 1 == matmul_cycles(EDGE, 1, 1, 75, 128, 1) == 675
    assert cycles == max(675, 4 + -(-272 * 75 // 32)) + 4 + 3 == 682
    assert cycles < vector_cycles(EDGE, 1, 400 * 75, 1, 4 * 400 * 75) == 942


def test_few_terms_are_computed_by_one_unit() -> None:
    assert shared_product(EDGE, 32, 75)[0] == 0
    assert shared_product(load_chip("cloud"), 128, 32)[0] == 0


def test_terms_are_not_divided_if_the_matrix_unit_is_faster_alone() -> None:
    slow = replace(EDGE, vpu_lanes=1)
    terms, cycles = shared_product(slow, 384, 75)
    # 12 blocks of 32 terms; the single lane would have 32 x 75 products for the last block alone.
    assert terms == 0
    assert matmul_cycles(slow, 1, 1, 75, 384, 1) == 12 * (94 + 75) - 1 < 32 * 75
    assert cycles == 4 + 384 * 75


def row_model(terms: int, columns: int, transposed: bool) -> tuple[ModelProto, dict[str, np.ndarray]]:
    """A layer of small integers, whose sums are exact in any order, and its input."""
    generator = np.random.default_rng(terms)
    weights = generator.integers(-3, 4, (columns, terms) if transposed else (terms, columns)).astype(np.float32)
    bias = generator.integers(-9, 10, columns).astype(np.float32)
    node = helper.make_node("Gemm", ["x", "w", "b"], ["y"], transB=int(transposed))
    graph = helper.make_graph(
        [node],
        "row",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, terms])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, columns])],
        [numpy_helper.from_array(weights, "w"), numpy_helper.from_array(bias, "b")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    return model, {"x": generator.integers(-4, 5, (1, terms)).astype(np.float32)}


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize(("terms", "columns"), [(127, 40), (128, 16), (333, 129), (1000, 1)])
def test_results_equal_onnx_runtimes(terms: int, columns: int, transposed: bool) -> None:
    model, inputs = row_model(terms, columns, transposed)
    (expected,) = Oracle(model.SerializeToString()).run(inputs).values()
    for chip in ("tiny", "edge"):
        result = meshloom.compile(model, chip=chip).run(inputs, check=True)
        np.testing.assert_array_equal(result.outputs["y"], expected)

"""Operators of f16 that are imported as several operations: intermediate values may exceed the range of f16."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from meshloom.dialects.dataflow.interpreter import interpret_function
from meshloom.frontend.onnx_import import import_onnx
from numpy.typing import NDArray
from onnx import helper
from reference import model_of, run_reference

Array = NDArray[Any]
LARGE = np.random.default_rng(0).uniform(-20_000, 20_000, (1, 2, 6, 6)).astype(np.float16)
"""Squares, and sums of a few elements, exceed the largest f16, 65,504."""
MIDDLE, SMALL = ((LARGE.astype(np.float64) / factor).astype(np.float16) for factor in (50, 2e7))
"""Sums of squares exceed the largest f16; squares are below the smallest, 6e-8."""


def check(op: str, operands: list[Array], tolerance: float = 2e-3, **attributes: Any) -> None:
    """Compare with ONNX Runtime, which computes in f32; the tolerance is relative to the largest finite element."""
    inputs = {f"x{number}": operand for number, operand in enumerate(operands)}
    model = model_of([helper.make_node(op, [*inputs], ["y"], **attributes)], inputs, ["y"], opset=14)
    expected, got = run_reference(model, inputs)["y"], interpret_function(import_onnx(model), inputs)["y"]
    assert got.dtype == expected.dtype == np.float16
    assert np.any(expected)
    largest = float(np.abs(expected[np.isfinite(expected)]).max(initial=0))
    wide = (one.astype(np.float64) for one in (got, expected))
    np.testing.assert_allclose(*wide, rtol=0, atol=tolerance * largest)


@pytest.mark.parametrize("x", [LARGE, MIDDLE, SMALL], ids=["large", "middle", "small"])
@pytest.mark.parametrize(
    ("op", "attributes"),
    [
        ("AveragePool", {"kernel_shape": [3, 3]}),
        ("AveragePool", {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "count_include_pad": 1}),
        ("GlobalAveragePool", {}),
        ("GlobalLpPool", {"p": 2}),
        ("GlobalLpPool", {"p": 3}),
        ("LpPool", {"kernel_shape": [3, 3]}),
        ("LpPool", {"kernel_shape": [3, 3], "p": 3}),
        ("LpNormalization", {"axis": 1}),
        ("LRN", {"size": 3, "alpha": 1.0, "beta": 0.5}),
        ("LRN", {"size": 3}),
        ("MeanVarianceNormalization", {}),
        ("ReduceL2", {}),
        ("ReduceLogSumExp", {}),
        ("ReduceMean", {}),
        ("ReduceSumSquare", {}),
        ("Asinh", {}),
        ("Elu", {}),
        ("Selu", {}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_large_and_small_numbers(op: str, attributes: dict[str, Any], x: Array) -> None:
    check(op, [x], **attributes)


@pytest.mark.parametrize("x", [LARGE, MIDDLE, SMALL], ids=["large", "middle", "small"])
def test_instance_normalisation(x: Array) -> None:
    scale, bias = np.array([1, 2], np.float16), np.array([0, 1], np.float16)
    check("InstanceNormalization", [x, scale, bias])


def test_logarithm_of_a_large_sum() -> None:
    check("ReduceLogSum", [np.abs(LARGE)])


def test_hyperbolic_functions() -> None:
    x = np.array([-11.7, -11.2, -3, 0, 3, 11.2, 11.7], np.float16)  # cosh(11.7) is below 65,504, e^11.7 beyond
    for op in ("Sinh", "Cosh"):
        check(op, [x])
    check("Acosh", [np.array([1, 1.5, 300, 60_000], np.float16)])


def test_large_product_with_a_small_alpha() -> None:
    x = np.full((4, 6), 300, np.float16)
    check("Gemm", [x, x.T.copy()], alpha=0.001)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_mean_and_deviation_of_layer_normalisation_are_f32(dtype: Any) -> None:
    """Mean and deviation have the type `stash_type` for operands of any type."""
    x = np.random.default_rng(1).standard_normal((2, 3, 8)).astype(dtype)
    scale = np.linspace(0.5, 2, 8).astype(dtype)
    names = ["y", "mean", "deviation"]
    node = helper.make_node("LayerNormalization", ["x", "s"], names)
    model = model_of([node], {"x": x}, names, {"s": scale}, opset=17)
    expected, got = run_reference(model, {"x": x}), interpret_function(import_onnx(model), {"x": x})
    assert [got[name].dtype for name in names] == [dtype, np.float32, np.float32]
    for name in names:
        assert got[name].dtype == expected[name].dtype
        np.testing.assert_allclose(got[name], expected[name], rtol=2e-3 if dtype is np.float16 else 1e-5, atol=1e-3)

"""Tests of small models of rare cases: the emulated chip and the interpreter give the results of ONNX Runtime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from meshloom.dialects.dataflow.interpreter import interpret_function
from meshloom.frontend.onnx_import import import_onnx
from meshloom.tools.api import compile
from random_onnx.model import run_reference

SUM_OF_NOTHING = {"matmulinteger_inner_0": {"v40": np.zeros((1, 1), np.int32)}}
"""Results that ONNX Runtime leaves uninitialised: a product over an empty dimension is 0."""

FOLDER = Path(__file__).parents[1] / "data" / "corner_cases"


def random_inputs(model: onnx.ModelProto) -> dict[str, np.ndarray[Any, Any]]:
    """Random inputs for a model."""
    rng = np.random.default_rng(0)
    known = {tensor.name for tensor in model.graph.initializer}
    values: dict[str, np.ndarray[Any, Any]] = {}
    for info in model.graph.input:
        if info.name not in known:
            dtype = onnx.helper.tensor_dtype_to_np_dtype(info.type.tensor_type.elem_type)
            shape = [dim.dim_value for dim in info.type.tensor_type.shape.dim]
            numbers = rng.standard_normal(shape) if dtype.kind == "f" else rng.integers(0, 9, shape)
            values[info.name] = numbers.astype(dtype)
    return values


@pytest.mark.parametrize("chip", ["tiny", "edge"])
@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.onnx")), ids=lambda path: path.stem)
def test_rare_case(path: Path, chip: str) -> None:
    model = onnx.ModelProto.FromString(path.read_bytes())
    inputs = random_inputs(model)
    expected = SUM_OF_NOTHING.get(path.stem) or run_reference(model, inputs)
    interpreted = interpret_function(import_onnx(model), inputs)
    computed = compile(model, chip).run(inputs, check=True).outputs
    for name, value in expected.items():
        for got in (interpreted[name], computed[name]):
            assert (got.dtype, got.shape) == (value.dtype, value.shape)
            np.testing.assert_allclose(got, value, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("reach", [52, 1, 0.3, 77.7])
def test_dynamic_scale_of_a_symmetric_range(reach: float) -> None:
    """The scale is the exact quotient, not a product with a rounded factor, so that the zero point is exactly 127.5."""
    x = np.linspace(-reach, reach, 120, dtype=np.float32)
    nodes = [
        onnx.helper.make_node("Neg", ["x"], ["a"]),
        onnx.helper.make_node("DynamicQuantizeLinear", ["a"], ["y", "scale", "zero"]),
    ]
    info = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, x.shape)
    outputs = [onnx.helper.make_empty_tensor_value_info(name) for name in ("y", "scale", "zero")]
    graph = onnx.helper.make_graph(nodes, "g", [info], outputs)
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)], ir_version=8)
    computed = compile(model, "tiny").run({"x": x}, check=True).outputs
    for name, value in run_reference(model, {"x": x}).items():
        np.testing.assert_array_equal(computed[name], value)

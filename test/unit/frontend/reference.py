"""Runs small ONNX graphs through the importer and the `dataflow` interpreter, and through ONNX Runtime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from meshloom.dialects.dataflow.interpreter import interpret_function
from meshloom.frontend.onnx_import import import_onnx
from meshloom.tools.oracle import Oracle
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from xdsl.dialects.builtin import ModuleOp

Array = NDArray[Any]


def model_of(
    nodes: Sequence[onnx.NodeProto],
    inputs: Mapping[str, Array],
    outputs: Sequence[str],
    constants: Mapping[str, Array] | None = None,
    opset: int = 18,
) -> onnx.ModelProto:
    """A checked model of these nodes."""
    infos = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
        for name, value in inputs.items()
    ]
    results = [helper.make_empty_tensor_value_info(name) for name in outputs]
    initialisers = [numpy_helper.from_array(value, name) for name, value in (constants or {}).items()]
    graph = helper.make_graph(list(nodes), "test", infos, results, initialisers)
    domains = sorted({node.domain for node in nodes} - {""})
    opsets = [helper.make_opsetid("", opset), *(helper.make_opsetid(domain, 1) for domain in domains)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def run_reference(model: onnx.ModelProto, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """ONNX Runtime's outputs without optimisations; products of integers are exact on all processors."""
    return Oracle(model.SerializeToString()).run(inputs)


def check(model: onnx.ModelProto, inputs: Mapping[str, Array], tolerance: float = 1e-5, steps: int = 0) -> ModuleOp:
    """
    Import a model, compare its results with ONNX Runtime's, and return the module.

    Floats may differ by `tolerance`, relative or absolute, integers by `steps`.
    """
    module = import_onnx(model)
    module.verify()
    got = interpret_function(module, dict(inputs))
    for name, expected in run_reference(model, inputs).items():
        assert got[name].dtype == expected.dtype
        assert got[name].shape == expected.shape
        if expected.dtype.kind == "f":
            np.testing.assert_allclose(got[name], expected, rtol=tolerance, atol=tolerance)
        elif steps:
            assert np.abs(got[name].astype(np.int64) - expected.astype(np.int64)).max(initial=0) <= steps
        else:
            np.testing.assert_array_equal(got[name], expected)
    return module


def check_node(
    op: str,
    inputs: Sequence[Array | None],
    constants: Mapping[int, Array] | None = None,
    outputs: int | Sequence[str] = 1,
    opset: int = 18,
    tolerance: float = 1e-5,
    steps: int = 0,
    **attributes: Any,
) -> ModuleOp:
    """
    Check one node; operands whose index is in `constants` are initialisers, None is an omitted operand.

    `outputs`: their number, or their names, empty for an omitted one. For the other arguments see `check`.
    """
    known = dict(constants or {})
    count = max([len(inputs), *(index + 1 for index in known)])
    names = [f"x{i}" if i in known or (i < len(inputs) and inputs[i] is not None) else "" for i in range(count)]
    given = {f"x{i}": value for i, value in enumerate(inputs) if value is not None and i not in known}
    results = [f"y{i}" for i in range(outputs)] if isinstance(outputs, int) else list(outputs)
    node = helper.make_node(op, names, results, name="node", **attributes)
    shown = [name for name in results if name]
    model = model_of([node], given, shown, {f"x{i}": value for i, value in known.items()}, opset)
    return check(model, given, tolerance, steps)


def ops_of(module: ModuleOp) -> list[str]:
    """Names of the dataflow operations in order."""
    return [op.name.removeprefix("dataflow.") for op in module.walk() if op.name.startswith("dataflow.")]


def random(*shape: int, seed: int = 0) -> Array:
    """Standard normal f32 numbers."""
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def ints(*values: int) -> Array:
    """An int64 vector."""
    return np.asarray(values, np.int64)


FLOAT = TensorProto.FLOAT

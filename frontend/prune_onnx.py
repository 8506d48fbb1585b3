"""Magnitude pruning of ONNX models: the same network, with zeros for the small weights of its contractions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, numpy_helper

from ..analysis.sparse.prune import apply, magnitude_pruning
from ..support.errors import InputError
from .model_file import read_model

_WEIGHTS: dict[str, tuple[int, ...]] = {
    "Conv": (1,), "ConvTranspose": (1,), "Gemm": (0, 1), "MatMul": (0, 1), "LSTM": (1, 2), "GRU": (1, 2), "RNN": (1, 2),
}  # fmt: skip
"""Inputs that may be weights, by operator."""


def prune_onnx(path: Path, density: float) -> ModelProto:
    """
    The model with the share `density` of greatest magnitude left of each weight tensor of its contractions.

    Weights are initializers and constants; those of depthwise convolutions stay, as do all that are no floats.
    Raises InputError for files that are no ONNX models and for a density out of range.
    """
    if not 0 <= density <= 1:
        raise InputError(f"density={density}: expected a share from 0 to 1")
    model, _, _ = read_model(path)
    onnx.load_external_data_for_model(model, str(path.parent))
    _prune(model.graph, density, {})
    return model


def _prune(graph: GraphProto, density: float, outer: dict[str, TensorProto]) -> None:
    """Prune the weights of a graph and of those in its nodes, which see its values."""
    known = {**outer, **{tensor.name: tensor for tensor in graph.initializer}}
    for node in graph.node:
        if node.op_type == "Constant" and node.attribute and node.attribute[0].HasField("t"):
            known[node.output[0]] = node.attribute[0].t
    done: set[str] = set()
    for node in graph.node:
        for name in _weights(node):
            tensor = known.get(name)
            if tensor is None or name in done or _is_depthwise(node, tensor):
                continue
            done.add(name)
            values = numpy_helper.to_array(tensor)
            if values.dtype.kind == "f" and values.ndim >= 2:
                kept = np.ascontiguousarray(apply(values, magnitude_pruning(values, density)))
                tensor.CopyFrom(numpy_helper.from_array(kept, tensor.name))
        for inner in _graphs(node):
            _prune(inner, density, known)


def _weights(node: NodeProto) -> Iterator[str]:
    for index in _WEIGHTS.get(node.op_type, ()):
        if index < len(node.input):
            yield node.input[index]


def _is_depthwise(node: NodeProto, weights: TensorProto) -> bool:
    groups = next((attribute.i for attribute in node.attribute if attribute.name == "group"), 1)
    return node.op_type == "Conv" and groups > 1 and weights.dims[1] == 1


def _graphs(node: NodeProto) -> Iterator[GraphProto]:
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g
        yield from attribute.graphs

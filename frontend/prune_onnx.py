"""Prunes ONNX models: sets small weights of contractions to zero."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, numpy_helper

from ..formats.sparse.bits import Array
from ..formats.sparse.encode import Mask
from ..formats.sparse.prune import Method, apply, balanced_pruning, magnitude_pruning
from ..support.errors import InputError
from .model_file import read_model

_WEIGHTS: dict[str, tuple[int, ...]] = {
    "Conv": (1,), "ConvTranspose": (1,), "Gemm": (0, 1), "MatMul": (0, 1), "LSTM": (1, 2), "GRU": (1, 2), "RNN": (1, 2),
}  # fmt: skip
"""Inputs that may be weights, by operator."""
_RECURRENT = ("LSTM", "GRU", "RNN")


def prune_onnx(path: Path, density: float, method: Method = "magnitude") -> ModelProto:
    """
    The model with pruned weights: in each weight tensor of a contraction, or (method `balanced`) in each output channel
    of one, the share `density` of the weights that has the largest magnitudes is kept, and the others are set to zero.
    Weights are initialisers and constants; those of depthwise convolutions and those that are not floats are unchanged.
    Raises InputError for a file that is not an ONNX model and for a density out of range.
    """
    if not 0 <= density <= 1:
        raise InputError(f"density={density}: expected a share from 0 to 1")
    model, _, _ = read_model(path)
    onnx.load_external_data_for_model(model, str(path.parent))
    _prune(model.graph, density, method, {})
    return model


def _prune(graph: GraphProto, density: float, method: Method, outer: dict[str, TensorProto]) -> None:
    """Prune the weights of a graph and of its nodes' subgraphs, which may read its values."""
    known = {**outer, **{tensor.name: tensor for tensor in graph.initializer}}
    for node in graph.node:
        if node.op_type == "Constant" and node.attribute and node.attribute[0].HasField("t"):
            known[node.output[0]] = node.attribute[0].t
    done: set[str] = set()
    for node in graph.node:
        for position, name in _weights(node):
            tensor = known.get(name)
            if tensor is None or name in done or _is_depthwise(node, tensor):
                continue
            done.add(name)
            values = numpy_helper.to_array(tensor)
            if values.dtype.kind == "f" and values.ndim >= 2:
                balanced = method == "balanced"
                mask = _balanced(node, position, values, density) if balanced else magnitude_pruning(values, density)
                kept = np.ascontiguousarray(apply(values, mask))
                tensor.CopyFrom(numpy_helper.from_array(kept, tensor.name))
        for inner in _graphs(node):
            _prune(inner, density, method, known)


def _balanced(node: NodeProto, position: int, values: Array, density: float) -> Mask:
    """The mask of the weights of an operand that are kept: the same number in each output channel."""
    # Transposed convolutions number output channels within each group: the group becomes a dimension.
    groups = _attribute(node, "group", 1) if node.op_type == "ConvTranspose" else 1
    split = values.reshape(groups, values.shape[0] // groups, *values.shape[1:]) if groups > 1 else values
    outputs = _output_axes(node, position, values.ndim) if groups == 1 else (0, 2)
    front = tuple(range(len(outputs)))
    strings = np.moveaxis(split, outputs, front)
    flat = strings.reshape(math.prod(strings.shape[: len(outputs)]), -1)
    mask = balanced_pruning(flat, density).reshape(strings.shape)
    return np.moveaxis(mask, front, outputs).reshape(values.shape)


def _output_axes(node: NodeProto, position: int, rank: int) -> tuple[int, ...]:
    """The dimensions of weights that index output channels."""
    if node.op_type in _RECURRENT:
        return 0, 1  # of [directions, gates x neurons, inputs]
    if node.op_type in ("Conv", "ConvTranspose"):
        return (1 if node.op_type == "ConvTranspose" else 0,)
    transposed = node.op_type == "Gemm" and bool(_attribute(node, "transB" if position else "transA", 0))
    return (rank - 1 if bool(position) != transposed else rank - 2,)


def _weights(node: NodeProto) -> Iterator[tuple[int, str]]:
    for index in _WEIGHTS.get(node.op_type, ()):
        if index < len(node.input):
            yield index, node.input[index]


def _is_depthwise(node: NodeProto, weights: TensorProto) -> bool:
    return node.op_type == "Conv" and _attribute(node, "group", 1) > 1 and weights.dims[1] == 1


def _attribute(node: NodeProto, name: str, default: int) -> int:
    return next((attribute.i for attribute in node.attribute if attribute.name == name), default)


def _graphs(node: NodeProto) -> Iterator[GraphProto]:
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g
        yield from attribute.graphs

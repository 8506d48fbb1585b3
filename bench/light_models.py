"""
ONNX's light models with random weights, which reveal wrong results.

The light models are known networks in which all weights of a tensor are equal: a compiler that drops channels or
transposes weights still computes their results. Here every such tensor has seeded random values suited to its role, and
the last layer is scaled so that a softmax after it does not saturate.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from meshloom.tools.oracle import Oracle
from numpy.typing import NDArray
from onnx import GraphProto, ModelProto, NodeProto, helper, numpy_helper

LIGHT_MODELS = (
    "bvlc_alexnet", "densenet121", "inception_v1", "inception_v2", "resnet50",
    "shufflenet", "squeezenet", "vgg19", "zfnet512",
)  # fmt: skip
Array = NDArray[Any]


def light_model(name: str, seed: int = 0) -> tuple[ModelProto, dict[str, Array]]:
    """The model `light_NAME` with seeded weights, and a seeded input by name."""
    path = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light" / f"light_{name}.onnx"
    model = onnx.load(str(path))  # pyright: ignore[reportUnknownMemberType]
    generator = np.random.default_rng([seed, *name.encode()])
    _fill(model.graph, generator)
    model.ir_version = max(model.ir_version, 4)  # from here on initialisers need not be inputs
    (info,) = model.graph.input
    shape = [dim.dim_value for dim in info.type.tensor_type.shape.dim]
    inputs = {info.name: np.asarray(generator.standard_normal(shape), np.float32)}
    _scale_last_layer(model, inputs)
    return model, inputs


def with_batch(model: ModelProto, batch: int) -> None:
    """Make a model that is written for one image take `batch` of them, in place."""
    graph = model.graph
    for value in (*graph.input, *graph.output):
        value.type.tensor_type.shape.dim[0].dim_value = batch
    del graph.value_info[:]
    reshaped = {node.input[1] for node in graph.node if node.op_type == "Reshape"}
    for tensor in graph.initializer:
        if tensor.name in reshaped:
            sizes = numpy_helper.to_array(tensor).copy()
            if sizes[0] == 1:
                sizes[0] = 0  # as many as there are
                tensor.CopyFrom(numpy_helper.from_array(sizes, tensor.name))


def _fill(graph: GraphProto, generator: np.random.Generator) -> None:
    """Replace each ConstantOfShape by an initialiser."""
    shapes = {tensor.name: numpy_helper.to_array(tensor).tolist() for tensor in graph.initializer}
    users: defaultdict[str, list[tuple[NodeProto, int]]] = defaultdict(list)
    for node in graph.node:
        for index, name in enumerate(node.input):
            users[name].append((node, index))
    kept: list[NodeProto] = []
    filled: list[onnx.TensorProto] = []
    used: set[str] = set()
    for node in graph.node:
        if node.op_type == "ConstantOfShape" and node.input[0] in shapes:
            used.add(node.input[0])
            values = _values(_role(node.output[0], users), [int(d) for d in shapes[node.input[0]]], generator)
            filled.append(numpy_helper.from_array(np.asarray(values, np.float32), node.output[0]))
        else:
            kept.append(node)
    initializers = [tensor for tensor in graph.initializer if tensor.name not in used] + filled
    constant = {tensor.name for tensor in initializers} | used
    inputs = [info for info in graph.input if info.name not in constant]
    for field, values in ((graph.node, kept), (graph.initializer, initializers), (graph.input, inputs)):
        copies: list[Any] = list(values)
        del field[:]
        field.extend(copies)


def _role(name: str, users: dict[str, list[tuple[NodeProto, int]]]) -> tuple[str, int]:
    """Operator that uses a tensor, and as which operand; reshapes between them do not count."""
    for node, index in users.get(name, []):
        return _role(node.output[0], users) if node.op_type in ("Unsqueeze", "Reshape") else (node.op_type, index)
    return "", 0


def _values(role: tuple[str, int], shape: list[int], generator: np.random.Generator) -> Array:
    match role:
        case "BatchNormalization", 1 | 4:
            return generator.uniform(0.5, 1.5, shape)
        case "BatchNormalization", _:
            return generator.normal(0, 0.2, shape)
        case "Conv" | "Gemm" | "MatMul" as operator, 1:
            fan_in = int(np.prod(shape[1:])) if operator == "Conv" else max(shape)
            return generator.normal(0, np.sqrt(2 / fan_in), shape)
        case "Mul", _:
            return generator.uniform(0.5, 1.5, shape)
        case _:
            return generator.normal(0, 0.1, shape)


def _scale_last_layer(model: ModelProto, inputs: dict[str, Array]) -> None:
    """Divide the weights of the last Conv or Gemm by the spread of what it gives."""
    last = [node for node in model.graph.node if node.op_type in ("Gemm", "Conv")][-1]
    probe = ModelProto()
    probe.CopyFrom(model)
    del probe.graph.output[:]
    probe.graph.output.append(helper.make_tensor_value_info(last.output[0], onnx.TensorProto.FLOAT, None))
    spread = Oracle(probe.SerializeToString()).run(inputs)[last.output[0]].std()
    for tensor in model.graph.initializer:
        if tensor.name in last.input[1:]:
            scaled = np.asarray(numpy_helper.to_array(tensor) / spread, np.float32)
            tensor.CopyFrom(numpy_helper.from_array(scaled, tensor.name))

"""
Rewrite of a model so that ONNX Runtime's products of u8 and i8 are exact on processors without an instruction for them.

On these, ONNX Runtime adds pairs of such products in 16 bits, which saturate (MLAS on x64 without VNNI). Its products
of u8 and u8 are exact on all processors: second operands of i8 become u8, and their zero points are increased by 128.
First operands and results of i8 become u8 as well, because it has no products of i8 and u8.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.inliner
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper

SHIFT = 128
SECOND: dict[str, tuple[tuple[int, int], ...]] = {
    "MatMulInteger": ((1, 3),),
    "ConvInteger": ((1, 3),),
    "QLinearMatMul": ((3, 5),),
    "QLinearConv": ((3, 5),),
    "QGemm": ((3, 5),),
    "DynamicQuantizeMatMul": ((1, 3),),
    "MatMulIntegerToFloat": ((1, 5),),
    "QAttention": ((1, 7),),
    "DynamicQuantizeLSTM": ((1, 9), (2, 11)),
}
"""For each operator that multiplies integers: positions of the second operand and of its zero point."""
_FIRST = {"MatMulIntegerToFloat": 4, "QAttention": 6, "DynamicQuantizeMatMul": None, "DynamicQuantizeLSTM": None}
"""Position of the zero point of the first operand; 2 for operators not listed, None if it is a float."""
_RESULT = {"QLinearMatMul": 7, "QLinearConv": 7, "QGemm": 8}
"""Position of the zero point of the result, for operators that quantise it."""


@cache
def saturates() -> bool:
    """Whether ONNX Runtime, which must be installed, saturates on this processor."""
    ort: Any = import_module("onnxruntime")
    node = helper.make_node("MatMulInteger", ["a", "b"], ["y"])
    known = [("a", np.full((1, 2), 255, np.uint8)), ("b", np.full((2, 1), 127, np.int8))]
    output = helper.make_tensor_value_info("y", TensorProto.INT32, [1, 1])
    graph = helper.make_graph([node], "pair", [], [output], [numpy_helper.from_array(x, name) for name, x in known])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return int(session.run(None, {})[0].item()) != 2 * 255 * 127


def multiplies_integers(model: ModelProto) -> bool:
    """Whether a model has operators whose products may saturate."""
    functions = (node for function in model.functions for node in function.node)
    nodes = (node for graph in graphs_of(model.graph) for node in graph.node)
    return any(node.op_type in SECOND for node in (*nodes, *functions))


def with_exact_products(model: ModelProto, folder: str | Path = "") -> ModelProto:
    """
    The same network with u8 for the second operands of i8 of all integer products; tensors keep their names.

    `folder`: where the files of external data are.
    """
    copy = ModelProto()
    copy.CopyFrom(onnx.inliner.inline_local_functions(model) if model.functions else model)
    types = _types(copy)
    for number, graph in enumerate(graphs_of(copy.graph)):
        _Shifted(graph, types, str(folder), f"/unsigned{number}").apply()
    return copy


class _Shifted:
    """Rewrites one graph; each operand is shifted once."""

    def __init__(self, graph: GraphProto, types: dict[str, int], folder: str, suffix: str) -> None:
        self.graph, self.types, self.folder, self.suffix = graph, types, folder, suffix
        self.known = {tensor.name: tensor for tensor in graph.initializer}
        self.made: dict[str, str] = {}

    def apply(self) -> None:
        nodes: list[NodeProto] = []
        for node in self.graph.node:
            seconds = [pair for pair in SECOND.get(node.op_type, ()) if self._is_i8(node, pair)]
            nodes += (made for pair in seconds for made in self._shift(node, pair))
            zero, result = _FIRST.get(node.op_type, 2), _RESULT.get(node.op_type)
            if seconds and zero is not None and self._is_i8(node, (0, zero)):
                nodes += self._shift(node, (0, zero))
            back: list[NodeProto] = []
            if seconds and result is not None and self._is_i8(node, (result,)):
                nodes += self._shift(node, (result,))
                name = node.output[0]
                node.output[0] = name + self.suffix
                back += self._moved(node.output[0], name, -SHIFT, TensorProto.INT8)
            nodes += [node, *back]
        del self.graph.node[:]
        self.graph.node.extend(nodes)

    def _is_i8(self, node: NodeProto, positions: Sequence[int]) -> bool:
        names = [node.input[position] for position in positions if position < len(node.input)]
        return any(self.types.get(name) == TensorProto.INT8 for name in names)

    def _shift(self, node: NodeProto, positions: Sequence[int]) -> Iterator[NodeProto]:
        """Shift these operands, which exist or are zero points of 0; yields the nodes to insert before."""
        node.input.extend([""] * (max(positions) + 1 - len(node.input)))
        for position in positions:
            name = node.input[position]
            if name not in self.made:
                self.made[name] = name + self.suffix
                if name in self.known or not name:
                    value = numpy_helper.to_array(self.known[name], self.folder) if name else np.zeros((), np.int8)
                    moved = np.asarray(value.astype(np.int16) + SHIFT, np.uint8)
                    self.graph.initializer.append(numpy_helper.from_array(moved, self.made[name]))
                else:
                    yield from self._moved(name, self.made[name], SHIFT, TensorProto.UINT8)
            node.input[position] = self.made[name]

    def _moved(self, name: str, new: str, by: int, dtype: int) -> Iterator[NodeProto]:
        """Nodes that add to integers of 8 bits."""
        self.graph.initializer.append(numpy_helper.from_array(np.asarray(by, np.int32), f"{new}/shift"))
        yield helper.make_node("Cast", [name], [f"{new}/wide"], to=TensorProto.INT32)
        yield helper.make_node("Add", [f"{new}/wide", f"{new}/shift"], [f"{new}/sum"])
        yield helper.make_node("Cast", [f"{new}/sum"], [new], to=dtype)


def graphs_of(graph: GraphProto) -> Iterator[GraphProto]:
    """A graph and those inside it."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from graphs_of(attribute.g)
            for inner in attribute.graphs:
                yield from graphs_of(inner)


def _types(model: ModelProto) -> dict[str, int]:
    """The known element types, by name of the tensor."""
    found: dict[str, int] = {}
    for graph in graphs_of(onnx.shape_inference.infer_shapes(model).graph):
        for info in (*graph.input, *graph.value_info, *graph.output):
            found[info.name] = info.type.tensor_type.elem_type
        found |= {tensor.name: tensor.data_type for tensor in graph.initializer}
    return found

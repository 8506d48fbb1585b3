"""Small ONNX models for the tests of the compile driver."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper


def dense_layers(widths: list[int], seed: int = 0, taps: tuple[int, ...] = ()) -> ModelProto:
    """Layers relu(x w + b) of the given widths, batch 2; the outputs are the last layer and the layers `taps`."""
    rng = np.random.default_rng(seed)
    initial: list[TensorProto] = []
    nodes: list[NodeProto] = []
    value = "x"
    outputs: list[tuple[str, int]] = []
    for number, (inner, outer) in enumerate(pairwise(widths)):
        weights = rng.standard_normal((inner, outer)).astype(np.float32) / np.sqrt(inner, dtype=np.float32)
        initial.append(numpy_helper.from_array(weights, f"w{number}"))
        initial.append(numpy_helper.from_array(rng.standard_normal(outer).astype(np.float32), f"b{number}"))
        last = number == len(widths) - 2
        nodes.append(helper.make_node("Gemm", [value, f"w{number}", f"b{number}"], [f"g{number}"], name=f"g{number}"))
        value = "y" if last else f"r{number}"
        nodes.append(helper.make_node("Relu", [f"g{number}"], [value]))
        if last or number in taps:
            outputs.append((value, outer))
    graph = helper.make_graph(
        nodes,
        "layers",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, widths[0]])],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, size]) for name, size in outputs],
        initial,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)

"""
Recurrent networks with seeded weights: stacks of `LSTM`, `GRU` or `RNN`, one cell in `Scan` and in `Loop`, and layers
of LSTM cells that are written out for each step (`Cells`), as exporters do that trace a network.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper

Kind = Literal["LSTM", "GRU", "RNN", "Scan", "Loop", "Cells"]
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


@dataclass(frozen=True)
class Recurrent:
    """A network over a sequence [steps, 1, inputs]."""

    kind: Kind
    layers: int
    hidden: int
    inputs: int
    steps: int
    both: bool = False
    """Whether each layer has a second direction."""

    @staticmethod
    def parse(text: str) -> Recurrent:
        """`KIND:layers:hidden:inputs:steps`, and `:both` for two directions. Raises ValueError for other text."""
        kind, *rest = text.split(":")
        both = rest[-1:] == ["both"]
        sizes = [int(size) for size in (rest[:-1] if both else rest)]
        if (
            kind not in get_args(Kind)
            or len(sizes) != 4
            or min(sizes) < 1
            or (kind not in GATES and both)
            or (kind in ("Scan", "Loop") and sizes[0] > 1)
        ):
            raise ValueError(f"'{text}' is not KIND:layers:hidden:inputs:steps[:both]")
        layers, hidden, inputs, steps = sizes
        return Recurrent(cast("Kind", kind), layers, hidden, inputs, steps, both)


NETWORKS = {
    "lstm_small": Recurrent("LSTM", 1, 64, 32, 48),
    "rnn_long": Recurrent("RNN", 1, 96, 64, 512),
    "scan_lstm": Recurrent("Scan", 1, 64, 32, 48),
    "loop_lstm": Recurrent("Loop", 1, 64, 32, 48),
    "lstm_cells": Recurrent("Cells", 3, 96, 96, 64),
    "lstm_stack": Recurrent("LSTM", 3, 128, 96, 64),
    "bigru": Recurrent("GRU", 2, 192, 128, 100, both=True),
    "bilstm_wide": Recurrent("LSTM", 2, 384, 256, 80, both=True),
}
"""Small weights; many steps; the same cell in other operators; cells that are written out; weights that fit the cores
of `edge`, of which one direction fits them, and that do not fit."""


class _Nodes:
    """A graph under construction."""

    def __init__(self, seed: int) -> None:
        self.generator = np.random.default_rng(seed)
        self.nodes: list[NodeProto] = []
        self.tensors: list[TensorProto] = []

    def node(self, kind: str, inputs: list[str], outputs: list[str], **attributes: Any) -> str:
        """Add a node; returns the name of its first output."""
        self.nodes.append(helper.make_node(kind, inputs, outputs, **attributes))
        return outputs[0]

    def constant(self, name: str, array: NDArray[Any]) -> str:
        """Add an initialiser."""
        self.tensors.append(numpy_helper.from_array(array, name))
        return name

    def weights(self, name: str, shape: tuple[int, ...], fan_in: int) -> str:
        """Add weights that keep the magnitude of values at about 1."""
        values = self.generator.standard_normal(shape) / np.sqrt(fan_in)
        return self.constant(name, values.astype(np.float32))


def _info(name: str, shape: list[int], kind: int = TensorProto.FLOAT) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, shape)


def build(network: Recurrent, seed: int = 0) -> ModelProto:
    """The model, from `x` [steps, 1, inputs] to `y` [steps, 1, hidden], or twice as wide with two directions."""
    graph = _Nodes(seed)
    made_of = _cells if network.kind == "Cells" else _stack if network.kind in GATES else _cell_in_a_loop
    last, width = made_of(graph, network)
    graph.node("Identity", [last], ["y"])
    made = helper.make_graph(
        graph.nodes, network.kind, [_info("x", [network.steps, 1, network.inputs])],
        [_info("y", [network.steps, 1, width])], graph.tensors,
    )  # fmt: skip
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.checker.check_model(model)  # pyright: ignore[reportUnknownMemberType]
    return model


def _stack(graph: _Nodes, network: Recurrent) -> tuple[str, int]:
    """A stack of layers; the results of two directions are concatenated for the next layer."""
    ways, gates, size = 1 + network.both, GATES[network.kind] * network.hidden, network.inputs
    shape = graph.constant("joined", np.array([network.steps, 1, ways * network.hidden], np.int64))
    value = "x"
    for number in range(network.layers):
        operands = [
            graph.weights(f"w{number}", (ways, gates, size), size),
            graph.weights(f"r{number}", (ways, gates, network.hidden), network.hidden),
            graph.weights(f"b{number}", (ways, 2 * gates), 2 * gates),
        ]
        attributes: dict[str, Any] = {"linear_before_reset": 1} if network.kind == "GRU" else {}
        attributes["direction"] = "bidirectional" if network.both else "forward"
        graph.node(network.kind, [value, *operands], [f"all{number}"], hidden_size=network.hidden, **attributes)
        graph.node("Transpose", [f"all{number}"], [f"beside{number}"], perm=[0, 2, 1, 3])
        value = graph.node("Reshape", [f"beside{number}", shape], [f"x{number}"])
        size = ways * network.hidden
    return value, size


def _cells(graph: _Nodes, network: Recurrent) -> tuple[str, int]:
    """Layers of unrolled LSTM cells, with separate nodes for each step; the initial state is zero."""
    hidden, size = network.hidden, network.inputs
    zeros = graph.constant("zeros", np.zeros((1, hidden), np.float32))
    rows = [
        graph.node("Gather", ["x", graph.constant(f"step{step}", np.array(step))], [f"x{step}"], axis=0)
        for step in range(network.steps)
    ]
    for layer in range(network.layers):
        read = [graph.weights(f"w{layer}", (4 * hidden, size), size), graph.weights(f"v{layer}", (4 * hidden,), hidden)]
        kept = [
            graph.weights(f"r{layer}", (4 * hidden, hidden), hidden),
            graph.weights(f"b{layer}", (4 * hidden,), hidden),
        ]
        h = c = zeros
        for step, row in enumerate(rows):
            at = f"{layer}.{step}"
            products = [
                graph.node("Gemm", [row, *read], [f"from_x{at}"], transB=1),
                graph.node("Gemm", [h, *kept], [f"from_h{at}"], transB=1),
            ]
            gates = [f"{name}{at}" for name in ("in", "keep", "new", "out")]
            graph.node("Split", [graph.node("Add", products, [f"gates{at}"])], gates, axis=1, num_outputs=4)
            gate_in, keep, new, out = (
                graph.node("Tanh" if name.startswith("new") else "Sigmoid", [name], [f"{name}_gate"]) for name in gates
            )
            parts = [graph.node("Mul", [keep, c], [f"kept{at}"]), graph.node("Mul", [gate_in, new], [f"added{at}"])]
            c = graph.node("Add", parts, [f"c{at}"])
            h = rows[step] = graph.node("Mul", [out, graph.node("Tanh", [c], [f"shown{at}"])], [f"h{at}"])
        size = hidden
    axis = graph.constant("axis", np.array([0]))
    stacked = [graph.node("Unsqueeze", [row, axis], [f"y{step}"]) for step, row in enumerate(rows)]
    return graph.node("Concat", stacked, ["rows"], axis=0), hidden


def _cell_in_a_loop(graph: _Nodes, network: Recurrent) -> tuple[str, int]:
    """An LSTM's cell, all gates from one product of [x, h], as the body of a Scan or of a Loop that picks its step."""
    hidden, size = network.hidden, network.inputs
    outer, graph.nodes = graph.nodes, []
    graph.weights("w", (size + hidden, 4 * hidden), 4 * (size + hidden))
    graph.weights("b", (4 * hidden,), 4 * hidden)
    loops = network.kind == "Loop"
    if loops:
        graph.node("Gather", ["x", "step"], ["x_t"], axis=0)
    graph.node("Concat", ["x_t", "h"], ["both"], axis=-1)
    graph.node("MatMul", ["both", "w"], ["product"])
    graph.node("Add", ["product", "b"], ["gates"])
    graph.node("Split", ["gates"], ["in", "out", "keep", "new"], axis=-1, num_outputs=4)
    for gate, function in (("in", "Sigmoid"), ("out", "Sigmoid"), ("keep", "Sigmoid"), ("new", "Tanh")):
        graph.node(function, [gate], [f"{gate}_gate"])
    graph.node("Mul", ["keep_gate", "c"], ["kept"])
    graph.node("Mul", ["in_gate", "new_gate"], ["added"])
    graph.node("Add", ["kept", "added"], ["c_next"])
    graph.node("Tanh", ["c_next"], ["shown"])
    graph.node("Mul", ["out_gate", "shown"], ["h_next"])
    graph.node("Identity", ["h_next"], ["row"])
    state = [1, hidden]
    before, after = [_info("h", state), _info("c", state)], [_info("h_next", state), _info("c_next", state)]
    rows = [_info("row", state)]
    zeros = [graph.constant(name, np.zeros((1, hidden), np.float32)) for name in ("h_first", "c_first")]
    if loops:
        graph.node("Identity", ["go"], ["go_on"])
        head, tail = (
            [_info("step", [], TensorProto.INT64), _info("go", [], TensorProto.BOOL)],
            [_info("go_on", [], TensorProto.BOOL)],
        )
        body: GraphProto = helper.make_graph(graph.nodes, "cell", head + before, tail + after + rows)
        graph.nodes = outer
        count = graph.constant("count", np.array(network.steps, np.int64))
        always = graph.constant("always", np.array(True))
        graph.node("Loop", [count, always, *zeros], ["h_last", "c_last", "rows"], body=body)
    else:
        body = helper.make_graph(graph.nodes, "cell", [*before, _info("x_t", [1, size])], after + rows)
        graph.nodes = outer
        graph.node("Scan", [*zeros, "x"], ["h_last", "c_last", "rows"], num_scan_inputs=1, body=body)
    return "rows", hidden

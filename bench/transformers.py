"""Encoders of equal transformer layers as exporters write them, with seeded weights."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

EXPAND = 4
"""The feed-forward part is so many times as wide as the layer."""


@dataclass(frozen=True)
class Encoder:
    """The shape of a network of transformer layers; its input is f32 [1, sequence, width]."""

    layers: int
    width: int
    heads: int
    sequence: int

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shapes of its inputs."""
        return {"x": (1, self.sequence, self.width)}


ENCODERS = {
    "layers16": Encoder(16, 128, 4, 64),
    "bert-base": Encoder(12, 768, 12, 128),
}


def build_encoder(shape: Encoder, seed: int = 0) -> ModelProto:
    """A model of opset 17: post-normalised layers with attention over all positions, GELU by Erf."""
    made = _Builder(np.random.default_rng([seed, shape.layers, shape.width]))
    value = "x"
    for layer in range(shape.layers):
        value = _layer(made, shape, f"l{layer}", value)
    made.add("Identity", [value], "y")
    size = [1, shape.sequence, shape.width]
    graph = helper.make_graph(
        made.nodes,
        "encoder",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, size)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, size)],
        made.weights,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@dataclass
class _Builder:
    generator: np.random.Generator
    nodes: list[NodeProto] = field(default_factory=list[NodeProto])
    weights: list[TensorProto] = field(default_factory=list[TensorProto])

    def add(self, kind: str, inputs: list[str], output: str, **attributes: Any) -> str:
        """A node; returns its output."""
        self.nodes.append(helper.make_node(kind, inputs, [output], name=output, **attributes))
        return output

    def constant(self, name: str, values: NDArray[Any]) -> str:
        """An initialiser; returns its name."""
        self.weights.append(numpy_helper.from_array(values, name))
        return name

    def scalar(self, name: str, value: float) -> str:
        """An initialiser of one number."""
        return self.constant(name, np.asarray(value, np.float32))

    def linear(self, name: str, value: str, fan_in: int, fan_out: int) -> str:
        """A product with weights, and a bias."""
        drawn = self.generator.standard_normal((fan_in, fan_out), np.float32) / np.float32(np.sqrt(fan_in))
        product = self.add("MatMul", [value, self.constant(f"{name}.w", drawn)], f"{name}.product")
        bias = self.generator.standard_normal(fan_out, np.float32) / np.float32(10)
        return self.add("Add", [self.constant(f"{name}.b", bias), product], f"{name}.out")

    def normalised(self, name: str, value: str, width: int) -> str:
        """LayerNormalization over the last axis."""
        scale = self.generator.uniform(0.5, 1.5, width).astype(np.float32)
        bias = self.generator.standard_normal(width, np.float32) / np.float32(10)
        operands = [value, self.constant(f"{name}.scale", scale), self.constant(f"{name}.bias", bias)]
        return self.add("LayerNormalization", operands, f"{name}.out", axis=-1)


def _layer(made: _Builder, shape: Encoder, name: str, value: str) -> str:
    width, inner = shape.width, shape.width * EXPAND
    summed = made.add("Add", [_attention(made, shape, f"{name}.attention", value), value], f"{name}.summed")
    middle = made.normalised(f"{name}.norm1", summed, width)
    wide = made.linear(f"{name}.up", middle, width, inner)
    scaled = made.add("Div", [wide, made.scalar(f"{name}.root", np.sqrt(2))], f"{name}.scaled")
    risen = made.add("Add", [made.add("Erf", [scaled], f"{name}.erf"), made.scalar(f"{name}.one", 1)], f"{name}.risen")
    gated = made.add("Mul", [wide, risen], f"{name}.gated")
    active = made.add("Mul", [gated, made.scalar(f"{name}.half", 0.5)], f"{name}.active")
    narrow = made.linear(f"{name}.down", active, inner, width)
    return made.normalised(f"{name}.norm2", made.add("Add", [narrow, middle], f"{name}.sum"), width)


def _attention(made: _Builder, shape: Encoder, name: str, value: str) -> str:
    width, heads = shape.width, shape.heads
    split = made.constant(f"{name}.split", np.asarray([0, 0, heads, width // heads], np.int64))
    parts: dict[str, str] = {}
    for part, order in (("q", [0, 2, 1, 3]), ("k", [0, 2, 3, 1]), ("v", [0, 2, 1, 3])):
        drawn = made.linear(f"{name}.{part}", value, width, width)
        by_head = made.add("Reshape", [drawn, split], f"{name}.{part}.split")
        parts[part] = made.add("Transpose", [by_head], f"{name}.{part}.turned", perm=order)
    scores = made.add("MatMul", [parts["q"], parts["k"]], f"{name}.scores")
    scaled = made.add("Div", [scores, made.scalar(f"{name}.root", np.sqrt(width // heads))], f"{name}.scaled")
    shares = made.add("Softmax", [scaled], f"{name}.shares", axis=-1)
    mixed = made.add("MatMul", [shares, parts["v"]], f"{name}.mixed")
    turned = made.add("Transpose", [mixed], f"{name}.turned", perm=[0, 2, 1, 3])
    joined = made.constant(f"{name}.joined", np.asarray([0, 0, width], np.int64))
    return made.linear(f"{name}.project", made.add("Reshape", [turned, joined], f"{name}.flat"), width, width)

"""A decoder of a language model with random weights, in the form that exporters write: products by `MatMulNBits`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

Array = NDArray[Any]


@dataclass(frozen=True)
class Decoder:
    """Sizes of a decoder that computes one token from the previous ones."""

    bits: int
    """Bits of a weight: 4 or 8."""
    layers: int = 3
    width: int = 512
    heads: int = 8
    inner: int = 1408
    """Width of the gated feed-forward layers."""
    words: int = 2048
    past: int = 48
    """Number of previous tokens, whose keys and values are inputs."""
    block: int = 32
    """Number of weights that share a scale."""
    seed: int = 0

    def model(self) -> ModelProto:
        """The network: inputs `hidden` [1, 1, width], `past_key.L` and `past_value.L`; output `logits`."""
        return _Writer(self).model()

    def inputs(self, seed: int) -> dict[str, Array]:
        """Random inputs."""
        generator = np.random.default_rng(seed)
        shapes: dict[str, tuple[int, ...]] = {
            name: (1, self.heads, self.past, self.width // self.heads) for name in self.caches
        }
        shapes["hidden"] = (1, 1, self.width)
        return {name: generator.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}

    @property
    def caches(self) -> list[str]:
        """Names of the keys and values of previous tokens."""
        return [f"past_{kind}.{layer}" for layer in range(self.layers) for kind in ("key", "value")]


class _Writer:
    def __init__(self, decoder: Decoder) -> None:
        self.decoder = decoder
        self.generator = np.random.default_rng(decoder.seed)
        self.nodes: list[NodeProto] = []
        self.known: list[TensorProto] = []

    def model(self) -> ModelProto:
        decoder = self.decoder
        x = "hidden"
        for layer in range(decoder.layers):
            x = self.node("Add", x, self.attention(layer, self.normalised(x)))
            x = self.node("Add", x, self.gated(self.normalised(x)))
        self.node("Identity", self.product(self.normalised(x), decoder.width, decoder.words), to="logits")
        cache = [1, decoder.heads, decoder.past, decoder.width // decoder.heads]
        graph = helper.make_graph(
            self.nodes,
            "decoder",
            [
                helper.make_tensor_value_info(name, TensorProto.FLOAT, cache if "." in name else [1, 1, decoder.width])
                for name in ("hidden", *decoder.caches)
            ],
            [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [1, 1, decoder.words])],
            self.known,
        )
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=8)

    def node(self, kind: str, *inputs: str, to: str | None = None, domain: str = "", **attributes: Any) -> str:
        name = to or f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], domain=domain, **attributes))
        return name

    def constant(self, array: Array) -> str:
        name = f"c{len(self.known)}"
        self.known.append(numpy_helper.from_array(array, name))
        return name

    def product(self, x: str, depth: int, outputs: int) -> str:
        bits, block = self.decoder.bits, self.decoder.block
        blocks = -(-depth // block)
        weights = self.generator.integers(0, 256, (outputs, blocks, block * bits // 8), np.uint8)
        size = 2.0 / (1 << bits) / np.sqrt(depth)
        scales = self.generator.uniform(size, 2 * size, outputs * blocks).astype(np.float32)
        operands = x, self.constant(weights), self.constant(scales)
        return self.node(
            "MatMulNBits", *operands, domain="com.microsoft", K=depth, N=outputs, bits=bits, block_size=block
        )

    def normalised(self, x: str) -> str:
        weights = self.generator.uniform(0.5, 1.5, self.decoder.width).astype(np.float32)
        return self.node("SimplifiedLayerNormalization", x, self.constant(weights), axis=-1, epsilon=1e-5)

    def attention(self, layer: int, x: str) -> str:
        width, heads = self.decoder.width, self.decoder.heads
        shape = self.constant(np.array([1, 1, heads, width // heads], np.int64))
        query, key, value = (
            self.node("Transpose", self.node("Reshape", self.product(x, width, width), shape), perm=[0, 2, 1, 3])
            for _ in range(3)
        )
        keys = self.node("Concat", f"past_key.{layer}", key, axis=2)
        values = self.node("Concat", f"past_value.{layer}", value, axis=2)
        scaled = self.node("Mul", query, self.constant(np.array((width // heads) ** -0.5, np.float32)))
        shares = self.node("Softmax", self.node("MatMul", scaled, self.node("Transpose", keys, perm=[0, 1, 3, 2])))
        mixed = self.node("Transpose", self.node("MatMul", shares, values), perm=[0, 2, 1, 3])
        flat = self.node("Reshape", mixed, self.constant(np.array([1, 1, width], np.int64)))
        return self.product(flat, width, width)

    def gated(self, x: str) -> str:
        width, inner = self.decoder.width, self.decoder.inner
        gate = self.product(x, width, inner)
        opened = self.node("Mul", gate, self.node("Sigmoid", gate))
        return self.product(self.node("Mul", opened, self.product(x, width, inner)), inner, width)

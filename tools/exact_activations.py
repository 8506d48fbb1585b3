"""
ONNX Runtime's products of floats with narrow weights made exact: `accuracy_level` of MatMulNBits allows it to round the
floats to fewer bits, as far as a processor is faster then. Every level is allowed to be exact.
"""

from __future__ import annotations

from onnx import ModelProto

from .exact_products import graphs_of

LEVEL = "accuracy_level"


def rounds_activations(model: ModelProto) -> bool:
    """Whether a model has such operators."""
    nodes = (node for graph in graphs_of(model.graph) for node in graph.node)
    return any(one.name == LEVEL and one.i for node in nodes for one in node.attribute)


def with_exact_activations(model: ModelProto) -> ModelProto:
    """The same network without these levels."""
    copy = ModelProto()
    copy.CopyFrom(model)
    for graph in graphs_of(copy.graph):
        for node in graph.node:
            kept = [one for one in node.attribute if one.name != LEVEL]
            del node.attribute[:]
            node.attribute.extend(kept)
    return copy

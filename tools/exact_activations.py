"""
Rewrite of a model so that ONNX Runtime's products of floats with narrow weights are exact: `accuracy_level` of
MatMulNBits allows it to round the floats to fewer bits if that is faster on the processor. An exact result is valid for
every level.
"""

from __future__ import annotations

from onnx import ModelProto

from .exact_products import graphs_of

LEVEL = "accuracy_level"


def rounds_activations(model: ModelProto) -> bool:
    """Whether a model has operators with an accuracy level."""
    nodes = (node for graph in graphs_of(model.graph) for node in graph.node)
    return any(one.name == LEVEL and one.i for node in nodes for one in node.attribute)


def with_exact_activations(model: ModelProto) -> ModelProto:
    """The same network without accuracy levels."""
    copy = ModelProto()
    copy.CopyFrom(model)
    for graph in graphs_of(copy.graph):
        for node in graph.node:
            kept = [one for one in node.attribute if one.name != LEVEL]
            del node.attribute[:]
            node.attribute.extend(kept)
    return copy

"""An ONNX operator: `Saturate` of domain `com.example`, with attributes `low` and `high`."""

from __future__ import annotations

from meshloom.frontend.node import Node
from meshloom.frontend.tensors import Tensor

from meshloom.plugins import onnx_op


@onnx_op("Saturate", domain="com.example")
def saturate(node: Node) -> Tensor:
    """min(max(x, low), high) as existing operations; the pass `find-saturation` replaces them by one operation."""
    x = node[0]
    return node.build.minimum(node.build.maximum(x, node.float("low", -1.0)), node.float("high", 1.0))

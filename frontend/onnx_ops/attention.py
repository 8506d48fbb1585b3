"""ONNX's operator Attention."""

from __future__ import annotations

from collections.abc import Sequence

from ..node import Node
from ..registry import onnx_op
from ..tensors import Tensor
from ..wide import in_f32


@onnx_op("Attention", since=23)
@in_f32
def attention(node: Node) -> Sequence[Tensor | None]:
    """Scaled dot-product attention by ONNX's function body. Narrow floats are rounded once."""
    return node.scope.expand(node)

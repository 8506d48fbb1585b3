"""Importers that compute in f32 where f16 and bf16 would overflow or lose precision in intermediate results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import TypeGuard

from .node import Node
from .registry import Importer
from .tensors import FLOAT32, Absent, Dtype, Tensor, TensorSequence


def in_f32(importer: Importer) -> Callable[[Node], Sequence[Tensor | None]]:
    """
    Decorates an importer: operands of f16 and bf16 are widened to f32, and results are rounded once. It is for
    operators that become several operations whose intermediate values may exceed the range of the narrow type: the
    square of 300 overflows f16, the norm of a vector of such numbers does not.
    """

    @wraps(importer)
    def widened(node: Node) -> Sequence[Tensor | None]:
        narrow: Dtype | None = None
        operands: list[Tensor | None] = []
        for operand in node.inputs:
            if _is_narrow(operand):
                narrow = operand.dtype if narrow is None else narrow
                operands.append(node.build.cast(operand, FLOAT32))
            else:
                operands.append(operand)
        results = importer(node if narrow is None else Node(node.proto, operands, node.opset, node.scope))
        results = [results] if isinstance(results, Tensor) else results
        if narrow is None:
            return results
        return [one if one is None or one.dtype != FLOAT32 else node.build.cast(one, narrow) for one in results]

    return widened


def _is_narrow(operand: Tensor | None) -> TypeGuard[Tensor]:
    if operand is None or isinstance(operand, (Absent, TensorSequence)):
        return False
    return operand.is_float and operand.dtype.itemsize == 2

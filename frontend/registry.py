"""The table of ONNX operators: name and opset version to the function that imports a node."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from .node import Node
    from .tensors import Tensor

Importer: TypeAlias = "Callable[[Node], Tensor | Sequence[Tensor]]"

OPERATORS: dict[str, list[tuple[int, Importer]]] = {}
"""For each operator its importers with the opset version since which each holds, in ascending order."""


def onnx_op(*names: str, since: int = 1) -> Callable[[Importer], Importer]:
    """Enter a function in the table: it imports the operators `names` of opset version `since` and later."""

    def register(function: Importer) -> Importer:
        for name in names:
            OPERATORS.setdefault(name, []).append((since, function))
            OPERATORS[name].sort(key=lambda entry: entry[0])
        return function

    return register


def find(name: str, opset: int) -> Importer | None:
    """The importer of an operator of the default domain at an opset version, or None."""
    from . import onnx_ops

    onnx_ops.load()
    candidates = [function for since, function in OPERATORS.get(name, []) if since <= opset]
    return candidates[-1] if candidates else None

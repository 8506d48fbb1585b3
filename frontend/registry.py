"""The table of ONNX operators, which maps a name and an opset version to the function that imports a node."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias, TypeVar

if TYPE_CHECKING:
    from .node import Node
    from .tensors import Tensor

Importer: TypeAlias = "Callable[[Node], Tensor | Sequence[Tensor | None]]"
"""Returns the outputs of a node; None for an output that it does not compute."""

ImporterT = TypeVar("ImporterT", bound=Importer)

OPERATORS: dict[tuple[str, str], list[tuple[int, Importer]]] = {}
"""The importers of each operator (domain, name), each with its first opset version, in ascending order of these."""


def onnx_op(*names: str, since: int = 1, domain: str = "") -> Callable[[ImporterT], ImporterT]:
    """
    Register a function as importer of the operators `names` since opset version `since`. The empty `domain` is ONNX's
    own.
    """

    def register(function: ImporterT) -> ImporterT:
        for name in names:
            entries = OPERATORS.setdefault((domain, name), [])
            entries.append((since, function))
            entries.sort(key=lambda entry: entry[0])
        return function

    return register


def load() -> None:
    """Fill the table (once)."""
    from . import onnx_ops

    onnx_ops.load()


def find(name: str, opset: int, domain: str = "") -> Importer | None:
    """The importer of an operator at an opset version of its domain, or None."""
    load()
    candidates = [function for since, function in OPERATORS.get((domain, name), []) if since <= opset]
    return candidates[-1] if candidates else None

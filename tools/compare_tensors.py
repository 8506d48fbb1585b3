"""`meshloom-run --check --check-tensors`: the tensors inside the network against ONNX Runtime's, in order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .first_difference import NetworkSearch, within_a_step
from .oracle import Comparison, compare
from .table import table

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from onnx import NodeProto


@dataclass(frozen=True)
class TensorComparison:
    """One tensor of the network."""

    node: NodeProto
    shape: tuple[int, ...]
    found: Comparison
    verdict: str
    """OK, ONE STEP (of a quantising operator) or DIFFERENT."""


def compare_tensors(search: NetworkSearch, tensors: Mapping[str, NDArray[Any]]) -> list[TensorComparison]:
    """
    Those of these tensors that ONNX Runtime has in the same shape and type, in the order in which the network computes
    them.
    """
    compared: list[TensorComparison] = []
    for node, name in search.tensors:
        got, expected = tensors.get(name), search.expected.get(name)
        if got is None or expected is None or got.shape != expected.shape or got.dtype != expected.dtype:
            continue
        found = compare(name, got, expected)
        one_step = not found.equal and within_a_step(node, found, expected)
        verdict = "OK" if found.equal else "ONE STEP" if one_step else "DIFFERENT"
        compared.append(TensorComparison(node, got.shape, found, verdict))
    return compared


def first_different(compared: list[TensorComparison]) -> str:
    """A sentence on the first tensor that differs; empty if none does."""
    for one in compared:
        if one.verdict == "DIFFERENT":
            name = f", node '{one.node.name}'" if one.node.name else ""
            return (
                f"the first tensor that differs in memory is '{one.found.name}' (operator {one.node.op_type}{name}), "
                f"by {one.found.difference:.3g}"
            )
    return ""


def tensor_table(compared: list[TensorComparison]) -> str:
    """One line a tensor."""
    rows = [
        (
            one.found.name, one.node.op_type, "x".join(map(str, one.shape)), f"{one.found.difference:.3g}",
            f"{one.found.allowed:.3g}", one.verdict,
        )
        for one in compared
    ]  # fmt: skip
    return table([("tensor", "operator", "shape", "max difference", "allowed", ""), *rows])

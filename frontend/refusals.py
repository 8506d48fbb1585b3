"""
Messages about nodes that cannot be imported: one line for each operator, with a remedy.

The table of operators that are not supported is also part of the reference of operators.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from . import registry

UNSUPPORTED: Mapping[tuple[str, ...], tuple[str, str]] = {
    ("NonMaxSuppression",): (
        "the number of boxes depends on values at run time",
        "end the model before it, and select boxes in the application",
    ),
    ("ImageDecoder",): ("chips cannot decode image files", "pass the decoded image as input"),
    ("MaxRoiPool",): (
        "the sizes of regions depend on values at run time",
        "use RoiAlign, whose number of samples is fixed",
    ),
}
"""Operators of ONNX that are not supported -> (reason, remedy)."""

_LESS = "let ONNX Runtime optimise up to ORT_ENABLE_EXTENDED only: higher levels write models for one processor"

_DOMAINS: Mapping[str, str] = {
    "com.microsoft": "write the model without ONNX Runtime's optimisations or with fewer",
    "com.microsoft.nchwc": _LESS,
    "com.ms.internal.nhwc": _LESS,
    "ai.onnx.ml": "end the model before it, or leave it out of the export",
    "ai.onnx.preview.training": "remove it from the model: the pass dataflow-differentiate computes gradients",
    "org.pytorch.aten": "export with operators of ONNX only",
}
"""Remedy for an operator that is not supported, by its domain."""

_EXPORT = "export the model with operators of ONNX, or with a function (onnx.FunctionProto) that defines the operator"


def advice(operator: str, domain: str, opset: int) -> str:
    """Why an operator is not supported at an opset version of its domain (empty for ONNX's own), with a remedy."""
    registry.load()
    later = [since for since, _ in registry.OPERATORS.get((domain, operator), []) if since > opset]
    if opset == 0:
        return f"the model has no opset version for its domain: add {domain or 'ai.onnx'} to opset_import"
    if later:
        named = f"opset {min(later)} {operator} is: convert with"
        return f"the operator is not supported; {named} onnx.version_converter.convert_version(model, {min(later)})"
    if not domain:
        for names, (reason, remedy) in UNSUPPORTED.items():
            if operator in names:
                return f"the operator is not supported ({reason}): {remedy}"
    return f"the operator is not supported: {_DOMAINS.get(domain, _EXPORT)}"


@dataclass
class _Operator:
    """The nodes of one operator that cannot be imported, in their order, each with the reason."""

    name: str
    domain: str
    opset: int
    reasons: dict[str, str] = field(default_factory=dict[str, str])

    def __str__(self) -> str:
        node, reason = next(iter(self.reasons.items()))
        head = f"operator {self.name} (domain {self.domain or 'ai.onnx'}, opset {self.opset})"
        if len(self.reasons) == 1:
            return f"{head}, node {node}: {reason}"
        others = sum(1 for other in self.reasons.values() if other != reason)
        more = f" ({others} of them for other reasons)" if others else ""
        return f"{head}, {len(self.reasons)} nodes, the first {node}: {reason}{more}"


@dataclass
class Refusals:
    """The reasons why a model cannot be imported, in the order in which they were found."""

    _problems: list[str | _Operator] = field(default_factory=list["str | _Operator"])
    _operators: dict[tuple[str, str, int], _Operator] = field(default_factory=dict[tuple[str, str, int], _Operator])

    def __bool__(self) -> bool:
        return bool(self._problems)

    def add(self, problem: str) -> None:
        """Report a problem that does not concern a single node."""
        self._problems.append(problem)

    def add_node(self, operator: str, domain: str, opset: int, node: str, reason: str) -> None:
        """Report a node (of this name) that cannot be imported; repeated reports of a node count once."""
        key = (operator, domain, opset)
        if key not in self._operators:
            self._operators[key] = _Operator(*key)
            self._problems.append(self._operators[key])
        self._operators[key].reasons.setdefault(node, reason)

    def lines(self) -> list[str]:
        """The lines of the message: one for each operator, and one for each other problem."""
        return [str(problem) for problem in self._problems]

"""
What is said of nodes that cannot be imported: one line for each operator, with what would help.

The table of operators that are not supported is on the page of operators, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from . import registry

UNSUPPORTED: Mapping[tuple[str, ...], tuple[str, str]] = {
    ("Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"): (
        "random numbers, which a program draws anew on every run, and executables repeat their results",
        "give the model the numbers as an input",
    ),
    ("NonMaxSuppression",): (
        "how many boxes are left depends on values at run time",
        "end the model before it, and choose boxes outside",
    ),
    ("ImageDecoder",): ("no chip reads image files", "give the model the decoded image"),
    ("MaxRoiPool",): ("regions whose sizes depend on values at run time", "use RoiAlign, whose samples are counted"),
}
"""Operators of ONNX by why they are not supported, and by what helps."""

_LESS = "let ONNX Runtime optimise up to ORT_ENABLE_EXTENDED only, as above it writes for one processor"

_DOMAINS: Mapping[str, str] = {
    "com.microsoft": "write the model without ONNX Runtime's optimisations or with fewer",
    "com.microsoft.nchwc": _LESS,
    "com.ms.internal.nhwc": _LESS,
    "ai.onnx.ml": "end the model before it, or leave it out of the export",
    "ai.onnx.preview.training": "leave it out of the model: the pass dataflow-differentiate makes gradients",
    "org.pytorch.aten": "export with operators of ONNX alone",
}
"""What helps with an operator of a domain that has no function for it."""

_EXPORT = "export the model with operators of ONNX, or with a function (onnx.FunctionProto) that says what it computes"


def advice(operator: str, domain: str, opset: int) -> str:
    """Why an operator is not supported at an opset version of its domain (ONNX's own is empty), and what would help."""
    registry.load()
    later = [since for since, _ in registry.OPERATORS.get((domain, operator), []) if since > opset]
    if opset == 0:
        return f"the model does not say which version of its domain it uses: add {domain or 'ai.onnx'} to opset_import"
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
    """Why a model cannot be imported, in the order in which it was found."""

    _problems: list[str | _Operator] = field(default_factory=list["str | _Operator"])
    _operators: dict[tuple[str, str, int], _Operator] = field(default_factory=dict[tuple[str, str, int], _Operator])

    def __bool__(self) -> bool:
        return bool(self._problems)

    def add(self, problem: str) -> None:
        """What is no fault of a node."""
        self._problems.append(problem)

    def add_node(self, operator: str, domain: str, opset: int, node: str, reason: str) -> None:
        """A node (of this name) that cannot be imported; the same node again is not counted twice."""
        key = (operator, domain, opset)
        if key not in self._operators:
            self._operators[key] = _Operator(*key)
            self._problems.append(self._operators[key])
        self._operators[key].reasons.setdefault(node, reason)

    def lines(self) -> list[str]:
        """A line for each operator, and each other problem."""
        return [str(problem) for problem in self._problems]

"""
The import of operators of the domain `com.microsoft`, which ONNX Runtime's optimiser, its quantiser and exporters
write. Their semantics are those of ONNX Runtime's CPU kernels. All belong to version 1 of the domain.
"""

from __future__ import annotations

from collections.abc import Callable

from ...registry import ImporterT, onnx_op

DOMAIN = "com.microsoft"


def microsoft_op(*names: str) -> Callable[[ImporterT], ImporterT]:
    """As `onnx_op`, for operators of the domain `com.microsoft`."""
    return onnx_op(*names, domain=DOMAIN)

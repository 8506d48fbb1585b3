"""Short descriptions of tensors."""

from __future__ import annotations

from collections.abc import Sequence


def described(name: str, kind: object, shape: Sequence[int]) -> str:
    """`scores float32[1, 10]`"""
    return f"{name} {kind}[{', '.join(map(str, shape))}]"

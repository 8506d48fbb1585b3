"""Versions of Meshloom and of xDSL, as tools and reports print them."""

from __future__ import annotations


def versions() -> str:
    """`meshloom X (xdsl Y)`."""
    from importlib.metadata import version

    return f"meshloom {version('meshloom')} (xdsl {version('xdsl')})"

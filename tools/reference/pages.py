"""All reference pages that are made from the definitions of dialects, passes and errors."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ..universe import DIALECTS
from .dialect_page import dialect_page
from .error_page import error_page
from .pass_page import pass_page


def pages(folder: Path) -> Iterator[tuple[str, str]]:
    """Name and text of each page of `folder`, which holds the examples of passes."""
    for name in DIALECTS:
        yield f"{name}.md", dialect_page(name)
    yield "errors.md", error_page()
    yield "passes.md", pass_page(folder)

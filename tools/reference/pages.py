"""All reference pages that are made from definitions: of dialects, passes, errors, instructions and ONNX operators."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ..universe import DIALECTS
from .dialect_page import dialect_page
from .error_page import error_page
from .isa_page import isa_page
from .operator_page import operator_page
from .pass_page import pass_page


def pages(folder: Path) -> Iterator[tuple[str, str]]:
    """Name and text of each page of `folder`, which holds the examples of passes."""
    for name in DIALECTS:
        yield f"{name}.md", dialect_page(name)
    yield "errors.md", error_page()
    yield "isa.md", isa_page()
    yield "operators.md", operator_page()
    yield "passes.md", pass_page(folder)

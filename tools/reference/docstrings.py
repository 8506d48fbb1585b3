"""Docstrings of a definition: prose, examples and syntax, and the descriptions of its fields."""

from __future__ import annotations

import ast
import inspect
import re
import sys
from dataclasses import dataclass
from functools import cache

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$\n?", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Description:
    """The parts of a docstring."""

    prose: str
    """Markdown, with blocks that are neither examples nor syntax."""
    examples: tuple[str, ...]
    """The blocks of language `mlir`: operations, or attributes and types, a line each."""
    syntax: str
    """The block of language `syntax`, or nothing."""


def describe(definition: type) -> Description:
    """The parts of the docstring of a class (not an inherited one)."""
    text = inspect.cleandoc(vars(definition).get("__doc__") or "") + "\n"
    blocks = _BLOCK.findall(text)
    examples = tuple(block for language, block in blocks if language == "mlir")
    syntax = "".join(block for language, block in blocks if language == "syntax")

    def kept(match: re.Match[str]) -> str:
        return "" if match[1] in ("mlir", "syntax") else match[0]

    return Description(re.sub(r"\n{3,}", "\n\n", _BLOCK.sub(kept, text)).strip(), examples, syntax)


def field_documents(definition: type) -> dict[str, str]:
    """For each field of a class, and of its base classes in the package, its description in one line."""
    found: dict[str, str] = {}
    for one in reversed(definition.__mro__):
        if one.__module__.partition(".")[0] == __name__.partition(".")[0]:
            found |= _documents_of_module(one.__module__).get(one.__qualname__, {})
    return found


@cache
def _documents_of_module(name: str) -> dict[str, dict[str, str]]:
    """For each class at the top level of a module, the descriptions of its fields."""
    tree = ast.parse(inspect.getsource(sys.modules[name]))
    return {node.name: documents_in(node) for node in tree.body if isinstance(node, ast.ClassDef)}


def documents_in(node: ast.ClassDef) -> dict[str, str]:
    """The descriptions of the fields of a class (the strings below them), each in one line."""
    found: dict[str, str] = {}
    for before, after in zip(node.body, node.body[1:], strict=False):
        if not (isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)):
            continue
        targets = before.targets if isinstance(before, ast.Assign) else [getattr(before, "target", None)]
        for target in targets:
            if isinstance(target, ast.Name):
                found[target.id] = " ".join(str(after.value.value).split())
    return found

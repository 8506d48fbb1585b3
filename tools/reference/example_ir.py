"""Examples of docstrings as whole modules: values that an example uses without a definition become arguments."""

from __future__ import annotations

import re
import textwrap
from functools import cache

from xdsl.context import Context
from xdsl.dialects import get_all_dialects
from xdsl.parser import Parser

from ..universe import MESHLOOM

_ATTRIBUTE = re.compile(r"^(?=[#!])", re.MULTILINE)


@cache
def context() -> Context:
    """All dialects of the project and of xDSL."""
    made = Context()
    for name, dialect in (get_all_dialects() | MESHLOOM.all_dialects).items():
        made.register_dialect(name, dialect)
    return made


def complete(example: str) -> str:
    """
    A module that contains an example: attributes and types (each begins with a line with `#` or `!`), or operations.
    Operations that use undefined values are put in a function that has these values as arguments.

    Raises ParseError for text that is not IR.
    """
    if example.startswith("#"):
        named = (f"example.value{number} = {one.strip()}" for number, one in enumerate(_parts(example)))
        return "module attributes {\n" + textwrap.indent(",\n".join(named), "  ") + "\n} {}\n"
    if example.startswith("!"):
        return "func.func private @example(" + ", ".join(one.strip() for one in _parts(example)) + ")\n"
    arguments = _undefined(example)
    if not arguments:
        return example
    listed = ", ".join(f"%{name}: {type}" for name, type in arguments.items())
    return f"func.func @example({listed}) {{\n{textwrap.indent(example, '  ')}  func.return\n}}\n"


def _parts(example: str) -> list[str]:
    return [one for one in _ATTRIBUTE.split(example) if one]


def _undefined(example: str) -> dict[str, str]:
    """The undefined values that operations use, by name, with their types, in the order of their first use."""
    parser = Parser(context(), example)
    while parser.parse_optional_operation() is not None:
        pass
    found: dict[str, str] = {}
    for name, by_index in parser.forward_ssa_references.items():
        if list(by_index) != [0]:
            parser.raise_error(f"%{name} stands for several values: define them")
        found[name] = str(by_index[0].type)
    return found

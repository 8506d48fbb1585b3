"""Lists of passes and dialects: `--list-passes`, `--help-pass NAME`, `--list-dialects` of `meshloom-opt`."""

from __future__ import annotations

import dataclasses
import inspect
import re
import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches

from xdsl.ir import Dialect
from xdsl.passes import ModulePass
from xdsl.utils.hints import type_repr

from ..analysis.semantic_effect import EXACT, SemanticEffect
from ..support.errors import InputError
from .pass_pipeline import Passes
from .universe import ROOT

WIDTH = 120
"""Characters of a line."""


def list_passes(own: Iterable[str], known: Passes) -> Iterator[str]:
    """
    Lines: the project's `own` passes with their summaries and options, those of plug-ins, and the names of xDSL's.

    Each line begins with a name, so that scripts can search the list.
    """
    names = [name for name in own if name in known]
    width = max(map(len, names), default=0)
    for name in names:
        one = known[name]()
        taken = " ".join(field.name.replace("_", "-") for field in options(one))
        given = f" {{{taken}}}" if taken else ""
        yield from _wrapped(f"{name:{width}}  ", f"{summary(one)}{given}")
    others = sorted(set(known) - set(names))
    if others:
        yield ""
        yield "passes of xDSL (--help-pass NAME describes one):"
        yield from others


def _wrapped(first: str, text: str) -> list[str]:
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=first,
        subsequent_indent=" " * len(first),
        break_on_hyphens=False,
        break_long_words=False,
    )


def help_pass(name: str, known: Passes) -> str:
    """
    Description of a pass, its options with types and defaults, and its semantic effect. Raises InputError for an
    unknown pass.
    """
    if name not in known:
        close = get_close_matches(name, known, n=1)
        hint = f"did you mean '{close[0]}'?" if close else "`meshloom-opt --list-passes` names all"
        raise InputError(f"--help-pass: unknown pass '{name}'; {hint}")
    one = known[name]()
    lines = [name, "", textwrap.indent(description(one), "  ")]
    if fields := options(one):
        lines += ["", "options:"]
        lines += [f"  {option(field)}" for field in fields]
    lines += ["", f"results: {effect(one)}"]
    return "\n".join(lines)


def effect(one: type[ModulePass]) -> str:
    """A semantic effect in words."""
    declared = inspect.getattr_static(one, "semantic_effect", EXACT)
    if not isinstance(declared, SemanticEffect):
        return "depends on the options"
    match declared.kind:
        case "exact":
            return "bit-identical"
        case "reassociating":
            return f"floats may be rounded differently, by up to {declared.bound:g} of the largest"
        case "lossy":
            return f"may differ by up to {declared.bound:g} of the largest"
        case "interface-changing":
            return "inputs or results change"


def options(one: type[ModulePass]) -> list[dataclasses.Field[object]]:
    """The fields of a pass that are options, in their order."""
    return [field for field in dataclasses.fields(one) if field.init]


def option(field: dataclasses.Field[object]) -> str:
    """`name : type = default` in the spelling of `-p`, or `name : type (required)`."""
    kind = field.type if isinstance(field.type, str) else type_repr(field.type)
    kind = kind.removesuffix(" | None").replace("Number", "int | float")
    kind = re.sub(r"Literal\[(.*?)\]", lambda found: found[1].replace(", ", " | ").replace("'", ""), kind)
    text = f"{field.name.replace('_', '-')} : {kind}"
    default = field.default
    if default is dataclasses.MISSING:
        return text if field.default_factory is not dataclasses.MISSING else f"{text} (required)"
    if default is None or default == ():
        return text
    return f"{text} = {str(default).lower() if isinstance(default, bool) else default}"


def summary(one: object) -> str:
    """The first sentence of a docstring, without its full stop."""
    paragraph = description(one).split("\n\n")[0]
    sentence = re.split(r"(?<=[a-z0-9`)\]])[.:](?:\s|$)", " ".join(paragraph.split()), maxsplit=1)[0]
    return sentence.rstrip(".:")


def description(one: object) -> str:
    """The docstring of a class, except the signature that a dataclass without a docstring has instead."""
    text = vars(one).get("__doc__") or ""
    if text.startswith(f"{getattr(one, '__name__', '')}("):
        text = ""
    return inspect.cleandoc(text) or "No description."


def list_dialects(own: Mapping[str, Dialect], known: Iterable[str]) -> Iterator[str]:
    """Lines: the project's `own` dialects with summaries and numbers of definitions, and the names of xDSL's."""
    width = max(map(len, own))
    for name, dialect in own.items():
        operations, attributes = len(list(dialect.operations)), len(list(dialect.attributes))
        package = f"{ROOT}.dialects.{name}"
        own_module = next(iter(dialect.operations)).__module__
        purpose = re.sub(r" \(see .*", "", summary(sys.modules[package if package in sys.modules else own_module]))
        text = f"{purpose} (operations: {operations}, attributes and types: {attributes})"
        yield from _wrapped(f"{name:{width}}  ", text)
    yield ""
    yield "dialects of xDSL:"
    yield from sorted(set(known) - set(own))

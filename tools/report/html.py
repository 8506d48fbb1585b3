"""HTML and SVG as text: all plain text is escaped, and the result is also well-formed XML."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence
from typing import TypeAlias

from .words import middle_out

_ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
"""Characters that XML does not allow, not even as references."""


LONG = 40
"""Rows of a table that are shown without scrolling."""


class Markup(str):
    """Text that is markup and is not escaped."""

    __slots__ = ()


Child: TypeAlias = "str | int | Iterable[Child]"
Attribute: TypeAlias = "str | float | None"


def escape(text: str) -> Markup:
    """`text`, escaped (names of tensors come from the user's files)."""
    if isinstance(text, Markup):
        return text
    return Markup(html.escape(_ILLEGAL.sub("\N{REPLACEMENT CHARACTER}", text)))


def join(children: Iterable[Child]) -> Markup:
    """Children one after another."""
    parts: list[str] = []
    for child in children:
        if isinstance(child, str):
            parts.append(escape(child))
        elif isinstance(child, int):
            parts.append(str(child))
        else:
            parts.append(join(child))
    return Markup("".join(parts))


def number(value: float) -> str:
    """A coordinate: two decimals at most."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text


def tag(name: str, /, *children: Child, **attributes: Attribute) -> Markup:
    """
    An element. Attributes: `class_` stands for `class`, `stroke_width` for `stroke-width`; None leaves one out.

    Elements without children close themselves, as XML has it; in HTML only do this with those that are always empty.
    """
    text = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(value if isinstance(value, str) else number(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{name}{text}>{join(children)}</{name}>" if children else f"<{name}{text}/>")


def table(head: Sequence[Child], rows: Iterable[Sequence[Child]], text_columns: int = 1, class_: str = "") -> Markup:
    """A table whose first `text_columns` columns are text and the others numbers; a long one scrolls."""

    def cells(name: str, row: Sequence[Child]) -> Markup:
        return join(
            tag(name, cell, class_=None if column < text_columns else "number") for column, cell in enumerate(row)
        )

    body = [tag("tr", cells("td", row)) for row in rows]
    whole = tag("table", tag("thead", tag("tr", cells("th", head))), tag("tbody", body))
    names = ["table", *(["scroll"] if len(body) > LONG else []), *([class_] if class_ else [])]
    return tag("div", whole, class_=" ".join(names))


def key_values(pairs: Iterable[tuple[str, Child]]) -> Markup:
    """A list of names with their values."""
    return tag("dl", [tag("div", tag("dt", name), tag("dd", value)) for name, value in pairs], class_="facts")


def meter(share: float, text: str) -> Markup:
    """A number with a bar behind it that shows a share of 1."""
    width = f"width:{100 * min(max(share, 0.0), 1.0):.1f}%"
    return tag("span", tag("span", "", class_="fill", style=width), tag("span", text, class_="text"), class_="meter")


def name_cell(name: str, room: int) -> Markup:
    """A name in a table, shortened to `room` characters, with the full name as tooltip."""
    return tag("span", middle_out(name, room), title=name) if len(name) > room else escape(name)

"""A page: title, the most important figures, sections."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from .html import Child, Markup, join, tag
from .style import STYLE


@dataclass(frozen=True)
class Section:
    """A part of a page under its own heading."""

    title: str
    body: Child
    note: Child = ""
    """A description in one or two sentences."""

    @property
    def anchor(self) -> str:
        """The name of the section in links."""
        return "".join(letter if letter.isalnum() else "-" for letter in self.title.lower())


@dataclass(frozen=True)
class Figure:
    """A figure at the top of a page."""

    name: str
    value: str
    remark: str = ""


Facts = TypeVar("Facts")
SectionMaker: TypeAlias = "Callable[[Facts], Section | None]"
"""Makes a section of a report from its facts, or None for an empty section."""


def sections_of(makers: Iterable[Callable[[Facts], Section | None]], facts: Facts) -> list[Section]:
    """The sections that are not empty, in order."""
    return [section for maker in makers if (section := maker(facts)) is not None]


def page(title: str, subtitle: str, figures: Sequence[Figure], sections: Sequence[Section]) -> str:
    """The whole file, without references to other files."""
    links = [tag("a", section.title, href=f"#{section.anchor}") for section in sections]
    body = tag(
        "body",
        tag(
            "main",
            tag("header", tag("h1", title), tag("p", subtitle), class_="title"),
            figure_boxes(figures),
            tag("nav", links),
            [_section(section) for section in sections],
        ),
    )
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", title),
        tag("style", Markup(STYLE)),
    )
    return f"<!DOCTYPE html>\n{tag('html', head, body, lang='en')}\n"


def figure_boxes(figures: Iterable[Figure]) -> Markup:
    """Figures side by side."""
    return tag("div", [_figure(figure) for figure in figures], class_="figures")


def _figure(figure: Figure) -> Markup:
    remark = [tag("span", figure.remark, class_="remark")] if figure.remark else []
    return tag("div", tag("span", figure.name, class_="name"), tag("span", figure.value, class_="value"), remark)


def _section(section: Section) -> Markup:
    note = [tag("p", section.note, class_="note")] if section.note else []
    return join([tag("section", tag("h2", section.title), note, section.body, id=section.anchor)])

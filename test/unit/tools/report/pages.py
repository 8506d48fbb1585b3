"""Pages as XML, for tests of reports."""

from __future__ import annotations

import re
from xml.etree import ElementTree
from xml.etree.ElementTree import Element


def parsed(text: str) -> Element:
    """The page as XML, after a look for anything that it would fetch."""
    for word in ("http:", "https:", "<script", "<link", "@import", "url(", "src="):
        assert word not in text, word
    assert set(re.findall(r'href="(.)', text)) == {"#"}
    root = ElementTree.fromstring(text.removeprefix("<!DOCTYPE html>\n"))
    anchors = {link.attrib["href"] for link in root.iter("a")}
    assert anchors == {f"#{section.attrib['id']}" for section in root.iter("section")}
    return root


def section(root: Element, name: str) -> Element:
    """A section by its anchor."""
    (found,) = [one for one in root.iter("section") if one.attrib["id"] == name]
    return found


def rows(root: Element, name: str) -> list[list[str]]:
    """The body of the first table of a section."""
    table = next(section(root, name).iter("tbody"))
    return [["".join(cell.itertext()) for cell in row] for row in table]


def tiles(root: Element) -> dict[str, str]:
    """The figures at the top."""
    (figures,) = [one for one in root.iter("div") if one.get("class") == "figures"]
    return {"".join(tile[0].itertext()): "".join(tile[1].itertext()) for tile in figures}

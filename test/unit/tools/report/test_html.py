"""Markup: names are escaped, and pages are well-formed."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from meshloom.tools.report.html import escape, key_values, name_cell, number, table, tag
from meshloom.tools.report.page import Figure, Section, page, sections_of
from meshloom.tools.report.words import by, compact, in_bytes, middle_out, percent, significant


def test_tags() -> None:
    assert tag("b", "a < b & c", 7, ["x", tag("i", "y")]) == "<b>a &lt; b &amp; c7x<i>y</i></b>"
    assert tag("rect", x=0.125, y=2.0, class_="a", stroke_width="1", title=None) == (
        '<rect x="0.12" y="2" class="a" stroke-width="1"/>'
    )
    assert tag("p", title='"><script>') == '<p title="&quot;&gt;&lt;script&gt;"/>'
    assert tag("span", "") == "<span></span>"


def test_numbers_of_drawings() -> None:
    assert [number(value) for value in (0, -0.001, 1.5, 2.004, 1e6, 3)] == ["0", "0", "1.5", "2", "1000000", "3"]


@given(st.text())
def test_any_name_survives(name: str) -> None:
    body = tag("section", tag("p", name, title=name), name_cell(name, 8))
    element = ElementTree.fromstring(body)
    assert element.tag == "section"
    assert element[0].tag == "p"
    legal = "".join(letter for letter in name if letter == "\t" or letter == "\n" or ord(letter) >= 32)
    if legal == name and "\r" not in name and not set(name) & {"\x7f", "\ufffe", "\uffff"}:
        assert (element[0].text or "") == name


def test_escaping_is_done_once() -> None:
    assert escape(escape("a & b")) == "a &amp; b"


def test_tables_scroll_when_they_are_long() -> None:
    assert 'class="table"' in table(["a", "b"], [["x", "1"]] * 40)
    assert 'class="table scroll wide"' in table(["a", "b"], [["x", "1"]] * 41, 1, "wide")
    cells = ElementTree.fromstring(table(["a", "b"], [["x", "1"]])).findall(".//td")
    assert [cell.get("class") for cell in cells] == [None, "number"]


def _shown(facts: int) -> Section | None:
    return Section("One & all", f"{facts}!", "note")


def _nothing(facts: int) -> Section | None:
    return None


def test_pages_are_made_of_sections() -> None:
    sections = sections_of([_shown, _nothing], 5)
    text = page("t<>", "sub", [Figure("Cycles", "7", "few")], sections)
    assert text.startswith("<!DOCTYPE html>\n<html")
    root = ElementTree.fromstring(text.partition("\n")[2])
    assert root.findtext("head/title") == "t<>"
    assert [link.get("href") for link in root.iter("a")] == ["#one---all"]
    (section,) = root.iter("section")
    assert section.get("id") == "one---all"
    assert "".join(section.itertext()) == "One & allnote5!"
    assert key_values([("a", "1")]) in tag("x", key_values([("a", "1")]))


@pytest.mark.parametrize(("value", "text"), [
    (0, "0 B"), (1023, "1023 B"), (1024, "1 KiB"), (98880, "96.6 KiB"), (1 << 20, "1 MiB"), (5 << 40, "5 TiB"),
])  # fmt: skip
def test_bytes(value: int, text: str) -> None:
    assert in_bytes(value) == text


def test_words() -> None:
    assert [significant(value) for value in (3, 1.234, 12.34, 123.4, 12345.6)] == ["3", "1.23", "12.3", "123", "12,346"]
    assert [percent(value) for value in (0, 0.0001, 0.5, 1)] == ["0.0%", "<0.1%", "50.0%", "100.0%"]
    assert [compact(value) for value in (9999, 10000, 1634733, 999_600)] == ["9,999", "10 k", "1.63 M", "1.00 M"]
    assert by((2, 3)) == "2\u00d73"
    assert middle_out("abcdefghijkl", 7) == "ab\u2026ijkl"
    assert middle_out("abc", 3) == "abc"
    assert len(middle_out("a" * 50, 20)) == 20

"""Tests that charts extracted from a report are complete SVG files."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree

import pytest
from meshloom.support.errors import InputError
from meshloom.tools.report.html import tag
from meshloom.tools.report.page import Section, page
from meshloom.tools.report.svg import drawing, text
from report_pictures import chart_of

NAMESPACE = "{http://www.w3.org/2000/svg}"


def test_a_chart_as_a_file() -> None:
    chart = drawing(40, 20, "two words", text(1, 2, "a < b", "muted"))
    whole = page("title", "", [], [Section("Other", tag("p", "none")), Section("Time line", chart)])
    found = ElementTree.fromstring(chart_of(whole, "time-line"))
    assert found.tag == f"{NAMESPACE}svg"
    assert found.get("viewBox") == "0 0 40 20"
    assert [one.text for one in found.iter(f"{NAMESPACE}text")] == ["a < b"]
    style = found.find(f"{NAMESPACE}style")
    assert style is not None
    assert re.search(r"\.muted \{ fill: #[0-9a-f]{6}; \}", style.text or "")
    assert "--" not in (style.text or "")
    with pytest.raises(InputError, match="no section 'cores': it has other, time-line"):
        chart_of(whole, "cores")
    with pytest.raises(InputError, match="has 0 charts"):
        chart_of(whole, "other")

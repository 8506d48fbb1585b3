"""The reference page of operators agrees with the importer's table, and lists ONNX's other operators."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import onnx.defs
from meshloom.frontend import onnx_ops
from meshloom.frontend.registry import OPERATORS
from meshloom.tools.reference.operator_page import operator_page

PAGE = Path(__file__).resolve().parents[3] / "docs" / "reference" / "operators.md"
ROW = re.compile(r"^\| `(\w+)`(?: \(([\w.]+)\))? \| (\d+) \| (.+) \|$", re.MULTILINE)


def test_reference_page_is_up_to_date() -> None:
    written = PAGE.read_text(encoding="utf-8")
    assert written == operator_page(), "run: python -m meshloom.tools.reference docs/reference"


def test_reference_page_has_a_row_for_every_importer() -> None:
    onnx_ops.load()
    rows = [(domain, name, int(since)) for name, domain, since, _ in ROW.findall(PAGE.read_text(encoding="utf-8"))]
    importers = [(domain, name, since) for (domain, name), entries in OPERATORS.items() for since, _ in entries]
    assert sorted(rows) == sorted(importers)


def test_every_operator_of_onnx_is_imported_or_a_function_or_listed_as_not_supported() -> None:
    text = PAGE.read_text(encoding="utf-8")
    imported = {(domain, name) for name, domain, _, _ in ROW.findall(text)}
    not_supported = set(re.findall(r"`(\w+)`", text.split("Not supported", 1)[1].split("\n| operator", 1)[0]))
    newest: list[Any] = [one for one in onnx.defs.get_all_schemas() if not one.deprecated and one.domain == ""]
    functions = {one.name for one in newest if one.has_function or one.has_context_dependent_function}
    left = {one.name for one in newest if ("", one.name) not in imported} - functions
    partly = {"NonZero", "Unique", "Compress"}  # imported if their operands are known
    assert not_supported - partly - functions == left  # functions are listed if they use such operators
    assert {("", name) for name in partly} <= imported

"""The reference page of operators says what the importer's table says."""

from __future__ import annotations

from pathlib import Path

from meshloom.tools.operator_reference import page

ROOT = Path(__file__).resolve().parents[3]


def test_reference_page_is_up_to_date() -> None:
    written = (ROOT / "docs" / "reference" / "operators.md").read_text(encoding="utf-8")
    assert written == page(), "run: python -m meshloom.tools.operator_reference > docs/reference/operators.md"

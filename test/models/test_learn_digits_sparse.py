"""Test of the example that trains a pruned network: it recovers the lost accuracy, with fewer cycles per step."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "learn_digits_sparse.py"


@pytest.mark.slow
def test_output_of_the_example(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(EXAMPLE))["main"](["--epochs", "3"])
    printed = capsys.readouterr().out
    rows = re.findall(r"^(dense|pruned[a-z, ]*?) +([\d,]+) +([\d,]+|-) +([\d,]+|-) +([\d.]+)%$", printed, re.MULTILINE)
    (_, weights, cycles, total, accuracy), (_, _, _, _, lost), (_, kept, fewer, less, again) = rows

    def number(text: str) -> int:
        return int(text.replace(",", ""))

    assert number(kept) < number(weights) / 7
    assert number(fewer) < 0.8 * number(cycles)
    assert number(less) < 0.5 * number(total)
    assert float(accuracy) > 85
    assert float(lost) < float(accuracy) - 5
    assert float(again) > max(float(lost) + 5, float(accuracy) - 5)
    assert "what was not connected has stayed zero" in printed

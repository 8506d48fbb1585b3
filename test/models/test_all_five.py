"""The example that compiles one network by all five methods, and without each of them."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "all_five.py"
ROW = re.compile(r"^(\S.*?) +([\d,]+) +[\d.]+x +([\d,]+) +([\d,]+) +(\d+)$", re.MULTILINE)


@pytest.mark.slow
def test_what_each_method_brings(capsys: pytest.CaptureFixture[str]) -> None:
    """All rows are right (the example compares with ONNX Runtime); no method costs anything, and two of them much."""
    spec = importlib.util.spec_from_file_location("all_five", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.main([])
    said = capsys.readouterr().out
    cycles = {name: int(count.replace(",", "")) for name, count, *_ in ROW.findall(said)}
    assert len(cycles) == len(module.WAYS), said
    least = cycles["all five"]
    assert all(least <= count for name, count in cycles.items() if name.startswith("without")), said
    assert cycles["without sparse weights"] > 3 * least
    assert cycles["without subgraphs and fusion"] > 3 * least
    assert cycles["all five, on two chips"] < least

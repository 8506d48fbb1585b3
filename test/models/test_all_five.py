"""The example that compiles one network by all five methods, and without each of them."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
ROW = re.compile(r"^(\S.*?) +([\d,]+) +[\d.]+x +([\d,]+) +([\d,]+) +(\d+)$", re.MULTILINE)


@pytest.mark.slow
def test_what_each_method_brings(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """
    All rows are correct (the example compares with ONNX Runtime). Leaving out a method never makes the network faster;
    without sparse weights it is several times slower, and without subgraphs it does not fit.
    """
    monkeypatch.setattr(sys, "path", [str(EXAMPLES), *sys.path])
    module = importlib.import_module("all_five")
    module.main([])
    said = capsys.readouterr().out
    cycles = {name: int(count.replace(",", "")) for name, count, *_ in ROW.findall(said)}
    assert {way.name for way in module.WAYS} - cycles.keys() == {"without subgraphs"}, said
    assert re.search(r"^without subgraphs +the network does not fit chip 'small'", said, re.MULTILINE), said
    least = cycles["all five"]
    assert all(least <= count for name, count in cycles.items() if name.startswith("without")), said
    assert cycles["without sparse weights"] > 3 * least
    assert cycles["all five, on two chips"] < least

"""Test of the example that compiles one network by all five methods, and with each one left out."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
ROW = re.compile(r"^(\S.*?) +([\d,]+) +[\d.]+x +([\d,]+) +([\d,]+) +(\d+)$", re.MULTILINE)


@pytest.mark.slow
def test_the_gain_of_each_method(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """
    The network is fastest with all methods.

    The example compares the results of each row with ONNX Runtime. Without a method, the network is not faster; without
    sparse weights it is several times slower, and without subgraphs it does not fit.
    """
    monkeypatch.setattr(sys, "path", [str(EXAMPLES), *sys.path])
    module = importlib.import_module("all_five")
    module.main([])
    printed = capsys.readouterr().out
    cycles = {name: int(count.replace(",", "")) for name, count, *_ in ROW.findall(printed)}
    assert {way.name for way in module.WAYS} - cycles.keys() == {"without subgraphs"}, printed
    assert re.search(r"^without subgraphs +the network does not fit chip 'small'", printed, re.MULTILINE), printed
    least = cycles["all five"]
    assert all(least <= count for name, count in cycles.items() if name.startswith("without")), printed
    assert cycles["without sparse weights"] > 3 * least
    assert cycles["all five, on two chips"] < least

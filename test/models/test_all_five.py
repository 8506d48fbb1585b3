"""Test of the example that compiles one network, and its training step, by all five methods and without each."""

from __future__ import annotations

import importlib
import re
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
ROW = re.compile(r"^(\S.*?) +([\d,]+) +[\d.]+x +([\d,]+) +([\d,]+) +(\d+)$", re.MULTILINE)


@dataclass(frozen=True)
class Table:
    """The printed table."""

    text: str
    missing: set[str]
    """The ways without a row of figures."""
    cycles: dict[str, int]


def table(args: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Table:
    """What the example prints. It compares the results of each row with ONNX Runtime."""
    monkeypatch.setattr(sys, "path", [str(EXAMPLES), *sys.path])
    module = importlib.import_module("all_five")
    module.main(args)
    text = capsys.readouterr().out
    cycles = {name: int(count.replace(",", "")) for name, count, *_ in ROW.findall(text)}
    return Table(text, {way.name for way in module.WAYS} - cycles.keys(), cycles)


@pytest.mark.slow
def test_the_gain_of_each_method(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """
    The network is fastest with all methods.

    Without a method, the network is not faster; without sparse weights it is several times slower, and without
    subgraphs it does not fit.
    """
    found = table([], capsys, monkeypatch)
    assert found.missing == {"without subgraphs"}, found.text
    assert re.search(r"^without subgraphs +the network does not fit chip 'small'", found.text, re.MULTILINE)
    least = found.cycles["all five"]
    assert all(least <= count for name, count in found.cycles.items() if name.startswith("without")), found.text
    assert found.cycles["without sparse weights"] > 3 * least
    assert found.cycles["all five, on two chips"] < least


@pytest.mark.slow
def test_the_gain_of_each_method_in_training(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Activations wait for the backward pass: memory saving and the order matter, too."""
    found = table(["--train"], capsys, monkeypatch)
    assert found.missing == {"without subgraphs"}, found.text
    least = found.cycles["all five"]
    assert found.cycles["without memory saving"] > 1.1 * least
    assert found.cycles["without a search for the order"] > least
    assert all(least <= count for name, count in found.cycles.items() if name.startswith("without")), found.text

"""
Tests of every pair of options of the compiler, on four small networks: results are correct, and each option has the
same effect as alone. No pair is rejected.
"""

from __future__ import annotations

import random
import re
from collections.abc import Collection
from itertools import combinations
from pathlib import Path

import pytest
from meshloom.emulator.timing.engine import depends_on_values
from meshloom.tools import assemble, opt
from meshloom.tools.compile import main
from option_table import NETWORKS, OPTIONS, SHARE, Compiled, case_of, check_results, executables

PAIRS = [*combinations(OPTIONS, 2)]
FEW = 30
"""Number of random choices of three or four options."""
NAMES = [*OPTIONS]
QUICK_PAIRS = {frozenset((NAMES[at], NAMES[(at + 3) % len(NAMES)])) for at in range(0, len(NAMES), 2)}
"""Each option occurs with another one."""
SAVED = re.compile(r"device memory: ([\d,]+) bytes needed, ([\d,]+) available, ([\d,]+) reserved")


def ids(given: Collection[str]) -> str:
    return "+".join(given)


def check_effects(given: Collection[str], compiled: Compiled, printed: str) -> None:
    """Check the effect of each option, as far as it does not depend on the other options."""
    chips = executables(compiled)
    dense = "stays dense: " in printed or "nothing is encoded" in printed
    if {"sparse", "calibrate"} & {*given}:
        assert any(map(depends_on_values, chips)) != dense
    if {"budget", "compress"} & {*given}:
        saved = [tuple(int(text.replace(",", "")) for text in found) for found in SAVED.findall(printed)]
        assert saved or "memory saving has no gain" in printed
        for (needed, there, reserved), most in zip(saved, [chips[0].chip.dram_bytes] * len(saved), strict=True):
            assert reserved <= there <= min(SHARE * needed, most)
    if "chips" in given:
        assert len(chips) == 2 or "1 of 2 chips is used: more would not be faster" in printed
    if "subgraphs" in given and "fuse" not in given:
        assert sum(len(one.launches) for one in chips) > 1
    for one in chips:
        assert one.dram_bytes_used <= one.chip.dram_bytes


def check(name: str, given: Collection[str], folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    case = case_of(name, [*given], folder)
    compiled = case.compiled()
    printed = "".join(capsys.readouterr())
    check_results(compiled, case.network, "compress" in given)
    check_effects(given, compiled, printed)


@pytest.mark.parametrize(
    "given",
    [pair if frozenset(pair) in QUICK_PAIRS else pytest.param(pair, marks=pytest.mark.slow) for pair in PAIRS],
    ids=ids,
)
def test_options_of_a_perceptron(given: Collection[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    check("perceptron", given, tmp_path, capsys)


@pytest.mark.slow
@pytest.mark.parametrize("given", PAIRS, ids=ids)
@pytest.mark.parametrize("name", ["convolutions", "step", "recurrent"])
def test_options_of_other_networks(
    name: str, given: Collection[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    check(name, given, tmp_path, capsys)


def some_of(count: int) -> list[tuple[str, tuple[str, ...]]]:
    """Networks in turn, each with three or four random options from a fixed seed."""
    generator = random.Random(0)
    names = [*NETWORKS]
    return [
        (names[number % len(names)], tuple(generator.sample([*OPTIONS], generator.choice((3, 4)))))
        for number in range(count)
    ]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "given"), some_of(FEW), ids=lambda one: one if isinstance(one, str) else ids(one))
def test_three_or_four_options(
    name: str, given: Collection[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    check(name, given, tmp_path, capsys)


SAMPLE = [
    pytest.param("perceptron", ("sparse", "chips"), marks=pytest.mark.slow),
    ("perceptron", ("budget", "subgraphs")),
    pytest.param("perceptron", ("compress", "fuse"), marks=pytest.mark.slow),
    ("perceptron", ("chips", "subgraphs")),
    ("perceptron", ("order", "placements")),
    ("perceptron", ("placement", "fuse")),
    ("perceptron", ("little-dram", "fuse")),
    pytest.param("recurrent", ("budget", "chips"), marks=pytest.mark.slow),
    pytest.param("perceptron", ("sparse", "subgraphs"), marks=pytest.mark.slow),
    pytest.param("perceptron", ("chips", "budget", "subgraphs", "fuse"), marks=pytest.mark.slow),
]
"""A selection with at least one combination for every option."""


@pytest.mark.parametrize("given", [pytest.param(("budget",), marks=pytest.mark.slow), ("budget", "chips")], ids=ids)
def test_loops_are_kept_with_memory_saving_and_chips(
    given: Collection[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a budget, the layers of two chips are unrolled, because that is faster (by 3%)."""
    case = case_of("recurrent", [*given], tmp_path)
    assert main([str(case.model), *case.arguments, "--print-pipeline"]) == 0
    passes, last, _ = capsys.readouterr().out.partition(",manycore-autotune")
    text = tmp_path / "tasks.mlir"
    assert last
    assert opt.main([str(case.model), "-p", passes, "-o", str(text)]) == 0
    assert text.read_text().count("dataflow.loop") == 2


@pytest.mark.parametrize(("name", "given"), SAMPLE, ids=lambda one: one if isinstance(one, str) else ids(one))
def test_the_command_line_python_and_the_list_of_passes_agree(
    name: str, given: Collection[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    case = case_of(name, [*given], tmp_path)
    case.compiled()
    expected = case.model.with_suffix(".mlx").read_bytes()
    again, text = tmp_path / "again.mlx", tmp_path / "all.mlir"
    case.compiled_in_python().save(again)
    assert again.read_bytes() == expected
    capsys.readouterr()
    assert main([str(case.model), *case.arguments, "--print-pipeline"]) == 0
    passes = capsys.readouterr().out.strip()
    assert opt.main([str(case.model), "-p", passes, "-o", str(text)]) == 0
    assert assemble.main([str(text), "-o", str(again)]) == 0
    assert again.read_bytes() == expected


@pytest.mark.slow
@pytest.mark.parametrize("given", [("calibrate", "subgraphs"), ("calibrate", "chips")], ids=ids)
def test_the_list_of_passes_keeps_the_calibration(
    given: Collection[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    case = case_of("perceptron", [*given], tmp_path)
    case.compiled()
    capsys.readouterr()
    assert main([str(case.model), *case.arguments, "--print-pipeline"]) == 0
    passes = capsys.readouterr().out.strip()
    again, text = tmp_path / "again.mlx", tmp_path / "all.mlir"
    assert opt.main([str(case.model), "-p", passes, "-o", str(text)]) == 0
    assert assemble.main([str(text), "-o", str(again)]) == 0
    assert again.read_bytes() == case.model.with_suffix(".mlx").read_bytes()

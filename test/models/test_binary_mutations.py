"""Tests that the emulator executes the program exactly: random defects in compiled binaries are detected."""

from __future__ import annotations

from collections import Counter

import pytest
from judge_mutation import FOUND, Judge, Verdict
from meshloom.tools.api import compile
from mutate_binary import Mutator
from public_models import PUBLIC_MODELS

QUICK = 66
"""Number of mutations of one binary in the fast test."""
KINDS = ("address", "stride", "order")


def verdicts(name: str, chip: str, count: int, seed: int) -> tuple[Counter[Verdict], list[str]]:
    """Make `count` mutations, of each kind in turn; the verdicts, and descriptions of undetected defects."""
    model = PUBLIC_MODELS[name]
    executable = compile(model.path, chip, model.shapes).executable
    judge = Judge(executable, [model.inputs(seed) for seed in range(4)])
    mutator = Mutator(executable, seed)
    counted: Counter[Verdict] = Counter()
    missed: list[str] = []
    for number in range(count):
        mutation = mutator.next(number % len(KINDS))
        assert mutation.kind == KINDS[number % len(KINDS)]
        verdict = judge.verdict(mutation)
        counted[verdict] += 1
        if verdict not in FOUND:
            program = executable.programs[mutation.program].name
            missed.append(f"{mutation.kind} of words {mutation.words} of {program}, {mutation.what}: {verdict}")
    return counted, missed


@pytest.mark.parametrize(("name", "chip"), [("rnet", "tiny"), pytest.param("pnet", "edge", marks=pytest.mark.slow)])
def test_defects_are_found(name: str, chip: str) -> None:
    counted, missed = verdicts(name, chip, QUICK, seed=1)
    # At most one in twenty defects may be undetected, with an explanation; a small sample may have a few more.
    assert len(missed) <= 0.05 * QUICK + 3, missed
    assert counted[Verdict.UNEXPLAINED] <= 0.05 * QUICK, missed
    assert counted[Verdict.CHANGED] >= 0.7 * QUICK, counted


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "chip"), [("rnet", "tiny"), ("rnet", "edge"), ("onet", "edge"), ("onet", "tiny"), ("pnet", "tiny")]
)
def test_200_defects_are_found(name: str, chip: str) -> None:
    counted, missed = verdicts(name, chip, 200, seed=2)
    assert len(missed) <= 10, missed
    assert counted[Verdict.UNEXPLAINED] <= 2, missed


def test_mutations_do_not_change_the_original_program() -> None:
    model = PUBLIC_MODELS["rnet"]
    executable = compile(model.path, "tiny", model.shapes).executable
    before = [program.words.tobytes() for program in executable.programs]
    judge = Judge(executable, [model.inputs(0)])
    mutator = Mutator(executable, seed=3)
    for kind in (0, 1, 2) * 5:
        mutator.next(kind)
    assert [program.words.tobytes() for program in executable.programs] == before
    assert judge.right[0].outputs

"""
Tests of valid modules of every level with random edits, processed by `meshloom-opt` as its level allows.

`bench/mutate_modules.py --count 20000` runs the whole campaign.
"""

from __future__ import annotations

import pytest
from mutate_modules import RUNS, campaign, mutant, seeds

COUNT = 12
"""Number of mutants of each level in the fast test."""
LONG = ("dataflow", "subgraphs", "stashes")
"""Levels whose seeds take seconds to find."""


def check(level: str, first: int, count: int) -> None:
    findings = [
        f"{one.seed}: -p '{one.passes}' -t '{one.target}': {outcome.kind}: {outcome.words}\n{one.text}"
        for one, outcome in campaign(level, range(first, first + count), seed=0)
        if outcome.is_finding
    ]
    assert findings == []


@pytest.mark.parametrize(
    "level", [pytest.param(level, marks=pytest.mark.slow) if level in LONG else level for level in RUNS]
)
def test_seeds_pass_and_mutants_succeed_or_are_refused(level: str) -> None:
    """
    Seeds can be parsed, verified and printed, and each run of a level succeeds for at least one; mutants succeed or are
    refused.

    This is one test because the selection of seeds takes most of the time.
    """
    found = sorted(seeds(level), key=lambda seed: len(seed.text))  # small ones are fast
    assert found
    for passes, target in RUNS[level]:
        assert any(seed.passes(passes, target) for seed in found), (passes, target)
    check(level, 0, COUNT)


@pytest.mark.slow
@pytest.mark.campaign(200)
@pytest.mark.parametrize("level", RUNS)
def test_many_mutants_succeed_or_are_refused(level: str, cases: int) -> None:
    check(level, COUNT, cases)


def test_mutants_depend_on_their_seed_only() -> None:
    texts = [mutant("tasks", number, seed).text for seed in (1, 2) for number in range(5)]
    assert texts == [mutant("tasks", number, seed).text for seed in (1, 2) for number in range(5)]
    assert len(set(texts)) == len(texts)

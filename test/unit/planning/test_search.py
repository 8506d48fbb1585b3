"""Tests of the choice of the cheapest variant."""

from __future__ import annotations

import pytest
from meshloom.analysis.search import Search
from meshloom.support.errors import MeshloomError


def test_the_first_of_the_cheapest_is_kept() -> None:
    asked: list[str] = []

    def cycles(one: str) -> int:
        asked.append(one)
        return {"a": 30, "b": 20, "c": 20, "d": 25}[one]

    search = Search(cycles, "emulated", prune_ratio=2.0)
    for one in "abcd":
        search.try_variant(one, lambda made=one: made, estimate=20)
    assert search.best() == "b"
    assert sorted(asked) == ["a", "b", "c", "d"], "each once"
    assert [str(trial) for trial in search.trials] == [
        "a: emulated 30 cycles",
        "b: emulated 20 cycles, 33.3% less: taken",
        "c: emulated 20 cycles, as many: not taken",
        "d: emulated 25 cycles, 25.0% more: not taken",
    ]


def test_one_variant_is_not_timed() -> None:
    search = Search[str](lambda one: pytest.fail("timed"), "emulated")
    search.try_variant("a", lambda: "a", estimate=20)
    assert search.best() == "a"
    assert not search.is_timed


def test_variants_above_the_prune_ratio_are_not_compiled() -> None:
    search = Search[int](lambda one: one, "emulated", prune_ratio=1.5)
    search.try_variant("first", lambda: 100, estimate=100)
    search.try_variant("hopeless", lambda: pytest.fail("made"), estimate=151)
    search.try_variant("hopeful", lambda: 90, estimate=150)
    assert search.best() == 90


def test_a_variant_with_a_share_is_accepted_below_it() -> None:
    search = Search[int](lambda one: one, "emulated", prune_ratio=2.0)
    search.try_variant("first", lambda: 100, estimate=100)
    search.try_variant("a little better", lambda: 95, estimate=100, share=0.9)
    assert search.best() == 100
    search.try_variant("much better", lambda: 89, estimate=100, share=0.9)
    assert search.best() == 89


def test_the_first_failure_is_raised_if_all_variants_fail() -> None:
    def fail(text: str) -> int:
        raise MeshloomError(text)

    search = Search[int](lambda one: one, "emulated")
    search.try_variant("one", lambda: fail("first"), estimate=1)
    search.try_variant("other", lambda: fail("second"), estimate=1)
    with pytest.raises(MeshloomError, match="first"):
        search.best()
    search.try_variant("third", lambda: 3, estimate=1)
    assert search.best() == 3

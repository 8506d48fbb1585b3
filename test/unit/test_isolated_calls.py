"""Tests of calls in separate processes (`bench/isolated.py`), some of which are killed, hang or raise."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
from isolated import Announce, Death, call_each
from onnx_campaign import ORACLE, OURS, from_death


def dies(item: int, announce: Announce) -> int:
    announce("first")
    if item == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    announce("second")
    if item == 5:
        os._exit(7)
    return item * item


@pytest.mark.parametrize("processes", [1, 2])
def test_a_killed_call_ends_no_other_call(processes: int) -> None:
    results = dict(call_each(dies, range(9), processes, seconds=60))
    assert results.pop(3) == Death("first", "killed by SIGKILL")
    assert results.pop(5) == Death("second", "ended with status 7")
    assert results == {item: item * item for item in (0, 1, 2, 4, 6, 7, 8)}


def test_a_call_that_is_killed_once_has_its_result(tmp_path: Path) -> None:
    """A call whose process is killed is repeated in a new process, in which no other call runs."""

    def dies_once(item: int, announce: Announce) -> int:
        with (tmp_path / f"{item}").open("a") as file:
            file.write(f"{os.getpid()}\n")
        if item == 1 and len((tmp_path / "1").read_text().split()) == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return item

    assert dict(call_each(dies_once, range(3), 1, seconds=60)) == {0: 0, 1: 1, 2: 2}
    first, second = (tmp_path / "1").read_text().split()
    others = {(tmp_path / f"{item}").read_text().strip() for item in (0, 2)}
    assert first in others
    assert second not in others


def test_a_call_that_does_not_end_is_killed() -> None:
    def hangs(item: int, announce: Announce) -> int:
        announce("waiting")
        time.sleep(60 if item == 1 else 0)
        return item

    begin = time.monotonic()
    results = dict(call_each(hangs, range(3), 2, seconds=0.5))
    assert results == {0: 0, 1: Death("waiting", "not done within 0.5 s"), 2: 2}
    assert time.monotonic() - begin < 30


def test_an_exception_is_reported_with_its_traceback() -> None:
    def raises(item: int, announce: Announce) -> float:
        return 1 / item

    results = dict(call_each(raises, range(2), 1, seconds=60))
    death = results[0]
    assert isinstance(death, Death)
    assert death.raised
    assert "ZeroDivisionError" in death.words
    assert results[1] == 1.0


def test_workers_end_with_the_caller() -> None:
    """No process remains after the caller stops requesting results."""

    def number_of_process(item: int, announce: Announce) -> int:
        return os.getpid()

    calls = call_each(number_of_process, range(4), 1, seconds=60)
    _, worker = next(calls)
    assert isinstance(worker, int)
    calls.close()
    with pytest.raises(ProcessLookupError):
        os.kill(worker, 0)


@pytest.mark.parametrize(
    ("death", "verdict"),
    [
        (Death(ORACLE, "killed by SIGSEGV"), "oracle died"),
        (Death(OURS, "killed by SIGSEGV"), "crashed"),
        (Death(OURS, "not done within 300 s"), "crashed"),
        (Death(ORACLE, "a mistake of the generator", raised=True), "crashed"),
    ],
)
def test_the_verdict_depends_on_the_stage_that_failed(death: Death, verdict: str) -> None:
    outcome = from_death(17, death)
    assert (outcome.seed, outcome.verdict) == (17, verdict)
    assert death.words in outcome.words
    assert f"stage: {death.stage}" in outcome.words

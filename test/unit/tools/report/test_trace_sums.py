"""Sums over traces, against counting cycle by cycle."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from meshloom.chips import load_chip
from meshloom.dialects.coreasm.encoding import DESC, new_words
from meshloom.emulator.executable.executable import Executable, Launch, Program
from meshloom.emulator.timing.engine import TimingResult, Trace
from meshloom.tools.report.trace_sums import busy_time, lanes_over_time, task_times

INTERVALS = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)).map(sorted), max_size=12)


@given(INTERVALS, st.integers(1, 17))
def test_busy_time_counts_cycles(intervals: list[list[int]], bins: int) -> None:
    total = 60
    # Each cycle is cut into `bins` parts, so that pieces of the run are whole numbers of them.
    parts = np.zeros(total * bins)
    for low, high in intervals:
        parts[low * bins : high * bins] += 1 / bins
    expected = parts.reshape(bins, total).sum(axis=1)
    start, end = (np.array([one[side] for one in intervals], np.int64) for side in (0, 1))
    np.testing.assert_allclose(busy_time(start, end, total, bins), expected, atol=1e-6)


def test_busy_time_of_no_time() -> None:
    assert busy_time(np.zeros(0, np.int64), np.zeros(0, np.int64), 0, 4).tolist() == [0, 0, 0, 0]


def _run() -> tuple[Executable, TimingResult, Trace]:
    """Two programs; of program 1, word 0 stems from "a", word 1 from "b", word 2 from nothing."""
    chip = load_chip("tiny")
    words = new_words(3)
    none = np.uint32(0xFFFFFFFF)
    programs = [
        Program("idle", new_words(1), np.zeros(0, DESC)),
        Program("work", words, np.zeros(0, DESC), sources=np.array([0, 1, none], np.uint32)),
    ]
    launch = Launch(np.array([1, 1, 0, 0], np.int32), [np.zeros(0, np.uint32)] * 4)
    sets, names = np.zeros((0, 4), np.bool_), ["a", "b", "c"]
    exe = Executable(chip, [], programs, [launch], sets, new_words(1), source_names=names)
    # core, unit, word, start, end
    rows = [(0, 0, 0, 10, 30), (1, 1, 0, 20, 40), (0, 3, 1, 15, 25), (1, 0, 1, 40, 70), (0, 2, 2, 70, 70)]
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    trace = Trace(
        columns[0].astype(np.int32), columns[1].astype(np.uint8), columns[2].astype(np.int32),
        np.ones(5, np.int32), columns[3].astype(np.int64), columns[4].astype(np.int64),
    )  # fmt: skip
    zero = np.zeros((4, 8), np.int64)
    timing = TimingResult(
        70, 100, 0, 0, 0, 0, 0, zero, zero, zero, np.zeros((4, 9), np.int64), np.zeros((4, 5), np.int64),
        np.zeros(1, np.int64), np.zeros(1, np.int64), launches=[(0, 5, 75)], trace=trace,
    )  # fmt: skip
    return exe, timing, trace


def test_tasks() -> None:
    first, second = task_times(*_run())
    # "c" did nothing, and what stems from no task was not busy: neither is a row.
    assert (first.number, first.name, first.start, first.end) == (0, "a", 10, 40)
    assert (second.number, second.name, second.start, second.end) == (1, "b", 15, 70)
    assert (first.takes, second.takes) == (35, 30)  # from the launch at 5 to 40, from there to 70
    assert (first.waits, second.waits) == (0, 0)
    assert first.busy == (20, 20, 0, 0, 0, 0, 0, 0)
    assert second.busy == (30, 0, 0, 10, 0, 0, 0, 0)


def test_time_between_launches_belongs_to_no_task() -> None:
    exe, timing, trace = _run()
    # The first launch ends at 40; the second, with all of "b", starts at 52.
    late = replace(trace, start=np.where(trace.word == 1, trace.start + 50, trace.start))
    late = replace(late, end=np.where(trace.word == 1, trace.end + 50, trace.end))
    first, second = task_times(exe, replace(timing, launches=[(0, 5, 40), (1, 52, 120)]), late)
    assert (first.takes, first.waits) == (35, 0)
    assert (second.start, second.end, second.takes, second.waits) == (65, 120, 68, 12)


def test_lanes() -> None:
    _, timing, trace = _run()
    everywhere = lanes_over_time(timing, trace, 10)
    assert everywhere[0].tolist() == [0, 10, 10, 0, 10, 10, 10, 0, 0, 0]
    assert everywhere[1].tolist() == [0, 0, 10, 10, 0, 0, 0, 0, 0, 0]
    assert everywhere[3].tolist() == [0, 5, 5, 0, 0, 0, 0, 0, 0, 0]
    assert lanes_over_time(timing, trace, 10, core=1)[0].tolist() == [0, 0, 0, 0, 10, 10, 10, 0, 0, 0]

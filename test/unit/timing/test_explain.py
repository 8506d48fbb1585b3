"""Tests of the critical path and of the what-if table, on small programs whose parts are computed by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from meshloom.chips import load_chip
from meshloom.emulator.executable.build import Assembly, at
from meshloom.emulator.executable.executable import Executable
from meshloom.emulator.reports.critical_path import (
    BUSY_LINKS,
    COMPUTES,
    DRAM_RATE,
    FULL_QUEUE,
    HOPS,
    LATENCY,
    LINK_RATE,
    REASONS,
    SEMAPHORE,
    SEQUENCER,
    critical_path,
)
from meshloom.emulator.reports.explain import explain
from meshloom.emulator.reports.what_if import what_if
from meshloom.emulator.timing.engine import run_timing
from meshloom.emulator.timing.random_programs import DAU, VPU, random_program
from meshloom.support.errors import MeshloomError

TINY = load_chip("tiny")


def shares(exe: Executable) -> dict[tuple[str, str], int]:
    timing = run_timing(exe, trace=True)
    found = explain(exe, timing)
    assert sum(share.cycles for share in found.shares) == timing.cycles
    return {(share.unit, share.reason): share.cycles for share in found.shares}


def test_an_instruction_and_one_that_waits_for_it() -> None:
    """An add of 64 f32 (4 + 8 cycles) from cycle 1, and a copy of 12 cycles that waits for it, take 25 cycles."""
    asm = Assembly(TINY)
    x = at(0, (64,))
    asm.op(0, "add", x, x, 1.0, signal=1 << DAU)
    asm.op(0, "copy", x, x, wait=1 << VPU)
    assert shares(asm.build()) == {("VPU", SEQUENCER): 1, ("VPU", COMPUTES): 12, ("DAU", COMPUTES): 12}


def test_loads_one_after_the_other() -> None:
    """
    The path of two loads consists of both times at the port, latency and hops.

    Core 0, a hop from the router of its port, loads 256 bytes twice, at 8 bytes per cycle: 32 cycles each at the port.
    The second load is complete 100 cycles of latency and two hops of 2 cycles after it has left the port.
    """
    asm = Assembly(TINY)
    x = at(0, (64,))
    asm.op(0, "load", x, x)
    asm.op(0, "load", x, x)
    assert shares(asm.build()) == {("LOAD", SEQUENCER): 1, ("LOAD", DRAM_RATE): 64, ("LOAD", LATENCY): 104}


def test_a_message_that_waits_for_a_link() -> None:
    """
    The path of a message includes the time that it waits for a link.

    In a row of 3, cores 0 and 1 put packets of 10 cycles to core 2; core 0's waits 8 cycles for core 1's at router 1.

    Path: dispatch 1, sending 10, two hops of 2 and the wait of 8, receiving 1: 24.
    """
    asm = Assembly(replace(TINY, rows=1, cols=3))
    x = at(0, (20,))
    asm.op(0, "put", x, x, cores=[2], imm=0)
    asm.op(1, "put", x, x, cores=[2], imm=1)
    asm.op(2, "wait", imm=1, raw=(1,))
    asm.op(2, "wait", imm=0, raw=(1,))
    assert shares(asm.build()) == {
        ("SEND", SEQUENCER): 1,
        ("SEND", LINK_RATE): 10,
        ("RECV", HOPS): 4,
        ("RECV", BUSY_LINKS): 8,
        ("RECV", SEMAPHORE): 1,
    }


def test_a_full_queue_delays_another_unit() -> None:
    """
    The path includes the time for which a full queue of one unit delays another.

    With queues of depth 2, four adds of 12 cycles are followed by a fill of 1024 f32 (4 + 128 cycles).

    The fourth add enters its queue when the second starts, at 13, and the fill one cycle later: it starts at 15. Path:
    dispatch 1, the first add 12, full queue 2, the fill 132.
    """
    asm = Assembly(replace(TINY, queue_depth=2))
    x = at(0, (64,))
    for _ in range(4):
        asm.op(0, "add", x, x, 1.0)
    asm.op(0, "fill", at(0, (1024,)), 0.0)
    assert shares(asm.build()) == {
        ("VPU", SEQUENCER): 1,
        ("VPU", COMPUTES): 12,
        ("DAU", FULL_QUEUE): 2,
        ("DAU", COMPUTES): 132,
    }


@pytest.mark.parametrize("chip", ["tiny", "edge", "grid"])
@pytest.mark.parametrize("seed", range(4))
def test_pieces_of_the_path_are_adjacent(chip: str, seed: int) -> None:
    exe = random_program(seed, load_chip(chip), rounds=10)
    timing = run_timing(exe, trace=True)
    path = critical_path(exe, timing)
    edges = [piece.start for piece in path] + [path[-1].end]
    assert edges[0] == 0
    assert edges[-1] == timing.cycles
    assert [piece.end for piece in path] == edges[1:]
    assert all(piece.cycles > 0 and piece.reason in REASONS for piece in path)


def test_the_path_of_one_unit() -> None:
    """The path of 100 adds of 12 cycles on core 3 consists of dispatch and these adds."""
    asm = Assembly(TINY)
    asm.op(3, "loop", raw=(100, 1))
    asm.op(3, "add", at(0, (64,)), at(0, (64,)), 1.0)
    assert shares(asm.build()) == {("VPU", SEQUENCER): 2, ("VPU", COMPUTES): 1200}


def test_a_run_without_a_trace_cannot_be_explained() -> None:
    exe = random_program(0, TINY, rounds=2)
    with pytest.raises(MeshloomError, match="not traced"):
        explain(exe, run_timing(exe))


def test_what_if_table() -> None:
    """
    The table has the cycles with each part twice as fast, and unlimited.

    The two loads above take 169 cycles. A packet takes 32 cycles both at the port and on links, so that neither alone
    has a gain. Half of the latency saves 50 cycles, no latency saves 100. Two hops of 1 instead of 2 cycles save 2.
    """
    asm = Assembly(TINY)
    x = at(0, (64,))
    asm.op(0, "load", x, x)
    asm.op(0, "load", x, x)
    found = {one.what: (one.doubled, one.unlimited) for one in what_if(asm.build())}
    assert found["DRAM latency"] == (119, 69)
    assert found["hop cycles"] == (167, 167)
    assert found["vector lanes"] == (169, 169)
    assert found["matrix unit rows"] == (169, None)
    assert found["DRAM bytes per cycle"][0] == 169


def test_tasks_above_their_bound_have_reasons() -> None:
    """
    The reasons for a task above its bound are stated.

    Core 0 alone adds 6,400 f32 in 100 instructions of 4 + 8 cycles: 1,201 cycles, and 200 on 4 cores of 8 lanes.
    """
    asm = Assembly(TINY, source="scale")
    x = at(0, (64,))
    for _ in range(100):
        asm.op(0, "add", x, x, 1.0)
    exe = asm.build()
    (one,) = explain(exe, run_timing(exe, trace=True)).over_bound
    assert one.task == "scale"
    assert one.bound == pytest.approx(200)
    assert one.cycles == 1201
    assert "1 of 4 cores" in one.why
    assert "lanes filled to 67%" in one.why
    assert np.isclose(6400 / (1200 * 8), 2 / 3)

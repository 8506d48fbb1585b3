"""Tests of the compiled timing engine against the reference engine, and of both against cases computed by hand."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest
from meshloom.chips import load_chip
from meshloom.emulator.executable.build import Assembly, at
from meshloom.emulator.executable.executable import Executable
from meshloom.emulator.machine.errors import EmulationError
from meshloom.emulator.machine.mapped_work import MappedWork
from meshloom.emulator.timing.engine import TimingResult, run_timing
from meshloom.emulator.timing.random_programs import DAU, LOAD, MAP, MPU, RECV, SEND, VPU, random_program, random_work
from meshloom.emulator.timing.reference import run_reference
from meshloom.emulator.timing.tables import build_tables

TINY = load_chip("tiny")


def assert_equal(fast: TimingResult, slow: TimingResult) -> None:
    for name in (field.name for field in fields(TimingResult) if field.name != "trace"):
        left, right = getattr(fast, name), getattr(slow, name)
        assert np.array_equal(np.asarray(left, object), np.asarray(right, object)), name


def both(exe: Executable, mapped: MappedWork | None = None) -> TimingResult:
    result = run_timing(exe, trace=True, mapped=mapped)
    assert_equal(result, run_reference(exe, mapped))
    return result


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("chip", ["tiny", "edge"])
def test_engines_agree_to_the_cycle(chip: str, seed: int) -> None:
    exe = random_program(seed, load_chip(chip), rounds=6)
    declared = both(exe)
    counted = both(exe, random_work(seed, exe))
    assert declared.declared
    assert not counted.declared
    assert declared.busy[:, MAP].sum() != counted.busy[:, MAP].sum()


def test_work_of_another_run_is_refused() -> None:
    exe = random_program(1, TINY, rounds=6)
    work = random_work(1, exe)
    with pytest.raises(EmulationError, match="functional run of another executable"):
        run_timing(exe, mapped=replace(work, lane=np.zeros_like(work.lane)))


@pytest.mark.parametrize(
    "change",
    [
        {"queue_depth": 1}, {"queue_depth": 3}, {"noc_packet_bytes": 24}, {"hop_cycles": 1}, {"hop_cycles": 7},
        {"dram_ports": 2, "dram_bytes_per_cycle": 3}, {"link_bytes_per_cycle": 1}, {"dram_latency": 0},
        {"rows": 1, "cols": 5}, {"rows": 3, "cols": 2, "dram_ports": 3},
    ],
)  # fmt: skip
def test_engines_agree_on_odd_chips(change: dict[str, int]) -> None:
    chip = replace(TINY, **change)  # pyright: ignore[reportArgumentType]
    for seed in range(3):
        both(random_program(seed + 100, chip, rounds=5))


def test_more_instructions_than_any_buffer_holds() -> None:
    """The kernel's pools grow for 5,000 tokens and 20,000 semaphore counts that wait at the same time."""
    asm = Assembly(TINY)
    asm.op(0, "loop", raw=(5000, 1))
    asm.op(0, "add", at(0, (1,)), 1.0, 1.0, signal=1 << DAU)
    asm.op(0, "loop", raw=(5000, 1))
    asm.op(0, "fill", at(0, (1,)), 1.0, wait=1 << VPU)
    asm.op(1, "loop", raw=(20000, 1))
    asm.op(1, "signal", cores=[3], imm=1)
    asm.op(3, "wait", imm=1, raw=(20000,))
    result = both(asm.build())
    # One add every 5 cycles from cycle 3 on (loop, dispatch); one flit per cycle, 2 hops, then the wait.
    assert result.last[0, VPU] == 2 + 5000 * 5
    assert result.last[3, RECV] == 2 + 19999 + 1 * 2 + 1 + 1


def test_units_overlap_and_tokens_order() -> None:
    """
    Units run concurrently, and tokens order their instructions.

    Core 0 of `tiny` executes an add of 64 f32 (4 + 8 cycles), a fill (4 + 8), and a copy that waits for the add.

    The sequencer takes a cycle for each: the add runs from 1 to 13, the fill from 2 to 14; the copy is dispatched at 3,
    its unit is idle at 14, its token arrives at 13.
    """
    asm = Assembly(TINY)
    x = at(0, (64,))
    asm.op(0, "add", x, x, 1.0, signal=1 << DAU)
    asm.op(0, "fill", x, 0.0)
    asm.op(0, "copy", x, x, wait=1 << VPU)
    trace = both(asm.build()).trace
    assert trace is not None
    assert list(zip(trace.unit.tolist(), trace.start.tolist(), trace.end.tolist(), strict=True)) == [
        (VPU, 1, 13), (DAU, 2, 14), (DAU, 14, 26),
    ]  # fmt: skip


def test_full_queue_stalls_the_sequencer() -> None:
    """
    With queues of depth 2, the fourth of four adds of 12 cycles is dispatched when the second has started.

    The adds start at 1, 13, 25, 37. The third fills the queue at 2 (words 0 to 2 are dispatched at 0, 1, 2: one runs,
    two wait). The fourth is dispatched at 13, the fill after it at 14; it starts at 15.
    """
    asm = Assembly(replace(TINY, queue_depth=2))
    x = at(0, (64,))
    for _ in range(4):
        asm.op(0, "add", x, x, 1.0)
    asm.op(0, "fill", x, 0.0)
    result = both(asm.build())
    assert result.first[0, DAU] == 15
    assert result.last[0, VPU] == 49


def test_load_pipelines_latency() -> None:
    """
    The latency of DRAM overlaps with the next load.

    Core 0, whose port (8 bytes per cycle) is at row 1, loads 256 bytes twice: 32 cycles and one packet each.

    The first leaves the port from 1 to 33, the second from 33 to 65. Its head takes 4 cycles, for a hop to router
    (0, 1) and one to (0, 0); it is complete 32 cycles and `dram_latency` = 100 later: 33 + 4 + 32 + 100 = 169.
    """
    asm = Assembly(TINY)
    x = at(0, (64,))
    asm.op(0, "load", x, x)
    asm.op(0, "load", x, x)
    result = both(asm.build())
    assert result.busy[0, LOAD] == 64
    assert result.last[0, LOAD] == 169
    assert result.cycles == 169
    assert result.port_read.tolist() == [512]


def test_multicast_uses_each_link_once() -> None:
    """
    A multicast sends each packet over each link once.

    Core 0 puts 600 bytes (packets of 256, 256, 88: 32, 32, 11 cycles) to all four cores, including itself.

    The packets leave east, south and into the core at cycles 1, 33, 65, the last one until 76. The head of the last is
    at router 1 at 67, at 3 (through 1) at 69, and it has arrived in core 3 at 80; the wait ends at 81.
    """
    asm = Assembly(TINY)
    x = at(0, (150,))
    asm.op(0, "put", x, x, cores=range(4), imm=2)
    for core in range(4):
        asm.op(core, "wait", imm=2, raw=(1,))
    result = both(asm.build())
    assert result.last[0, SEND] == 76
    assert result.last[:, RECV].tolist() == [77, 79, 79, 81]
    # columns: east, west, north, south, into the core
    assert result.link_bytes.tolist() == [
        [600, 0, 0, 600, 600], [0, 0, 0, 600, 600], [0, 0, 0, 0, 600], [0, 0, 0, 0, 600],
    ]  # fmt: skip


def test_two_senders_share_a_link() -> None:
    """
    Of two packets for one link, the first to arrive is sent first.

    In a row of 3, cores 0 and 1 put 80 bytes (10 cycles) to core 2 at cycle 1; both use the link from 1 to 2.

    Core 1 uses it from 1 to 11. The head of core 0's packet arrives at 3, takes the link at 11, is at router 2 at 13,
    and the packet has arrived in core 2 at 23 (the first from 3 to 13).
    """
    asm = Assembly(replace(TINY, rows=1, cols=3))
    x = at(0, (20,))
    asm.op(0, "put", x, x, cores=[2], imm=0)
    asm.op(1, "put", x, x, cores=[2], imm=1)
    asm.op(2, "wait", imm=1, raw=(1,))
    asm.op(2, "wait", imm=0, raw=(1,))
    result = both(asm.build())
    assert result.last[:2, SEND].tolist() == [11, 11]
    assert result.last[2, RECV] == 24


def test_loops_are_not_expanded() -> None:
    """A loop of 3 x 1000 x 1000 adds of 5 cycles, 15 million cycles, is emulated quickly."""
    asm = Assembly(TINY)
    asm.op(0, "loop", raw=(3, 3))
    asm.op(0, "loop", raw=(1000, 2))
    asm.op(0, "loop", raw=(1000, 1))
    asm.op(0, "add", at(0, (1,)), 1.0, 1.0)
    result = run_timing(asm.build())
    assert result.instructions[0, VPU] == 3_000_000
    assert result.last[0, VPU] == 4 + 15_000_000


def test_host_copies_are_counted_separately_from_cycles() -> None:
    """Copies of 256 bytes take 1,064 cycles each way (latency 1,000, 4 bytes per cycle), apart from the launch's."""
    asm = Assembly(TINY, weights=bytes(400))
    asm.tensor("x", "input", (64,), 0)
    asm.tensor("y", "output", (64,), 4096)
    asm.op(0, "matmul", at(0, (8, 8)), at(0, (8, 8)), at(0, (8, 8)), imm=1 << 4 | 1 << 8 | 1 << 12)
    result = both(asm.build())
    assert result.cycles == 1 + 8 + 16 + 8 - 2 - 1
    assert result.total_cycles == 1064 + result.cycles + 1064
    assert result.load_cycles == 1100
    assert result.first[0, MPU] == 1065


def test_two_queues_on_one_semaphore_are_refused() -> None:
    asm = Assembly(TINY)
    asm.op(0, "wait", imm=1, raw=(1,))
    asm.op(0, "send.wait", imm=1, raw=(1,))
    with pytest.raises(EmulationError, match="semaphore 1 is waited for by SEND and by RECV"):
        run_timing(asm.build())


@pytest.mark.parametrize(
    ("mnemonic", "fields", "message"),
    [
        ("loop", {"raw": (0, 1)}, "a loop needs a count and a body"),
        ("loop", {"raw": (2, 7)}, "a loop needs a count and a body"),
        ("loop", {"raw": ((1 << 32) - 1, 1)}, "more than 100000000000 instructions"),
        ("wait", {"imm": 128, "raw": (1,)}, "semaphore 128 does not exist"),
    ],
)
def test_invalid_words_are_reported(mnemonic: str, fields: dict[str, int], message: str) -> None:
    asm = Assembly(TINY)
    if "1000" in message:
        asm.op(0, "loop", raw=((1 << 32) - 1, 2))
    asm.op(0, mnemonic, **fields)  # pyright: ignore[reportArgumentType]
    asm.op(0, "nop")
    with pytest.raises(EmulationError, match=message):
        run_timing(asm.build())


def test_trace_covers_every_instruction() -> None:
    exe = random_program(5, TINY)
    result = run_timing(exe, trace=True)
    assert result.trace is not None
    assert len(result.trace.core) == result.instructions[:, :8].sum()
    busy = np.zeros_like(result.busy)
    np.add.at(busy, (result.trace.core, result.trace.unit), result.trace.end - result.trace.start)
    assert np.array_equal(busy, result.busy)


@pytest.mark.parametrize("seed", range(5))
def test_engines_agree_on_dynamic_loops(seed: int) -> None:
    """Engines agree on loops with counts in registers, loops that end early, and waits for idle units."""
    exe = random_program(seed, load_chip("tiny"), rounds=6, dynamic_loops=True)
    work = random_work(seed, exe)
    assert work.decisions
    declared, decided = both(exe), both(exe, work)
    assert declared.instructions.sum() != decided.instructions.sum()
    assert np.array_equal(decided.instructions, build_tables(exe, exe.launches[0]).instructions(work.decisions[0]))

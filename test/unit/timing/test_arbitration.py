"""
Tests of the arbitration of busy links and of DRAM ports that loads share, against cases computed by hand.

Each case runs in both engines, which must agree. A link that is in use can be promised to one waiting packet.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from meshloom.chips import load_chip
from meshloom.chips.chip import Chip
from meshloom.emulator.executable.build import Assembly, at
from meshloom.emulator.timing.engine import TimingResult, run_timing
from meshloom.emulator.timing.random_programs import DAU, LOAD, RECV, SEND, STORE, random_program
from meshloom.emulator.timing.reference import run_reference

TINY = load_chip("tiny")


def both(asm: Assembly) -> TimingResult:
    exe = asm.build()
    fast, slow = run_timing(exe, trace=True), run_reference(exe)
    assert fast.cycles == slow.cycles
    assert np.array_equal(fast.last, slow.last)
    assert np.array_equal(fast.busy, slow.busy)
    return fast


def test_inputs_of_a_router_are_served_in_turn() -> None:
    """
    The inputs of a router are served in turn.

    Cores 3 (from the west), 1 (from the north) and 5 (from the east) put two packets of 10 cycles each to core 4 of a
    3 x 3 mesh, all at cycle 1. The first packets are at router 4 at 3, the second ones, 10 cycles later, at 13.

    At 3, core 1 takes the link into core 4 until 13; it is promised to core 3 until 23; core 5 waits. At 13, when core
    3's packet begins, the link is promised to core 5, the only one that waits, until 33; then the second packets arrive
    and wait. At 23 and 33, the order of turns is east - west - north - south: after the east, the west is served (core
    3, until 43), then the north (core 1, until 53), then the east again (core 5, until 63). Each wait takes a cycle.
    """
    asm = Assembly(replace(TINY, rows=3, cols=3, noc_packet_bytes=80))
    x = at(0, (40,))
    for semaphore, core in enumerate((3, 1, 5)):
        asm.op(core, "put", x, x, cores=[4], imm=semaphore)
        asm.op(4, "wait", imm=semaphore, raw=(1,))
    trace = both(asm).trace
    assert trace is not None
    assert trace.end[trace.unit == RECV].tolist() == [44, 54, 64]


def test_a_packet_waits_for_at_most_one_packet_of_a_stream() -> None:
    """
    Behind a stream of packets, another packet waits for at most one of them.

    In a row of 3, core 0 puts ten packets of 10 cycles to core 2; they are at router 1 at 3, 13, 23 ...

    The packet of core 1 arrives at 5, after four words of the sequencer. The link east is in use until 13 and not
    promised, so the packet is sent from 13 to 23, is at router 2 at 15, when the link into core 2 becomes idle, and has
    passed it at 25. The last packet of the stream is one packet later than without it: 3 + 10 x 10 + 10 + 2 = 115.
    """
    asm = Assembly(replace(TINY, rows=1, cols=3, noc_packet_bytes=80))
    asm.op(0, "put", at(0, (200,)), at(0, (200,)), cores=[2], imm=0)
    for _ in range(4):
        asm.op(1, "nop")
    asm.op(1, "put", at(0, (20,)), at(0, (20,)), cores=[2], imm=1)
    asm.op(2, "wait", imm=1, raw=(1,))
    asm.op(2, "wait", imm=0, raw=(1,))
    trace = both(asm).trace
    assert trace is not None
    assert trace.end[trace.unit == RECV].tolist() == [26, 116]


def test_branches_of_a_multicast_are_independent() -> None:
    """
    The branches of a multicast continue independently of each other.

    In a row of 3, core 1 puts two packets of 10 cycles to core 2 at cycle 1, then one to cores 0 and 2.

    The second put starts at 21, when both of its links are idle, and takes until 31. It is at core 0 at 23, and has
    passed at 33. Core 0 puts one packet to core 2 at 20 (after 19 words): it is at router 1 at 22, where the link east
    is in use until 31, and the link is promised to it. A third put of core 1, to both, starts at 31: west immediately,
    until 41; east it waits for core 0's packet (31 to 41), from 41 to 51. The put ends when both branches have left: at
    51.
    """
    asm = Assembly(replace(TINY, rows=1, cols=3, noc_packet_bytes=80))
    two, one = at(0, (40,)), at(0, (20,))
    asm.op(1, "put", two, two, cores=[2], imm=0)
    asm.op(1, "put", one, one, cores=[0, 2], imm=1)
    asm.op(1, "put", one, one, cores=[0, 2], imm=2)
    for _ in range(19):
        asm.op(0, "nop")
    asm.op(0, "put", one, one, cores=[2], imm=3)
    asm.op(0, "wait", imm=2, raw=(1,))
    asm.op(2, "wait", imm=2, raw=(1,))
    result = both(asm)
    assert result.last[1, SEND] == 51
    # West: starts at 31, is at router 0 at 33, arrives at 43. East: starts at 41, is at router 2 at 43, arrives at 53.
    assert result.last[[0, 2], RECV].tolist() == [44, 54]


def test_a_packet_leaves_the_port_when_its_first_link_is_idle() -> None:
    """
    A packet leaves the DRAM port only when the first link can take it.

    The port has 1,000 bytes per cycle, links have 8. Core 0 loads two packets of 256 bytes (32 cycles on a link).

    The first packet leaves the port at 1, is at the port's router (core 2) at 3, and has passed the link north at 35.
    The second leaves the port two cycles of a hop earlier, at 33, and has passed the link at 67, so that the unit is
    idle at 65. Its head is at core 0 at 37, and its end 32 + 100 cycles later.
    """
    asm = Assembly(replace(TINY, dram_bytes_per_cycle=1000))
    asm.op(0, "load", at(0, (128,)), at(0, (128,)))
    result = both(asm)
    assert result.busy[0, LOAD] == 64
    assert result.last[0, LOAD] == 37 + 32 + 100


def test_prefetch_does_not_queue_up_before_a_message() -> None:
    """
    Prefetched packets do not queue up before a message.

    Core 1 loads 20 packets over a fast port, while core 2, whose router has the port, puts one to core 0.

    Loads of core 1 are sent east from router 2 to 3, then north; the put is sent north: they share no link. If core 0
    loads as well, the link north of router 2 is shared: the put of 32 cycles arrives at 40, while the second packet of
    the loads is being sent (35 to 67) and the link is not promised, so it starts at 67 and ends at 99.
    """
    asm = Assembly(replace(TINY, dram_bytes_per_cycle=1000))
    asm.op(0, "load", at(0, (20 * 64,)), at(0, (20 * 64,)))
    asm.op(1, "load", at(0, (20 * 64,)), at(0, (20 * 64,)))
    for _ in range(39):
        asm.op(2, "nop")
    asm.op(2, "put", at(0, (64,)), at(0, (64,)), cores=[0], imm=0)
    asm.op(0, "wait", imm=0, raw=(1,))
    result = both(asm)
    assert result.last[2, SEND] == 99
    assert result.last[0, RECV] == 67 + 2 + 32 + 1


def test_stores_of_a_core_complete_in_order() -> None:
    """
    A store completes after the earlier stores of its core.

    Core 2, whose router has the port, stores 256 bytes, then 32, over links of one byte per cycle and a faster port.

    The first store starts at 1 and is complete at 1 + 256 + 100. The second has been sent long before, but is complete
    at the same time: its token does not overtake that of the first.
    """
    asm = Assembly(replace(TINY, link_bytes_per_cycle=1, dram_bytes_per_cycle=1000))
    asm.op(2, "store", at(0, (64,)), at(0, (64,)), signal=1 << DAU)
    asm.op(2, "store", at(0, (8,)), at(0, (8,)), signal=1 << DAU)
    asm.op(2, "fill", at(0, (1,)), 0.0, wait=1 << STORE)
    result = both(asm)
    assert result.last[2, STORE] == 357
    assert result.first[2, DAU] == 357


def test_port_time_is_counted_in_bytes() -> None:
    """Three loads of 32 bytes at 3 bytes per cycle use the port of core 2's router for 96 / 3 cycles, not 3 x 11."""
    asm = Assembly(replace(TINY, dram_bytes_per_cycle=3))
    for _ in range(3):
        asm.op(2, "load", at(0, (8,)), at(0, (8,)))
    result = both(asm)
    assert result.busy[2, LOAD] == 32
    # The last starts at cycle 22, is at the router a hop later, and complete after 11 cycles at the port and 100 more.
    assert result.last[2, LOAD] == 22 + 2 + 11 + 100


@pytest.mark.parametrize(
    "change",
    [
        {"link_bytes_per_cycle": 1, "dram_bytes_per_cycle": 256},
        {"noc_packet_bytes": 32, "hop_cycles": 9, "dram_bytes_per_cycle": 50, "dram_ports": 2},
        {"rows": 3, "cols": 3, "dram_ports": 3, "dram_bytes_per_cycle": 4096, "link_bytes_per_cycle": 3},
    ],
)
def test_engines_agree_under_contention(change: dict[str, int]) -> None:
    chip: Chip = replace(TINY, **change)  # pyright: ignore[reportArgumentType]
    for seed in range(4):
        exe = random_program(seed + 40, chip, rounds=8)
        fast, slow = run_timing(exe), run_reference(exe)
        assert fast.cycles == slow.cycles
        assert np.array_equal(fast.last, slow.last)
        assert np.array_equal(fast.busy, slow.busy)

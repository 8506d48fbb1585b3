"""Tests of estimates of exchanges, link by link, against the timing engine and against small cases computed by hand."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from meshloom.analysis.planning.exchange_time import come_in_turn, credit_cycles, follow
from meshloom.analysis.planning.transfers import Transfers
from meshloom.chips import load_chip
from meshloom.emulator.executable.build import Assembly, at
from meshloom.emulator.timing.engine import run_timing
from meshloom.emulator.timing.random_programs import RECV

TINY, EDGE = load_chip("tiny"), load_chip("edge")


@pytest.mark.parametrize("seed", range(12))
def test_estimates_are_close_to_the_timing_engine(seed: int) -> None:
    """For random messages and multicasts of all cores, sent at cycle 1, the estimate is within 15% of the engine."""
    rng = np.random.default_rng(seed)
    messages: list[tuple[int, tuple[int, ...], int]] = []
    for sender in range(EDGE.cores):
        for _ in range(int(rng.integers(0, 12))):
            receivers = sorted(rng.choice(EDGE.cores, size=int(rng.integers(1, 9)), replace=False).tolist())
            others = tuple(core for core in receivers if core != sender)
            if others:
                messages.append((sender, others, 4 * int(rng.integers(1, 1200))))
    asm = Assembly(EDGE)
    arriving: Counter[int] = Counter()
    for sender, receivers, nbytes in sorted(messages, key=lambda one: (one[1][0] - one[0]) % EDGE.cores):
        place = at(0, (nbytes // 4,))
        asm.op(sender, "put", place, place, cores=receivers, imm=3)
        arriving.update(receivers)
    for core, count in arriving.items():
        asm.op(core, "wait", imm=3, raw=(count,))
    waits = run_timing(asm.build()).last[:, RECV]
    # Sending begins after the first word is dispatched, and a wait ends a cycle after its message.
    # The arbitration of busy links differs: by arrival here, round-robin over input links in the engine.
    assert follow([Transfers.of(messages)], EDGE).times == [pytest.approx(waits.max() - 2, rel=0.15)]


def test_a_message_to_the_next_core() -> None:
    """300 bytes at 8 per cycle, in packets of 256: both packets are sent in 38 cycles, the head takes 2 to arrive."""
    assert follow([Transfers.of([(0, (1,), 300)])], TINY).times == [40]


def test_parts_of_one_sender_arrive_one_after_the_other() -> None:
    part = Transfers.of([(0, (1,), 800)])
    assert follow([part, part, part], TINY).times == [102, 202, 302]


def test_long_parts_of_all_senders_arrive_in_turn() -> None:
    """
    If each core sends 4000 bytes to all others, senders take turns.

    The links into cores need 15 x 125 cycles for all messages. With two senders at a time, they are idle only until the
    next credits arrive.
    """

    def parts(nbytes: int) -> list[Transfers]:
        everyone = range(EDGE.cores)
        return [
            Transfers.of(
                (core, tuple(other for other in everyone if other != core), nbytes) for core in (2 * k, 2 * k + 1)
            )
            for k in range(8)
        ]

    assert come_in_turn(parts(4000), EDGE)
    in_turn = follow(parts(4000), EDGE).times
    assert in_turn[0] < 4.5 * 125
    assert 15 * 125 < in_turn[-1] < 16 * 125 + 4 * (2 * credit_cycles(EDGE) + 30)
    # Short parts are not worth a credit each: all cores send at once, and the first part arrives late.
    assert not come_in_turn(parts(400), EDGE)
    times = follow(parts(400), EDGE).times
    assert times[0] > times[-1] / 2


def test_senders_with_a_message_for_each_receiver_do_not_take_turns() -> None:
    """Both senders of a part would have 15 messages each, while each receiver waits for two."""
    everyone = range(EDGE.cores)
    parts = [
        Transfers.of((core, (other,), 4000) for core in (2 * k, 2 * k + 1) for other in everyone if other != core)
        for k in range(8)
    ]
    assert not come_in_turn(parts, EDGE)


def test_no_messages_take_no_time() -> None:
    assert follow([Transfers.of([])] * 2, replace(TINY, hop_cycles=0)).times == [0, 0]

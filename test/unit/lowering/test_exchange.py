"""Exchanges between cores: the messages, and the instructions on either side."""

from __future__ import annotations

from collections import Counter

from meshloom.chips import load_chip
from meshloom.dialects.coreasm.isa import BY_CODE
from meshloom.lowering.exchange import Exchange, MessagePlan, emit_exchange, split_outermost
from meshloom.lowering.machine import Machine
from meshloom.lowering.view import View

F32 = 0


def row(address: int, count: int) -> View:
    return View.dense("sram", address, F32, (count,))


def test_equal_parts_become_one_multicast() -> None:
    plan = MessagePlan()
    for receiver in (1, 2, 3):
        plan.add(0, [receiver], row(0, 4), row(64, 4))
    plan.add(0, [1], row(16, 4), row(80, 4))
    assert [(m.sender, m.receivers) for m in plan.messages] == [(0, (1, 2, 3)), (0, (1,))]


def test_each_side_counts_what_it_waits_for() -> None:
    machine = Machine(load_chip("tiny"), range(4))
    plan = MessagePlan()
    for sender in range(4):
        for receiver in range(4):
            if receiver != sender:
                plan.add(sender, [receiver], row(0, 4), row(64 + 16 * sender, 4))
    emit_exchange(plan.messages, machine, machine.take_semaphores())
    for stream in machine.streams.values():
        done = stream.finish()
        names = [BY_CODE[int(code)].mnemonic for code in done.op]
        assert Counter(names) == {"ready": 1, "send.wait": 1, "put": 1, "wait": 1}
        # Three credits before sending, three messages before going on.
        assert [int(done.addr[names.index(name), 0]) for name in ("send.wait", "wait")] == [3, 3]


def test_loads_are_shared_out_along_the_first_dimension() -> None:
    boxes = split_outermost((1, 10, 3), 4)
    assert [box.offsets for box in boxes] == [(0, 0, 0), (0, 2, 0), (0, 5, 0), (0, 7, 0)]
    assert sum(box.volume for box in boxes) == 30
    assert len(split_outermost((1, 2, 3), 4)) == 2


def test_parts_of_an_exchange_share_one_credit_and_count_apart() -> None:
    machine = Machine(load_chip("tiny"), range(3))
    parts: dict[int, MessagePlan] = {0: MessagePlan(), 4: MessagePlan()}
    parts[0].add(0, [2], row(0, 4), row(64, 4))
    parts[4].add(0, [2], row(16, 4), row(80, 4))
    parts[4].add(1, [2], row(0, 4), row(96, 4))
    exchange = Exchange(machine, {step: plan.messages for step, plan in parts.items()})
    for step in range(5):
        exchange.emit(step)
    exchange.release()
    done = machine.streams[2].finish()
    assert [BY_CODE[int(code)].mnemonic for code in done.op] == ["ready", "wait", "wait"]
    # Two senders get the credit; one message comes first, then two, counted by semaphores of their own.
    assert [int(count) for count in done.addr[1:, 0]] == [1, 2]
    assert len(set(done.imm[1:].tolist())) == 2
    for sender in (0, 1):
        names = [BY_CODE[int(code)].mnemonic for code in machine.streams[sender].finish().op]
        assert names == ["send.wait"] + ["put"] * (2 - sender)

"""Exchanges between cores: messages, and the instructions of senders and receivers."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

from meshloom.analysis.planning.traffic import BoxArrays, overlaps
from meshloom.chips import load_chip
from meshloom.dialects.coreasm.isa import BY_CODE
from meshloom.dialects.dataflow.tiling import Box
from meshloom.formats.sparse.nonzero import ALL_NONZERO
from meshloom.lowering.codegen.buffers import Buffers, messages_between
from meshloom.lowering.codegen.exchange import Exchange, emit_exchange, split_outermost
from meshloom.lowering.codegen.machine import Machine
from meshloom.lowering.codegen.messages import Messages
from meshloom.lowering.codegen.view import View

F32 = 0


def row(address: int, count: int) -> View:
    return View.dense("sram", address, F32, (count,))


def boxes(*ranges: tuple[int, int]) -> BoxArrays:
    """The box of each core: the rows from `low` to `high` - 1 of a value with four columns."""
    return BoxArrays.of({core: Box((low, 0), (high - low, 4)) for core, (low, high) in enumerate(ranges)})


def test_equal_parts_become_one_multicast() -> None:
    # Core 0 has the first two rows, core 1 the others. Cores 2 and 3 need rows 1 and 2, core 4 needs 0 and 1.
    held = Buffers(256, F32, boxes((0, 2), (2, 4)))
    needed = Buffers(1024, F32, boxes((0, 0), (0, 0), (1, 3), (1, 3), (0, 2)))
    messages = messages_between(held, needed, overlaps(held.boxes, needed.boxes), ALL_NONZERO)
    ends = messages.transfers.first.tolist()
    receivers = [messages.transfers.receivers[low:high].tolist() for low, high in pairwise(ends)]
    found = zip(messages.transfers.senders, receivers, messages.sources, messages.targets, strict=True)
    assert list(found) == [
        (0, [2, 3], 256 + 16, 1024),
        (1, [2, 3], 256, 1024 + 16),
        (0, [4], 256, 1024),
    ]
    assert messages.transfers.nbytes.tolist() == [16, 16, 32]
    sources = [one.source for one in messages.forms]
    assert [sources[form] for form in messages.form.tolist()] == [
        View.dense("sram", 0, F32, shape) for shape in ((1, 4), (1, 4), (2, 4))
    ]


def test_waits_count_credits_and_messages() -> None:
    machine = Machine(load_chip("tiny"), range(4))
    others = [[core for core in range(4) if core != sender] for sender in range(4)]
    messages = [(sender, others[sender], row(0, 4), row(64 + 16 * sender, 4)) for sender in range(4)]
    emit_exchange(Messages.of(messages), machine, machine.take_semaphores())
    for stream in machine.streams.values():
        done = stream.finish()
        names = [BY_CODE[int(code)].mnemonic for code in done.op]
        assert Counter(names) == {"ready": 1, "send.wait": 1, "put": 1, "wait": 1}
        # Three credits before sending, three messages before going on.
        assert [int(done.addr[names.index(name), 0]) for name in ("send.wait", "wait")] == [3, 3]


def test_loads_are_divided_along_the_first_dimension() -> None:
    boxes = split_outermost((1, 10, 3), 4)
    assert [box.offsets for box in boxes] == [(0, 0, 0), (0, 2, 0), (0, 5, 0), (0, 7, 0)]
    assert sum(box.volume for box in boxes) == 30
    assert len(split_outermost((1, 2, 3), 4)) == 2


def test_parts_of_an_exchange_share_one_credit_and_count_separately() -> None:
    machine = Machine(load_chip("tiny"), range(3))
    first = Messages.of([(0, [2], row(0, 4), row(64, 4))])
    second = Messages.of([(0, [2], row(16, 4), row(80, 4)), (1, [2], row(0, 4), row(96, 4))])
    exchange = Exchange(machine, {0: first, 4: second})
    for step in range(5):
        exchange.emit(step)
    exchange.release()
    done = machine.streams[2].finish()
    assert [BY_CODE[int(code)].mnemonic for code in done.op] == ["ready", "wait", "wait"]
    # Two senders get the credit; one message arrives first, then two, which are counted by different semaphores.
    assert [int(count) for count in done.addr[1:, 0]] == [1, 2]
    assert len(set(done.imm[1:].tolist())) == 2
    for sender in (0, 1):
        names = [BY_CODE[int(code)].mnemonic for code in machine.streams[sender].finish().op]
        assert names == ["send.wait"] + ["put"] * (2 - sender)

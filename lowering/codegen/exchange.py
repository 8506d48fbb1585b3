"""
Exchanges: all transfers between cores by which the tiles of a value reach their readers.

An exchange has two semaphores. Every receiver gives each of its senders a credit when its buffer may be overwritten. A
sender waits for all its credits, then sends; boxes that are the same for several receivers are sent by multicast. A
receiver waits for the number of messages that are sent to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...analysis.planning.exchange_time import PARTS_IN_FLIGHT, come_in_turn
from ...dialects.dataflow.tiling import Box
from .machine import Machine
from .messages import Messages
from .stream import SRAM, Effect


def emit_exchange(messages: Messages, machine: Machine, semaphores: tuple[int, int]) -> None:
    """
    Emit the credits, sends and waits of one exchange, in an order that all cores share, so that there is no deadlock.

    `semaphores`: for credits and data. Successive exchanges may use the same semaphores if the same cores take part: no
    core gives its next credit before it has received all data of the previous exchange.
    """
    credit, data = semaphores
    ordered = messages.by_distance(machine.chip.cores)
    _emit_ready(ordered, machine, credit)
    _emit_send_wait(ordered, machine, credit)
    _emit_data(ordered, machine, data)


class Exchange:
    """
    An exchange that is split into numbered parts, which are emitted and counted in order.

    The first credits are for all parts. If the parts are to be sent one after the other (`come_in_turn`), the first
    credits are for the first `PARTS_IN_FLIGHT` parts, and senders of a later part get credits when the part that is
    `PARTS_IN_FLIGHT` before it has arrived.
    """

    def __init__(self, machine: Machine, parts: Mapping[int, Messages]) -> None:
        self._machine = machine
        self._parts = [
            (number, messages.by_distance(machine.chip.cores)) for number, messages in sorted(parts.items()) if messages
        ]
        # Each part has a separate semaphore, so that the later part of a fast sender is not counted for an earlier one.
        self._semaphores = {number: machine.take_semaphores() for number, _ in self._parts}
        self._may_come = False
        self._in_turn = come_in_turn([messages.transfers for _, messages in self._parts], machine.chip)

    def let_come(self, number: int) -> None:
        """Emit the credits for the first parts, if no part was emitted yet."""
        if self._parts and self._parts[0][0] == number and not self._may_come:
            self._may_come = True
            _emit_ready(self._first, self._machine, self._semaphores[number][0])

    @cached_property
    def _first(self) -> Messages:
        """The parts that the first credits allow."""
        first, *more = [messages for _, messages in self._parts[: PARTS_IN_FLIGHT if self._in_turn else None]]
        return Messages.joined([first, *more]).by_distance(self._machine.chip.cores) if more else first

    def emit(self, number: int) -> None:
        """
        Emit the next part, at the same position in the streams of all cores.
        """
        position = next((position for position, (own, _) in enumerate(self._parts) if own == number), None)
        if position is None:
            return
        if position == 0:
            self.let_come(number)
            _emit_send_wait(self._first, self._machine, self._semaphores[number][0])
        if self._in_turn:
            self._let_follow(position)
        _emit_data(self._parts[position][1], self._machine, self._semaphores[number][1])

    def _let_follow(self, position: int) -> None:
        """Receivers give credits for the next part; senders of this part wait for theirs."""
        if PARTS_IN_FLIGHT <= position + 1 < len(self._parts):
            number, messages = self._parts[position + 1]
            _emit_ready(messages, self._machine, self._semaphores[number][0])
        if position >= PARTS_IN_FLIGHT:
            number, messages = self._parts[position]
            _emit_send_wait(messages, self._machine, self._semaphores[number][0])

    def release(self) -> None:
        """Release the semaphores: all parts have been emitted."""
        for pair in self._semaphores.values():
            self._machine.release_semaphores(pair)


def _emit_ready(messages: Messages, machine: Machine, credit: int) -> None:
    """Emit the credits: every receiver allows all its senders to write."""
    arriving = _Arriving.of(messages)
    senders = np.zeros((machine.chip.cores, machine.chip.cores), np.bool_)
    senders[messages.transfers.receivers, messages.transfers.senders[messages.transfers.messages]] = True
    core_sets = machine.core_sets.intern_rows(senders[arriving.cores])
    for receiver, core_set, written in zip(arriving.cores.tolist(), core_sets.tolist(), arriving.written, strict=True):
        machine.emitters[receiver].ready(core_set, credit, [written])


def _emit_send_wait(messages: Messages, machine: Machine, credit: int) -> None:
    """Emit the waits of every sender for the credits of all its receivers."""
    receivers = np.zeros((machine.chip.cores, machine.chip.cores), np.bool_)
    receivers[messages.transfers.senders[messages.transfers.messages], messages.transfers.receivers] = True
    counts = receivers.sum(axis=1)
    for sender in np.flatnonzero(counts).tolist():
        machine.emitters[sender].send_wait(credit, int(counts[sender]))


def _emit_data(messages: Messages, machine: Machine, data: int) -> None:
    """Emit all sends, and the wait of every receiver for the number of its messages."""
    transfers = messages.transfers
    members = np.zeros((len(messages), machine.chip.cores), np.bool_)
    members[transfers.messages, transfers.receivers] = True
    machine.put(messages, machine.core_sets.intern_rows(members), data)
    arriving = _Arriving.of(messages)
    for receiver, count, written in zip(arriving.cores.tolist(), arriving.counts, arriving.written, strict=True):
        machine.emitters[receiver].wait(data, count, [written])


class _Arriving(NamedTuple):
    """Incoming messages by receiver, in the order in which the receivers first occur."""

    cores: NDArray[np.int64]
    counts: list[int]
    """Number of messages to each receiver."""
    written: list[Effect]
    """One effect that encloses all writes; they are in one buffer or a few."""

    @staticmethod
    def of(messages: Messages) -> _Arriving:
        receivers, which = messages.transfers.receivers, messages.transfers.messages
        first, last = messages.written
        count = int(receivers.max(initial=-1)) + 1
        low, high = np.full(count, np.iinfo(np.int64).max), np.zeros(count, np.int64)
        np.minimum.at(low, receivers, first[which])
        np.maximum.at(high, receivers, last[which])
        met = np.full(count, len(receivers))  # the first occurrence of each
        met[receivers[::-1]] = np.arange(len(receivers))[::-1]
        cores = np.argsort(met, kind="stable")[: np.count_nonzero(met < len(receivers))]
        ranges = zip(low[cores].tolist(), high[cores].tolist(), strict=True)
        counts = np.bincount(receivers, minlength=count)[cores].tolist()
        return _Arriving(cores, counts, [(SRAM, start, stop, True) for start, stop in ranges])


def split_outermost(shape: Sequence[int], parts: int) -> list[Box]:
    """Cut a box of this shape into up to `parts` equal boxes along its first dimension that is not 1."""
    dim = next((dim for dim, size in enumerate(shape) if size > 1), 0)
    size = shape[dim] if shape else 1
    parts = max(1, min(parts, size))
    cuts = [part * size // parts for part in range(parts + 1)]
    whole = Box.whole(shape)
    return [whole.along(dim, low, high - low) for low, high in pairwise(cuts)] if shape else [whole]

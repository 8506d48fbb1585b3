"""
Transfers between cores: who sends which box to whom.

An exchange has two semaphores. Every receiver gives each of its senders a credit when its buffer may be written; a
sender waits for all its credits, then sends, boxes that are the same for several receivers by multicast; a receiver
waits for as many messages as it is sent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..analysis.planning.exchange_time import AT_ONCE, come_in_turn
from ..analysis.planning.transfers import Transfers
from ..analysis.sparse.nonzero import ALL_NONZERO, Nonzero
from ..dialects.dataflow.tiling import Box
from .machine import Machine, effect
from .stream import Effect
from .view import View


@dataclass(frozen=True)
class Message:
    """`source` on core `sender` is written to `target` on all `receivers`."""

    sender: int
    receivers: tuple[int, ...]
    source: View
    target: View
    nonzero: Nonzero = ALL_NONZERO
    """How much of it should not be zero."""


@dataclass
class MessagePlan:
    """Collects the transfers of one exchange and merges equal ones to multicasts."""

    _merged: dict[tuple[int, View, View, Nonzero], list[int]] = field(
        default_factory=dict[tuple[int, View, View, Nonzero], list[int]]
    )

    def add(
        self, sender: int, receivers: Sequence[int], source: View, target: View, nonzero: Nonzero = ALL_NONZERO
    ) -> None:
        """`sender` sends `source` to `receivers`, which find it at `target`; `nonzero` of it should not be zero."""
        self._merged.setdefault((sender, source, target, nonzero), []).extend(receivers)

    @property
    def messages(self) -> list[Message]:
        """All messages, in the order in which they were first added."""
        return [
            Message(sender, tuple(receivers), source, target, nonzero)
            for (sender, source, target, nonzero), receivers in self._merged.items()
        ]


def emit_exchange(messages: Sequence[Message], machine: Machine, semaphores: tuple[int, int]) -> None:
    """
    Credits, sends and waits of one exchange, in an order that all cores share (so that none waits in a circle).

    `semaphores`: for credits and data. Exchanges that follow each other may have the same if the same cores take part:
    none gives its next credit before it has got all data of the last.
    """
    credit, data = semaphores
    _emit_ready(messages, machine, credit)
    _emit_send_wait(messages, machine, credit)
    _emit_data(messages, machine, data)


class Exchange:
    """
    An exchange in parts, by number, in the order in which they are emitted: data are counted part by part.

    The first credits are for all parts. Where parts are better sent one after the other (`come_in_turn`), they are for
    the first `AT_ONCE`, and senders of later parts get theirs when the part `AT_ONCE` before has come.
    """

    def __init__(self, machine: Machine, parts: Mapping[int, Sequence[Message]]) -> None:
        self._machine = machine
        self._parts = [(number, messages) for number, messages in sorted(parts.items()) if messages]
        # A fast sender's later part must not be counted for an earlier one: each has a semaphore of its own.
        self._semaphores = {number: machine.take_semaphores() for number, _ in self._parts}
        self._in_turn = come_in_turn([_transfers(messages) for _, messages in self._parts], machine.chip)

    def emit(self, number: int) -> None:
        """Emit a part, the one that follows those emitted before; all cores emit it at the same place."""
        place = next((place for place, (own, _) in enumerate(self._parts) if own == number), None)
        if place is None:
            return
        if place == 0:
            at_once = self._parts[: AT_ONCE if self._in_turn else None]
            first = [one for _, messages in at_once for one in messages]
            _emit_ready(first, self._machine, self._semaphores[number][0])
            _emit_send_wait(first, self._machine, self._semaphores[number][0])
        if self._in_turn:
            self._let_follow(place)
        _emit_data(self._parts[place][1], self._machine, self._semaphores[number][1])

    def _let_follow(self, place: int) -> None:
        """Receivers give credits for the part after this one; senders of this one wait for theirs."""
        if AT_ONCE <= place + 1 < len(self._parts):
            number, messages = self._parts[place + 1]
            _emit_ready(messages, self._machine, self._semaphores[number][0])
        if place >= AT_ONCE:
            number, messages = self._parts[place]
            _emit_send_wait(messages, self._machine, self._semaphores[number][0])

    def release(self) -> None:
        """All parts have been emitted."""
        for pair in self._semaphores.values():
            self._machine.release_semaphores(pair)


def _transfers(messages: Sequence[Message]) -> Transfers:
    return Transfers.of((one.sender, one.receivers, one.source.count * one.source.item_bytes) for one in messages)


def _emit_ready(messages: Sequence[Message], machine: Machine, credit: int) -> None:
    """Every receiver tells all its senders that they may write."""
    senders_of: dict[int, set[int]] = {}
    arriving: dict[int, list[Effect]] = {}
    for message in _by_distance(messages, machine):
        written = effect(message.target, writes=True)
        for receiver in message.receivers:
            senders_of.setdefault(receiver, set()).add(message.sender)
            arriving.setdefault(receiver, []).append(written)
    for receiver, senders in senders_of.items():
        core_set = machine.core_sets.intern(frozenset(senders))
        machine.emitters[receiver].ready(core_set, credit, _merged(arriving[receiver]))


def _emit_send_wait(messages: Sequence[Message], machine: Machine, credit: int) -> None:
    """Every sender waits until all its receivers have told it that it may write."""
    receivers_of: dict[int, set[int]] = {}
    for message in _by_distance(messages, machine):
        receivers_of.setdefault(message.sender, set()).update(message.receivers)
    for sender, receivers in receivers_of.items():
        machine.emitters[sender].send_wait(credit, len(receivers))


def _emit_data(messages: Sequence[Message], machine: Machine, data: int) -> None:
    """Every sender sends, and every receiver waits for as many messages as come."""
    arriving: dict[int, list[Effect]] = {}
    for message in _by_distance(messages, machine):
        core_set = machine.core_sets.intern(frozenset(message.receivers))
        emitter = machine.emitters[message.sender]
        emitter.put(message.target, message.source, core_set, data, message.nonzero)
        written = effect(message.target, writes=True)
        for receiver in message.receivers:
            arriving.setdefault(receiver, []).append(written)
    for receiver, effects in arriving.items():
        machine.emitters[receiver].wait(data, len(effects), _merged(effects))


def _by_distance(messages: Sequence[Message], machine: Machine) -> list[Message]:
    """Each sender begins with its next neighbour: cores that do the same then have the same program."""
    cores = machine.chip.cores
    return sorted(messages, key=lambda message: (message.receivers[0] - message.sender) % cores)


def _merged(effects: list[Effect]) -> list[Effect]:
    """One effect around all of them: they lie in one buffer or a few."""
    return [(effects[0][0], min(one[1] for one in effects), max(one[2] for one in effects), True)]


def split_outermost(shape: Sequence[int], parts: int) -> list[Box]:
    """Cut a box of this shape into up to `parts` pieces of equal size, along its first dimension that is not 1."""
    dim = next((dim for dim, size in enumerate(shape) if size > 1), 0)
    size = shape[dim] if shape else 1
    parts = max(1, min(parts, size))
    pieces: list[Box] = []
    for part in range(parts):
        low, high = part * size // parts, (part + 1) * size // parts
        offsets = tuple(low if d == dim else 0 for d in range(len(shape)))
        pieces.append(Box(offsets, tuple(high - low if d == dim else extent for d, extent in enumerate(shape))))
    return pieces

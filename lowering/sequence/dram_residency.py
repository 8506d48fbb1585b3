"""
DRAM residency: the values and weights in DRAM during each launch. Values are there from their computation to their last
reader, weights always or only around the launch that reads them; the host keeps what is not in DRAM.

Time is counted in launches. A copy runs beside a launch if both its source and its destination fit; a launch during
which they do not is *tight*. Everything stays in DRAM as long as it fits. Otherwise, at the launch that needs the most,
weights of other launches stay on the host and are copied in for each, then idle values are spilled to the host, then
the launch becomes tight.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np

from ...analysis.allocation.allocate import allocate
from ...support.errors import ResourceError
from ..launch.dram_segments import ALIGNMENT, padded

_ATTEMPTS = 12
"""Number of times that the target is lowered because of fragmentation."""


@dataclass(frozen=True)
class Value:
    """A value that crosses launches."""

    nbytes: int
    producer: int
    """The launch that computes it; -1: an input of the network."""
    readers: tuple[int, ...]
    """Numbers of the launches that read it, ascending."""
    is_output: bool
    """It is copied to the host."""
    stays: bool = False
    """It is a result that stays in DRAM until the end, where another chip reads it."""


@dataclass(frozen=True)
class Needs:
    """The numbers of the constants and values that one launch uses, and its temporary bytes."""

    constants: tuple[int, ...]
    arguments: tuple[int, ...]
    results: tuple[int, ...]
    scratch: int


@dataclass(frozen=True)
class Network:
    """All launches in order, the values between them, and the bytes of every constant."""

    launches: tuple[Needs, ...]
    values: tuple[Value, ...]
    constants: tuple[int, ...]
    outputs: frozenset[int]
    """Constants that are outputs of the network."""


@dataclass(frozen=True)
class Decisions:
    """
    For each value whether it is spilled to the host between launches; for each launch whether the host holds its
    weights, and whether nothing is copied while it runs.
    """

    values: Mapping[int, bool] = field(default_factory=dict[int, bool])
    weights: Mapping[int, bool] = field(default_factory=dict[int, bool])
    alone: Mapping[int, bool] = field(default_factory=dict[int, bool])


Kind: TypeAlias = Literal["constant", "block", "value", "scratch"]


@dataclass(frozen=True)
class Stay:
    """An allocation in DRAM from launch `first` to launch `last`."""

    kind: Kind
    number: int
    """Number of the constant or value; of the launch, for a block of weights or temporary bytes."""
    nbytes: int
    first: int
    last: int
    arrives_for: int = -1
    """The launch before which it is copied in; -1: it is computed, or loaded before the run."""


@dataclass(frozen=True)
class Residency:
    """Addresses and lifetimes of everything in DRAM."""

    stays: tuple[Stay, ...]
    addresses: tuple[int, ...]
    """Address of each stay."""
    used: int
    streamed: frozenset[int]
    """Launches whose weights are held by the host."""
    blocks: dict[int, tuple[int, ...]]
    """Streamed launch -> the constants that are copied in as one block, in order, each padded."""
    leaving: dict[int, tuple[int, bool]]
    """Value that is copied to the host -> (the launch after which, whether beside the next launch)."""
    spilled: frozenset[int]
    """Values that are spilled to the host; outputs and inputs, which have host memory anyway, are not among them."""
    decided: Decisions = Decisions()
    """All decisions."""

    def address(self, kind: Kind, number: int, launch: int) -> int:
        """The address of a constant or value during a launch. Raises KeyError."""
        for stay, address in self._places[kind, number]:
            if stay.first <= launch <= stay.last:
                return address
        raise KeyError((kind, number, launch))

    @cached_property
    def _places(self) -> dict[tuple[Kind, int], list[tuple[Stay, int]]]:
        found: dict[tuple[Kind, int], list[tuple[Stay, int]]] = {}
        for stay, address in zip(self.stays, self.addresses, strict=True):
            found.setdefault((stay.kind, stay.number), []).append((stay, address))
        return found


class DramShortage(ResourceError):
    """The values of one launch, and those that must be resident beside them, do not fit in DRAM."""

    def __init__(self, launch: int, needed: int, available: int) -> None:
        message = f"launch {launch} needs {needed} bytes of DRAM at once, {available} are there"
        super().__init__(message, "DRAM", needed, available)
        self.launch = launch

    def __reduce__(self) -> tuple[type[DramShortage], tuple[int, int, int]]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return type(self), (self.launch, self.needed, self.available)


def plan_residency(network: Network, capacity: int, given: Decisions = Decisions()) -> Residency:
    """
    Decide what is resident in DRAM, unless `given` says it, and allocate it. Raises DramShortage naming the launch that
    is too large.
    """
    choice, target, peak = _Choice(network, given), capacity, 0
    for _ in range(_ATTEMPTS):
        choice = _Choice(network, given)
        choice.fit(target, capacity)
        stays = choice.stays()
        addresses, peak = _place(stays, len(network.launches), capacity)
        if peak <= capacity:
            return choice.residency(stays, addresses, peak)
        target -= max(peak - capacity, capacity // 64)
    raise DramShortage(choice.worst(choice.stays())[0], peak, capacity)


def _place(stays: list[Stay], launches: int, capacity: int) -> tuple[tuple[int, ...], int]:
    """Addresses, and bytes up to the end of the highest: permanent allocations first, in order, then the rest."""
    addresses: list[int] = []
    cursor = 0
    always = [stay.first == 0 and stay.last == launches - 1 for stay in stays]
    # Constants that stay lie together at the bottom: they are one segment of the file.
    fixed = len(stays) if all(always) else sum(stay.kind == "constant" for stay in stays)
    for stay in stays[:fixed]:
        addresses.append(cursor)
        cursor += padded(stay.nbytes)
    rest = stays[fixed:]
    if not rest:
        return tuple(addresses), cursor
    sizes, first, last = [padded(one.nbytes) for one in rest], [one.first for one in rest], [one.last for one in rest]
    placed = allocate(sizes, first, last, ALIGNMENT, capacity - cursor)
    addresses += [cursor + int(offset) for offset in placed.offsets]
    return tuple(addresses), cursor + placed.peak


class _Choice:
    """The decisions so far."""

    def __init__(self, network: Network, given: Decisions) -> None:
        self.network, self.given = network, given
        self.count = len(network.launches)
        self.streamed, self.spilled, self.tight = (
            {number for number, yes in one.items() if yes} for one in (given.weights, given.values, given.alone)
        )

    def fit(self, target: int, capacity: int) -> None:
        """Decide until no launch needs more than `target`. Raises DramShortage."""
        while True:
            slot, needed = self.worst(self.stays())
            if needed <= target:
                return
            if not self._relieve(slot, needed - target):
                if needed <= capacity:
                    return  # as much as can be done: perhaps it can be packed even so
                raise DramShortage(slot, needed, capacity)

    def _relieve(self, slot: int, excess: int) -> bool:
        """
        Move something that is idle during a launch out of DRAM: the smallest that covers the excess, or the largest.
        Returns False if there is nothing.
        """
        users = Counter(
            constant
            for launch, needs in enumerate(self.network.launches)
            if launch not in self.streamed
            for constant in needs.constants
        )
        saved = {
            launch: sum(self.network.constants[one] for one in needs.constants if users[one] == 1)
            for launch, needs in enumerate(self.network.launches)
            if launch not in self.streamed
            and launch not in self.given.weights
            and not self._arrival(launch) <= slot <= launch
        }
        if any(saved.values()):
            self.streamed.add(_best([(size, launch) for launch, size in saved.items()], excess))
            return True
        idle = [
            (value.nbytes, number)
            for number, value in enumerate(self.network.values)
            if number not in self.given.values and number not in self.spilled and not value.stays
            if _covers(self._value(number, spilled=False), slot)
            if not _covers(self._value(number, spilled=True), slot)
        ]
        if idle:
            self.spilled.add(_best(idle, excess))
            return True
        if slot not in self.tight and slot not in self.given.alone:
            self.tight.add(slot)
            return True
        # Constants that several launches read stay for all of them: the largest launch that does without goes first.
        shared = {
            launch: sum(self.network.constants[one] for one in needs.constants)
            for launch, needs in enumerate(self.network.launches)
            if launch not in self.streamed and launch not in self.given.weights and launch != slot
        }
        if any(shared.values()):
            self.streamed.add(max(shared, key=lambda launch: (shared[launch], -launch)))
            return True
        return False

    def worst(self, stays: list[Stay]) -> tuple[int, int]:
        """The launch during which the most bytes are in DRAM, and their number."""
        change = np.zeros(self.count + 1, np.int64)
        for stay in stays:
            change[stay.first] += padded(stay.nbytes)
            change[stay.last + 1] -= padded(stay.nbytes)
        live = np.cumsum(change[:-1])
        slot = int(np.argmax(live))
        return slot, int(live[slot])

    def _arrival(self, launch: int) -> int:
        """The first launch during which bytes copied in for a launch must be allocated."""
        return launch if launch == 0 or launch - 1 in self.tight else launch - 1

    def _resident(self) -> set[int]:
        found = set(self.network.outputs)
        for launch, needs in enumerate(self.network.launches):
            if launch not in self.streamed:
                found.update(needs.constants)
        return found

    def _blocks(self) -> dict[int, tuple[int, ...]]:
        resident = self._resident()
        found: dict[int, tuple[int, ...]] = {}
        for launch in sorted(self.streamed):
            block = tuple(one for one in self.network.launches[launch].constants if one not in resident)
            if block:
                found[launch] = block
        return found

    def departure(self, number: int) -> tuple[int, bool]:
        """The launch after which a value is copied to the host, and whether the copy runs beside the next launch."""
        value = self.network.values[number]
        launch = value.producer if value.producer >= 0 else min(value.readers, default=0)
        beside = launch + 1 < self.count and launch + 1 not in self.tight
        return launch, beside and not self._is_back_at_once(number)

    def _is_back_at_once(self, number: int) -> bool:
        """Whether the IR keeps a value on the host for a time too short for copies beside launches."""
        is_given = self.given.values.get(number, False) and bool(self.network.values[number].readers)
        return is_given and len(self._stays_of(number, spilled=True, at_once=False)) == 1

    def _value(self, number: int, spilled: bool) -> list[Stay]:
        return self._stays_of(number, spilled, at_once=spilled and self._is_back_at_once(number))

    def _stays_of(self, number: int, spilled: bool, at_once: bool) -> list[Stay]:
        """
        The allocations of a value; `at_once`: it is copied to the host and back between launches, beside none of them.
        """
        value = self.network.values[number]
        readers = list(value.readers)
        stays: list[Stay] = []
        launch = value.producer if value.producer >= 0 else min(value.readers, default=0)
        gone = launch + (not at_once and launch + 1 < self.count and launch + 1 not in self.tight)
        if value.producer >= 0:
            last = gone if value.is_output or spilled else value.producer
            stays.append(Stay("value", number, value.nbytes, value.producer, last))
        else:
            first = readers[0] if readers else 0
            last = max(first, gone) if value.is_output else first
            stays.append(Stay("value", number, value.nbytes, self._arrival(first), last, first))
        for reader in readers:
            before = stays[-1]
            arrival = reader if at_once else self._arrival(reader)
            if spilled and arrival > before.last:
                stays.append(Stay("value", number, value.nbytes, arrival, reader, reader))
            else:
                last = max(before.last, reader)
                stays[-1] = Stay("value", number, value.nbytes, before.first, last, before.arrives_for)
        if value.stays:
            stays[-1] = replace(stays[-1], last=self.count - 1)
        return stays

    def stays(self) -> list[Stay]:
        """All allocations in DRAM by the decisions so far."""
        network, end = self.network, self.count - 1
        resident = self._resident()
        found = [
            Stay("constant", number, size, 0, end)
            for number, size in enumerate(network.constants)
            if number in resident
        ]
        for launch, block in self._blocks().items():
            size = sum(padded(network.constants[one]) for one in block)
            found.append(Stay("block", launch, size, self._arrival(launch), launch, launch))
        inputs = [number for number, value in enumerate(network.values) if value.producer < 0]
        others = [number for number, value in enumerate(network.values) if value.producer >= 0]
        for number in (*inputs, *others):
            found += self._value(number, number in self.spilled)
        found += [
            Stay("scratch", launch, needs.scratch, launch, launch)
            for launch, needs in enumerate(network.launches)
            if needs.scratch
        ]
        return found

    def residency(self, stays: list[Stay], addresses: tuple[int, ...], used: int) -> Residency:
        """The decisions and the allocated addresses."""
        times: dict[int, int] = {}
        for stay in stays:
            if stay.kind == "value":
                times[stay.number] = times.get(stay.number, 0) + 1
        values = self.network.values
        kept = {number for number in self.spilled if times[number] > 1 and values[number].producer >= 0}
        out = [number for number, value in enumerate(values) if value.is_output or number in kept]
        return Residency(
            tuple(stays), addresses, used, frozenset(self.streamed), self._blocks(),
            {number: self.departure(number) for number in out},
            frozenset(number for number in kept if not values[number].is_output), self._decided(),
        )  # fmt: skip

    def _decided(self) -> Decisions:
        launches = range(self.count)
        values = enumerate(self.network.values)
        leaving = {number for number, value in values if value.is_output and not value.stays and not value.readers}
        return Decisions(
            {number: number in self.spilled or number in leaving for number in range(len(self.network.values))},
            {launch: launch in self.streamed for launch in launches},
            {launch: launch in self.tight for launch in launches},
        )


def _best(choices: list[tuple[int, int]], excess: int) -> int:
    """
    Of (bytes, number), the number of the smallest sufficient one, unless smaller ones together suffice with much less;
    else of the largest insufficient one. Ties go to the first.
    """
    smaller = [choice for choice in choices if choice[0] < excess]
    enough = [choice for choice in choices if choice[0] >= excess]
    if enough and (min(enough)[0] <= 2 * excess or sum(size for size, _ in smaller) < excess):
        return min(enough)[1]
    return min(smaller, key=lambda choice: (-choice[0], choice[1]))[1]


def _covers(stays: list[Stay], launch: int) -> bool:
    return any(stay.first <= launch <= stay.last for stay in stays)

"""
DRAM residency: the values and weights that are in DRAM during each launch. A value is resident from its computation to
its last reader, or spilled to the host between launches that use it; weights are resident throughout, or *streamed*:
kept on the host, and copied in for the launch that reads them.

Time is counted in launches. Copies for the next launch, and from the previous one, run concurrently with a launch if
their bytes fit in DRAM too. No copies run concurrently with a launch that runs *alone*: the copies of its neighbours
run between launches.

Everything is resident as long as it fits. Otherwise, for the launch with the most bytes in DRAM, first the weights of
another launch are streamed, then a value that the launch does not use is spilled, then the launch runs alone.
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
"""
Number of targets for the bytes in DRAM that are tried. Each is lower than the last, to compensate for fragmentation.
"""


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
    stays_in_dram: bool = False
    """It is a result that stays in DRAM until the end, because another chip reads it."""


@dataclass(frozen=True)
class LaunchOperands:
    """The memory that one launch uses: constants and values, by number, and temporary bytes."""

    constants: tuple[int, ...]
    arguments: tuple[int, ...]
    results: tuple[int, ...]
    scratch: int


@dataclass(frozen=True)
class Network:
    """All launches in order, the values between them, and the bytes of every constant."""

    launches: tuple[LaunchOperands, ...]
    values: tuple[Value, ...]
    constants: tuple[int, ...]
    outputs: frozenset[int]
    """Constants that are outputs of the network."""


@dataclass(frozen=True)
class Decisions:
    """
    For each value whether it is spilled to the host between launches; for each launch whether its weights are streamed,
    and whether it runs alone. Entries that are missing are decided.
    """

    values: Mapping[int, bool] = field(default_factory=dict[int, bool])
    weights: Mapping[int, bool] = field(default_factory=dict[int, bool])
    alone: Mapping[int, bool] = field(default_factory=dict[int, bool])


Kind: TypeAlias = Literal["constant", "block", "value", "scratch"]


@dataclass(frozen=True)
class DramAllocation:
    """An allocation in DRAM from launch `first` to launch `last`."""

    kind: Kind
    number: int
    """Number of the constant or value; for a block of streamed weights, and for temporary bytes, of the launch."""
    nbytes: int
    first: int
    last: int
    copied_in_for: int = -1
    """The launch that its content is copied in for; -1: it is computed on the chip, or loaded before the run."""


@dataclass(frozen=True)
class Residency:
    """Addresses and lifetimes of everything in DRAM."""

    allocations: tuple[DramAllocation, ...]
    addresses: tuple[int, ...]
    """Address of each allocation."""
    used: int
    """Bytes of DRAM up to the end of the highest allocation."""
    streamed: frozenset[int]
    """Launches whose weights are streamed."""
    blocks: dict[int, tuple[int, ...]]
    """Streamed launch -> the constants that are copied in as one block, in order, each padded."""
    copied_out: dict[int, tuple[int, bool]]
    """
    Value that is copied to the host -> (launch after which it is copied, whether concurrently with the next launch).
    """
    spilled: frozenset[int]
    """Spilled values that need separate host memory: all except outputs and inputs, which have host memory already."""
    decided: Decisions = Decisions()
    """All decisions."""

    def address(self, kind: Kind, number: int, launch: int) -> int:
        """The address of a constant or value during a launch. Raises KeyError."""
        for one, address in self._by_kind[kind, number]:
            if one.first <= launch <= one.last:
                return address
        raise KeyError((kind, number, launch))

    @cached_property
    def _by_kind(self) -> dict[tuple[Kind, int], list[tuple[DramAllocation, int]]]:
        found: dict[tuple[Kind, int], list[tuple[DramAllocation, int]]] = {}
        for one, address in zip(self.allocations, self.addresses, strict=True):
            found.setdefault((one.kind, one.number), []).append((one, address))
        return found


class DramCapacityError(ResourceError):
    """The memory of one launch and the values that must be resident during it do not fit in DRAM together."""

    def __init__(self, launch: int, needed: int, available: int) -> None:
        message = f"launch {launch} needs {needed} bytes of DRAM at once, {available} are available"
        super().__init__(message, "DRAM", needed, available)
        self.launch = launch

    def __reduce__(self) -> tuple[type[DramCapacityError], tuple[int, int, int]]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return type(self), (self.launch, self.needed, self.available)


def plan_residency(network: Network, capacity: int, given: Decisions = Decisions()) -> Residency:
    """
    Decide the residency in DRAM that `given` does not specify, and allocate it. Raises DramCapacityError naming the
    launch that is too large.
    """
    planner, target, peak = _Planner(network, given), capacity, 0
    for _ in range(_ATTEMPTS):
        planner = _Planner(network, given)
        planner.fit(target, capacity)
        allocations = planner.allocations()
        addresses, peak = _allocate(allocations, len(network.launches), capacity)
        if peak <= capacity:
            return planner.residency(allocations, addresses, peak)
        target -= max(peak - capacity, capacity // 64)
    raise DramCapacityError(planner.peak_launch(planner.allocations())[0], peak, capacity)


def _allocate(allocations: list[DramAllocation], launches: int, capacity: int) -> tuple[tuple[int, ...], int]:
    """The addresses of allocations, and one past the last byte: permanent ones first, in order, then the others."""
    addresses: list[int] = []
    cursor = 0
    always = [one.first == 0 and one.last == launches - 1 for one in allocations]
    # Resident constants are at the lowest addresses: they form one segment of the executable file.
    fixed = len(allocations) if all(always) else sum(one.kind == "constant" for one in allocations)
    for one in allocations[:fixed]:
        addresses.append(cursor)
        cursor += padded(one.nbytes)
    rest = allocations[fixed:]
    if not rest:
        return tuple(addresses), cursor
    sizes, first, last = [padded(one.nbytes) for one in rest], [one.first for one in rest], [one.last for one in rest]
    placed = allocate(sizes, first, last, ALIGNMENT, capacity - cursor)
    addresses += [cursor + int(offset) for offset in placed.offsets]
    return tuple(addresses), cursor + placed.peak


class _Planner:
    """Makes the decisions one by one."""

    def __init__(self, network: Network, given: Decisions) -> None:
        self.network, self.given = network, given
        self.count = len(network.launches)
        self.streamed, self.spilled, self.alone = (
            {number for number, yes in one.items() if yes} for one in (given.weights, given.values, given.alone)
        )

    def fit(self, target: int, capacity: int) -> None:
        """Decide until no launch needs more than `target`. Raises DramCapacityError."""
        while True:
            crowded, needed = self.peak_launch(self.allocations())
            if needed <= target:
                return
            if not self._take_out(crowded, needed - target):
                if needed <= capacity:
                    return  # no decision is left, but the allocation may still fit
                raise DramCapacityError(crowded, needed, capacity)

    def _take_out(self, crowded: int, excess: int) -> bool:
        """
        Make one decision that saves bytes during the launch `crowded`, which has `excess` too many. The module's
        docstring has the order of decisions. Returns False if none is left.
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
            and not self._first_launch_of_copy(launch) <= crowded <= launch
        }
        if any(saved.values()):
            self.streamed.add(_choose([(size, launch) for launch, size in saved.items()], excess))
            return True
        idle = [
            (value.nbytes, number)
            for number, value in enumerate(self.network.values)
            if number not in self.given.values and number not in self.spilled and not value.stays_in_dram
            if _includes(self._value(number, spilled=False), crowded)
            if not _includes(self._value(number, spilled=True), crowded)
        ]
        if idle:
            self.spilled.add(_choose(idle, excess))
            return True
        if crowded not in self.alone and crowded not in self.given.alone:
            self.alone.add(crowded)
            return True
        # Constants that several launches read are resident while one of these is not streamed. Streaming one launch
        # alone saves nothing then: begin with the launch that reads the most bytes.
        shared = {
            launch: sum(self.network.constants[one] for one in needs.constants)
            for launch, needs in enumerate(self.network.launches)
            if launch not in self.streamed and launch not in self.given.weights and launch != crowded
        }
        if any(shared.values()):
            self.streamed.add(max(shared, key=lambda launch: (shared[launch], -launch)))
            return True
        return False

    def peak_launch(self, allocations: list[DramAllocation]) -> tuple[int, int]:
        """The launch during which the most bytes are in DRAM, and their number."""
        change = np.zeros(self.count + 1, np.int64)
        for one in allocations:
            change[one.first] += padded(one.nbytes)
            change[one.last + 1] -= padded(one.nbytes)
        live = np.cumsum(change[:-1])
        crowded = int(np.argmax(live))
        return crowded, int(live[crowded])

    def _first_launch_of_copy(self, launch: int) -> int:
        """The first launch during which bytes that are copied in for `launch` are allocated."""
        return launch if launch == 0 or launch - 1 in self.alone else launch - 1

    def _resident(self) -> set[int]:
        """The constants that are in DRAM throughout."""
        found = set(self.network.outputs)
        for launch, needs in enumerate(self.network.launches):
            if launch not in self.streamed:
                found.update(needs.constants)
        return found

    def _blocks(self) -> dict[int, tuple[int, ...]]:
        """Streamed launch -> the constants that are copied in for it."""
        resident = self._resident()
        found: dict[int, tuple[int, ...]] = {}
        for launch in sorted(self.streamed):
            block = tuple(one for one in self.network.launches[launch].constants if one not in resident)
            if block:
                found[launch] = block
        return found

    def _copy_out(self, number: int) -> tuple[int, bool]:
        """
        The launch after which a value is copied to the host, and whether the copy runs concurrently with the next
        launch.
        """
        value = self.network.values[number]
        launch = value.producer if value.producer >= 0 else min(value.readers, default=0)
        beside = launch + 1 < self.count and launch + 1 not in self.alone
        return launch, beside and not self._must_block(number)

    def _must_block(self, number: int) -> bool:
        """
        Whether the copies of a value to the host and back must be blocking between two launches: the IR specifies that
        the host keeps it, but no launch between its uses can run concurrently with the copies.
        """
        is_given = self.given.values.get(number, False) and bool(self.network.values[number].readers)
        return is_given and len(self._allocations_of(number, spilled=True, blocking=False)) == 1

    def _value(self, number: int, spilled: bool) -> list[DramAllocation]:
        """The allocations of a value, ascending, if it is spilled or not."""
        return self._allocations_of(number, spilled, blocking=spilled and self._must_block(number))

    def _allocations_of(self, number: int, spilled: bool, blocking: bool) -> list[DramAllocation]:
        """
        The allocations of a value, ascending; `blocking`: its copies to the host and back run between launches.
        """
        value = self.network.values[number]
        readers = list(value.readers)
        allocations: list[DramAllocation] = []
        launch = value.producer if value.producer >= 0 else min(value.readers, default=0)
        copied_out_at = launch + (not blocking and launch + 1 < self.count and launch + 1 not in self.alone)
        if value.producer >= 0:
            last = copied_out_at if value.is_output or spilled else value.producer
            allocations.append(DramAllocation("value", number, value.nbytes, value.producer, last))
        else:
            first = readers[0] if readers else 0
            last = max(first, copied_out_at) if value.is_output else first
            allocations.append(
                DramAllocation("value", number, value.nbytes, self._first_launch_of_copy(first), last, first)
            )
        for reader in readers:
            before = allocations[-1]
            arrival = reader if blocking else self._first_launch_of_copy(reader)
            if spilled and arrival > before.last:
                allocations.append(DramAllocation("value", number, value.nbytes, arrival, reader, reader))
            else:
                last = max(before.last, reader)
                allocations[-1] = DramAllocation(
                    "value", number, value.nbytes, before.first, last, before.copied_in_for
                )
        if value.stays_in_dram:
            allocations[-1] = replace(allocations[-1], last=self.count - 1)
        return allocations

    def allocations(self) -> list[DramAllocation]:
        """All allocations in DRAM that follow from the decisions so far."""
        network, end = self.network, self.count - 1
        resident = self._resident()
        found = [
            DramAllocation("constant", number, size, 0, end)
            for number, size in enumerate(network.constants)
            if number in resident
        ]
        for launch, block in self._blocks().items():
            size = sum(padded(network.constants[one]) for one in block)
            found.append(DramAllocation("block", launch, size, self._first_launch_of_copy(launch), launch, launch))
        inputs = [number for number, value in enumerate(network.values) if value.producer < 0]
        others = [number for number, value in enumerate(network.values) if value.producer >= 0]
        for number in (*inputs, *others):
            found += self._value(number, number in self.spilled)
        found += [
            DramAllocation("scratch", launch, needs.scratch, launch, launch)
            for launch, needs in enumerate(network.launches)
            if needs.scratch
        ]
        return found

    def residency(self, allocations: list[DramAllocation], addresses: tuple[int, ...], used: int) -> Residency:
        """The decisions and the allocated addresses."""
        times: dict[int, int] = {}
        for one in allocations:
            if one.kind == "value":
                times[one.number] = times.get(one.number, 0) + 1
        values = self.network.values
        kept = {number for number in self.spilled if times[number] > 1 and values[number].producer >= 0}
        out = [number for number, value in enumerate(values) if value.is_output or number in kept]
        return Residency(
            tuple(allocations), addresses, used, frozenset(self.streamed), self._blocks(),
            {number: self._copy_out(number) for number in out},
            frozenset(number for number in kept if not values[number].is_output), self._decided(),
        )  # fmt: skip

    def _decided(self) -> Decisions:
        launches = range(self.count)
        values = enumerate(self.network.values)
        copied_out = {
            number for number, value in values if value.is_output and not value.stays_in_dram and not value.readers
        }
        return Decisions(
            {number: number in self.spilled or number in copied_out for number in range(len(self.network.values))},
            {launch: launch in self.streamed for launch in launches},
            {launch: launch in self.alone for launch in launches},
        )


def _choose(choices: list[tuple[int, int]], excess: int) -> int:
    """
    The number of the choice (bytes, number) to take out of DRAM to save `excess` bytes: the smallest one that suffices.
    If none does, or that one has more than twice the bytes and the smaller ones suffice together, the largest of the
    smaller ones. Ties go to the first.
    """
    smaller = [choice for choice in choices if choice[0] < excess]
    enough = [choice for choice in choices if choice[0] >= excess]
    if enough and (min(enough)[0] <= 2 * excess or sum(size for size, _ in smaller) < excess):
        return min(enough)[1]
    return min(smaller, key=lambda choice: (-choice[0], choice[1]))[1]


def _includes(allocations: list[DramAllocation], launch: int) -> bool:
    return any(one.first <= launch <= one.last for one in allocations)

"""Addresses in SRAM for everything that planned tasks hold there; the same on every core."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from ..analysis.allocation import allocate
from ..analysis.planning.load_ahead import loads_ahead
from ..analysis.planning.plan_network import NetworkPlan
from ..analysis.planning.plan_task import ALIGNMENT, aligned
from ..chips import Chip
from ..support.errors import ResourceError

Role = Literal["tile", "read", "staging", "temporary"]
Key = tuple[Role, int, int, int]
"""What a buffer is for: role, task, number of the read or of the body's buffer, slot."""


class SramBuffer(NamedTuple):
    """A buffer for people: where it lies, and the first and last task at which it is in use."""

    role: str
    """As in `Key`; reads of constants are "constant"."""
    task: int
    address: int
    size: int
    first: int
    last: int


@dataclass(frozen=True)
class SramLayout:
    """Where the buffers lie."""

    addresses: dict[Key, int]
    ahead: dict[int, int]
    """Task -> the earlier task at whose end its first constants are loaded; tasks not in it load them themselves."""
    peak: int
    """Bytes up to the end of the highest buffer."""
    lower_bound: int
    """Most bytes alive at once: no allocation can need fewer."""
    buffers: tuple[SramBuffer, ...] = ()
    """All of them, in order of their tasks."""

    def tile(self, task: int) -> int:
        """Address of the result tiles of a task whose result stays in the cores."""
        return self.addresses["tile", task, 0, 0]

    def read(self, task: int, number: int, slot: int) -> int:
        """Address of a buffer of read `number`."""
        return self.addresses["read", task, number, slot]


@dataclass
class _Buffers:
    keys: list[Key] = field(default_factory=list[Key])
    sizes: list[int] = field(default_factory=list[int])
    first: list[int] = field(default_factory=list[int])
    last: list[int] = field(default_factory=list[int])

    def add(self, key: Key, size: int, first: int, last: int) -> None:
        if size:
            self.keys.append(key)
            self.sizes.append(aligned(size))
            self.first.append(first)
            self.last.append(last)


def lay_out_sram(network: NetworkPlan, chip: Chip) -> SramLayout:
    """
    Place all buffers by their lifetimes, counted in tasks.

    Constants are loaded ahead as far as `loads_ahead` finds useful and memory allows. Raises MeshloomError if the
    buffers do not fit even without.
    """
    ahead = loads_ahead(network.plans, chip)
    while True:
        buffers = _collect(network, ahead)
        live = _live_bytes(buffers, len(network.tasks))
        crowded = [task for task, start in ahead.items() if max(live[start:task]) > chip.sram_bytes]
        if not crowded:
            result = allocate(buffers.sizes, buffers.first, buffers.last, ALIGNMENT)
            if result.peak > chip.sram_bytes and not ahead:  # the last resort: a longer search
                result = allocate(buffers.sizes, buffers.first, buffers.last, ALIGNMENT, chip.sram_bytes)
            if result.peak <= chip.sram_bytes:
                addresses = dict(zip(buffers.keys, (int(offset) for offset in result.offsets), strict=True))
                listed = _listed(buffers, addresses, network)
                return SramLayout(addresses, ahead, int(result.peak), int(result.lower_bound), listed)
            if not ahead:
                raise ResourceError(
                    f"the buffers of the cores of chip '{chip.name}' take {result.peak} bytes of SRAM, "
                    f"{chip.sram_bytes} are there",
                    "SRAM of a core", int(result.peak), chip.sram_bytes,
                )  # fmt: skip
            crowded = [max(ahead, key=lambda task: (max(live[ahead[task] : task]), task))]
        for task in crowded:
            ahead[task] += 1
            if ahead[task] == task:
                del ahead[task]


def _collect(network: NetworkPlan, ahead: Mapping[int, int]) -> _Buffers:
    buffers = _Buffers()
    for number, (info, plan) in enumerate(zip(network.tasks, network.plans, strict=True)):
        if plan.resident:
            buffers.add(("tile", number, 0, 0), plan.tile_bytes, number, network.last_use[info.result])
        else:
            item = info.buffers.item_bytes[info.buffers.result]
            for slot in range(plan.staging_slots(info)):
                buffers.add(("staging", number, 0, slot), plan.step_elements * item, number, number)
        for buffer in info.buffers.temporaries:
            size = plan.step_elements * info.buffers.item_bytes[buffer]
            buffers.add(("temporary", number, buffer, 0), size, number, number)
        for index, read in enumerate(plan.reads):
            for slot in range(plan.buffers_of(index)):
                first = ahead.get(number, number) if read.constant and slot == 0 else number
                buffers.add(("read", number, index, slot), plan.sizes[index].buffer_bytes, first, number)
    return buffers


def _listed(buffers: _Buffers, addresses: Mapping[Key, int], network: NetworkPlan) -> tuple[SramBuffer, ...]:
    found: list[SramBuffer] = []
    for key, size, first, last in zip(buffers.keys, buffers.sizes, buffers.first, buffers.last, strict=True):
        role, task, number, _ = key
        constant = role == "read" and network.plans[task].reads[number].constant
        found.append(SramBuffer("constant" if constant else role, task, addresses[key], size, first, last))
    return tuple(found)


def _live_bytes(buffers: _Buffers, tasks: int) -> list[int]:
    change = [0] * (tasks + 1)
    for size, first, last in zip(buffers.sizes, buffers.first, buffers.last, strict=True):
        change[first] += size
        change[last + 1] -= size
    total = 0
    live: list[int] = []
    for number in range(tasks):
        total += change[number]
        live.append(total)
    return live

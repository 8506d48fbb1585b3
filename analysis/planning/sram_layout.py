"""SRAM layout: addresses of all buffers of planned tasks, the same on every core."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from types import MappingProxyType
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...chips import Chip
from ...support.errors import ResourceError
from ..allocation.allocate import Allocation, allocate
from ..search import ACCEPT_RATIO
from .interleaved import parts_interleave
from .loops import held_as, held_rows, is_carry
from .network_estimate import Code, TaskWorks, network_estimate
from .network_plan import NetworkPlan
from .prefetch_candidates import prefetch_starts
from .reads import ReadKind
from .shift_prefetch import shift_prefetch
from .task_plan import ALIGNMENT, TaskPlan, aligned

DOUBLING = 4
"""
Prefetches that prevent a layout are delayed one at a time at first; after each DOUBLING rounds, twice as many are
delayed at a time.
"""

Role = Literal["tile", "read", "staging", "temporary"]
Key = tuple[Role, int, int, int]
"""The purpose of a buffer: role, task, number of the read or of the body's buffer, slot."""


class SramBuffer(NamedTuple):
    """A buffer for reports: its address, and the first and last task at which it is in use."""

    role: str
    """As in `Key`; reads of constants are "constant"."""
    task: int
    address: int
    size: int
    first: int
    last: int


@dataclass(frozen=True)
class SramLayout:
    """The addresses of all buffers."""

    addresses: dict[Key, int]
    prefetch_from: dict[int, int]
    """Task -> the earlier task at whose end its first constants are loaded; other tasks load them themselves."""
    peak: int
    """Bytes up to the end of the highest buffer."""
    lower_bound: int
    """The largest number of live bytes at one time: a lower bound of every allocation."""
    buffers: tuple[SramBuffer, ...] = ()
    """All buffers, in the order of `addresses`."""
    apart: frozenset[int] = frozenset()
    """Tasks whose results stay in the cores, but whose parts are computed in staging buffers."""
    multi_buffered: Mapping[int, int] = field(default_factory=dict[int, int])
    """Task -> number of buffers of its constants that change in every step, all prefetched; other tasks have two."""

    @property
    def code(self) -> Code:
        """The facts that the estimate needs, except the number of instructions."""
        return Code(self.prefetch_from, self.apart, self.freed, multi_buffered=self.multi_buffered)

    @cached_property
    def freed(self) -> dict[tuple[int, bool], int]:
        """(task, constants or not) -> the last earlier task that uses the memory of its first loads; none: -1."""
        if not self.buffers:
            return {}
        table = np.array([(one.address, one.address + one.size, one.first, one.last) for one in self.buffers])
        low, high, first, last = table.T
        found: dict[tuple[int, bool], int] = {}
        for position, one in enumerate(self.buffers):
            if one.role in ("read", "constant"):
                key = one.task, one.role == "constant"
                if key[1] and one.first > self.prefetch_from.get(one.task, one.task):
                    continue  # a second buffer
                shared = (low < high[position]) & (high > low[position]) & (last < first[position])
                found[key] = max(found.get(key, -1), int(last[shared].max(initial=-1)))
        return found


@dataclass
class _Buffers:
    keys: list[Key] = field(default_factory=list[Key])
    sizes: list[int] = field(default_factory=list[int])
    first: list[int] = field(default_factory=list[int])
    """The first task of each lifetime, for constants without prefetch."""
    last: list[int] = field(default_factory=list[int])
    reads: list[int] = field(default_factory=list[int])
    """Positions of the buffers of loaded and received values."""
    prefetched: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    """(position, task) of the buffers that prefetch fills."""

    def add(self, key: Key, size: int, first: int, last: int) -> bool:
        """Add a buffer, unless it is empty. Returns whether it was added."""
        if size:
            self.keys.append(key)
            self.sizes.append(aligned(size))
            self.first.append(first)
            self.last.append(last)
        return size > 0

    def add_read(self, key: Key, size: int, first: int, last: int, *, prefetched: bool) -> None:
        """Add a buffer of a loaded or received value, unless it is empty."""
        if self.add(key, size, first, last):
            self.reads.append(len(self.keys) - 1)
            if prefetched:
                self.prefetched.append((self.reads[-1], key[1]))

    def with_prefetch(self, prefetch_from: Mapping[int, int], early: bool = False) -> _Buffers:
        """
        The buffers with the lifetimes that follow from `prefetch_from`; with `early`, buffers of loaded values are
        allocated one task before the loads may begin.
        """
        first = self.first.copy()
        for position, task in self.prefetched:
            first[position] = prefetch_from.get(task, first[position])
        if early:
            for position in self.reads:
                first[position] = max(0, first[position] - 1)
        return replace(self, first=first)


def lay_out_sram(network: NetworkPlan, chip: Chip, works: TaskWorks | None = None) -> SramLayout:
    """
    Place all buffers by their lifetimes, counted in tasks.

    Constants are prefetched as far as `prefetch_starts`, and then `shift_prefetch`, find useful and memory allows.
    `works`: those of the network, if known. Raises ResourceError if the buffers do not fit even without prefetch.
    """
    if network.loops:
        return lay_out(network, chip, _around_loops(prefetch_starts(network.plans, chip, network.policy), network))
    layout = lay_out(network, chip, prefetch_starts(network.plans, chip, network.policy))
    works = works or TaskWorks(network)
    prefetch_from = shift_prefetch(network, layout.code, chip, works)
    if prefetch_from == layout.prefetch_from:
        return layout
    shifted = lay_out(network, chip, prefetch_from)
    before = sum(estimated_times(network, layout, chip, works))
    return shifted if sum(estimated_times(network, shifted, chip, works)) < before * ACCEPT_RATIO else layout


def _around_loops(prefetch_from: Mapping[int, int], network: NetworkPlan) -> dict[int, int]:
    """
    `prefetch_from` for a network with loops, in which no step prefetches for later tasks.

    Constants of the tasks after a loop, and those that are kept in SRAM during the next loop, are prefetched before the
    loop if its steps load nothing; they then arrive while it runs. Otherwise they are loaded with the first task after
    it, so that no load of a step waits for them. Constants that are kept in SRAM during a loop are loaded after
    everything that the tasks before it load.
    """
    found: dict[int, int] = {}
    before = 0
    """The first task during which constants of later tasks may be loaded."""
    after = 0
    """The first task after the last loop so far."""
    streaming = 0
    """The last task so far, outside of loops, that loads its own operands."""
    for number, plan in enumerate(network.plans):
        span = network.loop_of.get(number)
        start = after if _pass_on_constants(plan) else before
        reads = zip(plan.reads, plan.sizes, strict=True)
        loaded = [size for read, size in reads if read.constant and size.buffer_bytes and not size.found]
        if span is not None:
            if start < span.first and loaded and all(size.kept for size in loaded):
                found[number] = start if start < after else max(start, streaming)
            if number == span.last:
                after = number + 1
                quiet = span.first > before and not any(map(_loads_in_steps, network.plans[span.first : after]))
                before = max(before, span.first - 1) if quiet else after
            continue
        if any(read.kind is ReadKind.STREAM and not read.constant for read in plan.reads):
            streaming = number
        if start < after and loaded:
            found[number] = start
        elif number in prefetch_from and max(prefetch_from[number], start) < number:
            found[number] = max(prefetch_from[number], start)
    return found


def _pass_on_constants(plan: TaskPlan) -> bool:
    """Whether cores forward constants to each other, which takes bandwidth of the links from the steps."""
    return any(read.constant and size.received_bytes for read, size in zip(plan.reads, plan.sizes, strict=True))


def _loads_in_steps(plan: TaskPlan) -> bool:
    """Whether a task of a loop loads something in each step."""
    return any(
        read.kind is ReadKind.INDEXED or (read.kind is ReadKind.STREAM and size.buffer_bytes and not size.kept)
        for read, size in zip(plan.reads, plan.sizes, strict=True)
    )


def estimated_times(
    network: NetworkPlan, layout: SramLayout, chip: Chip, works: TaskWorks, issued: NDArray[np.int64] | None = None
) -> list[int]:
    """
    `network_estimate` with the buffers of `layout`; `issued`: as in `Code`. A task in a loop is
    assumed to take `NetworkPlan.cycles_of_step` in each step but the first, in which it may wait for loads, or run
    while others wait for these.
    """
    times = network_estimate(replace(layout.code, issued=issued), chip, works.beside(layout.code))
    for number, span in network.loop_of.items():
        times[number] += (span.steps - 1) * round(network.cycles_of_step(number))
    return times


def lay_out(
    network: NetworkPlan,
    chip: Chip,
    prefetch_from: Mapping[int, int],
    multi_buffered: Mapping[int, int] = MappingProxyType({}),
) -> SramLayout:
    """
    Lay out all buffers, with constants prefetched as far as given and memory allows. Parts of results that would
    interleave are computed in staging buffers, and loads do not reuse the memory of the previous task, if everything
    fits. `multi_buffered`: as in `SramLayout`. Raises ResourceError if the buffers do not fit.
    """

    @cache
    def collect(apart: frozenset[int]) -> _Buffers:
        return _collect(network, multi_buffered, apart)

    plain = _delay_prefetches(network, chip, dict(prefetch_from), multi_buffered, collect(frozenset[int]()))
    wanted = [
        number
        for number, (info, plan) in enumerate(zip(network.tasks, network.plans, strict=True))
        if parts_interleave(info, plan) and plan.slots > 1
    ]
    # Tasks with the most free SRAM come first: if not all of them fit, half of them may.
    live = _live_bytes(collect(frozenset(wanted)).with_prefetch(plain.prefetch_from), len(network.tasks))
    wanted = sorted((task for task in wanted if live[task] <= chip.sram_bytes), key=lambda task: (live[task], task))
    halves = [frozenset(wanted[: len(wanted) >> cut]) for cut in range(len(wanted).bit_length() + 1)]
    for early, apart in ((early, apart) for early in (True, False) for apart in halves):
        if not early and not apart:
            break
        buffers = collect(apart).with_prefetch(plain.prefetch_from, early)
        result = allocate(buffers.sizes, buffers.first, buffers.last, ALIGNMENT)
        if result.peak <= chip.sram_bytes:
            return _layout(network, buffers, result, plain.prefetch_from, multi_buffered, apart)
    return plain


def _delay_prefetches(
    network: NetworkPlan,
    chip: Chip,
    prefetch_from: dict[int, int],
    multi_buffered: Mapping[int, int],
    collected: _Buffers,
) -> SramLayout:
    """
    The layout of the buffers `collected`, without staging buffers, with prefetches delayed until everything fits.
    Raises ResourceError.
    """
    rounds = 0
    while True:
        buffers = collected.with_prefetch(prefetch_from)
        live = _live_bytes(buffers, len(network.tasks))
        crowded = [task for task, start in prefetch_from.items() if max(live[start:task]) > chip.sram_bytes]
        if not crowded:
            result = allocate(buffers.sizes, buffers.first, buffers.last, ALIGNMENT)
            if result.peak > chip.sram_bytes:
                crowded = _blocking_prefetches(buffers, result, prefetch_from, live, chip)[: 1 << rounds // DOUBLING]
                rounds += 1
            if result.peak > chip.sram_bytes and not crowded:  # not caused by loads: a longer search
                result = allocate(buffers.sizes, buffers.first, buffers.last, ALIGNMENT, chip.sram_bytes)
            if result.peak <= chip.sram_bytes:
                return _layout(network, buffers, result, prefetch_from, multi_buffered, frozenset())
            if not prefetch_from:
                raise ResourceError(
                    f"the buffers of the cores of chip '{chip.name}' take {result.peak} bytes of SRAM, "
                    f"{chip.sram_bytes} are available",
                    "SRAM of a core", int(result.peak), chip.sram_bytes,
                )  # fmt: skip
            crowded = crowded or list(prefetch_from)
        for task in crowded:  # prefetch their constants a task later, or not at all
            later = network.loop_of.get(prefetch_from[task] + 1)
            prefetch_from[task] = prefetch_from[task] + 1 if later is None else later.last + 1
            if prefetch_from[task] >= task:
                del prefetch_from[task]


def _blocking_prefetches(
    buffers: _Buffers, result: Allocation, prefetch_from: Mapping[int, int], live: Sequence[int], chip: Chip
) -> list[int]:
    """
    Tasks whose prefetched constants are live at the same time as a buffer beyond the end of SRAM; those with the most
    live bytes during their prefetch come first.
    """
    above = np.flatnonzero(result.offsets + np.array(buffers.sizes) > chip.sram_bytes).tolist()
    change = np.zeros(len(live) + 1, np.int64)
    for buffer in above:
        change[buffers.first[buffer]] += 1
        change[buffers.last[buffer] + 1] -= 1
    until = np.concatenate([[0], np.cumsum(np.cumsum(change[:-1]) > 0)])  # number of earlier tasks with such a buffer
    found = [task for task, start in prefetch_from.items() if until[task] > until[start]]
    return sorted(found, key=lambda task: (max(live[prefetch_from[task] : task]), task), reverse=True)


def _layout(
    network: NetworkPlan,
    buffers: _Buffers,
    result: Allocation,
    prefetch_from: dict[int, int],
    multi_buffered: Mapping[int, int],
    apart: frozenset[int],
) -> SramLayout:
    addresses = dict(zip(buffers.keys, (int(offset) for offset in result.offsets), strict=True))
    listed = _listed(buffers, addresses, network)
    return SramLayout(
        addresses, prefetch_from, int(result.peak), int(result.lower_bound), listed, apart, multi_buffered
    )


def _collect(network: NetworkPlan, multi_buffered: Mapping[int, int], apart: frozenset[int]) -> _Buffers:
    """Collect all buffers with their lifetimes without prefetch."""
    buffers = _Buffers()
    for number, (info, plan) in enumerate(zip(network.tasks, network.plans, strict=True)):
        span = network.loop_of.get(number)
        # Buffers of tasks in a loop are allocated from the first of these tasks to the last, so that all steps are
        # equal.
        begin, end = (number, number) if span is None else (span.first, span.last)
        if plan.resident and not is_carry(info):
            until = max(end, network.last_use.get(held_as(info.result), end))
            buffers.add(("tile", number, 0, 0), plan.tile_bytes * held_rows(info.result), begin, until)
        item = info.buffers.item_bytes[info.buffers.result]
        for slot in range(plan.slots if number in apart else plan.staging_slots(info)):
            buffers.add(("staging", number, 0, slot), plan.step_elements * item, begin, end)
        for buffer in info.buffers.temporaries:
            buffers.add(("temporary", number, buffer, 0), plan.temporary_bytes(buffer), begin, end)
        buffers.add(("temporary", number, info.scratch_buffer, 0), plan.scratch_bytes, begin, end)
        for index, read in enumerate(plan.reads):
            if plan.sizes[index].found:
                continue
            last = network.kept_until.get((number, index), end)
            loaded_ahead = (multi_buffered.get(number, 1) if plan.changes_always(index) else 1) if read.constant else 0
            size = plan.sizes[index].buffer_bytes
            for slot in range(plan.buffers_of(index, multi_buffered.get(number, 0))):
                buffers.add_read(("read", number, index, slot), size, begin, last, prefetched=slot < loaded_ahead)
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

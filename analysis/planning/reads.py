"""Plans of the reads of tiled tasks: how each operand reaches the cores."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from ...chips import Chip
from ...chips.cycles import RATE_BY_WIDTH, dram_traffic, vector_cycles
from ...dialects.dataflow.tiling import Box
from ...dialects.manycore import Tiling
from ...support.records import lazy, quick_init
from ..tasks.slices import Slices, Tiles
from ..tasks.task_info import Read, TaskInfo
from .storage import Distribution
from .traffic import BoxArrays, exchange_traffic, most_missing

SHARE_ABOVE_BYTES = 4096
"""Slices that several cores need are read from DRAM once and multicast if reading them everywhere costs more bytes."""

MOST_PARTS = 8
"""Largest number of exchanges of a gather; each takes semaphores."""

SAMPLES = 4
"""Number of cores in the sample by which tilings are compared first."""


class ReadKind(StrEnum):
    """How a value reaches a core."""

    DIRECT = "direct"
    """The value is in the core's own memory."""
    GATHER = "gather"
    """Other cores send their parts before the task begins."""
    STREAM = "stream"
    """The value is loaded from DRAM step by step."""
    INDEXED = "indexed"
    """The instruction itself reads rows of the value from DRAM."""


@quick_init
@dataclass(frozen=True)
class ReadPlan:
    """The plan of one read of a task, for one grid."""

    read: Read
    kind: ReadKind
    constant: bool
    """Whether it is a constant, which may be loaded before earlier tasks have finished."""
    item_bytes: int
    whole: Slices
    """Per core: the slice of its whole tile."""
    gathered: int = 0
    """GATHER: bytes of the largest core's buffer."""
    held_needed: tuple[BoxArrays, BoxArrays] | None = field(default=None, repr=False, compare=False)
    """GATHER: the boxes that cores hold, and those that they need."""
    exchange_cycles: float = 0.0
    """GATHER: estimated time of the exchange; a lower bound until `with_traffic` replaces it."""
    prepare_cycles: int = 0
    """GATHER: cycles in which the busiest core fills padding and copies its own data."""
    keep: bool = False
    """STREAM: whether the slices of all steps are kept in the cores for later tasks."""

    @lazy
    def outer_axis(self) -> int | None:
        """
        GATHER: the outermost axis of the value along which a core's buffer extends: parts along it are contiguous, and
        do not interleave with earlier ones. None: nothing is gathered.
        """
        extended = (self.whole.gathered > 1).any(axis=0)
        return int(extended.argmax()) if extended.any() else None

    @property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """STREAM: cores that read the same slices in all steps."""
        return self.whole.groups if self.kind is ReadKind.STREAM else ()

    def with_traffic(self, chip: Chip) -> ReadPlan:
        """A copy with the exchange estimated from its messages."""
        if self.held_needed is None:
            return self
        cycles = exchange_traffic(*self.held_needed, self.item_bytes, chip).cycles(chip)
        return replace(self, exchange_cycles=max(self.exchange_cycles, cycles))


@quick_init
@dataclass(frozen=True)
class ReadSize:
    """The costs of a read for given steps."""

    versions: int
    """Number of times a core's buffer is filled."""
    buffer_bytes: int
    """Bytes of one buffer, padding included."""
    received_bytes: int
    """Bytes that a core receives from other cores with the same slices, over all steps."""
    dram_bytes: int
    """Bytes over the DRAM ports for all cores: whole bursts."""
    parts: int = 1
    """GATHER: number of exchanges that fill the buffer."""
    kept: bool = False
    """STREAM: whether the slices of all steps are loaded together, before the first step."""
    found: bool = False
    """STREAM: whether an earlier task has loaded and kept them."""


_NOTHING = ReadSize(1, 0, 0, 0)
"""The size of reads that are in the core already, or that the instruction itself does."""


def last_tile(info: TaskInfo, tiling: Tiling) -> Box:
    """The last tile, as large as any (`split_evenly`)."""
    return info.once(("last", tiling.grid, tiling.multiples), lambda: _last_tile(info, tiling))


def _last_tile(info: TaskInfo, tiling: Tiling) -> Box:
    cut = tiling.over_cores
    ranges = [cut.range_at(dim, size, cut.parts[dim] - 1) for dim, size in enumerate(info.sizes)]
    return Box(tuple([low for low, _ in ranges]), tuple([extent for _, extent in ranges]))


def sample_tiles(info: TaskInfo, tiling: Tiling) -> Tiles:
    """The tiles of a few cores, the last and largest among them: enough for a lower bound of a tiling's cost."""
    last = len(tiling.cores) - 1
    chosen = sorted({last * part // (SAMPLES - 1) for part in range(SAMPLES)})
    key = "sample", tiling.grid, tiling.multiples, tiling.cores
    return info.once(key, lambda: Tiles.of(tiling, info.sizes, chosen))


def all_tiles(info: TaskInfo, tiling: Tiling) -> Tiles:
    """All nonempty tiles of a tiling; the same for tilings that differ in steps only."""
    key = "tiles", tiling.grid, tiling.multiples, tiling.cores
    return info.once(key, lambda: Tiles.of(tiling, info.sizes))


def plan_read(
    info: TaskInfo,
    chip: Chip,
    tiles: Tiles,
    read: Read,
    source: Distribution | None,
    constant: bool,
    keep: bool = False,
) -> ReadPlan:
    """
    Decide how `read` is served if the value is in the cores with distribution `source`, or in DRAM (None). `keep`: a
    constant is to stay in the cores.
    """
    # Slices do not depend on sources: they are cached for searches with other values in the cores.
    cut = tiles.tiling
    key = read.uses[0], tiles.sampled, cut.grid, cut.multiples, cut.cores
    whole = info.once(("slices", *key), lambda: info.read_slices(read, tiles))
    item_bytes = info.argument_bytes[read.operand]
    if whole.like.indexed:
        return ReadPlan(read, ReadKind.INDEXED, constant, item_bytes, whole)
    if source is None:
        keep = keep and constant and whole.is_plain
        streamed = "streamed", *key, constant, keep
        return info.once(streamed, lambda: ReadPlan(read, ReadKind.STREAM, constant, item_bytes, whole, keep=keep))
    needed = BoxArrays(whole.cores, *whole.bounds)
    missing, absent = most_missing(source.arrays, needed)
    if not missing and not absent and not whole.is_padded:
        return ReadPlan(read, ReadKind.DIRECT, False, item_bytes, whole)
    size = whole.largest_gathered * item_bytes
    missing *= item_bytes
    cycles = missing / chip.link_bytes_per_cycle
    kept = max(0, size - missing)
    prepare = vector_cycles(chip, RATE_BY_WIDTH.get(item_bytes, 1), kept // item_bytes, 1, kept)
    held_needed = source.arrays, needed
    return ReadPlan(read, ReadKind.GATHER, False, item_bytes, whole, size, held_needed, cycles, prepare)


def measure_read(
    plan: ReadPlan, info: TaskInfo, chip: Chip, tiling: Tiling, step: Box, tile: Box, keep_constants: bool
) -> ReadSize:
    """Sizes of a read, given the largest step of the largest tile; constants of all steps may be loaded together."""
    match plan.kind:
        case ReadKind.GATHER:
            return ReadSize(1, plan.gathered, 0, 0, gather_parts(plan, info, tiling))
        case ReadKind.STREAM if plan.keep:
            return measure_kept(plan, info, chip, tile, found=True)
        case ReadKind.STREAM:
            keep, sampled = keep_constants and plan.constant, plan.whole.tiles.sampled
            cut = tiling.grid, tiling.multiples, tiling.steps, tiling.order
            key = "stream", plan.read.uses[0], cut, keep, sampled
            return info.once(key, lambda: _measure_stream(plan, info, chip, tiling, step, tile, keep))
        case _:
            return _NOTHING


def measure_kept(plan: ReadPlan, info: TaskInfo, chip: Chip, tile: Box, *, found: bool) -> ReadSize:
    """Sizes of a kept read of all steps; `found`: it is in the cores already."""
    kept = info.largest_slice(*plan.read.uses[0], tile)
    nbytes = math.prod(kept) * plan.item_bytes
    if found:
        return ReadSize(1, nbytes, 0, 0, kept=True, found=True)
    groups = plan.whole.group_sizes
    loads = sum(count * (1 if is_shared(cores, nbytes) else cores) for cores, count in groups.items())
    loaded = round(loads * info.filled(plan.read) * burst_bytes(plan_shape(plan, info), kept, plan.item_bytes, chip))
    received = nbytes if any(is_shared(cores, nbytes) for cores in groups) else 0
    return ReadSize(1, nbytes, received, loaded, kept=True)


def plan_shape(plan: ReadPlan, info: TaskInfo) -> tuple[int, ...]:
    """Shape of the value that is read."""
    return info.argument_shapes[plan.read.operand]


def _measure_stream(
    plan: ReadPlan, info: TaskInfo, chip: Chip, tiling: Tiling, step: Box, tile: Box, keep: bool
) -> ReadSize:
    number, index = plan.read.uses[0]
    versions = version_count(info, tiling, plan.read)
    shape = plan_shape(plan, info)
    slice_sizes = info.largest_slice(number, index, step)
    size = math.prod(slice_sizes) * plan.item_bytes
    filled = info.filled(plan.read)
    groups = plan.whole.group_sizes
    if keep and versions > 1 and plan.whole.is_plain:
        kept = info.largest_slice(number, index, tile)
        whole = math.prod(kept) * plan.item_bytes
        # Data that cores forward to each other keep the network busy; they are best sent while cores compute.
        if not any(is_shared(cores, whole) for cores in groups):
            loads = sum(groups.elements())
            loaded = round(loads * filled * burst_bytes(shape, kept, plan.item_bytes, chip))
            return ReadSize(1, whole, 0, loaded, kept=True)
    shared = any(is_shared(cores, size * versions) for cores in groups)
    loads = sum(count * (1 if is_shared(cores, size * versions) else cores) for cores, count in groups.items())
    loaded = round(loads * versions * filled * burst_bytes(shape, slice_sizes, plan.item_bytes, chip))
    return ReadSize(versions, size, round(size * versions * filled) if shared else 0, loaded)


def burst_bytes(shape: Sequence[int], slice_sizes: Sequence[int], item_bytes: int, chip: Chip) -> int:
    """
    Bytes over a DRAM port for a slice of these sizes of a value of `shape`, which is there in row-major order: whole
    bursts for each contiguous run.
    """
    run = 1
    for size, whole in zip(reversed(slice_sizes), reversed(shape), strict=True):
        run *= min(size, whole)
        if size != whole:
            break
    return dram_traffic(chip, math.prod(slice_sizes) // max(run, 1), run * item_bytes)


def gather_parts(plan: ReadPlan, info: TaskInfo, tiling: Tiling) -> int:
    """
    Number of parts of a gather; each part arrives before the step that needs it, so that steps do not wait for all.
    """
    if tiling.step_count == 1 or plan.outer_axis is None:
        return 1
    steps = math.prod(tiling.steps[dim] for dim in info.moving_dims(plan.read, plan.outer_axis))
    return min(steps, MOST_PARTS)


def is_shared(cores: int, bytes_each: int) -> bool:
    """Whether `cores` cores that need the same slice get it by multicast, instead of each core from DRAM."""
    return cores > 1 and (cores - 1) * bytes_each > SHARE_ABOVE_BYTES


def version_count(info: TaskInfo, tiling: Tiling, read: Read) -> int:
    """Number of different slices of a read over the steps."""
    affecting = info.affecting_dims(read)
    count = pending = 1
    for dim in tiling.order:
        pending *= tiling.steps[dim]
        if dim in affecting and tiling.steps[dim] > 1:
            count = pending
    return count

"""The ways in which a tiled task gets the values that it reads."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property

from ...chips import Chip
from ...chips.cycles import RATE_BY_WIDTH, dram_traffic, vector_cycles
from ...dialects.dataflow.tiling import Box
from ...dialects.manycore import Tiling
from ..tasks.slices import Slices, Tiles
from ..tasks.task_info import Read, TaskInfo
from .storage import Distribution
from .traffic import BoxArrays, exchange_traffic, most_missing

SHARE_ABOVE_BYTES = 4096
"""Slices that several cores need are read from DRAM once and sent on if reading them everywhere costs more bytes."""

MOST_PARTS = 8
"""Exchanges in which a gather comes at most: each takes a semaphore."""

SAMPLES = 4
"""Cores by which tilings are compared at first."""


class ReadKind(StrEnum):
    """The ways in which a value reaches a core."""

    DIRECT = "direct"
    """It is in the core's own memory already."""
    GATHER = "gather"
    """Parts held by other cores are sent over before the task begins."""
    STREAM = "stream"
    """It is loaded from DRAM step by step."""
    INDEXED = "indexed"
    """The instruction itself reads rows of it from DRAM."""


@dataclass(frozen=True)
class ReadPlan:
    """The plan of one read of a task, for one grid."""

    read: Read
    kind: ReadKind
    constant: bool
    """Known before the network runs (weights): may be fetched before earlier tasks have finished."""
    item_bytes: int
    whole: Slices
    """Per core: the slice of its whole tile."""
    gathered: int = 0
    """GATHER: bytes of the largest core's buffer."""
    places: tuple[BoxArrays, BoxArrays] | None = field(default=None, repr=False, compare=False)
    """GATHER: where it is, and what cores need."""
    exchange_cycles: float = 0.0
    """GATHER: estimated time of the exchange; a lower bound until `with_traffic` has looked at it closely."""
    prepare_cycles: int = 0
    """GATHER: time in which the busiest core fills borders and copies what it holds itself."""
    keep: bool = False
    """STREAM: what cores need in all steps stays there for later tasks."""

    @cached_property
    def outer_axis(self) -> int | None:
        """
        GATHER: the outermost axis of the value along which a core's buffer extends: what arrives along it, part after
        part, does not lie between what is there already. None: nothing is gathered.
        """
        extended = (self.whole.gathered > 1).any(axis=0)
        return int(extended.argmax()) if extended.any() else None

    @property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """STREAM: cores that read the same slices in all steps."""
        return self.whole.groups if self.kind is ReadKind.STREAM else ()

    def with_traffic(self, chip: Chip) -> ReadPlan:
        """The same with the exchange estimated from its messages."""
        if self.places is None:
            return self
        cycles = exchange_traffic(*self.places, self.item_bytes, chip).cycles(chip)
        return replace(self, exchange_cycles=max(self.exchange_cycles, cycles))


@dataclass(frozen=True)
class ReadSize:
    """The costs of a read for given steps."""

    versions: int
    """Number of times a core's buffer is filled."""
    buffer_bytes: int
    """Bytes of one buffer, padding included."""
    received_bytes: int
    """Bytes that other cores which read the same pass on to a core, step by step."""
    dram_bytes: int
    """Bytes that cross the ports of DRAM for all cores: whole bursts."""
    parts: int = 1
    """GATHER: exchanges in which the buffer fills."""
    kept: bool = False
    """STREAM: the slices of all steps are loaded together, before the first step."""
    found: bool = False
    """STREAM: an earlier task has loaded them, and left them where they are."""


_NOTHING = ReadSize(1, 0, 0, 0)
"""Of what is there, or what the instruction itself reads."""


def last_tile(info: TaskInfo, tiling: Tiling) -> Box:
    """The last tile, as large as any (`split_evenly`)."""
    starts = tuple((count - 1) * size // count for size, count in zip(info.sizes, tiling.grid, strict=True))
    return Box(starts, tuple(size - start for size, start in zip(info.sizes, starts, strict=True)))


def sample_tiles(info: TaskInfo, tiling: Tiling) -> Tiles:
    """The tiles of a few cores, the last and largest among them: enough to bound what a tiling costs from below."""
    last = len(tiling.cores) - 1
    return Tiles.of(tiling, info.sizes, sorted({last * part // (SAMPLES - 1) for part in range(SAMPLES)}))


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
    Decide how `read` is served when the value lies in the cores as `source` says, or in DRAM (None). `keep`: a constant
    is to stay in the cores.
    """
    if tiles.sampled:
        # The same for all sources: searches with other values in the cores ask for it again.
        key = "samples", read.uses[0], tiles.tiling.grid, tiles.tiling.cores
        whole = info.once(key, lambda: info.read_slices(read, tiles))
    else:
        whole = info.read_slices(read, tiles)
    item_bytes = info.argument_bytes[read.operand]
    if whole.like.indexed:
        return ReadPlan(read, ReadKind.INDEXED, constant, item_bytes, whole)
    if source is None:
        return ReadPlan(read, ReadKind.STREAM, constant, item_bytes, whole, keep=keep and constant and whole.is_plain)
    needed = BoxArrays(whole.cores, *whole.bounds)
    missing, absent = most_missing(source.arrays, needed)
    if not missing and not absent and not whole.is_padded:
        return ReadPlan(read, ReadKind.DIRECT, False, item_bytes, whole)
    size = int(whole.gathered.prod(axis=1).max(initial=0)) * item_bytes
    missing *= item_bytes
    cycles = missing / chip.link_bytes_per_cycle
    kept = max(0, size - missing)
    prepare = vector_cycles(chip, RATE_BY_WIDTH.get(item_bytes, 1), kept // item_bytes, 1, kept)
    places = source.arrays, needed
    return ReadPlan(read, ReadKind.GATHER, False, item_bytes, whole, size, places, cycles, prepare)


def measure_read(
    plan: ReadPlan, info: TaskInfo, chip: Chip, tiling: Tiling, step: Box, tile: Box, keep_constants: bool
) -> ReadSize:
    """Sizes of a read, given the largest step of the largest tile; constants of all steps may be kept."""
    match plan.kind:
        case ReadKind.GATHER:
            return ReadSize(1, plan.gathered, 0, 0, gather_parts(plan, info, tiling))
        case ReadKind.STREAM if plan.keep:
            return measure_kept(plan, info, chip, tile, found=True)
        case ReadKind.STREAM:
            keep, sampled = keep_constants and plan.constant, plan.whole.tiles.sampled
            key = "stream", plan.read.uses[0], tiling.grid, tiling.steps, tiling.order, keep, sampled
            return info.once(key, lambda: _measure_stream(plan, info, chip, tiling, step, tile, keep))
        case _:
            return _NOTHING


def measure_kept(plan: ReadPlan, info: TaskInfo, chip: Chip, tile: Box, *, found: bool) -> ReadSize:
    """Of what cores need in all steps and keep; `found`: it is there already."""
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
    """Of the value that is read."""
    return info.argument_shapes[plan.read.operand]


def _measure_stream(
    plan: ReadPlan, info: TaskInfo, chip: Chip, tiling: Tiling, step: Box, tile: Box, keep: bool
) -> ReadSize:
    number, index = plan.read.uses[0]
    versions = version_count(info, tiling, plan.read)
    shape = plan_shape(plan, info)
    piece = info.largest_slice(number, index, step)
    size = math.prod(piece) * plan.item_bytes
    filled = info.filled(plan.read)
    groups = plan.whole.group_sizes
    if keep and versions > 1 and plan.whole.is_plain:
        kept = info.largest_slice(number, index, tile)
        whole = math.prod(kept) * plan.item_bytes
        # What cores pass on to each other keeps the network busy: better while they compute.
        if not any(is_shared(cores, whole) for cores in groups):
            loads = sum(groups.elements())
            loaded = round(loads * filled * burst_bytes(shape, kept, plan.item_bytes, chip))
            return ReadSize(1, whole, 0, loaded, kept=True)
    shared = any(is_shared(cores, size * versions) for cores in groups)
    loads = sum(count * (1 if is_shared(cores, size * versions) else cores) for cores, count in groups.items())
    loaded = round(loads * versions * filled * burst_bytes(shape, piece, plan.item_bytes, chip))
    return ReadSize(versions, size, round(size * versions * filled) if shared else 0, loaded)


def burst_bytes(shape: Sequence[int], piece: Sequence[int], item_bytes: int, chip: Chip) -> int:
    """
    Bytes that cross a port of DRAM for a piece of these sizes out of a value of `shape`, which lies there in row-major
    order: whole bursts for each contiguous run.
    """
    run = 1
    for size, whole in zip(reversed(piece), reversed(shape), strict=True):
        run *= min(size, whole)
        if size != whole:
            break
    return dram_traffic(chip, math.prod(piece) // max(run, 1), run * item_bytes)


def gather_parts(plan: ReadPlan, info: TaskInfo, tiling: Tiling) -> int:
    """In how many parts a gather comes, each before the step that needs it, so that steps need not wait for all."""
    if tiling.step_count == 1 or plan.outer_axis is None:
        return 1
    steps = math.prod(tiling.steps[dim] for dim in info.moving_dims(plan.read, plan.outer_axis))
    return min(steps, MOST_PARTS)


def is_shared(cores: int, bytes_each: int) -> bool:
    """Whether so many cores that read the same bytes get them from a few of them, instead of each from DRAM."""
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

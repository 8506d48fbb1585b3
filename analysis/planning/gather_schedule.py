"""The order in which the parts of a gathered value arrive: each before the first step that needs it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...dialects.dataflow.tiling import Box
from ...dialects.manycore import Tiling
from ..tasks.slices import Tiles
from ..tasks.task_info import TaskInfo
from .multicasts import multicasts
from .reads import MOST_PARTS, ReadKind, ReadPlan, gather_parts
from .task_plan import TaskPlan
from .traffic import BoxArrays, overlaps
from .transfers import Transfers


def gather_schedule(read: ReadPlan, info: TaskInfo, tiling: Tiling) -> dict[int, BoxArrays]:
    """
    Step -> the boxes of cores that arrive before that step; those of a core are disjoint and make up its slice. Cores
    whose slice is all padding get none.

    Boxes differ along the value's outermost axis only, so that each is contiguous with respect to the others in memory.
    """
    axis = read.outer_axis
    (low, high), read_at_all = read.whole.bounds, (read.whole.extents[:, :, 1] > 0).all(axis=1)
    whole = BoxArrays(read.whole.cores[read_at_all], low[read_at_all], high[read_at_all])
    if not len(whole.cores):
        return {}
    if axis is None or gather_parts(read, info, tiling) == 1:
        return {0: whole}
    # This does not depend on the address of the value, and is the same for all plans and layouts with this tiling.
    key = "arrivals", read.read.uses[0], tiling.grid, tiling.multiples, tiling.cores, tiling.steps, tiling.order
    begins, arrived = info.once(key, lambda: _arrivals(read, info, tiling, axis, whole))
    found: dict[int, BoxArrays] = {}
    before = whole.low[:, axis]
    for first, reach in zip(begins, arrived, strict=True):
        comes = reach > before
        if comes.any():
            low, high = whole.low[comes], whole.high[comes]
            low[:, axis], high[:, axis] = before[comes], reach[comes]
            found[first] = BoxArrays(whole.cores[comes], low, high)
        before = reach
    return found


def gather_transfers(info: TaskInfo, plan: TaskPlan) -> list[Transfers]:
    """The transfers between cores for the values that a task gathers, part by part."""
    reads = [read for read in plan.reads if read.kind is ReadKind.GATHER]
    if not reads:
        return []
    parts: dict[int, list[Transfers]] = {}
    for read in reads:
        for step, boxes in gather_schedule(read, info, plan.tiling).items():
            parts.setdefault(step, []).append(_transfers(read, boxes))
    joined = [Transfers.joined(transfers) for _, transfers in sorted(parts.items())]
    return [transfers for transfers in joined if len(transfers)]


def _transfers(read: ReadPlan, boxes: BoxArrays) -> Transfers:
    """The transfers of the boxes of one value."""
    assert read.held_needed is not None
    pairs = overlaps(read.held_needed[0], boxes)
    pairs = pairs.taken(pairs.holders != pairs.readers)
    origins = np.zeros((read.whole.cores.max(initial=0) + 1, pairs.low.shape[1]), np.int64)
    origins[read.whole.cores] = read.whole.origins
    return multicasts(pairs, pairs.low - origins[pairs.readers], read.item_bytes)[0]


def _arrivals(
    read: ReadPlan, info: TaskInfo, tiling: Tiling, axis: int, whole: BoxArrays
) -> tuple[list[int], NDArray[np.int64]]:
    """
    (The steps before which something arrives, [steps, cores of `whole`] the position along `axis` up to which a core
    then has its slice)
    """
    tiles = Tiles.of(tiling, info.sizes).boxes()
    ends = zip(whole.cores.tolist(), whole.low[:, axis].tolist(), whole.high[:, axis].tolist(), strict=True)
    reached = np.array(
        [_reaches(read, info, tiling.step_boxes(tiles[core]), axis, low, high) for core, low, high in ends]
    )
    growing = np.flatnonzero((np.diff(reached, axis=1) > 0).any(axis=0)) + 1
    begins: list[int] = [0, *growing.tolist()][:: -(-(len(growing) + 1) // MOST_PARTS)]
    return begins, reached.T[[following - 1 for following in (*begins[1:], reached.shape[1])]]


def _reaches(read: ReadPlan, info: TaskInfo, steps: Sequence[Box], axis: int, first: int, last: int) -> list[int]:
    """
    By step, the position along an axis, from `first` to `last`, up to which a core has read; after the last step, all
    of it.
    """
    reach, found = first, list[int]()
    for box in steps:
        sliced = info.read_slice(read.read, box) if box.volume else None
        if sliced is not None and sliced.box.volume:
            reach = max(reach, sliced.bounds.ends[axis])
        found.append(reach)
    found[-1] = last
    return found

"""When the parts of a gathered value come: each before the first step that needs it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ...dialects.dataflow.tiling import Box
from ..task_info import TaskInfo
from .multicasts import multicasts
from .plan_task import TaskPlan
from .reads import MOST_PARTS, ReadKind, ReadPlan, gather_parts
from .traffic import BoxArrays, overlaps
from .transfers import Transfers


def gather_schedule(
    read: ReadPlan, info: TaskInfo, plan: TaskPlan, steps: Mapping[int, Sequence[Box]]
) -> dict[int, dict[int, Box]]:
    """
    Step -> core -> the box that comes before that step; the boxes of a core are disjoint and make up its slice.

    `steps`: core -> box of each step. Boxes differ along the value's outermost axis alone, so that in memory none lies
    between the parts of another.
    """
    axis = read.outer_axis
    whole = {core: piece.bounds for core, piece in read.whole.items() if piece.box.volume}
    if axis is None or gather_parts(read, info, plan.tiling) == 1:
        return {0: whole}
    reaches = {core: _reaches(read, info, steps[core], axis, bounds) for core, bounds in whole.items()}
    growing = sorted(
        {step for own in reaches.values() for step in range(len(own)) if not step or own[step] > own[step - 1]}
    )
    begins = growing[:: -(-len(growing) // MOST_PARTS)]
    found: dict[int, dict[int, Box]] = {}
    for first, following in zip(begins, [*begins[1:], plan.tiling.step_count], strict=True):
        for core, bounds in whole.items():
            low = reaches[core][first - 1] if first else bounds.offsets[axis]
            if (reach := reaches[core][following - 1]) > low:
                found.setdefault(first, {})[core] = _cut(bounds, axis, low, reach)
    return found


def gather_transfers(info: TaskInfo, plan: TaskPlan) -> list[Transfers]:
    """What cores send each other for the values that a task gathers, part after part."""
    reads = [read for read in plan.reads if read.kind is ReadKind.GATHER]
    if not reads:
        return []
    tiles = {core: box for core, box in plan.tiling.tile_boxes(info.sizes).items() if box.volume}
    single = all(gather_parts(read, info, plan.tiling) == 1 for read in reads)
    steps = {core: [box] if single else plan.tiling.step_boxes(box) for core, box in tiles.items()}
    parts: dict[int, list[Transfers]] = {}
    for read in reads:
        origin = {core: np.array(piece.bounds.offsets) - np.array(piece.pad_low) for core, piece in read.whole.items()}
        for step, boxes in gather_schedule(read, info, plan, steps).items():
            parts.setdefault(step, []).append(_transfers(read, boxes, origin))
    joined = [Transfers.joined(transfers) for _, transfers in sorted(parts.items())]
    return [transfers for transfers in joined if len(transfers)]


def _transfers(read: ReadPlan, boxes: Mapping[int, Box], origin: Mapping[int, NDArray[np.int64]]) -> Transfers:
    """Of the boxes of one value."""
    assert read.places is not None
    pairs = overlaps(read.places[0], BoxArrays.of(boxes))
    pairs = pairs.taken(pairs.holders != pairs.readers)
    origins = np.zeros((max(boxes) + 1, pairs.low.shape[1]), np.int64)
    for core in boxes:
        origins[core] = origin[core]
    return multicasts(pairs, pairs.low - origins[pairs.readers], read.item_bytes)[0]


def _reaches(read: ReadPlan, info: TaskInfo, steps: Sequence[Box], axis: int, whole: Box) -> list[int]:
    """By step, how far along an axis a core has read by then; after the last, everything has come."""
    reach, found = whole.offsets[axis], list[int]()
    for box in steps:
        piece = info.read_slice(read.read, box) if box.volume else None
        if piece is not None and piece.box.volume:
            reach = max(reach, piece.bounds.ends[axis])
        found.append(reach)
    found[-1] = whole.ends[axis]
    return found


def _cut(box: Box, axis: int, low: int, high: int) -> Box:
    """The part of a box between two positions of an axis."""
    offsets = (*box.offsets[:axis], low, *box.offsets[axis + 1 :])
    return Box(offsets, (*box.sizes[:axis], high - low, *box.sizes[axis + 1 :]))

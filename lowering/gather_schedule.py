"""When the parts of a gathered value come: each before the first step that needs it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..analysis.planning.plan_task import TaskPlan
from ..analysis.planning.reads import ReadPlan, gather_parts
from ..analysis.task_info import TaskInfo
from ..dialects.dataflow.tiling import Box


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
    count = plan.tiling.step_count
    parts = gather_parts(read, info, plan.tiling)
    if axis is None or parts == 1:
        return {0: whole}
    found: dict[int, dict[int, Box]] = {}
    together = -(-count // parts)
    for core, bounds in whole.items():
        begun, end = bounds.offsets[axis], bounds.ends[axis]
        for first in range(0, count, together):
            group = [info.read_slice(read.read, box) for box in steps[core][first : first + together] if box.volume]
            reach = max((piece.bounds.ends[axis] for piece in group if piece.box.volume), default=begun)
            reach = end if first + together >= count else reach
            if reach > begun:
                found.setdefault(first, {})[core] = _cut(bounds, axis, begun, reach)
                begun = reach
    return dict(sorted(found.items()))


def _cut(box: Box, axis: int, low: int, high: int) -> Box:
    """The part of a box between two positions of an axis."""
    offsets = (*box.offsets[:axis], low, *box.offsets[axis + 1 :])
    return Box(offsets, (*box.sizes[:axis], high - low, *box.sizes[axis + 1 :]))

"""Tasks that compute parts of their result whose bytes interleave in the tiles of the cores."""

from __future__ import annotations

from ...dialects.dataflow.tiling import Box
from ..tasks.task_info import TaskInfo
from .reads import last_tile
from .task_plan import TaskPlan, output_steps


def parts_interleave(info: TaskInfo, plan: TaskPlan) -> bool:
    """
    Whether the matrix unit would write a part of the result between the bytes of the previous part, on which the vector
    unit still works. As dependences are ranges of bytes, one would wait for the other, unless parts are computed in
    separate buffers.
    """
    return plan.once("parts interleave", lambda: _parts_interleave(info, plan))


def _parts_interleave(info: TaskInfo, plan: TaskPlan) -> bool:
    step = plan.work.step
    if not plan.resident or step.unit == "VPU" or not step.rest or output_steps(info, plan.tiling) == 1:
        return False
    whole = last_tile(info, plan.tiling)
    first = Box(whole.offsets, plan.tiling.step_boxes(whole)[0].sizes)
    part, tile = info.root.largest_result(first), info.root.largest_result(whole)
    cut = next((dim for dim, size in enumerate(part) if size > 1), len(part))
    return part[cut + 1 :] != tile[cut + 1 :]

"""What reports tell of each task beside what the binary says: the note `tasks` of an executable."""

from __future__ import annotations

import json
from math import prod
from typing import Any

from xdsl.ir import SSAValue

from ..analysis.planning.plan_network import NetworkPlan
from ..analysis.planning.plan_task import TaskPlan
from ..analysis.task_info import TaskInfo, value_bytes
from ..dialects.dataflow.types import shape_of


def task_notes(network: NetworkPlan) -> str:
    """JSON: one table a task, in order, with the keys of `_note`."""
    notes = [_note(info, plan) for info, plan in zip(network.tasks, network.plans, strict=True)]
    return json.dumps(notes, separators=(",", ":"))


def _note(info: TaskInfo, plan: TaskPlan) -> dict[str, Any]:
    constants: dict[SSAValue, int] = {}
    for read in plan.reads:
        if read.constant:
            value = info.operands[read.read.operand]
            constants[value] = prod(shape_of(value)) * value_bytes(value)
    return {
        "name": info.name,
        "ops": [op.name.removeprefix("dataflow.") for op in info.body],
        "grid": list(plan.tiling.grid),
        "cores": len(set(plan.tiling.cores)),
        "steps": list(plan.tiling.steps),
        "sram": plan.resident,
        "constants": sum(constants.values()),
        "working": plan.working_bytes,
        "cycles": round(plan.cycles),
    }

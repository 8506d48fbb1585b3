"""What reports tell of each task beside what the binary says: the note `tasks` of an executable."""

from __future__ import annotations

import json
from collections.abc import Sequence
from math import prod
from typing import Any

from xdsl.ir import SSAValue

from ..analysis.planning.plan_network import NetworkPlan
from ..analysis.planning.plan_task import TaskPlan
from ..analysis.task_info import TaskInfo, value_bytes
from ..dialects.dataflow.types import shape_of

TaskNote = dict[str, Any]
"""Plain JSON, so that it lives in files: operations, grid, cores, steps, bytes, estimated cycles."""


def task_notes(network: NetworkPlan, cycles: Sequence[int]) -> tuple[TaskNote, ...]:
    """
    One table a task, in order; without names, which differ between equal parts of a network. `cycles`: what each is
    estimated to add to the run.
    """
    rows = zip(network.tasks, network.plans, cycles, strict=True)
    return tuple(_note(info, plan, estimate) for info, plan, estimate in rows)


def joined_notes(parts: Sequence[Sequence[TaskNote]], names: Sequence[Sequence[str]]) -> str:
    """The note of a whole executable: the tasks of all parts, in the order of its source names."""
    notes = [
        {"name": name, **note}
        for own, called in zip(parts, names, strict=True)
        for note, name in zip(own, called, strict=True)
    ]
    return json.dumps(notes, separators=(",", ":"))


def _note(info: TaskInfo, plan: TaskPlan, cycles: int) -> TaskNote:
    constants: dict[SSAValue, int] = {}
    for read in plan.reads:
        if read.constant:
            value = info.operands[read.read.operand]
            constants[value] = prod(shape_of(value)) * value_bytes(value)
    return {
        "ops": [op.name.removeprefix("dataflow.") for op in info.body],
        "grid": list(plan.tiling.grid),
        "cores": len(set(plan.tiling.cores)),
        "steps": list(plan.tiling.steps),
        "sram": plan.resident,
        "constants": sum(constants.values()),
        "working": plan.working_bytes,
        "cycles": cycles,
    }

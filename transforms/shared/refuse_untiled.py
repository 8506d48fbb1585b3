"""The error of passes that need tiled tasks."""

from __future__ import annotations

from xdsl.dialects.func import FuncOp

from ...analysis.planning.loops import tasks_in
from ...dialects.locations import located
from ...support.errors import InputError


def refuse_untiled(function: FuncOp, name: str) -> None:
    """Raises InputError for a function with an untiled task: one without a memory for its result."""
    for task in tasks_in(function):
        if task.placement is None:
            message = f"task '{task.sym_name.data}' is not tiled: run manycore-tile before {name}"
            raise located(InputError(message), task)

"""What passes say that need tasks as manycore-tile leaves them."""

from __future__ import annotations

from xdsl.dialects.func import FuncOp

from ..dialects.locations import located
from ..dialects.manycore import TaskOp
from ..support.errors import InputError


def refuse_untiled(function: FuncOp, name: str) -> None:
    """Raises InputError for a function with a task that does not say where its result lies, and so is not tiled."""
    for task in function.body.block.ops:
        if isinstance(task, TaskOp) and task.placement is None:
            message = f"task '{task.sym_name.data}' is not tiled: use manycore-tile before {name}"
            raise located(InputError(message), task)

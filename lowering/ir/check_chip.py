"""Check of a `memory` module against a given chip: its verifiers know only the chip that it names itself."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from ...chips import Chip
from ...dialects.locations import located
from ...dialects.manycore import ExecuteOp, chip_of
from ...dialects.manycore.task_rules import core_problem
from ...dialects.memory import AllocOp, GlobalOp
from ...dialects.memory.ops import buffer_of, size_problem
from ...support.errors import InputError


def check_chip(module: ModuleOp, chip: Chip) -> None:
    """
    Raises InputError for a module that names another chip, and, located at the operation, for tasks on cores, and
    buffers at addresses, that the chip does not have.
    """
    named = chip_of(module)
    if named is not None and named != chip:
        raise InputError(f"the module is for chip '{named.name}': it cannot be compiled for '{chip.name}'")
    for op in module.walk():
        if isinstance(op, ExecuteOp) and (problem := core_problem(op.tiling, chip)) is not None:
            raise located(InputError(f"task @{op.sym_name.data}: {problem}"), op)
        if isinstance(op, AllocOp | GlobalOp) and (problem := size_problem(buffer_of(op.buffer), chip)) is not None:
            raise located(InputError(problem), op)

"""
Check that compilation can continue from a module: with operations of `dataflow`, `sparse` and `manycore`, mixed or not,
and those of `memory` that save device memory. Modules of `coreasm` are assembled without this check.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from ..dialects.dataflow.tiling import TilingInterface
from ..dialects.locations import located
from ..dialects.memory.stash import is_memory_op
from ..support.errors import InputError

COMPILED = ("builtin", "func", "dataflow", "sparse", "manycore")
"""Dialects that can be compiled, besides operations of plug-ins with the tiling interface."""
BEYOND = ("memory", "coreasm")
"""Levels that compilation cannot start from."""


def check_level(module: ModuleOp) -> None:
    """Raises InputError naming the first operation that cannot be compiled, and the lowest level that can."""
    for op in module.walk():
        if (level := _level_of(op)) not in COMPILED and not isinstance(op, TilingInterface) and not _saves_memory(op):
            what = f"is at level '{level}'" if level in BEYOND else f"belongs to dialect '{level}'"
            error = InputError(
                f"operation '{op.name}' {what}: compile from level 'dataflow', or from level 'manycore' with "
                f"tasks tiled by manycore-tile"
            )
            raise located(error, op)


def _saves_memory(op: Operation) -> bool:
    """Whether an operation is one of memory saving, or ends the body of one."""
    parent = op.parent_op()
    return is_memory_op(op) or (parent is not None and is_memory_op(parent))


def _level_of(op: Operation) -> str:
    """The dialect of an operation; tasks over buffers are at the level of the buffers."""
    return "memory" if op.name == "manycore.execute" else op.name.partition(".")[0]

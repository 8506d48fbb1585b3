"""Modules with memory saving, which are compiled without changes."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, ModuleOp

from ...dialects.dataflow.entry_function import find_main
from ...dialects.memory.stash import is_memory_op

CAPACITY = "memory.capacity"
"""Attribute of modules: bytes of DRAM that the launches may use."""
UNSAVED = "memory.unsaved"
"""Attribute of modules: bytes of DRAM that the network needs without saving."""


def saves_memory(module: ModuleOp) -> bool:
    """Whether `@main` has operations of `memory` between launches, or was cut into launches for a capacity."""
    return CAPACITY in module.attributes or any(is_memory_op(op) for op in find_main(module).body.block.ops)


def noted_bytes(module: ModuleOp, name: str) -> int | None:
    """`CAPACITY` or `UNSAVED` of the module, if it has it."""
    value = module.attributes.get(name)
    return value.value.data if isinstance(value, IntegerAttr) else None

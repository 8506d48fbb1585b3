"""Buffers of the cores' SRAM, read from a module at the `memory` level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import BlockArgument, SSAValue

from ...analysis.planning.plan_task import aligned
from ...dialects.manycore import ExecuteOp
from ...dialects.memory import AllocOp, HoldOp, Space, ViewOp
from .memory_map import Block

ROLES = {
    "tile": "values that stay in the cores",
    "constant": "weights and constants",
    "slice": "slices of values",
    "staging": "results on their way to DRAM",
    "temporary": "values within a task",
}
"""Colour of a buffer -> what it is for."""


@dataclass(frozen=True)
class SramUse:
    """The buffers of one part of the network, over its tasks."""

    name: str
    tasks: Sequence[str]
    blocks: Sequence[Block]


def sram_use(module: ModuleOp, name: str = "") -> SramUse:
    """The SRAM buffers of a module of `manycore.execute` and `memory.alloc`, in order of their allocation."""
    tasks = [op for op in module.walk() if isinstance(op, ExecuteOp)]
    roles: dict[SSAValue, str] = {}
    for task in tasks:
        roles |= _roles(task)
    blocks: list[Block] = []
    for op in module.walk():
        if not isinstance(op, AllocOp) or op.interval is None:
            continue
        type = op.buffer.type
        if type.space is Space.SRAM and type.offset is not None:
            label = op.buffer.name_hint or "buffer"
            blocks.append(Block(label, type.offset, aligned(type.nbytes), *op.interval, roles.get(op.buffer, "tile")))
    return SramUse(name, [task.sym_name.data for task in tasks], blocks)


def _roles(task: ExecuteOp) -> dict[SSAValue, str]:
    """What the buffers beside operands and result are for."""
    constants: set[int] = set()
    for (number, index), read in task.read_of_use.items():
        argument = task.ops[number].operands[index]
        if isinstance(argument, BlockArgument) and _is_constant(task.inputs[argument.index]):
            constants.add(read)
    roles: dict[SSAValue, str] = {}
    for read in range(len(task.slots.get_values())):
        roles |= dict.fromkeys(task.read_buffers(read), "constant" if read in constants else "slice")
    return roles | dict.fromkeys(task.staging, "staging") | dict.fromkeys(task.temporaries, "temporary")


def _is_constant(buffer: SSAValue) -> bool:
    while isinstance(buffer.owner, ViewOp):
        buffer = buffer.owner.source
    return isinstance(buffer.owner, HoldOp)

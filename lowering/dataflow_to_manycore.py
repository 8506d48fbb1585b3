"""Lower `dataflow` operations to `manycore.task`: one task for each group, on one core until it is tiled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ..analysis.planning.loops import loops_in
from ..analysis.semantic_effect import SemanticEffect, reassociating
from ..analysis.tasks.grouping import group_operations, with_slices
from ..dialects.dataflow import CastOp
from ..dialects.dataflow.tiling import TilingInterface
from ..dialects.dataflow.unroll_loops import unroll_loops
from ..dialects.locations import keeps_location, located
from ..dialects.manycore import CHIP, SubgraphOp, TaskOp, TilingAttr, YieldOp, chip_of
from ..support.errors import InputError
from ..transforms.shared.kept_loops import stays_loop
from ..transforms.shared.scheduled_bodies import is_copy
from .ir.immediate_operands import is_immediate, uses_by
from .ir.loop_tasks import separate_results, separate_values, spread_numbers


@dataclass(frozen=True)
class DataflowToManycorePass(ModulePass):
    """
    Outline groups of operations as tasks.

    A task is a root operation with the elementwise operations over its result that follow it, and the slices that one
    of these reads (see `analysis.tasks.grouping`). Constants of equal elements whose readers in a task have immediates
    are copied into it; all others, weights and reshapes stay between the tasks. Loops that can be executed as loops
    contain tasks; all others are unrolled.
    """

    name = "dataflow-to-manycore"
    semantic_effect: ClassVar[SemanticEffect] = reassociating(1e-4)
    """A task computes on slices, whose layout in memory differs: a contraction may add in another order."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        chip = chip_of(op)
        outline_tasks(op, None if chip is None else len(chip.usable_cores))


def outline_tasks(module: ModuleOp, cores: int | None) -> None:
    """
    As the pass; `cores`: how many a chip has. Raises InputError, located, for a loop whose number of steps is known at
    run time only if that is not known, and as `unroll_loops`.
    """
    unroll_loops(module, stays_loop)
    for holder in list(module.walk()):
        if isinstance(holder, FuncOp | SubgraphOp) and holder.body.blocks:
            lower_block(holder.body.block, cores)


def lower_block(block: Block, cores: int | None = None) -> None:
    """Replace the operations of a block, and those in the bodies of its loops, by tasks; `cores`: as above."""
    names: set[str] = set()
    loops = [op for op in loops_in(block) if not any(isinstance(one, TaskOp) for one in op.body.block.ops)]
    if loops:
        separate_values(block)
    for loop in loops:
        if loop.ending:
            if cores is None:
                error = InputError(
                    "the number of steps of a loop is known at run time only, and every core needs it: name the "
                    f"chip in module attribute {CHIP}"
                )
                raise located(error, loop)
            spread_numbers(loop, cores)
    for members in with_slices(group_operations(block)):
        _outline(members, _unique(members, names))
    for loop in loops:
        for members in with_slices(group_operations(loop.body.block)):
            _outline(members, _unique(members, names))
        separate_results(loop, lambda members, name: _outline(members, _unique(members, names, name)))


def _unique(members: tuple[TilingInterface, ...], names: set[str], name: str | None = None) -> str:
    hint = name or members[0].results[0].name_hint or members[0].name.removeprefix("dataflow.")
    unique, number = hint, 0
    while unique in names:
        number += 1
        unique = f"{hint}.{number}"
    names.add(unique)
    return unique


@keeps_location
def _outline(members: tuple[TilingInterface, ...], name: str) -> TaskOp:
    inside = {member.results[0] for member in members}
    outer: dict[SSAValue, None] = {}
    for member in members:
        outer.update((value, None) for value in member.operands if value not in inside)
    immediates = [op for op, uses in uses_by(members).items() if is_immediate(op, uses)]
    operands = [value for value in outer if value.owner not in immediates]
    block = Block(arg_types=[value.type for value in operands])
    mapping: dict[SSAValue, SSAValue] = dict(zip(operands, block.args, strict=True))
    constants: list[Operation] = [op.clone(mapping) for op in immediates]
    copies: list[Operation] = [member.clone(mapping) for member in members]
    last = members[-1]
    block.add_ops([*constants, *copies, YieldOp(copies[-1].results[0])])
    rank = len(members[0].iteration_space())
    task = TaskOp(
        name,
        operands,
        [last.results[0].type],
        TilingAttr((1,) * rank, (0,), (1,) * rank, tuple(range(rank))),
        Region(block),
    )
    task.results[0].name_hint = last.results[0].name_hint
    Rewriter.insert_op(task, InsertPoint.before(last))
    last.results[0].replace_all_uses_with(task.results[0])
    for member in reversed(members):
        Rewriter.erase_op(member)
    for op in immediates:
        if op.result.first_use is None:
            Rewriter.erase_op(op)
    _fold_copies(task)
    return task


def _fold_copies(task: TaskOp) -> None:
    """
    Remove the copies in a task, unless the task is a single copy: the result of a task is a separate value without
    them.
    """
    for op in list(task.body.block.ops):
        if isinstance(op, CastOp) and op.operand.type == op.result.type and not is_copy(op):
            Rewriter.replace_op(op, (), (op.operand,))

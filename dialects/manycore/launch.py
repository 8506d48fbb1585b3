"""`manycore.launch`: what all cores run from one start by the controller to the end of the last of them."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Block, Operation, Region
from xdsl.irdl import IRDLOperation, irdl_op_definition, prop_def, region_def, result_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect, NoTerminator
from xdsl.utils.exceptions import VerifyException

from ..memory import LoadOp, SliceTransferOp
from ..memory.stash_types import TokenType
from .execute import ExecuteOp


@irdl_op_definition
class LaunchOp(IRDLOperation):
    """
    A launch: buffers in SRAM, tasks over buffers and loads, in the order in which they are issued. The controller goes
    on when the launch has begun; the token says that it has ended. Names of tasks are unique in a launch.

    ```
    %t = manycore.launch @all {
      %r = memory.alloc : !memory.buffer<4xf32, sram, 0>
      ...
    }
    ```
    """

    name = "manycore.launch"
    sym_name = prop_def(StringAttr)
    body = region_def("single_block")
    token = result_def(TokenType())
    traits = traits_def(NoTerminator(), MemoryReadEffect(), MemoryWriteEffect())

    def __init__(self, name: str, ops: Sequence[Operation] | Region) -> None:
        region = ops if isinstance(ops, Region) else Region(Block(list(ops)))
        super().__init__(properties={"sym_name": StringAttr(name)}, regions=[region], result_types=[TokenType()])

    @property
    def tasks(self) -> dict[str, ExecuteOp]:
        """The tasks by name."""
        return {op.sym_name.data: op for op in self.body.block.ops if isinstance(op, ExecuteOp)}

    def verify_(self) -> None:
        tasks = self.tasks
        if len(tasks) < sum(isinstance(op, ExecuteOp) for op in self.body.block.ops):
            raise VerifyException("two tasks have one name: names of tasks are unique in a launch")
        for op in self.body.walk():
            if isinstance(op, SliceTransferOp) and (problem := _problem(op, tasks)):
                raise VerifyException(f"'{op.name}' for @{op.task_name}: {problem}")

    @classmethod
    def parse(cls, parser: Parser) -> LaunchOp:
        name = parser.parse_symbol_name()
        attributes = parser.parse_optional_attr_dict_with_keyword()
        op = cls(name.data, _block_of(parser))
        if attributes is not None:
            op.attributes.update(attributes.data)
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False, print_empty_block=False)


def _block_of(parser: Parser) -> Region:
    """A region of one block, which may be empty."""
    region = parser.parse_region(())
    if not region.blocks:
        region.add_block(Block())
    return region


def _problem(op: SliceTransferOp, tasks: dict[str, ExecuteOp]) -> str | None:
    """Why a transfer does not go with its task, or None."""
    task = tasks.get(op.task_name)
    if task is None:
        return "there is no such task in the launch"
    reads = op.reads.get_values()
    count = len(task.slots.get_values())
    if any(read >= count for read in reads):
        return f"reads {list(reads)}: the task has {count} reads"
    buffers = [buffer for read in reads for buffer in task.read_buffers(read)]
    if not op.targets or list(op.targets) != buffers[: len(op.targets)]:  # a load ahead may know the first ones only
        return f"its targets are not the buffers that the task has for reads {list(reads)}"
    operands = task.read_operands
    for read, source in zip(reads, op.sources, strict=True):
        if task.inputs[operands[read]] is not source:
            return f"its source is not the operand of read {read}"
    step = op.step_number
    if step is not None and not op.is_relative and step >= task.tiling.data.step_count:
        return f"step {step}: the task has {task.tiling.data.step_count} steps"
    parent = op.parent_op()
    if op.is_relative and op.parent_region() is not task.steps:
        return "a relative step stands in the 'steps' of its own task"
    if not isinstance(op, LoadOp) and parent is not task:
        return "a gather stands in its own task"
    return None

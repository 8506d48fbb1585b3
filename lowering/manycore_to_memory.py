"""
Lower tiled tasks to buffers: every value and every scratch buffer with its address and its lifetime.

The addresses are those of `lay_out_sram` and `lay_out_dram`. Code generation uses the same, but where it is quicker to
load weights earlier (`quickest_piece.py`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ..analysis.nature import Nature, reassociating
from ..analysis.planning.placement import column_major
from ..analysis.planning.plan_network import NetworkPlan, plan_network, storage_root
from ..analysis.planning.plan_task import TaskPlan
from ..analysis.planning.reads import ReadKind
from ..analysis.planning.sram_layout import Key, SramBuffer, SramLayout, lay_out_sram
from ..analysis.task_info import TaskInfo
from ..chips import Chip
from ..dialects.dataflow import ConstantOp, ReshapeOp, WeightOp
from ..dialects.dataflow.entry_function import find_main
from ..dialects.dataflow.types import element_of, shape_of
from ..dialects.locations import at, located
from ..dialects.manycore import CHIP, ExecuteOp, Scratch, chip_of
from ..dialects.memory import AllocOp, BufferType, FreeOp, HoldOp, Space, ViewOp
from ..support.errors import InputError
from .dram_layout import DramLayout, lay_out_dram


@dataclass(frozen=True)
class ManycoreToMemoryPass(ModulePass):
    """
    Tasks of `@main` in destination-passing form (`manycore.execute`) over allocated buffers.

    Inputs, results, constants and what else passes through DRAM become DRAM buffers; the rest lies in the cores' SRAM,
    from `memory.alloc` to `memory.free`. Tasks need a placement: run `manycore-tile` before.
    """

    name = "manycore-to-memory"
    nature: ClassVar[Nature] = reassociating(1e-4)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        chip = chip_of(op)
        if chip is None:
            raise InputError(f"the module has no attribute {CHIP}: run manycore-tile{{chip=NAME}} before")
        lower_module(op, chip)


def lower_module(module: ModuleOp, chip: Chip) -> None:
    """Lower `@main`. Raises InputError for tasks that are not tiled, MeshloomError for buffers that do not fit."""
    function = find_main(module)
    network = plan_network(function, chip, column_major(chip))
    if loose := [info for info in network.tasks if info.op.placement is None]:
        message = f"task '{loose[0].name}' has no placement: run manycore-tile before"
        raise located(InputError(message), loose[0].op)
    lower_function(function, network, chip)


def lower_function(function: FuncOp, network: NetworkPlan, chip: Chip) -> None:
    """Replace the tasks of a function by buffers and `manycore.execute`. Raises MeshloomError if they do not fit."""
    dram, sram = lay_out_dram(function, network, chip), lay_out_sram(network, chip)
    _Lowering(function, network, sram, dram).run()


@dataclass
class _Lowering:
    function: FuncOp
    network: NetworkPlan
    sram: SramLayout
    dram: DramLayout
    buffers: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """Storage root -> the buffer that holds it."""

    def run(self) -> None:
        block = self.function.body.block
        first = block.first_op
        assert first is not None
        keys = {number: [key for key in self.sram.addresses if key[1] == number] for number in range(self._count)}
        begin: dict[int, list[Key]] = {}
        end: dict[int, list[Key]] = {}
        for key, placed in self.placed.items():
            begin.setdefault(placed.first, []).append(key)
            end.setdefault(placed.last, []).append(key)
        self._place_sources(first)
        self._place_results_in_dram(first)
        last_read: dict[int, list[SSAValue]] = {}
        for value, (_, last) in self.dram.lives.items():
            last_read.setdefault(last, []).append(value)
        allocated: dict[Key, AllocOp] = {}
        dead: list[Operation] = []
        for number, info in enumerate(self.network.tasks):
            with at(info.op):
                if info.result in self.dram.lives:
                    self._place_in_dram(info.result, InsertPoint.before(info.op))
                for key in begin.get(number, ()):
                    allocated[key] = self._alloc(key)
                    Rewriter.insert_op(allocated[key], InsertPoint.before(info.op))
                    if key[0] == "tile":
                        self.buffers[info.result] = allocated[key].buffer
                execute = self._execute(number, [(key, allocated[key].buffer) for key in keys[number]])
                Rewriter.insert_op(execute, InsertPoint.before(info.op))
                for key in end.get(number, ()):
                    Rewriter.insert_op(FreeOp(allocated[key]), InsertPoint.before(info.op))
                for value in last_read.get(number, ()):
                    Rewriter.insert_op(FreeOp(self.buffers[value]), InsertPoint.before(info.op))
            dead.append(info.op)
        self._finish(dead)

    @property
    def _count(self) -> int:
        return len(self.network.tasks)

    @cached_property
    def placed(self) -> dict[Key, SramBuffer]:
        """Where and when each buffer is in use."""
        return dict(zip(self.sram.addresses, self.sram.buffers, strict=True))

    def _place_sources(self, first: Operation) -> None:
        block = self.function.body.block
        for argument in block.args:
            self.buffers[argument] = argument
        for op in list(block.ops):
            if isinstance(op, ConstantOp | WeightOp) and op.results[0] in self.dram.addresses:
                value = op.results[0]
                type = BufferType(shape_of(value), element_of(value), Space.DRAM, self.dram.addresses[value])
                with at(op):
                    hold = HoldOp(value, type)
                hold.buffer.name_hint = value.name_hint
                Rewriter.insert_op(hold, InsertPoint.after(op))
                self.buffers[value] = hold.buffer

    def _place_results_in_dram(self, first: Operation) -> None:
        for info, plan in zip(self.network.tasks, self.network.plans, strict=True):
            if not plan.resident and info.result not in self.dram.lives:
                self._place_in_dram(info.result, InsertPoint.before(first))

    def _place_in_dram(self, value: SSAValue, where: InsertPoint) -> None:
        type = BufferType(shape_of(value), element_of(value), Space.DRAM, self.dram.addresses[value])
        with at(value):
            alloc = AllocOp(type, self.dram.lives.get(value))
        alloc.buffer.name_hint = value.name_hint
        Rewriter.insert_op(alloc, where)
        self.buffers[value] = alloc.buffer

    def _alloc(self, key: Key) -> AllocOp:
        role, number, index, slot = key
        info, plan = self.network.tasks[number], self.network.plans[number]
        shape, element = _shape_of_buffer(role, index, info, plan)
        placed = self.placed[key]
        alloc = AllocOp(BufferType(shape, element, Space.SRAM, placed.address), (placed.first, placed.last))
        part = "" if role == "tile" else f"_{role}{index if role != 'staging' else ''}{f'_{slot}' if slot else ''}"
        alloc.buffer.name_hint = _name(info.name) + part
        return alloc

    def _execute(self, number: int, scratch: list[tuple[Key, SSAValue]]) -> ExecuteOp:
        info, plan = self.network.tasks[number], self.network.plans[number]
        of_role = {
            role: [value for key, value in sorted(scratch, key=lambda one: one[0]) if key[0] == role]
            for role in ("read", "staging", "temporary")
        }
        place = {buffer: position + 1 for position, buffer in enumerate(info.buffers.temporaries)}
        read_of = {use: index for index, read in enumerate(info.reads) for use in read.uses}
        return ExecuteOp(
            info.name,
            [self.buffers[storage_root(value)] for value in info.operands],
            self.buffers[info.result],
            Scratch(of_role["read"], of_role["staging"], of_role["temporary"]),
            info.op.tiling,
            [sum(1 for key, _ in scratch if key[:3] == ("read", number, index)) for index in range(len(plan.reads))],
            [
                read_of[position, index]
                for position, op in enumerate(info.body)
                for index, value in enumerate(op.operands)
                if isinstance(value, BlockArgument)
            ],
            [place.get(buffer, 0) for buffer in info.buffers.of_op],
            info.op.body.clone(),
        )

    def _finish(self, tasks: list[Operation]) -> None:
        """Return buffers, remove tasks and reshapes, and make the arguments buffers, now that nothing reads tensors."""
        function, last = self.function, self.function.body.block.last_op
        assert last is not None
        returned = [
            (self.buffers[storage_root(value)], shape_of(storage_root(value)), shape_of(value))
            for value in last.operands
        ]
        for op in [*reversed([op for op in function.body.block.ops if isinstance(op, ReshapeOp) or op in tasks])]:
            for result in op.results:
                result.replace_all_uses_with(self.buffers[storage_root(result)])
            op.detach()
            op.erase()
        for argument in function.body.block.args:
            type = BufferType(shape_of(argument), element_of(argument), Space.DRAM, self.dram.addresses[argument])
            Rewriter.replace_value_with_new_type(argument, type)
            function.body.block.args[argument.index].location = argument.location
        arguments = list(function.body.block.args)
        for index, (buffer, held, shape) in enumerate(returned):
            buffer = arguments[buffer.index] if isinstance(buffer, BlockArgument) else buffer
            if held != shape:
                with at(last):
                    view = ViewOp(buffer, shape)
                Rewriter.insert_op(view, InsertPoint.before(last))
                buffer = view.result
            last.operands[index] = buffer
        function.properties["function_type"] = FunctionType.from_lists(
            [value.type for value in function.body.block.args], [value.type for value in last.operands]
        )


def _shape_of_buffer(role: str, index: int, info: TaskInfo, plan: TaskPlan) -> tuple[tuple[int, ...], Attribute]:
    """A shape for a buffer of the layout: that of the largest content, or flat where no content is as large."""
    tile = plan.tiling.tile_boxes(info.sizes)[plan.tiling.cores[-1]]
    step = plan.tiling.step_boxes(tile)[0]
    if role == "tile":
        return info.root.largest_result(tile), element_of(info.result)
    if role == "read":
        read = plan.reads[index]
        element = element_of(info.operands[read.read.operand])
        count = plan.sizes[index].buffer_bytes // read.item_bytes
        pieces = [piece for piece in read.whole.values() if read.kind is ReadKind.GATHER]
        shapes = [piece.gathered_shape for piece in pieces] or [info.largest_slice(*read.read.uses[0], step)]
        return max(shapes, key=prod) if max(map(prod, shapes)) == count else (count,), element
    operation = info.buffers.of_op.index(index) if role == "temporary" else len(info.body) - 1
    return info.root.largest_result(step), element_of(info.body[operation].results[0])


def _name(text: str) -> str:
    """A task's name as part of a value's name."""
    name = "".join(letter if letter.isalnum() and letter.isascii() else "_" for letter in text)
    return name if name[:1].isalpha() else f"task_{name}"

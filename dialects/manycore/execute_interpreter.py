"""
The interpreter of launches: each core has the bytes of its SRAM, and all values are stored in them at their addresses.

Transfers are executed in program order. Therefore, buffers that share bytes while both are in use give wrong results,
as on the chip, and reading a slice before its transfer is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from math import prod
from typing import Any, NoReturn, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import TensorType, i1, i64
from xdsl.interpreter import Interpreter, InterpreterFunctions, impl, register_impls
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from ...support.errors import InputError, MeshloomError
from ..dataflow.base import DataflowOp
from ..dataflow.constants import Array, elements_of, numpy_type, scalar_array
from ..dataflow.evaluate import evaluate
from ..dataflow.tiling import Box, DimKind, OperandSlice, TilingInterface
from ..dataflow.types import element_of, shape_of, tensor
from ..locations import at, located
from ..memory import GatherOp, LoadOp, SliceTransferOp, StoreOp
from ..memory.attributes import BufferType, Space
from ..memory.ops import AllocOp, buffer_of
from .execute import ComputeOp, ExecuteOp
from .interpreter import combine_partials, materialise
from .launch import LaunchOp
from .repeat import RepeatOp, part_row, part_whole, tile_row
from .task_rules import is_view


def _index(box: Box, origin: Sequence[int]) -> Any:
    """
    The index of a box in an array whose first element is at `origin`; indexing an array of rank 0 gives an array too.
    """
    ranges = zip(box.offsets, box.sizes, origin, strict=True)
    return (..., *(slice(offset - low, offset - low + size) for offset, size, low in ranges))


@dataclass
class CoreMemories:
    """The SRAM of all cores, and the tiles of distributed values that they hold."""

    capacity: int
    """Number of bytes of a core's SRAM that buffers use."""
    bytes_of: dict[int, NDArray[np.uint8]] = field(default_factory=dict[int, NDArray[np.uint8]])
    held: dict[SSAValue, tuple[dict[int, Box], tuple[int, ...]]] = field(
        default_factory=dict[SSAValue, tuple[dict[int, Box], tuple[int, ...]]]
    )
    """Buffer -> (core -> box of the value that it holds, shape of the value)."""
    stacked: dict[SSAValue, tuple[dict[int, Box], tuple[int, ...]]] = field(
        default_factory=dict[SSAValue, tuple[dict[int, Box], tuple[int, ...]]]
    )
    """Buffer whose rows are written by steps of a loop -> (core -> box of a row, shape of all rows together)."""
    whole: dict[tuple[int, SSAValue], tuple[SSAValue, OperandSlice]] = field(
        default_factory=dict[tuple[int, SSAValue], tuple[SSAValue, OperandSlice]]
    )
    """(Core, buffer) -> (the value of which it holds a slice for all steps of a task, that slice)."""

    rows: dict[SSAValue, tuple[SSAValue, int, int]] = field(default_factory=dict[SSAValue, tuple[SSAValue, int, int]])
    """Argument of a loop's body for a row of a distributed value -> (buffer, number of rows, current row)."""

    def view(self, core: int, buffer: SSAValue, element: Attribute, shape: Sequence[int]) -> Array:
        """The first bytes of a buffer on a core, as an array. Raises MeshloomError if the buffer is too small."""
        type = cast(BufferType, buffer.type)
        if type.offset is None:
            raise MeshloomError(f"{type} has no address: run manycore-to-memory, or give one")
        size = prod(shape) * numpy_type(element).itemsize
        if size > type.nbytes:
            raise MeshloomError(f"{type} has {type.nbytes} bytes, {size} are used on core {core}")
        if core not in self.bytes_of:
            self.bytes_of[core] = np.full(self.capacity, 0xFF, np.uint8)  # NaN in every float type
        memory = self.bytes_of[core]
        return memory[type.offset : type.offset + size].view(numpy_type(element)).reshape(shape)

    def collect(self, buffer: SSAValue, element: Attribute) -> Array:
        """The whole value that is distributed over the cores' tiles."""
        if buffer in self.rows:
            whole, count, row = self.rows[buffer]
            return self.collect(whole, element).reshape(count, -1)[row]
        if buffer in self.stacked:
            boxes, (rows, *shape) = self.stacked[buffer]
            found = np.zeros((rows, *shape), numpy_type(element))
            for core, box in boxes.items():
                if box.volume:
                    found[:, *_index(box, (0,) * box.rank)] = self.view(core, buffer, element, (rows, *box.sizes))
            return found
        if buffer not in self.held:
            raise MeshloomError(f"{buffer.type} is read before a task has written it")
        boxes, shape = self.held[buffer]
        whole = np.zeros(shape, numpy_type(element))
        for core, box in boxes.items():
            if box.volume:
                whole[_index(box, (0,) * box.rank)] = self.view(core, buffer, element, box.sizes)
        return whole


@dataclass(frozen=True)
class TaskDone:
    """A task that has run, and its result."""

    launch: LaunchOp
    task: ExecuteOp
    last: bool
    """Whether the task does not run again in this launch: it is in no loop, or this was the loop's last step."""
    tiles: Mapping[int, Array]
    """
    Core -> its tile of a result in SRAM, a view of the memory that later tasks read. If steps of a loop write rows of
    the tile, all rows.
    """
    whole: Array | None
    """A result in DRAM, a view of the memory; for a task in a loop, the value whose parts the steps write."""
    step: int | None = None
    """The current step of the loop that contains the task; None outside loops."""
    row: int | None = None
    """The row of `tiles` or `whole` that this step has written; None if it writes no row."""


OnResult: TypeAlias = Callable[[TaskDone], None]


@register_impls
class ExecuteFunctions(InterpreterFunctions):
    """The implementation of launches, for xDSL's interpreter."""

    def __init__(self, on_result: OnResult | None = None) -> None:
        """`on_result` is called with the result of a task each time that it has run."""
        self.on_result = on_result

    @impl(LaunchOp)
    def run_launch(self, interpreter: Interpreter, op: LaunchOp, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Run tasks and transfers in program order."""
        _Launch(op, interpreter, self.on_result).run()
        return ("launched",)


class _Launch:
    """The state of a running launch."""

    def __init__(self, op: LaunchOp, interpreter: Interpreter, on_result: OnResult | None) -> None:
        self.op, self.interpreter, self.on_result = op, interpreter, on_result
        self.is_last_step = True
        self.step: int | None = None
        """The current step of the running loop; None outside loops."""
        self.rows: dict[SSAValue, int] = {}
        """Argument of the loop's body -> the row of its buffer in the current step."""
        self.memories = CoreMemories(_sram_used(op))
        self.tasks = {name: _Task(task, self) for name, task in op.tasks.items()}

    def run(self) -> None:
        """Run all operations, in order."""
        self._issue(self.op.body.block)

    def _issue(self, block: Block) -> None:
        for op in block.ops:
            if isinstance(op, SliceTransferOp):
                self.transfer(op, 0)
            elif isinstance(op, ExecuteOp):
                self.tasks[op.sym_name.data].run()
            elif isinstance(op, RepeatOp):
                self._repeat(op)
            else:
                results = self.interpreter.run_op(op, self.interpreter.get_values(op.operands))
                self.interpreter.set_values(zip(op.results, results, strict=True))

    def _repeat(self, op: RepeatOp) -> None:
        """Run the steps of a loop."""
        if op.has_dynamic_steps:
            self._clear(op)
        steps, going = op.step_count, True
        if op.count is not None:
            steps = int(self.memories.collect(op.count, i64)[0]) * op.group_size
            if not 0 <= steps <= op.step_count:
                raise InputError(f"a loop is to run {steps} times: expected 0 to {op.step_count}")
        for step in range(steps):
            self.is_last_step, self.step = step == steps - 1, step
            self._step(op, step, op.step_count - steps)
            going = op.going is None or bool(self.memories.collect(op.going, i1)[0])
            if not going:
                break
        self.is_last_step, self.step = True, None
        if op.must_end is not None and going and steps == op.step_count:
            raise InputError(f"a loop does not end within {steps} steps")

    def _clear(self, op: RepeatOp) -> None:
        """Set the buffers to 0 whose parts are written by the steps."""
        for inner in op.body.block.ops:
            if not isinstance(inner, ExecuteOp) or (whole := part_whole(inner.target)) is inner.target:
                continue
            if (row := tile_row(inner.target)) is None:
                cast(Array, self.interpreter.get_values((whole,))[0])[...] = 0
                continue
            task = _Task(inner, self)
            element = element_of(task.ops[-1].results[0])
            for core, box in task.results.items():
                self.memories.view(core, whole, element, (row.rows, *box.sizes))[...] = 0
            self.memories.stacked[whole] = (task.results, (row.rows, *task.result_shape))

    def _step(self, op: RepeatOp, step: int, left_out: int) -> None:
        """
        Run a step of a loop on its parts of values. `left_out`: largest number of steps minus the number of steps that
        run.
        """
        for argument in op.body.block.args:
            whole, start, advance = op.part(argument)
            step_of = step + left_out if advance < 0 else step
            if (row := part_row(argument)) is not None:
                self.rows[argument] = row.first + step_of * row.advance
            if row is not None and tile_row(argument) is not None:
                self.memories.rows[argument] = row.whole, row.rows, self.rows[argument]
                continue
            memory = cast(Array, self.interpreter.get_values((whole,))[0])
            type = buffer_of(argument)
            low = (start + step_of * advance) // memory.itemsize
            part = memory.reshape(-1)[low : low + prod(type.shape)].reshape(type.shape)
            self.interpreter.set_values(((argument, part),))
        for inner in op.body.block.ops:
            if isinstance(inner, ExecuteOp):
                self.tasks[inner.sym_name.data] = _Task(inner, self)
        self._issue(op.body.block)

    def transfer(self, op: SliceTransferOp, current: int) -> None:
        """Execute a load or gather of slices; `current`: the step that contains the operation."""
        task = self.tasks[op.task_name]
        step = op.step_number
        if step is not None and op.is_relative:
            step += current
            if step >= len(task.indices):
                return
        if isinstance(op, LoadOp):
            task.load(op.read, step)
        elif isinstance(op, GatherOp):
            task.gather(op.reads.get_values(), step or 0)

    def in_dram(self, buffer: SSAValue, shape: Sequence[int]) -> Array:
        """The contents of a buffer in DRAM."""
        return cast(Array, self.interpreter.get_values((buffer,))[0]).reshape(shape)


def _sram_used(op: LaunchOp) -> int:
    """The end address of the highest SRAM buffer of a launch."""
    types = [buffer_of(other.buffer) for other in op.walk() if isinstance(other, AllocOp)]
    buffers = [type for type in types if type.space is Space.SRAM]
    return max(((type.offset or 0) + type.nbytes for type in buffers), default=0)


@dataclass
class _Loaded:
    """The slices of a read from DRAM that a core holds."""

    version: int = -1
    sliced: OperandSlice | None = None
    """The newest slice."""
    by_step: dict[int, tuple[OperandSlice, int]] = field(default_factory=dict[int, tuple[OperandSlice, int]])
    """Step -> (the slice that was loaded for it, the number of the slice)."""
    whole: OperandSlice | None = None
    """The slice of all steps, if these were loaded together."""

    def version_for(self, step: int, sliced: OperandSlice, buffers: int) -> int | str:
        """The number of the slice that a step reads, or the reason why it is in none of the `buffers` buffers."""
        known = max((one for one in self.by_step if one <= step), default=None)
        if known is None or self.by_step[known][0] != sliced:
            return "before it is transferred"
        version = self.by_step[known][1]
        return version if self.version - version < buffers else "after a later slice has taken its buffer"


class _Task:
    """The state of a task in a running launch."""

    def __init__(self, op: ExecuteOp, launch: _Launch) -> None:
        self.op, self.launch, self.memories = op, launch, launch.memories
        self.ops, self.root, self.read_of = op.ops, op.ops[0], op.read_of_use
        self.immediates: dict[SSAValue, Array] = {one.result: elements_of(one) for one in op.immediates}
        self.space = self.root.iteration_space()
        self.resident = cast(BufferType, op.target.type).space is Space.SRAM
        self.result_shape = shape_of(self.root.results[0])
        tiling = op.tiling.data
        self.tiles = {
            core: tile for core, tile in tiling.tile_boxes([one.size for one in self.space]).items() if tile.volume
        }
        self.boxes = {core: list(tiling.step_boxes(tile)) for core, tile in self.tiles.items()}
        self.indices = list(tiling.step_indices())
        self.results = {core: self.root.result_box(tile) for core, tile in self.tiles.items()}
        outputs = [tuple(i for dim, i in enumerate(index) if not self._reduced(dim)) for index in self.indices]
        changes = [0, *(int(one != other) for one, other in pairwise(outputs))]
        self.versions = list(accumulate(changes))
        """For each step, the number of the part of the result that it computes."""
        first_use: dict[int, tuple[int, int]] = {}
        for use, read in self.read_of.items():
            first_use.setdefault(read, use)
        self.first_use = first_use
        self.loaded: dict[tuple[int, int], _Loaded] = {}
        """(read, core) -> the slices that the core holds."""
        self.gathered: dict[tuple[int, int], OperandSlice] = {}
        self.gathered_steps: set[int] = set()

    def _reduced(self, dim: int) -> bool:
        return self.space[dim].kind is DimKind.REDUCTION

    def run(self) -> None:
        """Run the schedule: `begin`, all steps except the last, the last step."""
        op, count = self.op, len(self.indices)
        self._issue(op.begin.block, 0)
        for step in range(count - 1):
            self._issue(op.steps.block, step)
        self._issue(op.last.block, count - 1)
        if (row := self.memories.rows.get(op.target)) is not None:
            self.memories.stacked[row[0]] = (self.results, (row[1], *self.result_shape))
        elif self.resident:
            self.memories.held[op.target] = (self.results, self.result_shape)
        if self.launch.on_result is not None:
            self.launch.on_result(self._done())

    def _done(self) -> TaskDone:
        op, element, launch = self.op, element_of(self.ops[-1].results[0]), self.launch
        target, row = part_whole(op.target), launch.rows.get(op.target)
        tiles: dict[int, Array] = {}
        whole = None
        if not self.resident:
            shape = self.result_shape if target is op.target else buffer_of(target).shape
            whole = launch.in_dram(target, shape)
        else:
            rows = () if target is op.target else self.memories.stacked[target][1][:1]
            boxes = {core: box for core, box in self.results.items() if box.volume}
            tiles = {
                core: self.memories.view(core, target, element, (*rows, *box.sizes)) for core, box in boxes.items()
            }
        return TaskDone(launch.op, op, launch.is_last_step, tiles, whole, launch.step, row)

    def _issue(self, block: Block, step: int) -> None:
        for op in block.ops:
            self._issue_one(op, step)

    def _issue_one(self, op: Operation, step: int) -> None:
        with at(op):
            self._run_one(op, step)

    def _run_one(self, op: Operation, step: int) -> None:
        if isinstance(op, SliceTransferOp):
            self.launch.transfer(op, step)
        elif isinstance(op, ComputeOp):
            for core in self.tiles:
                self._compute(core, step)
        elif isinstance(op, StoreOp):
            for core in self.tiles:
                self._store(core, step)
        else:
            raise MeshloomError(
                f"'{op.name}' in the schedule of @{self.op.sym_name.data}: expected transfers and computes"
            )

    # ---- transfers

    def _sliced(self, read: int, box: Box) -> OperandSlice:
        """The slice of a read for a box of the iteration space."""
        number, index = self.first_use[read]
        return self.ops[number].operand_slice(index, box if number == 0 else self.root.result_box(box))

    def _source(self, read: int) -> tuple[Array, Attribute]:
        """The operand of a read as a whole, and its element type."""
        number, index = self.first_use[read]
        argument = cast(BlockArgument, self.ops[number].operands[index])
        buffer, element, shape = self.op.inputs[argument.index], element_of(argument), shape_of(argument)
        if cast(BufferType, buffer.type).space is not Space.SRAM:
            return self.launch.in_dram(buffer, shape), element
        array = self.memories.collect(buffer, element)
        if array.size != prod(shape):
            raise MeshloomError(
                f"{buffer.type} holds a value of shape {list(array.shape)}, which task '{self.op.sym_name.data}' reads "
                f"as {argument.type}"
            )
        return array.reshape(shape), element

    def load(self, read: int, step: int | None) -> None:
        """Load the slices of a step, or of all steps, from DRAM to the buffers of a read."""
        array, element = self._source(read)
        buffers = self.op.read_buffers(read)
        for core, boxes in self.boxes.items():
            has = self.loaded.setdefault((read, core), _Loaded())
            box = self.tiles[core] if step is None else boxes[step]
            if not box.volume:
                continue
            sliced = self._sliced(read, box)
            if sliced != has.sliced:
                has.version += 1
                has.sliced = sliced
                local = materialise(array, sliced, element)
                if local.size:
                    self.memories.view(core, buffers[has.version % len(buffers)], element, local.shape)[...] = local
            if step is None:
                has.whole = sliced
                self.memories.whole[core, buffers[0]] = self.op.inputs[self._operand(read)], sliced
            else:
                self.memories.whole.pop((core, buffers[has.version % len(buffers)]), None)
                has.by_step[step] = (sliced, has.version)

    def _operand(self, read: int) -> int:
        """The number of the operand of a read."""
        number, index = self.first_use[read]
        return cast(BlockArgument, self.ops[number].operands[index]).index

    def _left_by_others(self, read: int, core: int) -> _Loaded | None:
        """
        The slice that an earlier task has left in a buffer, if it is what this task needs in all steps; else None.
        """
        found = self.memories.whole.get((core, self.op.read_buffers(read)[0]))
        needed = self.op.inputs[self._operand(read)], self._sliced(read, self.tiles[core])
        return _Loaded(whole=needed[1]) if found == needed else None

    def gather(self, reads: Sequence[int], step: int) -> None:
        """Gather what a step needs of distributed values; before the first step, also fill the padding."""
        self.gathered_steps.add(step)
        for read in reads:
            array, element = self._source(read)
            (buffer,) = self.op.read_buffers(read)
            for core, boxes in self.boxes.items():
                whole = self._sliced(read, self.tiles[core])
                if 0 in whole.shape:
                    continue
                view = self.memories.view(core, buffer, element, whole.gathered_shape)
                if (read, core) not in self.gathered:
                    self.gathered[read, core] = whole
                    if whole.is_padded:
                        view[...] = scalar_array(whole.pad_value, element)
                if boxes[step].volume:
                    bounds = self._sliced(read, boxes[step]).bounds
                    view[_index(bounds, _origin(whole))] = array[_index(bounds, (0,) * bounds.rank)]

    # ---- computation

    def _compute(self, core: int, step: int) -> None:
        box, part = self.boxes[core][step], self.root.result_box(self.boxes[core][step])
        if not box.volume or not part.volume:
            return
        index = self.indices[step]
        first = all(index[dim] == 0 for dim in range(len(index)) if self._reduced(dim))
        values: dict[SSAValue, Array] = {}
        for number, inner in enumerate(self.ops[: None if self._completes(step) else 1]):
            area = box if number == 0 else part
            operands = [
                self._outside(core, number, position, area, step) if value not in values else values[value]
                for position, value in enumerate(inner.operands)
            ]
            result = _evaluate(inner, area, operands)
            if is_view(self.ops, number):
                values[inner.results[0]] = result
                continue
            out = self._out(core, number, part, step)
            if number == 0 and not first and inner.combine is not None:
                result = combine_partials(inner.combine, out, result, element_of(inner.results[0]))
            out[...] = result
            values[inner.results[0]] = out

    def _completes(self, step: int) -> bool:
        """Whether a step is the last one that computes its part of the result."""
        index, steps = self.indices[step], self.op.tiling.steps
        return all(index[dim] == steps[dim] - 1 for dim in range(len(index)) if self._reduced(dim))

    def _store(self, core: int, step: int) -> None:
        part = self.root.result_box(self.boxes[core][step])
        if self.boxes[core][step].volume and part.volume and self._completes(step):
            target = self.launch.in_dram(self.op.target, self.result_shape)
            target[_index(part, (0,) * part.rank)] = self._out(core, len(self.ops) - 1, part, step)

    def _outside(self, core: int, number: int, position: int, area: Box, step: int) -> Array:
        """An operand's slice, from the buffer in which the core holds it, or of a constant of the body."""
        value = self.ops[number].operands[position]
        if (constant := self.immediates.get(value)) is not None:
            return materialise(constant, self.ops[number].operand_slice(position, area), element_of(value))
        read = self.read_of[number, position]
        sliced = self.ops[number].operand_slice(position, area)
        element = element_of(value)
        buffers = self.op.read_buffers(read)
        if not buffers or 0 in sliced.shape:
            return materialise(self._source(read)[0], sliced, element)
        if (whole := self.gathered.get((read, core))) is not None:
            if step not in self.gathered_steps:
                self._refuse(read, step, core, "before it is transferred")
            view = self.memories.view(core, buffers[0], element, whole.gathered_shape)
            return materialise(view, _within(sliced, whole), element)
        has = self.loaded.get((read, core)) or self._left_by_others(read, core)
        if has is not None and has.whole is not None:
            view = self.memories.view(core, buffers[0], element, has.whole.shape)
            start = tuple(a - b for a, b in zip(sliced.box.offsets, has.whole.box.offsets, strict=True))
            return view[_index(Box(start, sliced.shape), (0,) * len(start))]
        version = "before it is transferred" if has is None else has.version_for(step, sliced, len(buffers))
        if isinstance(version, str):
            self._refuse(read, step, core, version)
        return self.memories.view(core, buffers[version % len(buffers)], element, sliced.shape)

    def _refuse(self, read: int, step: int, core: int, why: str) -> NoReturn:
        message = f"task @{self.op.sym_name.data} uses read {read} in step {step} on core {core} {why}"
        raise located(MeshloomError(message), self.op)

    def _out(self, core: int, number: int, part: Box, step: int) -> Array:
        """The array to which an operation of the body writes."""
        where = self.op.writes.get_values()[number]
        element = element_of(self.ops[number].results[0])
        if where:
            return self.memories.view(core, self.op.temporaries[where - 1], element, part.sizes)
        staging = self.op.staging
        if staging and not (self.resident and number + 1 == len(self.ops)):
            return self.memories.view(core, staging[self.versions[step] % len(staging)], element, part.sizes)
        tile = self.results[core]
        if (row := self.memories.rows.get(self.op.target)) is not None:
            whole, count, at = row
            held = self.memories.view(core, whole, element, (count, *tile.sizes))[at]
        else:
            held = self.memories.view(core, self.op.target, element, tile.sizes)
        return held[_index(part, tile.offsets)]


def _origin(whole: OperandSlice) -> tuple[int, ...]:
    """The position in the value of the first element in the buffer of a gathered slice."""
    return tuple(low - pad for low, pad in zip(whole.bounds.offsets, whole.pad_low, strict=True))


def _within(sliced: OperandSlice, whole: OperandSlice) -> OperandSlice:
    """A slice of a value, relative to the buffer that holds a larger slice `whole` of it with its padding."""
    start = [a - b - c for a, b, c in zip(sliced.box.offsets, sliced.pad_low, _origin(whole), strict=True)]
    return OperandSlice(Box(tuple(start), sliced.shape), (0,) * len(start), (0,) * len(start), 0, sliced.steps)


def _evaluate(op: TilingInterface, area: Box, operands: Sequence[Array]) -> Array:
    types: list[TensorType[Attribute]] = [
        tensor(element_of(op.operands[index]), array.shape) for index, array in enumerate(operands)
    ]
    block = Block(arg_types=types)
    values: dict[SSAValue, Array] = dict(zip(block.args, operands, strict=True))
    result: Array | None = None
    for built in op.build_tile(area, block.args):
        assert isinstance(built, DataflowOp)
        result = evaluate(built, [values[operand] for operand in built.operands])
        values[built.results[0]] = result
    assert result is not None, "build_tile gives at least one operation"
    return result

"""Verification of the schedules of tasks over buffers, and of the tasks and transfers of a launch."""

from __future__ import annotations

from math import prod

from xdsl.ir import Block, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from ..dataflow.tiling import Box, DimKind
from ..dataflow.types import shape_of
from ..locations import located
from ..memory.attributes import Space
from ..memory.ops import AllocOp, FreeOp, buffer_of
from ..memory.transfers import GatherOp, LoadOp, SliceTransferOp, StoreOp
from .execute import ComputeOp, ExecuteOp
from .repeat import RepeatOp, issued, part_whole, tile_row


def verify_schedule(op: ExecuteOp) -> None:
    """
    Raises VerifyException unless each step computes exactly once, and then, for a result in DRAM, stores it from the
    buffers in which it is computed.
    """
    count = op.tiling.data.step_count
    for part in (op.begin, op.steps, op.last):
        for inner in part.block.ops:
            _verify_place(inner, op, in_begin=part is op.begin)
    if count == 1 and op.steps.block.first_op is not None:
        raise located(VerifyException("'steps' is for all steps but the last: the task has one step"), op)
    _verify_step(op, op.last.block, "last", stores=True)
    if count > 1:
        _verify_step(op, op.steps.block, "steps", stores=_completes_parts(op))


def _verify_place(inner: Operation, op: ExecuteOp, *, in_begin: bool) -> None:
    if not isinstance(inner, LoadOp | GatherOp | ComputeOp | StoreOp):
        raise located(VerifyException(f"'{inner.name}' in a schedule: expected transfers and manycore.compute"), inner)
    if in_begin and isinstance(inner, ComputeOp | StoreOp):
        raise located(VerifyException(f"'{inner.name}' in 'begin': it belongs to a step"), inner)
    if isinstance(inner, StoreOp):
        if inner.target is not op.target:
            raise located(VerifyException(f"stores to another buffer than @{op.sym_name.data} writes"), inner)
        if list(inner.sources) != list(op.staging):
            raise located(VerifyException(f"stores from other buffers than the staging of @{op.sym_name.data}"), inner)


def _verify_step(op: ExecuteOp, block: Block, part: str, *, stores: bool) -> None:
    """Check a step. `stores`: it may complete parts of the result."""
    ops = list(block.ops)
    computes = [number for number, inner in enumerate(ops) if isinstance(inner, ComputeOp)]
    if len(computes) != 1:
        where = ops[computes[1]] if computes else op
        raise located(
            VerifyException(f"'{part}' computes {len(computes)} times: expected manycore.compute once"), where
        )
    found = [number for number, inner in enumerate(ops) if isinstance(inner, StoreOp)]
    target = buffer_of(op.target)
    if found and found[0] < computes[0]:
        raise located(VerifyException("is before manycore.compute, whose result it stores"), ops[found[0]])
    if len(found) > 1:
        raise located(VerifyException(f"'{part}' stores the result {len(found)} times: expected once"), ops[found[1]])
    if stores and not found and target.space is not Space.SRAM and prod(target.shape):
        raise VerifyException(f"'{part}' has no memory.store: the result, {target}, would not be written")


def _completes_parts(op: ExecuteOp) -> bool:
    """Whether steps before the last complete parts of the result."""
    space = op.ops[0].iteration_space()
    return any(n > 1 and one.kind is not DimKind.REDUCTION for one, n in zip(space, op.tiling.steps, strict=True))


def verify_launch(block: Block) -> None:
    """Raises VerifyException, located at the operation, if the operations of a launch are inconsistent."""
    executes = [op for op in issued(block) if isinstance(op, ExecuteOp)]
    tasks: dict[str, ExecuteOp] = {}
    writers: dict[SSAValue, ExecuteOp] = {}
    for op in executes:
        name = op.sym_name.data
        if name in tasks:
            raise located(VerifyException(f"two tasks are named @{name}: names of tasks are unique in a launch"), op)
        if op.target in writers and _hands_on(op, writers[op.target]):
            tasks[name] = op
            continue
        if op.target in writers:
            other = writers[op.target].sym_name.data
            raise located(
                VerifyException(f"@{name} writes the buffer that @{other} writes: expected a separate one"), op
            )
        tasks[name], writers[op.target], writers[part_whole(op.target)] = op, op, op
    written: set[SSAValue] = set()
    for op in issued(block):
        match op:
            case ExecuteOp():
                _verify_buffers(op, block, writers, written)
                for part in (op.begin, op.steps, op.last):
                    for inner in part.block.ops:
                        if isinstance(inner, SliceTransferOp):
                            _verify_transfer(inner, tasks, writers, written)
                written |= {op.target, part_whole(op.target)}
            case SliceTransferOp():
                _verify_transfer(op, tasks, writers, written)
            case AllocOp() | FreeOp():
                pass
            case _:
                error = VerifyException(f"'{op.name}' in a launch: expected buffers, loads and tasks over buffers")
                raise located(error, op)


def _hands_on(op: ExecuteOp, before: ExecuteOp) -> bool:
    """
    Whether a task in a loop overwrites, for the next step, the result of a task before the loop. Raises VerifyException
    if the tiles of both differ.
    """
    if not isinstance(op.parent_op(), RepeatOp) or before.parent_op() is op.parent_op():
        return False
    if buffer_of(op.target).space is not Space.SRAM:
        return False
    if _tiles(op) != _tiles(before):
        raise located(
            VerifyException(
                f"@{op.sym_name.data} writes the buffer that @{before.sym_name.data} writes in other tiles"
            ),
            op,
        )
    return True


def _tiles(op: ExecuteOp) -> dict[int, tuple[int, Box]]:
    """Core -> its part of the result: (offset among all elements, box without dimensions of size 1)."""
    root = op.ops[0]
    sizes = [one.size for one in root.iteration_space()]
    shape = shape_of(root.results[0])
    found: dict[int, tuple[int, Box]] = {}
    for core, tile in op.tiling.data.tile_boxes(sizes).items():
        if tile.volume:
            box = root.result_box(tile)
            start = 0
            for offset, size in zip(box.offsets, shape, strict=True):
                start = start * size + offset
            kept = [(low, size) for low, size in zip(box.offsets, box.sizes, strict=True) if size > 1]
            found[core] = start, Box(tuple(low for low, _ in kept), tuple(size for _, size in kept))
    return found


def _verify_buffers(op: ExecuteOp, block: Block, writers: dict[SSAValue, ExecuteOp], written: set[SSAValue]) -> None:
    """Check the buffers of a task. `written`: results of the tasks before it."""
    name = op.sym_name.data
    for value, argument in zip(op.inputs, op.body.block.args, strict=True):
        row = tile_row(value)
        whole = value if row is None else row.whole
        writer = writers.get(whole)
        if writer is not None and whole not in written:
            other = writer.sym_name.data
            raise located(VerifyException(f"@{name} reads the result of @{other}, which comes after it"), op)
        if buffer_of(value).space is not Space.SRAM:
            continue
        if writer is None:
            error = VerifyException(f"@{name} reads {value.type} as a whole, which no task of the launch writes")
            raise located(error, op)
        result = writer.ops[-1].results[0].type
        row_written = tile_row(writer.target)
        rows, of_writer = (1 if one is None else one.rows for one in (row, row_written))
        if prod(shape_of(argument)) * rows != prod(shape_of(writer.ops[-1].results[0])) * of_writer:
            error = VerifyException(f"@{name} reads @{writer.sym_name.data}'s result, {result}, as {argument.type}")
            raise located(error, op)
    for value in (*op.reads, *op.staging, *op.temporaries, op.target):
        if buffer_of(value).space is Space.SRAM and part_whole(value).owner.parent_block() is not block:
            raise located(VerifyException(f"@{name} uses {value.type}, which is not allocated in its launch"), op)


def _verify_transfer(
    op: SliceTransferOp, tasks: dict[str, ExecuteOp], writers: dict[SSAValue, ExecuteOp], written: set[SSAValue]
) -> None:
    problem = _problem(op, tasks)
    if problem is None:
        early = next((value for value in op.sources if value in writers and value not in written), None)
        if early is not None:
            problem = f"its source is written by @{writers[early].sym_name.data}, which has not ended there"
    if problem is not None:
        raise located(VerifyException(f"'{op.name}' for @{op.task_name}: {problem}"), op)


def _problem(op: SliceTransferOp, tasks: dict[str, ExecuteOp]) -> str | None:
    """Why a transfer is inconsistent with its task, or None."""
    task = tasks.get(op.task_name)
    if task is None:
        return "there is no such task in the launch"
    reads = op.reads.get_values()
    count = len(task.slots.get_values())
    if any(read >= count for read in reads):
        return f"reads {list(reads)}: the task has {count} reads"
    buffers = [buffer for read in reads for buffer in task.read_buffers(read)]
    if not op.targets or list(op.targets) != buffers[: len(op.targets)]:  # a prefetch may use the first ones only
        return f"its targets are not the buffers that the task has for reads {list(reads)}"
    operands = task.read_operands
    for read, source in zip(reads, op.sources, strict=True):
        if task.inputs[operands[read]] is not source:
            return f"its source is not the operand of read {read}"
    step, steps = op.step_number, task.tiling.data.step_count
    if step is not None and step >= steps:
        return f"step {'+' if op.is_relative else ''}{step}: the task has {steps} step{'s' if steps > 1 else ''}"
    if op.is_relative and op.parent_region() is not task.steps:
        return "a relative step belongs in the 'steps' of its own task"
    if not isinstance(op, LoadOp) and op.parent_op() is not task:
        return "a gather belongs in its own task"
    return None

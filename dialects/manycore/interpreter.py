"""
The interpreter of `manycore` programs on numpy arrays, tile by tile.

It is the reference semantics of tilings: each core computes each step from slices of the operands only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import bf16
from xdsl.interpreter import Interpreter, InterpreterFunctions, impl, register_impls
from xdsl.ir import Attribute, Block, SSAValue

from ..dataflow.base import DataflowOp, ints
from ..dataflow.constants import Array, elements_of, narrow_bf16, numpy_type, scalar_array, widen_bf16
from ..dataflow.evaluate import evaluate
from ..dataflow.evaluate_movement import strided
from ..dataflow.tiling import Box, Combine, DimKind, OperandSlice, TilingInterface
from ..dataflow.types import element_of, shape_of, tensor
from .bodies import YieldOp
from .host import HostConcatOp, HostSliceOp
from .ops import TaskOp
from .subgraph import SubgraphOp


def materialise(array: Array, part: OperandSlice, element: Attribute) -> Array:
    """The elements that a tile reads, with their padding."""
    axes = [
        np.arange(size) * step + offset
        for offset, size, step in zip(part.box.offsets, part.box.sizes, part.steps, strict=True)
    ]
    inside = array[np.ix_(*axes)] if axes else array
    if not part.is_padded:
        return inside
    padding = list(zip(part.pad_low, part.pad_high, strict=True))
    return np.pad(inside, padding, constant_values=scalar_array(part.pad_value, element))


def compute_tile(op: TilingInterface, tile: Box, operands: Sequence[Array]) -> Array:
    """The result of an operation for one tile of its iteration space; operands are whole and in storage form."""
    parts = [
        materialise(array, op.operand_slice(index, tile), element_of(op.operands[index]))
        for index, array in enumerate(operands)
    ]
    block = Block(arg_types=[tensor(element_of(op.operands[index]), part.shape) for index, part in enumerate(parts)])
    values: dict[SSAValue, Array] = dict(zip(block.args, parts, strict=True))
    result: Array | None = None
    for step in op.build_tile(tile, block.args):
        assert isinstance(step, DataflowOp)
        result = evaluate(step, [values[operand] for operand in step.operands])
        values[step.results[0]] = result
    assert result is not None, "build_tile gives at least one operation"
    return result


def combine_partials(kind: Combine, old: Array, new: Array, element: Attribute) -> Array:
    """The combination of two partial results of a split reduction, in storage form."""
    function = {"add": np.add, "max": np.maximum, "min": np.minimum, "mul": np.multiply}[kind]
    with np.errstate(all="ignore"):
        if element == bf16:
            return narrow_bf16(function(widen_bf16(old), widen_bf16(new)))
        return function(old, new).astype(old.dtype, copy=False)


def _index(box: Box) -> tuple[slice, ...]:
    return tuple(slice(offset, offset + size) for offset, size in zip(box.offsets, box.sizes, strict=True))


def run_task(task: TaskOp, operands: Sequence[Array]) -> tuple[Array, ...]:
    """The results of a task for operands in storage form, computed core by core and step by step."""
    root, space = task.root, task.root.iteration_space()
    outside: dict[SSAValue, Array] = dict(zip(task.body.block.args, operands, strict=True))
    outside.update((op.result, elements_of(op)) for op in task.immediates)
    whole = {
        value: np.zeros(shape_of(value), numpy_type(element_of(value))) for value in (root.results[0], *task.yielded)
    }
    partial = whole[root.results[0]]
    reductions = [dim for dim, one in enumerate(space) if one.kind is DimKind.REDUCTION]
    for _, tile in task.tiling.tiles([one.size for one in space]):
        started: set[Box] = set()
        for index, box in task.tiling.step_boxes(tile):
            target = root.result_box(box)
            if target.volume == 0:
                continue
            # Steps have no work if a reduced dimension has more parts than positions.
            if all(box.sizes[dim] or not space[dim].size for dim in reductions):
                part = compute_tile(root, box, [outside[value] for value in root.operands])
                if target in started and root.combine is not None:
                    part = combine_partials(root.combine, partial[_index(target)], part, element_of(root.results[0]))
                started.add(target)
                partial[_index(target)] = part
            if all(index[dim] == task.tiling.steps[dim] - 1 for dim in reductions):
                _finish(task, target, outside, whole)
    return tuple(whole[value] for value in task.yielded)


def _finish(task: TaskOp, box: Box, outside: dict[SSAValue, Array], whole: dict[SSAValue, Array]) -> None:
    """Compute the operations after the root on a box whose sums are complete."""
    inside: dict[SSAValue, Array] = {task.root.results[0]: whole[task.root.results[0]][_index(box)]}
    for op in task.epilogue:
        types: list[Attribute] = []
        parts: list[Array] = []
        for number, value in enumerate(op.operands):
            local = inside.get(value)
            if local is None:
                local = materialise(outside[value], op.operand_slice(number, box), element_of(value))
            parts.append(local)
            types.append(tensor(element_of(value), local.shape))
        built = op.build_tile(box, Block(arg_types=types).args)[-1]
        assert isinstance(built, DataflowOp)
        inside[op.results[0]] = evaluate(built, parts)
    for value in task.yielded:
        whole[value][_index(box)] = inside[value]


def run_subgraph(interpreter: Interpreter, op: SubgraphOp, args: Sequence[Any]) -> tuple[Any, ...]:
    """The results of a subgraph; each value of its body is kept until its last use."""
    block = op.body.block
    values: dict[SSAValue, Any] = dict(zip(block.args, args, strict=True))
    uses = {value: sum(1 for _ in value.uses) for value in values}
    for step in block.ops:
        operands = tuple(values[value] for value in step.operands)
        if isinstance(step, YieldOp):
            return operands
        results = interpreter.run_op(step, operands)
        for value in step.operands:
            uses[value] -= 1
            if uses[value] == 0:
                values.pop(value, None)
        for value, result in zip(step.results, results, strict=True):
            values[value] = result
            uses[value] = sum(1 for _ in value.uses)
    raise AssertionError("verified subgraphs end with manycore.yield")


@register_impls
class ManycoreFunctions(InterpreterFunctions):
    """The reference semantics, for xDSL's interpreter."""

    @impl(TaskOp)
    def run_manycore_task(self, interpreter: Interpreter, op: TaskOp, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Run a task tile by tile."""
        return run_task(op, args)

    @impl(SubgraphOp)
    def run_manycore_subgraph(self, interpreter: Interpreter, op: SubgraphOp, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Run the body once."""
        return run_subgraph(interpreter, op, args)

    @impl(HostSliceOp)
    def run_host_slice(self, interpreter: Interpreter, op: HostSliceOp, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the block of the input."""
        starts, sizes = ints(op.starts), ints(op.sizes)
        return (strided(args[0], starts, sizes, (1,) * len(sizes)),)

    @impl(HostConcatOp)
    def run_host_concat(self, interpreter: Interpreter, op: HostConcatOp, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Concatenate the blocks in order."""
        return (np.concatenate(args, axis=0),)

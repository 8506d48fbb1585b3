"""Pass `dataflow-transpose-scans`: make the axis of steps the outermost in values that loops scan and stack."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ..analysis.planning.loops import is_in_rows, scan_shapes_fit
from ..analysis.semantic_effect import EXACT, SemanticEffect
from ..dialects.dataflow import Along, LoopOp, TransposeOp
from ..dialects.dataflow.types import shape_of
from ..dialects.locations import at
from .shared.kept_loops import may_stay_loop


class DataflowTransposeScansPass(ModulePass):
    """
    Transpose values that a loop scans or stacks along an inner axis, such as batches of sequences with the batch first:
    scanned values are transposed before the loop, so that the axis of steps is the first one, and stacked values are
    transposed back after it. Cores can then execute the loop, as the value of each step is contiguous in memory. Loops
    that have to be unrolled for another reason do not change.
    """

    name = "dataflow-transpose-scans"
    semantic_effect: ClassVar[SemanticEffect] = EXACT

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        transpose_scans(op)


def transpose_scans(module: ModuleOp) -> None:
    """Rewrite all loops of a module as the pass does."""
    for loop in [inner for inner in module.walk() if isinstance(inner, LoopOp)]:
        if not scan_shapes_fit(loop) and may_stay_loop(loop):
            with at(loop):
                _transpose(loop)


def _transpose(loop: LoopOp) -> None:
    """Replace a loop by one with the same body that scans and stacks along the first axis."""
    scanned = [_rows(loop, value, along) for value, along in zip(loop.scanned, loop.scans, strict=True)]
    inner = [not is_in_rows(shape_of(one), along) for one, along in zip(loop.stacked, loop.stacks, strict=True)]
    stacked = [_first(along) if moves else along for moves, along in zip(inner, loop.stacks, strict=True)]
    body = loop.detach_region(loop.body)
    new = LoopOp(loop.step_count, loop.initial, scanned, stacked, body, loop.ending)
    new.attributes.update(loop.attributes)
    Rewriter.insert_op(new, InsertPoint.before(loop))
    results: list[SSAValue] = list(new.outputs)
    after = InsertPoint.after(new)
    for position, (moves, along) in enumerate(zip(inner, loop.stacks, strict=True), len(loop.initial)):
        if moves:
            rank = len(shape_of(results[position]))
            results[position] = _add(results[position], _moved(0, along.axis, rank), after)
    for old, result in zip(loop.outputs, results, strict=True):
        result.name_hint = old.name_hint
        old.replace_all_uses_with(result)
    Rewriter.erase_op(loop)


def _rows(loop: LoopOp, value: SSAValue, along: Along) -> tuple[SSAValue, Along]:
    """A scanned value and its arrangement, transposed if its first axis is not that of steps."""
    shape = shape_of(value)
    if is_in_rows(shape, along):
        return value, along
    return _add(value, _moved(along.axis, 0, len(shape)), InsertPoint.before(loop)), _first(along)


def _first(along: Along) -> Along:
    return Along(0, along.backwards)


def _moved(source: int, target: int, rank: int) -> list[int]:
    """The permutation that moves an axis and keeps the others in order."""
    axes = [axis for axis in range(rank) if axis != source]
    axes.insert(target, source)
    return axes


def _add(value: SSAValue, permutation: Sequence[int], point: InsertPoint) -> SSAValue:
    op: Operation = TransposeOp(value, permutation)
    Rewriter.insert_op(op, point)
    return op.results[0]

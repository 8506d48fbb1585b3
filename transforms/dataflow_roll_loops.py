"""Pass `dataflow-roll-loops`: replace equal steps with the same weights by a loop (the inverse of unrolling)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import IsTerminator, is_side_effect_free

from ..analysis.semantic_effect import EXACT, SemanticEffect
from ..dialects.dataflow import ConstantOp, IotaOp, SliceOp, WeightOp
from ..dialects.dataflow.contraction import ContractionOp
from ..dialects.dataflow.entry_function import find_main
from ..dialects.dataflow.types import tensor_bytes, tensor_of
from ..dialects.manycore.stage import networks_of
from ..support.errors import InputError
from .shared.rolled_loop import RolledLoop, Step, rolled_loop

SOURCES = (ConstantOp, WeightOp, IotaOp)
"""Operations that do not belong to a step, whatever their position."""


@dataclass(frozen=True)
class DataflowRollLoopsPass(ModulePass):
    """
    Find operations of @main that are repeated for each step, as exporters and `dataflow-unroll-loops` write loops, and
    put a loop in their place: at least `steps` times the same operations in the same order, of which a product or
    convolution reads the same weights each time. An operand must be the same in all steps, be computed by the same step
    or by the previous one, or be a separate value per step, which is scanned. Steps that read nothing of the previous
    one do not become a loop. The equality of steps is proved, so that all values stay bit-identical.
    """

    name = "dataflow-roll-loops"
    semantic_effect: ClassVar[SemanticEffect] = EXACT

    steps: int = 3

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.steps < 2:
            raise InputError(f"steps={self.steps}: a loop has at least 2 steps")
        for network in networks_of(op):
            reroll_loops(find_main(network), self.steps)


def reroll_loops(function: FuncOp, least: int = 3) -> int:
    """Reroll the loops of a function with at least `least` steps. Returns the number of loops."""
    made = 0
    while (found := _best(function.body.block, least)) is not None:
        found.replace()
        made += 1
    return made


def _best(block: Block, least: int) -> RolledLoop | None:
    """The first possible loop, cut into steps so that it carries the fewest bytes."""
    ops = [op for op in block.ops if not isinstance(op, SOURCES) and not op.has_trait(IsTerminator)]
    numbers: dict[object, int] = {}
    forms = [numbers.setdefault(_form(op), len(numbers)) for op in ops]
    position = {op: number for number, op in enumerate(ops)}
    tried: set[tuple[int, int]] = set()
    for anchors in _anchors(block, position):
        for first, second in pairwise(anchors):
            period = second - first
            low, high = _equal_range(forms, anchors, first, period)
            if (low, period) in tried:
                continue
            tried.add((low, period))
            found = _cut(ops, low, high, period, least)
            if found is not None:
                return found
    return None


def _anchors(block: Block, position: dict[Operation, int]) -> Iterator[list[int]]:
    """For each value that several contractions read as their second operand, the positions of these contractions."""
    readers: dict[SSAValue, list[int]] = {}
    for op in block.ops:
        if isinstance(op, ContractionOp):
            readers.setdefault(op.operands[1], []).append(position[op])
    return (positions for positions in readers.values() if len(positions) > 1)


def _form(op: Operation) -> object:
    """
    The form of an operation, equal for corresponding operations of all steps: everything but the start of slices and
    the operands.
    """
    if op.regions or not is_side_effect_free(op):
        return op
    left_out = "starts" if isinstance(op, SliceOp) else ""
    properties = tuple((key, op.properties[key]) for key in sorted(op.properties) if key != left_out)
    types = tuple(value.type for value in op.operands), tuple(value.type for value in op.results)
    return op.name, properties, types


def _equal_range(forms: list[int], anchors: list[int], anchor: int, period: int) -> tuple[int, int]:
    """
    The largest range around an anchor in which each operation has the form of the one a period later, as far as there
    is an anchor in each period: following operations with other weights, as in another layer of equal sizes, belong to
    another loop.
    """
    first = last = anchor
    while first - period in anchors:
        first -= period
    while last + period in anchors:
        last += period
    low = high = anchor
    while low > max(0, first - period + 1) and forms[low - 1] == forms[low - 1 + period]:
        low -= 1
    while high < min(last, len(forms) - period) and forms[high] == forms[high + period]:
        high += 1
    return low, high


def _cut(ops: list[Operation], low: int, high: int, period: int, least: int) -> RolledLoop | None:
    """
    Cut a range of periodic operations into steps of `period` operations: the most steps, then the fewest carried bytes.

    The first step may have different operands (a step from zeros, for example): then the loop begins with the second.
    """
    most = (high - low) // period + 1
    for count in range(most, max(least, most - 2) - 1, -1):
        spare = high + period - low - count * period
        made = [rolled_loop(_steps(ops, start, period, count)) for start in range(low, low + spare + 1)]
        fits = [one for one in made if one is not None and one.carried]
        if fits:
            return min(fits, key=lambda one: sum(tensor_bytes(tensor_of(value)) for value in one.carried_initial))
    return None


def _steps(ops: list[Operation], start: int, period: int, count: int) -> list[Step]:
    return [Step(tuple(ops[start + number * period : start + (number + 1) * period])) for number in range(count)]

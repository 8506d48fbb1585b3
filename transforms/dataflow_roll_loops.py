"""Pass `dataflow-roll-loops`: what was unrolled, equal steps with the same weights, becomes a loop again."""

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
from ..support.errors import InputError
from .shared.rolled_loop import RolledLoop, Step, rolled_loop

SOURCES = (ConstantOp, WeightOp, IotaOp)
"""Operations that stand anywhere: they belong to no step."""


@dataclass(frozen=True)
class DataflowRollLoopsPass(ModulePass):
    """
    Find operations of @main that stand there once for each step, as exporters and `dataflow-unroll-loops` write loops,
    and put a loop in their place: at least `steps` times the same operations in the same order, of which a product or
    convolution reads the same weights each time. What a step reads must be the same in all of them, be computed by the
    same step or by the one before, or be a value of its own, which is scanned. Everything is compared, so that each
    value stays what it was, bit by bit.
    """

    name = "dataflow-roll-loops"
    semantic_effect: ClassVar[SemanticEffect] = EXACT

    steps: int = 3

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.steps < 2:
            raise InputError(f"steps={self.steps}: a loop has 2 steps at least")
        reroll_loops(find_main(op), self.steps)


def reroll_loops(function: FuncOp, least: int = 3) -> int:
    """Roll up what can be of a function, of at least so many steps; how many loops that makes."""
    made = 0
    while (found := _best(function.body.block, least)) is not None:
        found.replace()
        made += 1
    return made


def _best(block: Block, least: int) -> RolledLoop | None:
    """The first loop that can be made, and of the ways to cut it into steps the one that carries the fewest bytes."""
    ops = [op for op in block.ops if not isinstance(op, SOURCES) and not op.has_trait(IsTerminator)]
    numbers: dict[object, int] = {}
    forms = [numbers.setdefault(_form(op), len(numbers)) for op in ops]
    place = {op: number for number, op in enumerate(ops)}
    tried: set[tuple[int, int]] = set()
    for anchors in _anchors(block, place):
        for first, second in pairwise(anchors):
            period = second - first
            low, high = _equal_range(forms, first, period)
            if (low, period) in tried:
                continue
            tried.add((low, period))
            found = _cut(ops, low, high, period, least)
            if found is not None:
                return found
    return None


def _anchors(block: Block, place: dict[Operation, int]) -> Iterator[list[int]]:
    """For each value that several contractions read as their second operand, the places of these."""
    readers: dict[SSAValue, list[int]] = {}
    for op in block.ops:
        if isinstance(op, ContractionOp):
            readers.setdefault(op.operands[1], []).append(place[op])
    return (places for places in readers.values() if len(places) > 1)


def _form(op: Operation) -> object:
    """What operations of different steps have in common: all but where slices begin, and what is read."""
    if op.regions or not is_side_effect_free(op):
        return op
    left_out = "starts" if isinstance(op, SliceOp) else ""
    properties = tuple((key, op.properties[key]) for key in sorted(op.properties) if key != left_out)
    types = tuple(value.type for value in op.operands), tuple(value.type for value in op.results)
    return op.name, properties, types


def _equal_range(forms: list[int], first: int, period: int) -> tuple[int, int]:
    """The largest range around a place in which each operation has the form of the one a period later."""
    low = high = first
    while low > 0 and forms[low - 1] == forms[low - 1 + period]:
        low -= 1
    while high + period < len(forms) and forms[high] == forms[high + period]:
        high += 1
    return low, high


def _cut(ops: list[Operation], low: int, high: int, period: int, least: int) -> RolledLoop | None:
    """
    Steps of so many operations from the range on that has equal ones: the most steps, then the fewest carried bytes.

    The first step may differ in what it reads, as a step from zeros does: then the loop begins with the second.
    """
    most = (high - low) // period + 1
    for count in range(most, max(least, most - 2) - 1, -1):
        spare = high + period - low - count * period
        made = [rolled_loop(_steps(ops, start, period, count)) for start in range(low, low + spare + 1)]
        fits = [one for one in made if one is not None]
        if fits:
            return min(fits, key=lambda one: sum(tensor_bytes(tensor_of(value)) for value in one.carried_initial))
    return None


def _steps(ops: list[Operation], start: int, period: int, count: int) -> list[Step]:
    return [Step(tuple(ops[start + number * period : start + (number + 1) * period])) for number in range(count)]

"""
The choice of chains of operators that are computed stripe by stripe, so that the values between them stay in SRAM.

A *cascade* is a chain of operators that is run for one stripe of its result after the other. Its inner values are as
small as their stripes; because of windows, neighbouring stripes overlap, and the overlap is computed twice. Chains
begin and end at single live values (key nodes), and are chosen by dynamic programming over these. The time of a chain
is the larger of the times of its arithmetic and of its DRAM traffic, each divided evenly over the chip.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from ...chips import Chip
from ...chips.dram_ports import dram_rate
from ...dialects.dataflow.tiling import Box, TilingInterface, split_evenly
from ...dialects.dataflow.types import element_bytes, element_of, shape_of
from .grouping import group_operations
from .stripes import Stripe, add_need, operand_stripes, stripes_of, tile_of

COUNTS = (2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24)
"""Numbers of stripes that are tried."""
MOST_TASKS = 48
"""Largest number of tasks of a cascade in all its stripes, each of which has separate code."""
MOST_REPEATED = 2.0
"""Largest work of a cascade relative to that of the chain; longer chains only repeat more."""


@dataclass(frozen=True)
class Cascade:
    """A chain of operators that is run stripe by stripe."""

    operators: tuple[Operation, ...]
    """In the block's order, without constants; the last one gives the result."""
    axis: int
    """The dimension of the result along which it is cut."""
    count: int
    """Number of stripes."""

    @property
    def result(self) -> SSAValue:
        """The value that is computed in stripes."""
        return self.operators[-1].results[0]


@dataclass(frozen=True)
class CascadePlan:
    """Cascades of a block; their operators are disjoint, in the block's order."""

    cascades: tuple[Cascade, ...]
    cycles: float
    """Estimated time of the block."""
    plain_cycles: float
    """Estimated time of the block without cascades."""


def choose_cascades(block: Block, chip: Chip, share: float) -> CascadePlan:
    """
    The cascades of a block with which it is estimated to take the least time, if values stay in SRAM up to `share` of
    it; none if there is no gain.
    """
    return _Chooser(block, chip, share * len(chip.usable_cores) * chip.sram_bytes).chosen()


@dataclass(frozen=True)
class _Plan:
    """The least time up to a key node."""

    cycles: float
    before: int = 0
    """Number of the key node at which the last chain begins."""
    axis: int = 0
    count: int = 1


@dataclass
class _Work:
    """The work of a chain: arithmetic (of one stripe) and bytes of the constants that it reads."""

    macs: float = 0
    vpu_ops: float = 0
    constants: float = 0
    operators: int = 0

    def add(self, op: TilingInterface, tile: Box) -> None:
        """Add an operator on a tile."""
        cost = op.cost(tile)
        self.macs += cost.macs if cost.matmul is not None else 0
        self.vpu_ops += cost.vpu_ops if cost.matmul is None else 0
        self.constants += sum(_bytes(v) for v in op.operands if isinstance(v.owner, Operation) and not v.owner.operands)
        self.operators += 1


@dataclass(frozen=True)
class _Chooser:
    block: Block
    chip: Chip
    capacity: float
    """Bytes of SRAM in which values may stay."""

    @cached_property
    def ops(self) -> list[Operation]:
        """The operators that compute from values, in order."""
        return [op for op in self.block.ops if op.operands and op is not self.block.last_op]

    @cached_property
    def stored_by(self) -> dict[Operation, SSAValue]:
        """The values that are stored, by the first operator of the task that computes them."""
        return {group[0]: group[-1].results[0] for group in group_operations(self.block)}

    @cached_property
    def stored(self) -> set[SSAValue]:
        """The values that are stored: results of tasks."""
        return set(self.stored_by.values())

    @cached_property
    def keys(self) -> list[int]:
        """
        Numbers of operators, ascending, before which a chain may begin or end: 0, and those before which the only live
        computed value is the result of the operator directly before, which is a task's result.
        """
        numbers = {op: number for number, op in enumerate(self.ops)}
        last_use: dict[SSAValue, int] = {
            value: max((numbers.get(use.operation, len(numbers)) for use in value.uses), default=-1)
            for op in self.ops
            for value in op.results
        }
        alive: set[SSAValue] = set()
        found = [0]
        for number, op in enumerate(self.ops):
            alive.difference_update([value for value in op.operands if last_use.get(value) == number])
            alive.update(value for value in op.results if last_use[value] > number)
            if len(op.results) == 1 and alive == {op.results[0]} and op.results[0] in self.stored:
                found.append(number + 1)
        return found

    def chosen(self) -> CascadePlan:
        """The best plan."""
        keys = self.keys
        plain = [self._plain(low, high) for low, high in pairwise(keys)]
        plain_cycles = sum(cycles for cycles, _ in plain)
        spilling = [number for number, (_, spills) in enumerate(plain) if spills]
        if not spilling:
            return CascadePlan((), plain_cycles, plain_cycles)
        plans = [_Plan(0.0)]
        for number, (cycles, _) in enumerate(plain):
            options = [_Plan(plans[number].cycles + cycles, number)]
            if spilling[0] <= number <= spilling[-1] + 1:
                options += self._cascades_to(number + 1, plans)
            options.sort(key=lambda plan: plan.cycles)
            plans.append(next(plan for plan in options if plan.count == 1 or self._is_possible(number + 1, plan)))
        made: list[Cascade] = []
        at = len(plans) - 1
        while at:
            plan = plans[at]
            if plan.count > 1:
                made.append(self._cascade(at, plan))
            at = plan.before
        return CascadePlan(tuple(reversed(made)), plans[-1].cycles, plain_cycles)

    def _cascade(self, end: int, plan: _Plan) -> Cascade:
        """The last chain of a plan up to a key node."""
        return Cascade(tuple(self.ops[self.keys[plan.before] : self.keys[end]]), plan.axis, plan.count)

    def _is_possible(self, end: int, plan: _Plan) -> bool:
        """Whether each stripe of the last chain of a plan can be cut; costs are those of the middle stripe."""
        cascade = self._cascade(end, plan)
        size = shape_of(cascade.result)[plan.axis]
        return all(
            stripes_of(cascade.operators, cascade.result, Stripe(plan.axis, low, low + extent)) is not None
            for low, extent in split_evenly(size, plan.count)
        )

    def _plain(self, low: int, high: int) -> tuple[float, bool]:
        """Cycles of operators that are run as a whole, one after the other; whether some result is stored in DRAM."""
        work, traffic, spills = _Work(), 0.0, False
        for op in self.ops[low:high]:
            if isinstance(op, TilingInterface):
                work.add(op, Box.whole([dim.size for dim in op.iteration_space()]))
                values = [value for value in dict.fromkeys(op.operands) if value in self.stored]
                moved = sum(_bytes(value) for value in values if not self._stays(value))
                traffic += moved
                if op.results[0] in self.stored and not self._stays(op.results[0]):
                    traffic += _bytes(op.results[0])
                    spills = True
        return self._cycles(work, 1, traffic + work.constants), spills

    def _stays(self, value: SSAValue) -> bool:
        """Whether a value stays in SRAM from its computation to its readers: half of SRAM is for their results."""
        return 2 * _bytes(value) <= self.capacity

    def _cascades_to(self, end: int, plans: Sequence[_Plan]) -> Iterator[_Plan]:
        """Plans whose last chain is a cascade that ends at a key node."""
        for axis, size in enumerate(shape_of(self._key_value(end))):
            for count in COUNTS:
                if 2 * count <= size:
                    yield from self._chains(end, axis, count, plans)

    def _chains(self, end: int, axis: int, count: int, plans: Sequence[_Plan]) -> Iterator[_Plan]:
        """
        Plans whose last chain is a cascade of `count` stripes, with every possible beginning. All stripes have the cost
        of the middle one.
        """
        result = self._key_value(end)
        size = shape_of(result)[axis]
        low = size * (count // 2) // count
        stripe = Stripe(axis, low, min(size, low + -(-size // count)))
        # The part of the result that stays in SRAM reduces the memory for stripes.
        kept, written = (_bytes(result), 0) if self._stays(result) else (0, _bytes(result))
        needed = {result: stripe}
        striped, whole, largest, alive, tasks = _Work(), _Work(), 0.0, self._stripe_bytes(result, stripe), 0
        begin = end - 1
        for number in range(self.keys[end] - 1, -1, -1):
            op = self.ops[number]
            if op.results and op.results[0] in needed:
                tile = tile_of(op, needed[op.results[0]]) if isinstance(op, TilingInterface) else None
                if tile is None or not isinstance(op, TilingInterface):
                    return
                striped.add(op, tile)
                whole.add(op, Box.whole([dim.size for dim in op.iteration_space()]))
                for value, read in zip(op.operands, operand_stripes(op, tile), strict=True):
                    before = self._stripe_bytes(value, needed.get(value))
                    if not add_need(needed, value, read) and _is_computed(value):
                        return
                    alive += self._stripe_bytes(value, needed.get(value)) - before
                largest = max(largest, alive + kept + striped.constants)
                if largest > self.capacity or count * striped.macs > MOST_REPEATED * whole.macs:
                    return
                stored = self.stored_by.get(op)
                tasks += count if stored is not None else 0
                if tasks > MOST_TASKS:
                    return
                if stored is not None and stored in needed:
                    alive -= self._stripe_bytes(stored, needed[stored])
            if number == self.keys[begin]:
                traffic = written + striped.constants + self._read(begin, needed, count, self.capacity - largest)
                cycles = plans[begin].cycles + self._cycles(striped, count, traffic)
                yield _Plan(cycles, begin, axis, count)
                begin -= 1

    def _key_value(self, key: int) -> SSAValue:
        """The value that is live at a key node other than the first."""
        return self.ops[self.keys[key] - 1].results[0]

    def _read(self, begin: int, needed: Mapping[SSAValue, Stripe], count: int, left: float) -> float:
        """Bytes of its initial value that a cascade reads from DRAM, if `left` bytes of SRAM are free."""
        values: set[SSAValue] = {value for value in needed if isinstance(value, BlockArgument)}
        if begin and not (self._stays(value := self._key_value(begin)) and _bytes(value) <= left):
            values.add(value)
        shares = (needed[value].elements(shape_of(value)) * _element(value) for value in values if value in needed)
        return count * sum(shares)

    def _stripe_bytes(self, value: SSAValue, stripe: Stripe | None) -> float:
        """Bytes of a stripe of a value that is a task's result; 0 for others."""
        if stripe is None or value not in self.stored:
            return 0.0
        return stripe.elements(shape_of(value)) * _element(value)

    def _cycles(self, work: _Work, count: int, traffic: float) -> float:
        """
        Cycles of a chain that repeats `work` `count` times, and moves `traffic` bytes: the maximum of both times, plus
        the latency of DRAM for each operator.
        """
        chip = self.chip
        cores = len(chip.usable_cores)
        longest = max(
            count * work.macs / (cores * chip.mpu_rows * chip.mpu_cols),
            count * work.vpu_ops / (cores * chip.vpu_lanes),
            traffic / dram_rate(chip),
        )
        return longest + count * work.operators * chip.dram_latency


def _element(value: SSAValue) -> int:
    return element_bytes(element_of(value))


def _bytes(value: SSAValue) -> int:
    return math.prod(shape_of(value)) * _element(value)


def _is_computed(value: SSAValue) -> bool:
    """Whether an operation computes a value from others: it is neither an argument nor a constant."""
    return isinstance(value.owner, Operation) and bool(value.owner.operands)

"""
Pass `manycore-split-reductions`: cut products along summed dimensions if that is better than along dimensions of the
result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import ceil, inf, prod
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ..analysis.planning.network_estimate import TaskWorks
from ..analysis.planning.network_plan import NetworkPlan
from ..analysis.planning.placement import column_major
from ..analysis.planning.plan_memo import PlanMemo
from ..analysis.planning.plan_network import WORKING_SHARE, plan_network
from ..analysis.planning.plan_task import TaskRequest, plan_task
from ..analysis.planning.reads import ReadKind
from ..analysis.planning.resident_values import in_cores, source_of
from ..analysis.planning.sram_budget import SramBudget
from ..analysis.planning.sram_layout import estimated_times, lay_out_sram
from ..analysis.planning.task_plan import Shortage, Source, TaskPlan, aligned
from ..analysis.semantic_effect import SemanticEffect, reassociating
from ..analysis.tasks.task_info import TaskInfo, value_bytes
from ..chips import Chip
from ..chips.cycles import load_cycles
from ..chips.dram_ports import dram_rate
from ..dialects.dataflow import ReduceOp, ints
from ..dialects.dataflow.contraction import Contraction, ConvOp, MatmulOp, held_in
from ..dialects.dataflow.entry_function import find_main
from ..dialects.dataflow.partial_conv import PartialConvOp
from ..dialects.dataflow.partial_matmul import PartialMatmulOp
from ..dialects.dataflow.reshape import ReshapeOp
from ..dialects.dataflow.types import Shape, element_of, shape_of, tensor
from ..dialects.locations import at
from ..dialects.manycore import TaskOp, TilingAttr, YieldOp
from ..dialects.manycore.stage import networks_of
from ..dialects.manycore.task_rules import body_operations
from ..support.errors import ResourceError
from .shared.chip_option import chip_for
from .shared.refuse_subgraphs import refuse_subgraphs

ACCEPT_RATIO = 0.95
"""Two tasks replace a task only if their estimated cycles are less than this share of its cycles."""
SECOND_TASK = 250
"""Cycles that an additional task costs in addition to its estimate."""
EXAMINED_TASKS = 2
"""How many numbers of parts are planned for a task."""
BOUND_RATIO = 1.3
"""A task whose cycles are within this factor of its lower bound is not examined."""
NETWORK_ACCEPT_RATIO = 0.998
"""
Products of matrices are split only if the estimated cycles of the whole network become less than this share of those
before: a loop may read the result of a split task in another distribution, which causes exchanges.
"""
PARTS_SUFFIX = ".parts"
"""Suffix of the name of a task of partial sums; the next task, which adds them up, keeps the name."""


@dataclass(frozen=True)
class ManycoreSplitReductionsPass(ModulePass):
    """
    Split a convolution or a product of matrices into two tasks if that is estimated to be faster: one computes partial
    sums, each over a part of the input channels or of K, the other adds these up and does the elementwise operations.
    Reductions to few elements are split as well: the first task reduces all axes except one.

    Tasks must not be tiled yet. Each core then reads different values, instead of all cores the same ones, and more
    neighbouring columns of a matrix of weights.
    """

    name = "manycore-split-reductions"
    semantic_effect: ClassVar[SemanticEffect] = reassociating(1e-4)

    chip: str | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        refuse_subgraphs(op, self.name)
        for network in networks_of(op):
            split_reductions(find_main(network), chip_for(network, self.chip, f"{self.name}{{chip=NAME}}"))


def split_reductions(function: FuncOp, chip: Chip, memo: PlanMemo | None = None) -> int:
    """
    Split the reductions of a function of untiled tasks if it pays. Returns how many were split.

    `memo`: for planning the function afterwards. Raises as `plan_network`.
    """
    memo = PlanMemo() if memo is None else memo
    network = plan_network(function, chip, column_major(chip), memo)
    splits = [_best_split(network, number, chip, memo) for number in range(len(network.tasks))]
    found = [split for split in splits if split is not None]
    convs = [split for split in found if split.is_conv]
    others = [split for split in found if not split.is_conv]
    for split in convs:
        split.carry_out()
    if others and convs:
        network = plan_network(function, chip, column_major(chip), memo)
    before = _network_cycles(network, chip) if others else inf
    for split in others:
        split.carry_out()
    if others and _planned_cycles(function, chip, memo) >= NETWORK_ACCEPT_RATIO * before:
        for split in others:
            split.revert()
        others = []
    return len(convs) + len(others)


def _planned_cycles(function: FuncOp, chip: Chip, memo: PlanMemo) -> float:
    """Estimated cycles of the tasks of a function as they would be planned."""
    return _network_cycles(plan_network(function, chip, column_major(chip), memo), chip)


def _network_cycles(network: NetworkPlan, chip: Chip) -> float:
    """
    Estimated cycles of the whole network. They are fewer than the sum over all tasks if tasks wait for DRAM together,
    and more if a loop reads a result that is distributed in another way.
    """
    works = TaskWorks(network)
    try:
        return sum(estimated_times(network, lay_out_sram(network, chip, works), chip, works))
    except ResourceError:
        return inf


@dataclass(frozen=True)
class _Split:
    """The two tasks that may replace a task; they are not inserted yet."""

    task: TaskOp
    first: TaskOp
    total: TaskOp
    reshaped: ReshapeOp | None
    """The reshape of the sum to the shape of the result, if that has one dimension less."""

    @property
    def ops(self) -> list[Operation]:
        """The new operations, in order."""
        return [self.first, self.total, *([] if self.reshaped is None else [self.reshaped])]

    @property
    def is_conv(self) -> bool:
        """Whether the split operation is a convolution."""
        return any(isinstance(op, PartialConvOp) for op in self.first.body.block.ops)

    def carry_out(self) -> None:
        Rewriter.insert_op(self.ops, InsertPoint.before(self.task))
        self.ops[-1].results[0].name_hint = self.task.results[0].name_hint
        self.task.results[0].replace_all_uses_with(self.ops[-1].results[0])
        self.task.detach()

    def revert(self) -> None:
        """Undo `carry_out`."""
        Rewriter.insert_op(self.task, InsertPoint.before(self.first))
        self.ops[-1].results[0].replace_all_uses_with(self.task.results[0])
        for op in reversed(self.ops):
            Rewriter.erase_op(op)

    def drop(self) -> None:
        for op in reversed(self.ops):
            op.erase()


def _best_split(network: NetworkPlan, number: int, chip: Chip, memo: PlanMemo) -> _Split | None:
    info, plan = network.tasks[number], network.plans[number]
    cuts = _cuts(info, chip)
    if not cuts or not plan.resident or plan.cycles < BOUND_RATIO * _bound(info, plan, chip):
        return None
    best: _Split | None = None
    least = ACCEPT_RATIO * plan.cycles - SECOND_TASK
    for cut in cuts:
        with at(info.op):
            split = _split(info, cut)
        cycles = _cycles(network, number, split, cut.parts, chip, least, memo)
        if cycles is not None:
            if best is not None:
                best.drop()
            best, least = split, cycles
        else:
            split.drop()
    return best


def _bound(info: TaskInfo, plan: TaskPlan, chip: Chip) -> float:
    """Lower bound of the task's cycles, over all tilings."""
    macs = prod(info.sizes) / (len(chip.usable_cores) * chip.mpu_rows * chip.mpu_cols)
    values = {info.operands[read.read.operand] for read in plan.reads if read.kind is ReadKind.STREAM}
    return max(macs, sum(prod(shape_of(value)) * value_bytes(value) for value in values) / dram_rate(chip))


@dataclass(frozen=True)
class _Cut:
    """A way to replace a reducing operation by two operations."""

    partial: Callable[[], Operation]
    """Creates the first operation, on the same operands."""
    total: Callable[[SSAValue], ReduceOp]
    """Creates the second operation, on the result of the first."""
    parts: int | None = None
    """The number of parts into which the grid of the first task must cut its first dimension; None: any."""


def _cuts(info: TaskInfo, chip: Chip) -> list[_Cut]:
    """The most promising cuts for a task; empty for tasks that cannot be cut."""
    op = info.root
    if isinstance(op, ReduceOp):
        return _cuts_of_reduction(op, chip)
    product = _product_of(op)
    # Slices have the shape of the root's result, which gets one more dimension if a product of matrices is cut.
    has_views = any(info.is_view(number) for number in range(1, len(info.body)))
    if product is None or (has_views and isinstance(op, MatmulOp)):
        return []
    return [
        _Cut(partial(_partial_sums, product.op, parts), lambda sums: ReduceOp(sums, "sum", [0]), parts)
        for parts in _candidates(product, chip)
    ]


def _cuts_of_reduction(op: ReduceOp, chip: Chip) -> list[_Cut]:
    """
    Cuts of a reduction whose result has fewer elements than there are cores: one axis is divided over the cores; the
    first operation reduces all other axes, the second one this axis.
    """
    shape, axes = op.operand_shape(0), ints(op.axes)
    long = [axis for axis in axes if shape[axis] > 1]
    if prod(op.result_shape) >= len(chip.usable_cores) or len(long) < 2:
        return []
    enough = [axis for axis in long if shape[axis] >= len(chip.usable_cores)]
    kept = enough[0] if enough else max(long, key=lambda axis: shape[axis])
    others = [axis for axis in axes if axis != kept]
    return [_Cut(lambda: ReduceOp(op.operand, op.kind, others), lambda parts: ReduceOp(parts, op.kind, [kept]))]


@dataclass(frozen=True)
class _Product:
    """A contraction as the product of two matrices: [rows, summed x taps] x [summed x taps, columns]."""

    op: Contraction
    rows: int
    columns: int
    summed: int
    """Size of the dimension that is cut: input channels, or K."""
    taps: int
    """Number of positions of the kernel."""


def _product_of(op: Operation) -> _Product | None:
    """The product that an operation computes; None for operations that cannot be cut."""
    match op:
        case ConvOp() if op.group_count == 1 and op.operand_shape(0)[0] == 1 and not op.padding:
            return _Product(op, prod(op.result_shape[2:]), op.result_shape[1], op.group_channels, prod(op.kernel))
        case MatmulOp() if len(op.operand_shape(0)) == len(op.operand_shape(1)) == 2 and op.nonzero is None:
            rows, columns = op.result_shape
            return _Product(op, rows, columns, op.iteration_space()[-1].size, 1)
        case _:
            return None


def _candidates(product: _Product, chip: Chip) -> list[int]:
    """The most promising numbers of parts among those that fill the rows of the matrix unit."""
    in_pairs = any(held_in(value) == 2 for value in product.op.operands)
    found: list[tuple[float, int]] = []
    parts = 2
    while parts <= len(chip.usable_cores):
        size, rest = divmod(product.summed, parts)
        if not rest and not (in_pairs and size % 2) and size * product.taps >= chip.mpu_rows:
            found.append((_rough_cycles(product, parts, chip), parts))
        parts *= 2
    return [parts for _, parts in sorted(found)[:EXAMINED_TASKS]]


def _rough_cycles(product: _Product, parts: int, chip: Chip) -> float:
    """
    Rough cycles of matrix unit and network-on-chip, with the other dimensions cut optimally over the remaining cores.
    """
    summed, item = product.summed // parts, value_bytes(product.op.operands[0])
    folds, fill = ceil(summed * product.taps / chip.mpu_rows), load_cycles(chip)
    best = inf
    cut, others = 1, len(chip.usable_cores) // parts
    while cut <= others:
        m, n = ceil(product.rows * cut / others), ceil(product.columns / cut)
        passes = min(ceil(n / chip.mpu_cols) * (m + fill), ceil(m / chip.mpu_cols) * (n + fill))
        best = min(best, folds * passes + (summed + n) * m * item / chip.link_bytes_per_cycle)
        cut *= 2
    return best


def _partial_sums(op: Contraction, parts: int) -> PartialConvOp | PartialMatmulOp:
    return PartialConvOp.of(op, parts) if isinstance(op, ConvOp) else PartialMatmulOp.of(op, parts)


def _split(info: TaskInfo, cut: _Cut) -> _Split:
    op = info.root
    outside: dict[SSAValue, SSAValue] = dict(zip(info.op.body.block.args, info.operands, strict=True))
    block = Block(arg_types=[value.type for value in op.operands])
    with at(op):
        made = cut.partial()
    sums = made.clone(dict(zip(op.operands, block.args, strict=True)))
    made.erase()
    first = _task(info.name + PARTS_SUFFIX, [outside[value] for value in op.operands], block, [sums])
    epilogue = info.body[1:]
    taken = dict.fromkeys(value for one in epilogue for value in one.operands if isinstance(value, BlockArgument))
    block = Block(arg_types=[first.results[0].type, *(value.type for value in taken)])
    with at(op):
        total = cut.total(block.args[0])
    mapping: dict[SSAValue, SSAValue] = {**dict(zip(taken, block.args[1:], strict=True)), op.results[0]: total.result}
    constants = [one.clone(mapping) for one in info.op.immediates]
    is_lifted = len(shape_of(total.result)) > len(shape_of(op.results[0]))
    rest = _lifted(epilogue, mapping, shape_of(total.result)) if is_lifted else (one.clone(mapping) for one in epilogue)
    task = _task(info.name, [first.results[0], *(outside[value] for value in taken)], block, [*constants, total, *rest])
    with at(op):
        reshaped = ReshapeOp(task.results[0], shape_of(info.result)) if is_lifted else None
    return _Split(info.op, first, task, reshaped)


def _lifted(ops: Sequence[Operation], mapping: dict[SSAValue, SSAValue], shape: Shape) -> Iterator[Operation]:
    """The elementwise operations on values of this shape, which has an additional first dimension of size 1."""
    for op in ops:
        made = op.clone(mapping)
        result = made.results[0]
        if any(shape_of(value) == shape for value in made.operands):
            Rewriter.replace_value_with_new_type(result, tensor(element_of(result), shape))
            mapping[op.results[0]] = made.results[0]
        yield made


def _task(name: str, operands: Sequence[SSAValue], block: Block, body: Sequence[Operation]) -> TaskOp:
    """An untiled task."""
    result = body[-1].results[0]
    block.add_ops([*body, YieldOp(result)])
    rank = len(body_operations(block)[0].iteration_space())
    tiling = TilingAttr((1,) * rank, (0,), (1,) * rank, tuple(range(rank)))
    return TaskOp(name, operands, [result.type], tiling, Region(block))


def _cycles(
    network: NetworkPlan, number: int, split: _Split, parts: int | None, chip: Chip, limit: float, memo: PlanMemo
) -> float | None:
    """
    Estimated cycles of both tasks with the values resident at that time; None if they are not below `limit`, or the
    sums do not stay in the cores.
    """
    resident = in_cores(network.tasks, network.plans[:number], network.last_use)
    held = sum(aligned(plan.tile_bytes) for plan in resident.values())
    available = int(chip.sram_bytes * WORKING_SHARE) - held
    place = column_major(chip)
    first, second = memo.info(split.first), memo.info(split.total)
    sources = [source_of(value, resident) for value in first.operands]

    def in_parts(grid: tuple[int, ...]) -> bool:
        return parts is None or grid[0] == parts

    partial = TaskRequest(first, chip, sources, lambda held: True, place, in_parts)

    def plan_partial(budget: SramBudget) -> TaskPlan | Shortage:
        return plan_task(partial, budget, limit)

    planned = memo.plan(first, sources, available, ("partial", limit), plan_partial)
    if not isinstance(planned, TaskPlan) or not planned.resident:
        return None
    sources = [
        Source(planned.distribution, False) if value is first.result else source_of(value, resident)
        for value in second.operands
    ]
    available -= aligned(planned.tile_bytes)
    limit -= planned.cycles

    whole = TaskRequest(second, chip, sources, lambda held: True, place)

    def plan_total(budget: SramBudget) -> TaskPlan | Shortage:
        return plan_task(whole, budget, limit)

    total = memo.plan(second, sources, available, ("total", limit), plan_total)
    return planned.cycles + total.cycles if isinstance(total, TaskPlan) else None

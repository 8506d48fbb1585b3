"""
Estimated cycles of tasks, from their tiles only: instructions take the cycles that the emulator counts
(`chips.cycles`), and a task is run step by step on clocks of the units, the network and DRAM.

The choice of a tiling runs a task in isolation; `network_estimate` runs all tasks of a network one after another on the
same clocks, so that loads of later tasks overlap with the work of earlier ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...chips import Chip
from ...chips.cycles import RATE_BY_WIDTH, STARTUP, matmul_cycles, shared_product, vector_cycles
from ...chips.dram_ports import port_of_core, port_rate
from ...dialects.coreasm import isa
from ...dialects.dataflow.tiling import Box, OpCost, Unit
from ...dialects.manycore import Tiling
from ..sparse.product_cycles import dense_weights_cycles, product_cycles
from ..tasks.task_info import TaskInfo, value_bytes
from .clock_kernels import WORK, run_each
from .reads import ReadSize
from .shared_groups import SAME_SUMS, shared_groups

PASS_THROUGH = 2
"""Factor of the cost of a result in DRAM, whose bytes are transferred twice: when it is stored, and when it is read."""
HANDSHAKE = 30
"""Cycles from the end of the work that an exchange waits for to its first byte, and from its last byte to its use."""
MESSAGE = 15
"""Fixed cycles of the network for an exchange, in addition to those of its bytes."""
NEIGHBOURS = 0.7
"""
The price of a task includes this share of its DRAM and network time that overlaps its work, since neighbouring tasks
cannot use them.
"""
ROUNDING = 0.99
"""
Factor by which a lower bound from one step is reduced: several steps may take 0.2% less, as the cycles of each are
rounded.
"""
_UNITS = {unit.name: int(unit) for unit in isa.Unit}
Sizes = tuple[int, int, int, int]
"""(batch, M, K, N) of matrix products."""


def op_cycles(cost: OpCost, chip: Chip, item_bytes: int) -> tuple[Unit, int]:
    """The unit that runs one tile (instruction selection takes the faster one), and its cycles."""
    item_bytes = cost.item_bytes or item_bytes
    rate = RATE_BY_WIDTH.get(item_bytes, 1)
    if cost.encoded is not None:
        return cost.unit, round(cost.encoded.products * product_cycles(chip, cost.encoded, rate))
    if (shared := shared_groups(cost, chip, item_bytes)) is not None:
        return "VPU", shared[1]
    if cost.matmul is not None:
        product = max(1, round(_products(cost.matmul, cost.window, lambda sizes: _product(chip, rate, sizes))))
        if cost.nonzero.has_zeros:
            skipping = _products(
                cost.matmul,
                cost.window,
                lambda sizes: dense_weights_cycles(chip, sizes, rate, cost.nonzero, cost.bytes_moved),
            )
            product = min(product, round(skipping))
        dot = vector_cycles(chip, rate, cost.macs, 1, cost.macs * item_bytes)
        if cost.in_two_sums:
            _, _, k, n = cost.matmul
            dot = shared_product(chip, k, n)[1]
        if cost.widened is not None:
            elements, nbytes = cost.widened
            widening = vector_cycles(chip, RATE_BY_WIDTH[1], elements, 1, nbytes)
            # With the matrix unit, slices are widened while others are multiplied; the vector unit does both in turn.
            product, dot = max(product, widening), dot + widening
        # The sums of both units are equal for f32 and for 8-bit integers.
        on_vector = item_bytes in SAME_SUMS and dot < product
        return ("VPU", dot) if on_vector else ("MPU", product)
    if cost.mapped is not None:
        elements, nbytes = cost.mapped
        looking, moving = -(-elements // chip.map_encode_elements), -(-nbytes // chip.map_bytes_per_cycle)
        return cost.unit, STARTUP + max(looking, moving)
    if cost.unit == "DAU":
        moved = -(-cost.bytes_moved // (2 * item_bytes))
        return "DAU", vector_cycles(chip, rate, moved, 1, moved * item_bytes)
    return "VPU", vector_cycles(chip, rate, cost.vpu_ops, 1, cost.vpu_ops * item_bytes)


def _product(chip: Chip, rate: int, sizes: Sizes) -> float:
    """Cycles of matrix products, with either operand held."""
    batch, m, k, n = sizes
    return min(matmul_cycles(chip, rate, batch, m, k, n), matmul_cycles(chip, rate, batch, n, k, m))


def _products(sizes: Sizes, window: tuple[Sequence[int], Sequence[int]], cycles: Callable[[Sizes], float]) -> float:
    """
    Cycles of matrix products whose first operand may have more dimensions than an instruction can address: those beyond
    become a loop, the cheapest first, as in instruction selection (`lowering/codegen/access_plans.py`).
    """
    batch, m, k, n = sizes
    rows, depth = ([size for size in own if size > 1] for own in window)
    if (batch > 1) + len(rows) + len(depth) <= isa.MAX_DIMS:
        return cycles(sizes)
    options = [(batch, (1, m, k, n), window)] if batch > 1 else []
    options += [(size, (batch, m // size, k, n), (_without(rows, size), depth)) for size in rows]
    options += [(size, (batch, m, k // size, n), (rows, _without(depth, size))) for size in depth]
    times, inner, left = min(options, key=lambda option: option[0] * cycles(option[1]))
    return times * _products(inner, left, cycles)


def _without(sizes: Sequence[int], size: int) -> list[int]:
    at = sizes.index(size)
    return [*sizes[:at], *sizes[at + 1 :]]


class StepWork(NamedTuple):
    """Cycles of the operations of one step."""

    unit: Unit
    """The unit of the root."""
    root: int
    rest: int
    """Cycles of the vector unit after the root, if no later step adds to the result."""
    begun: int
    """Cycles of the vector unit for the sum of the addends (`TaskInfo.addends`), which does not wait for the root."""


NO_WORK = StepWork("VPU", 0, 0, 0)


def step_work(info: TaskInfo, step: Box, chip: Chip) -> StepWork:
    """Cycles of the operations of a task's body for one step, which depend only on the step's sizes."""
    return info.once(("work", step.sizes), lambda: _step_work(info, step, chip)) if step.volume else NO_WORK


def _step_work(info: TaskInfo, step: Box, chip: Chip) -> StepWork:
    first = value_bytes(info.root.operands[0]) if info.root.operands else info.value_bytes[0]
    unit, root = op_cycles(info.cost(0, step), chip, first)
    early = {number for number, _ in info.addends}
    cycles = [0, 0]
    for number in range(1, len(info.body)):
        if not info.is_view(number):
            _, own = op_cycles(info.cost(number, step), chip, info.value_bytes[number])
            cycles[number in early] += own
    return StepWork(unit, root, *cycles)


@lru_cache(1024)
def dram_bandwidth(chip: Chip, cores: tuple[int, ...]) -> float:
    """Bytes per cycle that these cores together read from DRAM."""
    ports = {port_of_core(chip, core) for core in cores}
    return min(len(ports) * port_rate(chip), len(cores) * chip.link_bytes_per_cycle)


class TaskWork(NamedTuple):
    """The work of a task on its busiest core, and its transfers, in cycles."""

    step: StepWork
    steps: int
    outputs: int
    """Number of parts of the result, each computed by equally many steps."""
    prepare: int
    """Vector unit: padding, and copies of the gathered values that a core holds itself."""
    gather: float
    """Network: data that the first step needs from other cores."""
    arriving: float
    """Network: data that later steps need from other cores."""
    constants: float
    """DRAM: constants of the first step."""
    values: float
    """DRAM: other values of the first step."""
    later: float
    """DRAM: loads of one later step."""
    passed_constants: float
    """Network: constants that cores multicast to others, per step."""
    passed_values: float
    """Network: other values from DRAM that cores multicast, per step."""
    stored: float
    """DRAM: one part of the result."""
    serial: bool = False
    """Whether the root of a part waits for the epilogue of the previous part, which works on the same memory."""
    parts: int = 0
    """Number of parts in which gathered values arrive. Each arrives after its buffer is prepared; 0: no gather."""
    later_constants: float = 0.0
    """DRAM: the constants in `later`."""
    early: int = 1
    """Number of first steps whose constants are loaded together, into separate buffers."""
    crossing: tuple[tuple[float, float], ...] = ()
    """
    (share of DRAM's reads, share of the time of an exchange) of links that gathers share with reads from DRAM (see
    `exchange_time`).
    """

    @property
    def own_dram(self) -> float:
        """Cycles of DRAM for its own loads and stores."""
        return self.constants + self.values + self.later * (self.steps - 1) + self.stored * self.outputs

    @property
    def dram(self) -> float:
        """As `own_dram`, plus the loads by readers of the result."""
        return self.own_dram + (PASS_THROUGH - 1) * self.stored * self.outputs

    @property
    def network(self) -> float:
        """Total cycles of the network."""
        return self.gather + self.arriving + (self.passed_constants + self.passed_values) * self.steps

    @property
    def computing(self) -> float:
        """Cycles of the busiest unit."""
        step = self.step
        vector = self.prepare + (step.rest + step.begun) * self.outputs
        root = step.root * self.steps
        return float(vector + root) if step.unit == "VPU" else float(max(vector, root))


class Gather(NamedTuple):
    """The values that a task gathers from other cores, in cycles."""

    prepare: int
    """Vector unit: padding, and copies of the gathered values that a core holds itself."""
    first: float
    """Network: data that the first step needs."""
    later: float
    """Network: data that later steps need."""


def task_work(
    step: StepWork,
    tiling: Tiling,
    outputs: int,
    gather: Gather,
    reads: Sequence[tuple[ReadSize, bool]],
    result_bytes: float,
    chip: Chip,
) -> TaskWork:
    """
    The work of a task from that of a step, the number of steps that compute different parts of the result, and its
    reads (size, whether it is a constant); `result_bytes` are stored to DRAM, 0 if the result stays.
    """
    steps, bandwidth = tiling.step_count, dram_bandwidth(chip, tiling.cores)
    first, passed, later = [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]
    for size, constant in reads:
        once = size.dram_bytes / size.versions
        first[constant] += once
        later[constant] += size.dram_bytes - once
        passed[constant] += size.received_bytes / chip.link_bytes_per_cycle / steps
    return TaskWork(
        step, steps, outputs, *gather, first[True] / bandwidth, first[False] / bandwidth,
        sum(later) / bandwidth / max(1, steps - 1), passed[True], passed[False], result_bytes / outputs / bandwidth,
        later_constants=later[True] / bandwidth / max(1, steps - 1),
    )  # fmt: skip


@lru_cache(64)
def clock_rates(chip: Chip, before: float, after: float, message: float) -> NDArray[np.float64]:
    """
    [4] cycles before an exchange begins, after it, fixed cycles of the network; and the latency of DRAM reads over half
    the chip.
    """
    latency = chip.dram_latency + chip.hop_cycles * (chip.rows + chip.cols) / 2
    return np.array([before, after, message, latency])


def task_arrays(works: Sequence[TaskWork]) -> tuple[NDArray[np.void], NDArray[np.float64]]:
    """The work of tasks as arrays for the kernels: [tasks] WORK, and the rows of `crossing`, task by task."""
    rows = [(_UNITS[work.step.unit], *work.step[1:], *work[1:-1]) for work in works]
    links = [link for work in works for link in work.crossing]
    return np.array(rows, WORK), np.array(links, np.float64).reshape(-1, 2)


def run_alone(tasks: Sequence[TaskWork], chip: Chip) -> list[float]:
    """The completion time of each task in isolation, with operands and first constants complete at 0."""
    works, crossing = task_arrays(tasks)
    starts = np.array([0, *accumulate([len(task.crossing) for task in tasks])])
    return run_each(clock_rates(chip, HANDSHAKE, HANDSHAKE, MESSAGE), works, crossing, starts).tolist()


def least_price(work: TaskWork) -> float:
    """
    Lower bound of the prices (see `alone`) of a task's plans that have more steps than that with this work. Constants
    that cores forward to each other are not counted: in other steps each core may load them all itself.
    """
    times = work.computing, work.dram, work.gather + work.arriving
    return ROUNDING * (max(times) + NEIGHBOURS * (sum(times) - max(times)))


class Pricing(StrEnum):
    """How the time of links is counted in the price of a task, besides the cycles that it takes in isolation."""

    HIDDEN = "hidden"
    """Constants that cores forward to each other arrive while other tasks compute."""
    BUSY = "busy"
    """Links are busy with other tasks as well: a task takes at least as long as its messages."""


def alone(tasks: Sequence[TaskWork], chip: Chip, pricing: Pricing = Pricing.HIDDEN) -> list[float]:
    """
    The price of each task: its cycles in isolation with its first constants loaded before, but at least its DRAM time,
    and with `Pricing.BUSY` also at least the time of its messages; plus a share of its DRAM and network time that
    overlaps these cycles.
    """
    found: list[float] = []
    for task, cycles in zip(tasks, run_alone(tasks, chip), strict=True):
        times = (task.computing, task.dram, task.network)
        least = max(cycles, task.dram, task.network if pricing is Pricing.BUSY else 0.0)
        found.append(least + NEIGHBOURS * (sum(times) - max(times)))
    return found

"""The plan of one task: its tiling, with all that follows from it, or the reason why no tiling fits."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar, cast

from ...chips import Chip
from ...dialects.manycore import Tiling
from ...support.records import lazy, quick_init
from ..tasks.task_info import TaskInfo
from .estimate import Pricing, TaskWork, alone, least_price
from .reads import ReadPlan, ReadSize, last_tile, measure_kept
from .storage import Distribution

T = TypeVar("T")

ALIGNMENT = 64
"""Bytes to which buffers in SRAM are aligned."""


def aligned(size: int) -> int:
    """`size` rounded up to the alignment."""
    return (size + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT


@quick_init
@dataclass(frozen=True)
class Source:
    """The source of an operand: its distribution over the cores (None: DRAM), and whether it is a constant."""

    distribution: Distribution | None
    constant: bool
    keep: bool = False
    """Whether it is a constant that is kept in the cores for later tasks."""


@quick_init
@dataclass(frozen=True)
class TaskPlan:
    """A tiling with everything derived from it."""

    tiling: Tiling
    reads: tuple[ReadPlan, ...]
    sizes: tuple[ReadSize, ...]
    keeps_constants: bool
    """Whether constants of all steps are loaded before the first."""
    slots: int
    """Number of buffers of each read that changes during the task (2: double-buffered)."""
    resident: bool
    """Whether the result stays in the cores."""
    tile_bytes: int
    """Bytes of the largest tile of the result."""
    step_elements: int
    """Elements of the result of the largest step."""
    scratch_bytes: int
    """Bytes of scratch memory that the instructions of a step need in addition to all values."""
    working_bytes: int
    """SRAM of the busiest core that the task needs in addition to resident values, including its result."""
    count_work: Callable[[Sequence[ReadSize]], TaskWork] = field(repr=False, compare=False)
    """Computes `work` on demand, since plans that do not fit never need it."""
    info: TaskInfo = field(repr=False, compare=False)
    """The task, or one with the same operations."""
    chip: Chip = field(repr=False, compare=False)
    matrix_work: float = 0.0
    """The weight of the work of matrix units; see `price`."""
    fitting_steps: int = 1
    """Number of steps of the first plan that fitted; more steps are for speed."""
    pricing: Pricing = field(default=Pricing.HIDDEN, compare=False)
    """The pricing of `cycles`."""

    @lazy
    def work(self) -> TaskWork:
        """The work on its busiest core."""
        return self.count_work(self.sizes)

    @lazy
    def cycles(self) -> float:
        """Estimated cycles in isolation."""
        return alone([self.work], self.chip, self.pricing)[0]

    @lazy
    def price(self) -> float:
        """
        The criterion by which plans of a task are compared: the cycles, and for encoded weights a share of the mean
        matrix unit's.

        Weights of low density are multiplied quickly, so that a layer mostly waits for memory, and cycles hardly
        distinguish plans; but cores that share the weights and have separate rows all load these weights.
        """
        step = self.work.step
        if not self.matrix_work or step.unit != "MPU":
            return self.cycles
        work = step.root * self.work.steps * len(self.tiling.cores)
        return self.cycles + self.matrix_work * work / len(self.chip.usable_cores)

    @property
    def least_price(self) -> float:
        """Lower bound of the price of all plans that differ in steps only."""
        return least_price(self.work)

    @lazy
    def largest_constant(self) -> int:
        """Bytes of the largest multi-buffered constant; kept constants need a single buffer."""
        return max(
            [
                size.buffer_bytes
                for read, size in zip(self.reads, self.sizes, strict=True)
                if read.constant and not read.keep
            ],
            default=0,
        )

    def once(self, what: str, make: Callable[[], T]) -> T:
        """
        The result of `make` for this plan, cached: variants of a network share plans, and tasks with the same work.
        """
        if what not in self._known:
            self._known[what] = make()
        return cast("T", self._known[what])

    @lazy
    def _known(self) -> dict[str, object]:
        return {}

    @lazy
    def distribution(self) -> Distribution:
        """The distribution of the result's tiles over the cores."""
        tiles = self.tiling.tile_boxes(self.info.sizes)
        return Distribution({core: self.info.root.result_box(tile) for core, tile in tiles.items()}, self.tile_bytes)

    def staging_slots(self, info: TaskInfo) -> int:
        """Number of buffers from which steps of the result are stored to DRAM."""
        return 0 if self.resident else min(self.slots, output_steps(info, self.tiling))

    def temporary_bytes(self, buffer: int) -> int:
        """Bytes of a temporary buffer of the body: those of two steps if it is double-buffered."""
        nbytes = self.step_elements * self.info.buffers.item_bytes[buffer]
        doubled = buffer == self.info.double_buffered_root and min(self.slots, output_steps(self.info, self.tiling)) > 1
        return 2 * aligned(nbytes) if doubled else nbytes

    def buffers_of(self, number: int, multi_buffered: int = 0) -> int:
        """Number of buffers of read `number`; `multi_buffered`: of constants that change in every step."""
        size = self.sizes[number]
        if not size.buffer_bytes:
            return 0
        return min(max(self.slots, multi_buffered) if self.changes_always(number) else self.slots, size.versions)

    def kept_reads(self) -> list[int]:
        """Numbers of the reads that are kept in the cores for later tasks."""
        return [number for number, read in enumerate(self.reads) if read.keep]

    def loading(self, numbers: Container[int]) -> TaskPlan:
        """The plan if it is the first to load these kept reads; other kept reads are already in the cores."""
        tile = last_tile(self.info, self.tiling)
        sizes = tuple(
            measure_kept(read, self.info, self.chip, tile, found=number not in numbers) if read.keep else size
            for number, (read, size) in enumerate(zip(self.reads, self.sizes, strict=True))
        )
        return replace(self, sizes=sizes)

    def changes_always(self, number: int) -> bool:
        """Whether read `number` is of constants that differ in every step."""
        return self.reads[number].constant and self.sizes[number].versions == self.tiling.step_count > 1


def output_steps(info: TaskInfo, tiling: Tiling) -> int:
    """Number of steps that compute different parts of the result."""
    return tiling.step_count // math.prod([tiling.steps[dim] for dim in info.reductions])


@dataclass(frozen=True)
class Shortage:
    """The reason why no tiling fits: the bytes of SRAM on a core that the smallest one tried needs."""

    needed: int
    operand: int | None = None
    """The operand whose tiles take most of the memory."""
    operand_bytes: int = 0

    @staticmethod
    def of(plan: TaskPlan) -> Shortage:
        """The shortage of a plan."""
        parts = {
            read.read.operand: min(plan.slots, size.versions) * aligned(size.buffer_bytes)
            for read, size in zip(plan.reads, plan.sizes, strict=True)
        }
        largest = max(parts, key=parts.__getitem__, default=None)
        return Shortage(plan.working_bytes, largest, 0 if largest is None else parts[largest])


def estimate_together(plans: Sequence[TaskPlan]) -> None:
    """Estimate the cycles of several plans for one chip and with one pricing in one call, which is faster."""
    unknown = [plan for plan in plans if "cycles" not in plan.__dict__]
    if unknown:
        found = alone([plan.work for plan in unknown], unknown[0].chip, unknown[0].pricing)
        for plan, cycles in zip(unknown, found, strict=True):
            plan.__dict__["cycles"] = cycles

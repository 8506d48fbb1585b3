"""
Estimated cycles of tasks from their tiles alone: what an instruction takes is the emulator's own form (`chips.cycles`),
and a task is run step by step on clocks of the units, the network and DRAM.

Choosing a tiling runs a task by itself; `network_estimate` runs all tasks of a network one after another on the same
clocks, so that loads of later tasks overlap with the work of earlier ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from ...chips import Chip
from ...chips.cycles import RATE_BY_WIDTH, matmul_cycles, vector_cycles
from ...dialects.coreasm.isa import MAX_DIMS
from ...dialects.dataflow.tiling import Box, OpCost, Unit
from ..sparse.product_cycles import dense_weights_cycles, product_cycles
from ..task_info import TaskInfo, value_bytes
from .reads import ReadSize

PASS_THROUGH = 2
"""A result in DRAM costs its bytes twice: when it is stored, and when it is read."""
HANDSHAKE = 30
"""Cycles from the end of the work that an exchange waits for to its first byte, and from its last byte to its use."""
MESSAGE = 15
"""Cycles of the network for an exchange beside its bytes."""
NEIGHBOURS = 0.7
"""What a task takes of DRAM and the network beside its work, tasks around it miss: by this share."""
STAGING = 2
"""Buffers from which parts of a result go to DRAM: a part waits until the one so many before has arrived there."""
EXAMINED_STEPS = 12
"""Steps that are run one by one; those after them take as long as the last ones of these."""
Sizes = tuple[int, int, int, int]
"""(batch, M, K, N) of matrix products."""


def op_cycles(cost: OpCost, chip: Chip, item_bytes: int) -> tuple[Unit, int]:
    """The unit that runs one tile (instruction selection takes the quicker one), and its cycles."""
    rate = RATE_BY_WIDTH.get(item_bytes, 1)
    if cost.encoded is not None:
        return cost.unit, round(cost.encoded.products * product_cycles(chip, cost.encoded, rate))
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
        # Only f32 is the type of products and of sums of the vector unit as well.
        on_vector = item_bytes == 4 and dot < product
        return ("VPU", dot) if on_vector else ("MPU", product)
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
    Cycles of matrix products whose first operand may have more dimensions than an instruction can walk: those over it
    become a loop, the cheapest first, as in instruction selection (`lowering/access.py`).
    """
    batch, m, k, n = sizes
    rows, depth = ([size for size in own if size > 1] for own in window)
    if (batch > 1) + len(rows) + len(depth) <= MAX_DIMS:
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
    """Of the root."""
    root: int
    rest: int
    """The vector unit, after the root, where no later step goes on with the result."""
    begun: int
    """The vector unit, on the sum of the addends (`TaskInfo.addends`), which does not wait for the root."""


NO_WORK = StepWork("VPU", 0, 0, 0)


def step_work(info: TaskInfo, step: Box, chip: Chip) -> StepWork:
    """Cycles of the operations of a task's body for one step."""
    if step.volume == 0:
        return NO_WORK
    first = value_bytes(info.root.operands[0]) if info.root.operands else info.value_bytes[0]
    unit, root = op_cycles(info.cost(0, step), chip, first)
    early = {number for number, _ in info.addends}
    cycles = [0, 0]
    for number in range(1, len(info.body)):
        _, own = op_cycles(info.cost(number, step), chip, info.value_bytes[number])
        cycles[number in early] += own
    return StepWork(unit, root, *cycles)


@lru_cache(1024)
def dram_bandwidth(chip: Chip, cores: tuple[int, ...]) -> float:
    """Bytes a cycle that these cores get from DRAM together: each port serves the rows that are nearest to it."""
    ports = {core // chip.cols * chip.dram_ports // chip.rows for core in cores}
    port = min(chip.dram_bytes_per_cycle / chip.dram_ports, chip.link_bytes_per_cycle)
    return min(len(ports) * port, len(cores) * chip.link_bytes_per_cycle)


class TaskWork(NamedTuple):
    """What a task does on its busiest core, and what it moves; in cycles."""

    step: StepWork
    steps: int
    outputs: int
    """Parts of the result; each is the work of as many steps as any other."""
    prepare: int
    """The vector unit: borders, and what a core holds itself of the values that it gathers."""
    gather: float
    """The network: what the first step needs of others."""
    arriving: float
    """The network: what later steps need of others."""
    constants: float
    """DRAM: constants of the first step."""
    values: float
    """DRAM: other values of the first step."""
    later: float
    """DRAM: what one later step needs."""
    passed_constants: float
    """The network: what cores that read the same constants pass on, a step."""
    passed_values: float
    """The network: the same of other values from DRAM."""
    stored: float
    """DRAM: one part of the result."""
    serial: bool = False
    """The root of a part waits for the rest of the part before, which works on the same memory."""
    crossing: tuple[tuple[float, float], ...] = ()
    """Links that what is gathered shares with reads from DRAM (see `exchange_time`)."""
    parts: int = 0
    """In how many what is gathered comes. Each comes after its place has been prepared; 0: that is left out."""
    later_constants: float = 0.0
    """DRAM: the constants in `later`."""
    early: int = 1
    """The first steps, whose constants are loaded together, into buffers of their own."""

    @property
    def own_dram(self) -> float:
        """Cycles of DRAM for its own loads and stores."""
        return self.constants + self.values + self.later * (self.steps - 1) + self.stored * self.outputs

    @property
    def dram(self) -> float:
        """The same, and for those who read the result from there."""
        return self.own_dram + (PASS_THROUGH - 1) * self.stored * self.outputs

    @property
    def network(self) -> float:
        """Cycles of the network in all."""
        return self.gather + self.arriving + (self.passed_constants + self.passed_values) * self.steps

    @property
    def computing(self) -> float:
        """Cycles of the unit that works longest."""
        step = self.step
        vector = self.prepare + (step.rest + step.begun) * self.outputs
        root = step.root * self.steps
        return float(vector + root) if step.unit == "VPU" else float(max(vector, root))

    @property
    def least(self) -> float:
        """However steps overlap."""
        return max(self.computing, self.dram, self.network)


def task_work(
    step: StepWork,
    steps: int,
    outputs: int,
    prepare: int,
    gather: float,
    arriving: float,
    reads: Sequence[tuple[ReadSize, bool]],
    result_bytes: float,
    chip: Chip,
    cores: tuple[int, ...],
) -> TaskWork:
    """
    Of steps and reads: (size, whether it is a constant); `result_bytes` go to DRAM, 0 where the result stays.
    """
    bandwidth = dram_bandwidth(chip, cores)
    first, passed, later = [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]
    for size, constant in reads:
        once = size.dram_bytes / size.versions
        first[constant] += once
        later[constant] += size.dram_bytes - once
        passed[constant] += size.received_bytes / chip.link_bytes_per_cycle / steps
    return TaskWork(
        step, steps, outputs, prepare, gather, arriving, first[True] / bandwidth, first[False] / bandwidth,
        sum(later) / bandwidth / max(1, steps - 1), passed[True], passed[False], result_bytes / outputs / bandwidth,
        later_constants=later[True] / bandwidth / max(1, steps - 1),
    )  # fmt: skip


@dataclass
class Clocks:
    """From when on the units of a core, the network and DRAM are free."""

    chip: Chip
    units: dict[Unit, float] = field(default_factory=lambda: dict[Unit, float]({"MPU": 0.0, "VPU": 0.0, "DAU": 0.0}))
    network: float = 0.0
    dram: float = 0.0
    before: float = HANDSHAKE
    """Cycles until an exchange begins, beside those in which it is on the network."""
    after: float = HANDSHAKE
    message: float = MESSAGE
    worked: list[tuple[Unit, float, float]] = field(default_factory=list[tuple[Unit, float, float]])
    """(unit, start, cycles) of what units have done so far."""

    @property
    def latency(self) -> float:
        """Of reading DRAM, with the way over half the chip."""
        return self.chip.dram_latency + self.chip.hop_cycles * (self.chip.rows + self.chip.cols) / 2

    def load(self, ready: float, cycles: float) -> float:
        """Read DRAM for so many cycles from `ready` on at the earliest; when all is there."""
        if not cycles:
            return ready
        self.dram = max(self.dram, ready) + cycles
        return self.dram + self.latency

    def send(self, ready: float, cycles: float, crossing: Sequence[tuple[float, float]] = ()) -> float:
        """
        Exchange values for so many cycles if nothing else uses the network; when all is there.

        `crossing`: (share of DRAM's reads, how much of the time the exchange uses it) of links that both use.
        """
        if not cycles:
            return ready
        start = max(self.network, ready + self.before) + self.message
        meanwhile, longest = max(0.0, self.dram - start), cycles
        for share, used in crossing:
            alone = used * cycles
            beside = alone + share * meanwhile
            longest = max(longest, beside if share >= 1 else min(beside, alone / (1 - share)))
        self.network = start + longest
        return self.network + self.after

    def _load_later(self, task: TaskWork, number: int, ready: float, arrivals: list[float]) -> float:
        """
        Load what the step after `number` needs from `ready` on, when the step before is over; when all is there.
        `arrivals`: by step, when constants are there that come earlier.
        """
        if task.early == 1:
            return self.load(ready, task.later)
        loaded = self.load(ready, task.later - task.later_constants)
        # The buffers of the step before are free: for that step which is as many steps later as there are buffers.
        if number and number + task.early <= task.steps:
            arrivals.append(self.load(ready, task.later_constants))
        return max(loaded, arrivals[number + 1])

    def work(self, unit: Unit, ready: float, cycles: float) -> float:
        """Keep a unit busy; when it is done."""
        start = max(self.units[unit], ready)
        self.units[unit] = start + cycles
        self.worked.append((unit, start, cycles))
        return start + cycles

    def run(self, task: TaskWork, inputs: float, constants: float, free: float = 0.0) -> float:
        """
        Run a task whose values are complete at `inputs`, and whose first constants are in the cores at `constants`;
        when its result is complete. Its values from DRAM are loaded from `free` on at the earliest.
        """
        step, steps = task.step, task.steps
        arrivals = [constants - more * task.later_constants for more in range(task.early - 1, -1, -1)]
        loaded = max(self.load(max(inputs, free), task.values), arrivals[0])
        prepared = self.work("VPU", inputs, task.prepare) if task.prepare else inputs
        writable = prepared - task.prepare * (1 - 1 / task.parts) if task.parts else inputs
        gathered = self.send(writable, task.gather, task.crossing)
        # Cores that load for others begin a step before these have it from them: passing it on does not hold up the
        # next load, for which there is room as soon as the loading core has begun the step.
        lead = max(loaded, prepared, gathered, self.units[step.unit])
        following = max(lead, self.send(loaded, task.passed_values))
        each = steps // task.outputs
        begun = self.work("VPU", arrivals[0], step.begun) if step.begun else 0.0
        start = end = lead
        ends: list[float] = []
        stored = [0.0] * STAGING
        for number in range(min(steps, EXAMINED_STEPS)):
            arrived = following
            if task.stored and number % each == 0:
                begun = max(begun, stored[-STAGING])
            before, start = start, max(self.units[step.unit], arrived, begun)
            lead = min(start, max(lead + step.root, loaded, before) if number else lead)
            if number + 1 < steps:
                following = loaded = self._load_later(task, number, lead if number else inputs, arrivals)
                if task.later:
                    following = self.send(loaded, task.passed_constants + task.passed_values)
                if task.arriving:
                    following = max(following, self.send(gathered, task.arriving / (steps - 1), task.crossing))
            done = self.work(step.unit, start, step.root)
            if (number + 1) % each == 0:
                if step.begun and number + 1 < steps:
                    begun = self.work("VPU", following, step.begun)
                done = self.work("VPU", done, step.rest) if step.rest else done
                if task.serial and step.rest:
                    self.units[step.unit] = max(self.units[step.unit], done)
                if task.stored:
                    self.dram += task.stored
                    done = max(self.dram, done + task.stored)
                    stored.append(done + self.latency)
            end = max(end, done)
            ends.append(end)
        if steps > EXAMINED_STEPS:
            half = EXAMINED_STEPS // 2
            more = (ends[-1] - ends[half - 1]) / half * (steps - EXAMINED_STEPS)
            end += more
            self.units = {unit: free + more for unit, free in self.units.items()}
            self.dram += more * (task.later > 0 or task.stored > 0)
        return end


def alone(task: TaskWork, chip: Chip) -> float:
    """
    What a task costs a network: its cycles by itself, its first constants loaded before, but no less than DRAM has to
    carry; and a share of what it takes of DRAM and the network meanwhile.
    """
    times = (task.computing, task.dram, task.network)
    expected = max(Clocks(chip).run(task, 0.0, 0.0), task.dram)
    return expected + NEIGHBOURS * (sum(times) - max(times))

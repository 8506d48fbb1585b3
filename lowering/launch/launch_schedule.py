"""
The schedule of a launch as plain data: buffers with addresses, tasks, and every transfer and computation in order.

It is the only input of instruction selection (`generate`). A `manycore.launch` is the same as IR:
`read_launch` and `write_launch` convert between the two.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import TypeAlias

from xdsl.ir import BlockArgument, SSAValue

from ...analysis.planning.reads import ReadPlan
from ...analysis.planning.storage import Distribution
from ...analysis.planning.task_plan import aligned
from ...analysis.tasks.task_info import Read, TaskInfo
from ...dialects.dataflow.types import dtype_code, shape_of
from ...dialects.manycore import Tiling


@dataclass(frozen=True)
class DramBuffer:
    """A value in DRAM, row-major and without gaps."""

    address: int
    """`segment << SEGMENT_BITS` and the offset in the segment (see `dram_segments`)."""
    nbytes: int
    task: int | None = None
    """Number of the task that computes it; None: it exists before the launch."""
    previous: tuple[int, ...] = ()
    """
    Numbers of the buffers that had its bytes before it (memory-reuse dependences): it is written after their last read.
    """
    whole: int | None = None
    """
    Number of the buffer of which it is a part, a different part in each step of a loop; `address` is that of the first.
    """
    advance: int = 0
    """Bytes by which its address advances from step to step of the loop."""


@dataclass(frozen=True)
class StepRow:
    """The row of a distributed value that a step of a loop reads or writes. Step i takes row first + i * advance."""

    count: int
    """Number of rows of the value. Each core holds its tile of every row, one after the other."""
    first: int
    advance: int


@dataclass(frozen=True)
class TileBuffer:
    """A value spread over the cores: each holds, at one address in its SRAM, the tile that it computed."""

    address: int
    task: int
    """Number of the task that computes it."""
    row: StepRow | None = None
    """It is one row of the value, a different one in each step of a loop."""
    stacked: int | None = None
    """Number of rows of the value if the task computes one in each step of a loop; None: it computes the whole."""


Buffer: TypeAlias = DramBuffer | TileBuffer


@dataclass(frozen=True)
class ScheduledRead:
    """How a task gets the slices of one read."""

    read: Read
    slots: tuple[int, ...]
    """SRAM addresses of the buffers for its slices, used in rotation; empty: slices are read where the value is."""
    make_plan: Callable[[], ReadPlan] = field(repr=False, compare=False)
    """Derives `plan` from the rest of the schedule."""

    @cached_property
    def plan(self) -> ReadPlan:
        """The slices that cores need."""
        return self.make_plan()


@dataclass(frozen=True)
class ScheduledTask:
    """A task with all the buffers that it uses."""

    info: TaskInfo
    tiling: Tiling
    operands: tuple[int, ...]
    """Numbers of buffers."""
    result: int
    """Number of a buffer."""
    reads: tuple[ScheduledRead, ...]
    staging: tuple[int, ...]
    """SRAM addresses of buffers, used in rotation, for tiles of a result that is stored to DRAM."""
    temporaries: dict[int, int]
    """SRAM address by number of the body's buffer."""
    double_buffer_offset: int = 0
    """Double buffering of the root's value: in odd steps its address is this many bytes higher; 0: one buffer."""
    scratch: int | None = None
    """SRAM address of the additional memory that the root's instructions need."""

    @cached_property
    def distribution(self) -> Distribution:
        """Distribution of the result's tiles."""
        root = self.info.root
        tiles = self.tiling.tile_boxes(self.info.sizes)
        return Distribution({core: root.result_box(tile) for core, tile in tiles.items()}, 0)

    def held(self, buffer: TileBuffer) -> tuple[Distribution, tuple[int, ...]]:
        """
        Distribution of the value that the task computes over the cores, and the value's shape; that of all rows if each
        step of a loop computes one.
        """
        if buffer.stacked is None:
            return self.distribution, self.shape
        return self.distribution.stacked(buffer.stacked), (buffer.stacked, *self.shape)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the result."""
        return shape_of(self.info.body[-1].results[0])

    @property
    def result_dtype(self) -> int:
        """Type code of the result's elements."""
        return dtype_code(self.info.body[-1].results[0])

    def operand_shape(self, operand: int) -> tuple[int, ...]:
        """The shape in which an operand is read."""
        return shape_of(self.info.arguments[operand])

    def operand_dtype(self, operand: int) -> int:
        """Type code of an operand's elements."""
        return dtype_code(self.info.arguments[operand])


@dataclass(frozen=True)
class Load:
    """Load the slices of a read that a step needs from DRAM, unless they are loaded already."""

    task: int
    read: int
    step: int | None
    """None: the slices of all steps together."""
    relative: bool = False
    """`step` is relative to the step that contains the load; steps that do not exist are skipped."""
    multicast_from: int = 0
    """
    Groups of at least this many cores that need the same slice load it once and multicast it; 0: every core loads.
    """


@dataclass(frozen=True)
class Gather:
    """
    Gather the slices of distributed values that a step needs from the cores that hold them. The gather for step 0 also
    fills the padding.
    """

    task: int
    step: int
    relative: bool = False


@dataclass(frozen=True)
class Compute:
    """Each core computes its box of the current step."""

    task: int
    pipelined: bool = False
    """
    Whether the operands of the next step have arrived: its root's addends may be summed before this step's epilogue.
    """


@dataclass(frozen=True)
class Store:
    """Store the tiles of the result that the current step completes to DRAM."""

    task: int


Action: TypeAlias = Load | Gather | Compute | Store


@dataclass(frozen=True)
class Execute:
    """Execute a task: actions before its first step, in each step but the last, and in the last."""

    task: int
    begin: tuple[Action, ...]
    steps: tuple[Action, ...]
    last: tuple[Action, ...]


@dataclass(frozen=True)
class Repeat:
    """Issue tasks and loads once per step; steps differ only in the rows or parts of values that they use."""

    steps: int
    """Number of steps; the largest number if it is known at run time only."""
    body: tuple[Load | Execute, ...]
    count: int | None = None
    """Number of the buffer that holds the number of steps for each core before the loop, if that determines the end."""
    going: int | None = None
    """
    Number of the buffer that tells each core after a step whether another one follows, if that determines the end.
    """
    must_end: bool = False
    """Whether it is an error if `going` asks for another step after the last of `steps`."""
    group: int = 1
    """Number of consecutive steps that form one iteration; `count` counts iterations."""

    @property
    def has_dynamic_steps(self) -> bool:
        """Whether the number of steps is known at run time only."""
        return self.count is not None or self.going is not None


Issued: TypeAlias = Load | Execute | Repeat


@dataclass(frozen=True)
class LaunchSchedule:
    """One launch."""

    buffers: tuple[Buffer, ...]
    tasks: tuple[ScheduledTask, ...]
    order: tuple[Issued, ...]

    @cached_property
    def flat(self) -> tuple[Load | Execute, ...]:
        """All actions in order, those of loops once."""
        return tuple(chain.from_iterable(one.body if isinstance(one, Repeat) else (one,) for one in self.order))

    @cached_property
    def loaded(self) -> frozenset[tuple[int, int]]:
        """(Task, read) of all loads."""
        return loads_of(self.flat)

    def operand_buffer(self, task: int, operand: int) -> Buffer:
        """The buffer of an operand of a task."""
        return self.buffers[self.tasks[task].operands[operand]]

    def result_buffer(self, task: int) -> Buffer:
        """The buffer of a task's result."""
        return self.buffers[self.tasks[task].result]


def loads_of(issued: Sequence[Load | Execute]) -> frozenset[tuple[int, int]]:
    """(Task, read) of all loads, those in the steps of tasks among them."""
    executes = (one for one in issued if isinstance(one, Execute))
    actions = [action for one in executes for part in (one.begin, one.steps, one.last) for action in part]
    loads = [one for one in (*issued, *actions) if isinstance(one, Load)]
    return frozenset((load.task, load.read) for load in loads)


def schedule_digest(schedule: LaunchSchedule) -> str:
    """A hash of everything that the machine code of a launch depends on, except the chip."""
    digest = hashlib.sha256()
    for task in schedule.tasks:
        buffers = [schedule.buffers[number] for number in (*task.operands, task.result)]
        reads = [(read.read, read.slots) for read in task.reads]
        writes = [task.temporaries.get(buffer) for buffer in task.info.buffers.of_op]
        memory = writes, task.staging, task.double_buffer_offset, task.scratch
        digest.update(repr((_described(task.info), task.tiling, buffers, reads, memory)).encode())
    digest.update(repr(schedule.order).encode())
    return digest.hexdigest()


def _described(info: TaskInfo) -> list[object]:
    """A hashable description of a task's operations."""
    number_of: dict[SSAValue, object] = {op.results[0]: number for number, op in enumerate(info.body)}
    number_of.update((value, ("immediate", number)) for value, number in info.immediates.items())
    return [
        (
            op.name,
            sorted((key, str(value)) for key, value in op.properties.items()),
            [(-1 - v.index if isinstance(v, BlockArgument) else number_of[v], str(v.type)) for v in op.operands],
            str(op.results[0].type),
        )
        for op in info.body
    ]


def core_local(actions: Sequence[Action]) -> list[list[Action]]:
    """Actions in groups, in order: core-local actions together, transfers between cores each alone."""
    groups: list[list[Action]] = []
    for action in actions:
        local = isinstance(action, Compute | Store)
        if groups and local and isinstance(groups[-1][-1], Compute | Store):
            groups[-1].append(action)
        else:
            groups.append([action])
    return groups


def double_buffer_offset(info: TaskInfo, tiling: Tiling, nbytes: int) -> int:
    """`ScheduledTask.double_buffer_offset` for a root's temporary buffer of `nbytes`: 0 unless two steps fit."""
    if not nbytes or info.double_buffered_root is None:
        return 0
    step = tiling.step_boxes(tiling.tile_boxes(info.sizes)[tiling.cores[-1]])[0]
    step_bytes = aligned(info.largest_result(step) * info.value_bytes[0])
    return step_bytes if 2 * step_bytes <= nbytes else 0

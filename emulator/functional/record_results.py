"""
Recording of the results of tasks as their instructions write them, since the memory of a result may be reused soon
after the task.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ...dialects.coreasm.isa import BY_CODE
from ..executable.executable import Executable, TensorInfo, source_name
from ..executable.host import tensor_values
from ..executable.task_results import TaskResult, task_results
from ..machine.errors import location
from ..machine.expand import Stream
from ..machine.memory import Array, Bytes
from .execution_order import ExecutionOrder
from .instruction_owners import InstructionOwners
from .observer import Execute, LaunchView, Watch
from .result_region import IN_DRAM, NOBODY, Region, regions_of
from .result_writes import StepClock, result_writes
from .semantics.base import Access
from .shared_code import tasks_with_shared_code


@dataclass
class Recorded:
    """The recorded result of a task."""

    place: TaskResult
    regions: dict[int, Region]
    """The bytes of the result, by core, or at `IN_DRAM`."""
    ran: bool = False
    shared: bool = False
    """Whether instructions are shared with other tasks, so that results are mixed (see `tasks_with_shared_code`)."""
    clock: StepClock | None = None
    """If the results of all steps are recorded: determines the step of an instruction."""
    steps: dict[int, list[Region]] = field(default_factory=dict[int, list[Region]])
    """As `regions`, after each step of a loop; not for results in rows, as each step writes its own row."""

    def after_step(self, where: int, step: int) -> Region:
        """The result on a core after a step; bytes that the step has not written are those of the previous step."""
        found = self.steps.setdefault(where, [])
        while len(found) <= step:
            found.append(found[-1].copy() if found else regions_of(self.place)[where])
        return found[step]

    @property
    def complete(self) -> bool:
        """Whether all bytes were written."""
        return self.ran and all((region.writer != NOBODY).all() for region in self.regions.values())

    def value(self) -> Array:
        """The whole result, assembled from the cores' tiles; bf16 is returned as f32. Unwritten elements are 0."""
        place = self.place
        if place.grid is None:
            return self._typed(self.regions[IN_DRAM].content, place.shape)
        whole = np.zeros(place.shape, self._typed(np.zeros(place.element_bytes, np.uint8), ()).dtype)
        for core, tile in place.tiles().items():
            whole[(..., *tile.index)] = self._typed(self.regions[core].content, tile.sizes)
        return whole

    def _typed(self, content: Bytes, shape: tuple[int, ...]) -> Array:
        info = TensorInfo(self.place.task, "temp", self.place.dtype, shape, 0, len(content))
        return tensor_values(content, info)


@dataclass
class ResultRecorder:
    """
    Observer that records the results of tasks during a run (see `run_functional`): of all tasks whose results the
    executable locates, or of `places` only. For a task that runs several times, the last result is kept; with
    `all_steps`, also the result of each step of a loop.

    `order_of`: a function from the number of a launch to its order of execution, or None where it is unknown. Without
    the order, tasks whose instructions are shared with other tasks cannot be distinguished.

    Raises InputError for an executable without locations of results.
    """

    executable: Executable
    places: Iterable[TaskResult] | None = None
    all_steps: bool = False
    order_of: Callable[[int], ExecutionOrder | None] | None = None
    recorded: list[Recorded] = field(init=False)

    def __post_init__(self) -> None:
        places = task_results(self.executable) if self.places is None else self.places
        self.recorded = [Recorded(place, regions_of(place)) for place in places]

    def launch(self, view: LaunchView) -> Watch | None:
        """See `Observer`."""
        mine = [one for one in self.recorded if one.place.launch == view.number]
        if not mine:
            return None
        owners = self._owners(view, mine)
        watched: dict[int, list[tuple[Recorded, list[Access]]]] = {}
        for one in mine:
            words = owners.words(one.place.task)
            self._begin(one, view, owners, words)
            accesses: dict[int, list[Access]] = {flat: [] for flat in (one.clock.kind_of if one.clock else ())}
            for core, word, access in result_writes(view, one.place, words):
                accesses.setdefault(int(view.code.base[core]) + word, []).append(access)
            for flat, some in accesses.items():
                watched.setdefault(flat, []).append((one, some))
        table = np.zeros(int(view.code.length.sum()), np.bool_)
        table[list(watched)] = True

        def watch(stream: Stream, execute: Execute) -> None:
            flat = view.code.base[stream.core] + stream.word
            tasks = owners.tasks(stream)
            done = 0
            for at in np.flatnonzero(table[flat]).tolist():
                execute(stream.part(done, at + 1))
                done = at + 1
                for one, accesses in watched[int(flat[at])]:
                    if tasks is None or owners.names[int(tasks[at])] == one.place.task:
                        _take(one, accesses, stream.part(at, done), int(flat[at]), view)
            execute(stream.part(done, len(stream.core)))

        return watch

    def _owners(self, view: LaunchView, mine: list[Recorded]) -> InstructionOwners:
        order = None if self.order_of is None else self.order_of(view.number)
        owners = InstructionOwners.of(self.executable, view, order)
        shared: set[str] = set()
        if self.all_steps and owners.order is None:
            shared = tasks_with_shared_code(self.executable, view, [one.place for one in mine])
        for one in mine:
            one.shared = one.place.task in shared
        return owners

    def _begin(self, one: Recorded, view: LaunchView, owners: InstructionOwners, words: NDArray[np.bool_]) -> None:
        one.ran, one.clock = True, None
        one.steps.clear()
        if self.all_steps and one.place.loop is not None and one.place.loop.rows is None:
            one.clock = owners.step_clock(view, one.place, words)

    def tensors(self) -> dict[str, Array]:
        """The tensors of the network that were recorded completely, by name, in the order of the tasks."""
        found: dict[str, Array] = {}
        for one in self.recorded:
            if one.place.tensors and one.complete:
                value = one.value()
                found.update((name, value.reshape(shape)) for name, shape in one.place.tensors.items())
        return found

    def writer(self, launch: int, key: int) -> str:
        """A description of the instruction that wrote a byte, from its key in `Region.writer`."""
        if key == NOBODY:
            return "no instruction of the task wrote it"
        core, word = key >> 32, key & 0xFFFFFFFF
        program = self.executable.programs[int(self.executable.launches[launch].program_of_core[core])]
        mnemonic = BY_CODE[int(program.words["op"][word])].mnemonic
        source = source_name(self.executable, program, word)
        return f"core {core}, {location(program.name, word, mnemonic, source)}"


def _take(one: Recorded, accesses: Iterable[Access], executed: Stream, flat: int, view: LaunchView) -> None:
    """Record the bytes of a result that an instruction, the only one of `executed`, has written."""
    core, word = int(executed.core[0]), int(executed.word[0])
    step = None if one.clock is None else one.clock.step(flat)
    for access in accesses:
        where = IN_DRAM if access.dram else core
        memory: Bytes = view.machine.dram if access.dram else view.machine.srams[core]
        address = int(executed.address[0, access.slot])
        regions = [one.regions[where], *([] if step is None else [one.after_step(where, step)])]
        for region in regions:
            if region.reached(access, address):
                region.take(access, address, memory, core << 32 | word)

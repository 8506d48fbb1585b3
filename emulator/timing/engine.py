"""
The timing engine: computes the cycles of an executable, and the activity of units, links and DRAM ports.

`run_timing` executes the controller's program; each launch is timed by the compiled kernel (`kernel`), whose rules are
defined in `reference`. The cycles of encoding, decoding and sparse products depend on values, and the counts of loops
may depend on them. They are taken from a functional run (`mapped_work`), or without one from the words' declarations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...chips.chip import Chip
from ...dialects.coreasm.isa import DEPENDS_ON_DATA, QUEUES
from ...support.phases import phase
from ..executable.executable import Executable
from ..executable.host import ControllerStep, controller_steps
from ..executable.load import has_dynamic_loops
from ..machine.costs import host_cycles
from ..machine.errors import EmulationError
from ..machine.expand import Decisions
from ..machine.mapped_work import MappedWork, RunWork
from ..machine.noc import LINKS
from .describe_deadlock import Blocked, describe
from .event_wheel import new_wheel
from .kernel import DONE, NO_ROOM, TOO_LONG, simulate
from .kernel_arrays import BUSY, DISPATCHED, FIRST_START, LAST_END, STARTED, WAITS, A, B
from .kernel_state import (
    CoreState,
    Network,
    Results,
    RouteNodes,
    Sequencers,
    TimeQueues,
    Values,
    Words,
    flat,
)
from .routes import bytes_carried, route_nodes
from .tables import Tables, build_tables

FIRST_ROOM, LAST_ROOM = 1 << 14, 1 << 24
"""Initial and maximum capacity of the kernel for outstanding tokens, semaphore counts and packets."""
MAX_TRACE = 1 << 26
"""Maximum number of instructions in a trace (2 GB of memory)."""


@dataclass(frozen=True)
class LaunchTiming:
    """The timing of one launch in isolation; times count from its start."""

    cycles: int
    """Cycles until the last instruction is complete and the network is empty."""
    busy: NDArray[np.int64]
    """
    [cores, 8] cycles in which each unit is busy, including waits for links and DRAM, but not waits for semaphores.
    """
    first: NDArray[np.int64]
    """[cores, 8] start of the first instruction; -1 if there is none."""
    last: NDArray[np.int64]
    """[cores, 8] completion of the last instruction; -1 if there is none."""
    instructions: NDArray[np.int64]
    """[cores, 9] number of instructions executed by each unit; the last column is the sequencer's own."""
    link_bytes: NDArray[np.int64]
    """[cores, 5] bytes on the links out of each router: east, west, north, south, into the core (`noc.LINK_NAMES`)."""
    port_read: NDArray[np.int64]
    """[ports] bytes read from DRAM, in whole bursts."""
    port_written: NDArray[np.int64]
    """[ports] bytes written to DRAM, in whole bursts."""
    trace: Trace | None = None


@dataclass(frozen=True)
class Trace:
    """
    The trace of a run: one entry per executed instruction of a unit, in the order in which the engine determined its
    end.

    `end` is the cycle in which the unit is free again; the data of a load arrives later, by `dram_latency` and the time
    on the network.
    """

    core: NDArray[np.int32]
    unit: NDArray[np.uint8]
    word: NDArray[np.int32]
    """Index in the core's program."""
    program: NDArray[np.int32]
    start: NDArray[np.int64]
    end: NDArray[np.int64]


@dataclass(frozen=True)
class HostCopy:
    """A copy between host and DRAM."""

    to_device: bool
    nbytes: int
    start: int
    end: int
    host: int = 0
    """Address in host memory."""


@dataclass(frozen=True)
class TimingResult:
    """
    The timing of a whole run. Sums are over all launches; times count from the start of the controller's program.

    For shapes and units of the arrays see `LaunchTiming`.
    """

    cycles: int
    """Cycles from the start of the first launch to the completion of the last."""
    total_cycles: int
    """Cycles of the controller's program from start to end, including host copies."""
    load_cycles: int
    """Cycles to copy the weights to DRAM, before the run."""
    host_in_cycles: int
    """Cycles in which the host link copies data to DRAM."""
    host_out_cycles: int
    host_in_bytes: int
    host_out_bytes: int
    busy: NDArray[np.int64]
    first: NDArray[np.int64]
    last: NDArray[np.int64]
    instructions: NDArray[np.int64]
    link_bytes: NDArray[np.int64]
    port_read: NDArray[np.int64]
    port_written: NDArray[np.int64]
    launches: list[tuple[int, int, int]] = field(default_factory=list[tuple[int, int, int]])
    """(number, start, end) of each launch, in order."""
    copies: list[HostCopy] = field(default_factory=list[HostCopy])
    trace: Trace | None = None
    declared: bool = False
    """Whether cycles that depend on values are those that the words declare, as there was no functional run."""
    decisions: Mapping[int, Decisions] = field(default_factory=dict[int, Decisions])
    """By the number of the run of a launch, the decisions of its sequencers."""


@phase("emulate")
def run_timing(exe: Executable, trace: bool = False, mapped: MappedWork | None = None) -> TimingResult:
    """
    The timing of a run of `exe`; with `trace`, including the start and end of all instructions.

    `mapped` is the work that depends on values, from a functional run (`FunctionalResult.mapped`). Raises
    EmulationError for a deadlock (with the cycle of waiting cores, units, words and source operators), for words that
    cannot be timed, and if `mapped` is not from a run of `exe`.
    """
    known: dict[int, Tables] = {}

    def launch(number: int, run: int) -> LaunchTiming:
        if number not in known:
            known[number] = build_tables(exe, exe.launches[number])
        return time_launch(exe, known[number], number, trace, None if mapped is None else mapped.of_run(run, lanes))

    lanes = exe.chip.cores * QUEUES
    return follow_controller(exe, launch, mapped)


def depends_on_values(exe: Executable) -> bool:
    """Whether the cycles of an instruction, or the number of its executions, depend on values."""
    return has_dynamic_loops(exe) or has_sparse_work(exe)


def has_sparse_work(exe: Executable) -> bool:
    """Whether the cycles of an instruction depend on values."""
    return any(bool(DEPENDS_ON_DATA[program.words["op"]].any()) for program in exe.programs)


def follow_controller(
    exe: Executable, time: Callable[[int, int], LaunchTiming], mapped: MappedWork | None = None
) -> TimingResult:
    """
    The timing of the controller's program. `time` returns the timing of a launch in isolation, from its number and the
    number of its run (counted over all launches from 0). It is called once for each launch or, if there is work that
    depends on values (`mapped`), once for each run of a launch.

    Copies run concurrently with launches, one in each direction at a time, in order; a launch starts when the previous
    one is complete, with all tokens and semaphores at zero.
    """
    run = _ControllerRun(exe)
    again: dict[int, LaunchTiming] = {}
    every = mapped is not None and mapped.every_run
    for step in controller_steps(exe):
        match step.mnemonic:
            case "ctl.h2d" | "ctl.d2h":
                run.copy(step)
            case "ctl.wait":
                run.wait(step.number)
            case "ctl.launch":
                if step.number >= len(exe.launches):
                    raise EmulationError(f"controller, word {step.word}: launch {step.number} does not exist")
                if every or step.number not in again:
                    again[step.number] = time(step.number, len(run.runs))
                run.launch(step.number, again[step.number])
            case _:
                run.join(step.number)
    return run.result(mapped)


class _ControllerRun:
    """The state of the controller, and the times of copies and launches, during its program."""

    def __init__(self, exe: Executable) -> None:
        self._exe = exe
        self._now = 0
        """The current cycle of the controller."""
        self._cores_free = 0
        self._host_free = {True: 0, False: 0}
        """By direction (True: to the device), the end of the last copy."""
        self._copies: list[tuple[int, HostCopy]] = []
        """(tag, copy)"""
        self._timed: list[LaunchTiming] = []
        self.runs: list[tuple[int, int, int]] = []
        """(number of the launch, start, end) of each run of a launch."""

    def copy(self, step: ControllerStep) -> None:
        """Start a copy between host and DRAM, after the previous copy in its direction."""
        inward = step.mnemonic == "ctl.h2d"
        start = max(self._now, self._host_free[inward])
        end = self._host_free[inward] = start + host_cycles(self._exe.chip, step.nbytes)
        self._copies.append((step.number, HostCopy(inward, step.nbytes, start, end, step.host)))

    def wait(self, tag: int) -> None:
        """Wait for the copies with this tag."""
        self._now = max([self._now, *(copy.end for own, copy in self._copies if own == tag)])

    def launch(self, number: int, timing: LaunchTiming) -> None:
        """Start a launch, after the previous launch."""
        self._timed.append(timing)
        start = max(self._now, self._cores_free)
        self._cores_free = start + timing.cycles
        self.runs.append((number, start, self._cores_free))

    def join(self, number: int) -> None:
        """Wait for a launch."""
        self._now = max([self._now, *(end for own, _, end in self.runs if own == number)])

    def result(self, mapped: MappedWork | None) -> TimingResult:
        """The timing of the whole run."""
        chip, runs = self._exe.chip, self.runs
        inward, outward = ([copy for _, copy in self._copies if copy.to_device is way] for way in (True, False))
        first, last = _first_and_last(self._timed, [start for _, start, _ in runs], chip.cores)
        weights = self._exe.weight_bytes
        return TimingResult(
            cycles=runs[-1][2] - runs[0][1] if runs else 0,
            total_cycles=max([self._now, self._cores_free, *self._host_free.values()]),
            load_cycles=host_cycles(chip, weights) if weights else 0,
            host_in_cycles=sum(c.end - c.start for c in inward),
            host_out_cycles=sum(c.end - c.start for c in outward),
            host_in_bytes=sum(c.nbytes for c in inward),
            host_out_bytes=sum(c.nbytes for c in outward),
            busy=self._total("busy", (chip.cores, QUEUES)),
            first=first,
            last=last,
            instructions=self._total("instructions", (chip.cores, QUEUES + 1)),
            link_bytes=self._total("link_bytes", (chip.cores, 5)),
            port_read=self._total("port_read", (chip.dram_ports,)),
            port_written=self._total("port_written", (chip.dram_ports,)),
            launches=runs,
            copies=[copy for _, copy in self._copies],
            trace=_join([(part.trace, start) for part, (_, start, _) in zip(self._timed, runs, strict=True)]),
            declared=mapped is None and depends_on_values(self._exe),
            decisions={} if mapped is None else mapped.decisions,
        )

    def _total(self, name: str, shape: tuple[int, ...]) -> NDArray[np.int64]:
        """The sum of a field over all runs of launches."""
        return sum((getattr(part, name) for part in self._timed), start=np.zeros(shape, np.int64))


def _first_and_last(
    timed: Sequence[LaunchTiming], starts: Sequence[int], cores: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """([cores, units] first start, last end) of an instruction, in cycles of the whole run; -1 if there is none."""
    first, last = np.full((2, cores, QUEUES), -1, np.int64)
    for part, start in zip(timed, starts, strict=True):
        first = np.where((first < 0) & (part.first >= 0), part.first + start, first)
        last = np.where(part.last >= 0, part.last + start, last)
    return first, last


def _join(parts: list[tuple[Trace | None, int]]) -> Trace | None:
    found = [(part, start) for part, start in parts if part is not None]
    if not found:
        return None

    def column(name: str, shift: bool = False) -> NDArray[Any]:
        return np.concatenate([getattr(part, name) + (start if shift else 0) for part, start in found])

    same = [column(name) for name in ("core", "unit", "word", "program")]
    return Trace(same[0], same[1], same[2], same[3], column("start", True), column("end", True))


def time_launch(
    exe: Executable,
    tables: Tables,
    number: int,
    trace: bool = False,
    mapped: RunWork | None = None,
) -> LaunchTiming:
    """
    The timing of one launch by the kernel; `mapped` has the times and decisions that depend on values.

    Raises EmulationError for a deadlock, for runs that do not end, and if `mapped` does not match.
    """
    cores = exe.chip.cores
    decisions = None if mapped is None else mapped.decisions
    traced = int(tables.instructions(decisions)[:, :QUEUES].sum()) if trace else 0
    if traced > MAX_TRACE:
        raise EmulationError(f"{traced} instructions are too many for a trace (at most {MAX_TRACE}): run without it")
    state, results = _run_kernel(exe, tables, number, mapped, traced)
    cycles, count = results.finish.tolist()
    waiting = state.lanes[:, DISPATCHED] > state.lanes[:, STARTED]
    if not state.halted.all() or waiting.any():
        raise EmulationError(describe(exe, exe.launches[number], list(_blocked(tables, state, exe.chip.semaphores))))
    trace_of = (results.trace_lane, results.trace_word, results.trace_start, results.trace_end)
    columns = [column[:count] for column in trace_of]
    found = _trace_of(tables.base, exe.launches[number].program_of_core, *columns) if trace else None
    busy, first, last, started = (
        state.lanes[:, column].reshape(cores, QUEUES) for column in (BUSY, FIRST_START, LAST_END, STARTED)
    )
    executed = np.concatenate([started, results.seq_count[:, None]], axis=1)
    links, read, written = bytes_carried(exe.chip, tables.routes, results.entered)
    links = links.reshape(cores, LINKS)
    return LaunchTiming(cycles, busy, first, last, executed, links, read, written, found)


def _ring(chip: Chip) -> int:
    """Size of the ring buffer of a queue: the least power of two that is at least its depth."""
    return 1 << (chip.queue_depth - 1).bit_length()


def _run_kernel(
    exe: Executable, tables: Tables, number: int, mapped: RunWork | None, traced: int
) -> tuple[CoreState, Results]:
    """
    Run the kernel, with larger pools until they suffice; `traced`: number of entries of the trace. Raises
    EmulationError for a run that does not end.
    """
    chip, cores, routes = exe.chip, exe.chip.cores, tables.routes
    cycles, first_mapped = _mapped(tables, number, cores, mapped)
    none = np.zeros(0, np.int64)
    known = Decisions.of(cores, none, none.copy()) if mapped is None or mapped.decisions is None else mapped.decisions
    numbers = np.array(
        [
            chip.queue_depth, chip.semaphores, chip.noc_packet_bytes, chip.link_bytes_per_cycle,
            max(chip.hop_cycles, 1), chip.dram_ports, chip.dram_bytes_per_cycle, chip.dram_latency, _ring(chip),
        ], np.int64,
    )  # fmt: skip
    words = Words(tables.word_class, tables.classes)
    nodes = RouteNodes(route_nodes(routes, cores), routes.child, routes.put_root, routes.load_root, routes.store_root)
    room = FIRST_ROOM
    while True:
        values = Values(cycles, first_mapped.copy(), known.values, known.first[:-1].copy(), known.first[1:])
        state = CoreState.at_start(chip, tables.base, _ring(chip))
        results = Results.empty(cores, len(routes.router), traced)
        status = int(
            simulate(
                flat(words), flat(nodes), flat(values), numbers, flat(state), flat(Sequencers.at_start(chip)),
                flat(Network.at_start(chip)), TimeQueues.at_start(chip, room), new_wheel(room), results,
            )
        )  # fmt: skip
        if status == DONE:
            return state, results
        if status != NO_ROOM or room >= LAST_ROOM:
            limit = "cycles" if status == TOO_LONG else "tokens, messages or packets at one time"
            raise EmulationError(f"launch {number} needs more {limit} than the emulator allows: check the loop counts")
        room *= 16


def _trace_of(
    base: NDArray[np.int64], program_of_core: NDArray[Any], lane: NDArray[np.int32], word: NDArray[np.int32],
    start: NDArray[np.int64], end: NDArray[np.int64],
) -> Trace:  # fmt: skip
    """The trace of a launch; `base`: [cores] index of the first word of each core's program, as in `word`."""
    core = lane // QUEUES
    program = program_of_core[core].astype(np.int32)
    return Trace(core, (lane % QUEUES).astype(np.uint8), (word - base[core]).astype(np.int32), program, start, end)


def _mapped(
    tables: Tables, number: int, cores: int, mapped: RunWork | None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Times that depend on values, and the offset of each lane; no times if the words' declarations are used."""
    if mapped is None:
        return np.zeros(0, np.int64), np.zeros(cores * QUEUES, np.int64)
    cycles, first = mapped.times, mapped.first
    if not np.array_equal(np.diff(first), tables.mapped(mapped.decisions).reshape(-1)) or np.any(cycles < 1):
        raise EmulationError(f"launch {number}: the cycles come from a functional run of another executable")
    return cycles, first


def _blocked(tables: Tables, state: CoreState, semaphores: int) -> Iterator[Blocked]:
    """The head of every queue that cannot start."""
    wrap = state.queued.shape[1] - 1
    base = tables.base
    for lane in np.flatnonzero(state.lanes[:, DISPATCHED] > state.lanes[:, STARTED]).tolist():
        core, unit = divmod(lane, QUEUES)
        slot = int(state.lanes[lane, STARTED]) & wrap
        flat, since = int(state.queued[lane, slot]), int(state.when[lane, slot])
        waits, a, b = (int(value) for value in tables.classes[tables.word_class[flat], [WAITS, A, B]])
        missing = tuple(
            v for v in range(QUEUES) if waits >> v & 1 and state.tokens[(core * QUEUES + v) * QUEUES + unit] == 0
        )
        has = int(state.semaphores[core * semaphores + b]) if b < semaphores else 0
        rest = int(state.pc[core] - base[core])
        yield Blocked(core, unit, int(flat - base[core]), missing, has, a, since, rest)

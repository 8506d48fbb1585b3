"""
The timing engine: how many cycles an executable takes, and what its units, links and DRAM ports do meanwhile.

`run_timing` follows the controller's program; each launch goes to the compiled kernel (`timing_kernel`), whose rules
are written down in `reference`. Control never depends on values; the cycles of encoding, decoding and sparse products
do. What these took comes from a functional run (`mapped_work`); without one, the words' own declarations stand for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..dialects.coreasm.isa import DEPENDS_ON_DATA, MAX_LOOPS, QUEUES
from .costs import host_cycles
from .executable import Executable
from .functional_errors import EmulationError
from .functional_host import controller_steps
from .mapped_work import MappedWork
from .timing_deadlock import Blocked, describe
from .timing_kernel import DONE, NO_ROOM, TOO_LONG, simulate
from .timing_tables import Tables, build_tables

FIRST_ROOM, LAST_ROOM = 1 << 14, 1 << 24
"""Tokens, semaphore counts and packets outstanding at one time for which the kernel has room: at first, at most."""
MAX_TRACE = 1 << 26
"""Instructions that a trace may hold (2 GB of memory)."""


@dataclass(frozen=True)
class LaunchTiming:
    """One launch by itself; times count from its start."""

    cycles: int
    """Until the last instruction is complete and the network empty."""
    busy: NDArray[np.int64]
    """[cores, 8] cycles in which each unit works; waiting for a semaphore does not count, for a link or DRAM does."""
    first: NDArray[np.int64]
    """[cores, 8] start of the first instruction; -1 where there is none."""
    last: NDArray[np.int64]
    """[cores, 8] completion of the last instruction; -1 where there is none."""
    instructions: NDArray[np.int64]
    """[cores, 9] instructions executed, by unit; the last column is the sequencer's own."""
    link_bytes: NDArray[np.int64]
    """[cores, 5] bytes on the links out of each router: east, west, north, south, into the core (`noc.LINK_NAMES`)."""
    port_read: NDArray[np.int64]
    """[ports] bytes read from DRAM, whole bursts."""
    port_written: NDArray[np.int64]
    """[ports] bytes written to DRAM, whole bursts."""
    trace: Trace | None = None


@dataclass(frozen=True)
class Trace:
    """
    One entry per executed instruction of a unit, in the order in which the engine learnt its end.

    `end` is when the unit is free again; what a load reads is there `dram_latency` and the way later.
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


@dataclass(frozen=True)
class TimingResult:
    """
    A whole run. Sums are over all launches; times count from the start of the controller's program.

    For shapes and units of the arrays see `LaunchTiming`.
    """

    cycles: int
    """From the start of the first launch to the completion of the last."""
    total_cycles: int
    """The controller's program from start to end, host copies included."""
    load_cycles: int
    """For the weights to reach DRAM, before the run."""
    host_in_cycles: int
    """In which the host link moves data to the device."""
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
    """Cycles of instructions that depend on values are those that their words declare: no functional run gave them."""


def run_timing(exe: Executable, trace: bool = False, mapped: MappedWork | None = None) -> TimingResult:
    """
    Time a run of `exe`; with `trace`, every instruction's start and end come along.

    `mapped` is what a functional run says of instructions whose cycles depend on values (`FunctionalResult.mapped`).
    Raises EmulationError for a deadlock (who waits for whom, with core, unit, word and source operator), for words that
    cannot be timed, and where `mapped` is not from a run of `exe`.
    """
    known: dict[int, Tables] = {}

    def launch(number: int, run: int) -> LaunchTiming:
        if number not in known:
            known[number] = build_tables(exe, exe.launches[number])
        return time_launch(exe, known[number], number, trace, None if mapped is None else mapped.of_run(run, lanes))

    lanes = exe.chip.cores * QUEUES
    return follow_controller(exe, launch, mapped)


def depends_on_values(exe: Executable) -> bool:
    """Whether some instruction's cycles depend on the values that it meets."""
    return any(bool(DEPENDS_ON_DATA[program.words["op"]].any()) for program in exe.programs)


def follow_controller(
    exe: Executable, time: Callable[[int, int], LaunchTiming], mapped: MappedWork | None = None
) -> TimingResult:
    """
    The controller's program, given what each launch takes by itself: `time` takes its number, and which start it is
    (the first of all launches is 0). It is called once per launch number, or where there is work that depends on values
    (`mapped`), once per start.

    Copies run beside launches, one each way at once, in order; a launch starts when the one before is done, with
    all tokens and semaphores at zero.
    """
    chip, cores = exe.chip, exe.chip.cores
    now, cores_free = 0, 0
    host_free = {True: 0, False: 0}
    copies: list[tuple[int, HostCopy]] = []
    runs: list[tuple[int, int, int]] = []
    timed: list[LaunchTiming] = []
    again: dict[int, LaunchTiming] = {}
    every = mapped is not None and len(mapped.run) > 0
    for step in controller_steps(exe):
        match step.mnemonic:
            case "ctl.h2d" | "ctl.d2h":
                inward = step.mnemonic == "ctl.h2d"
                start = max(now, host_free[inward])
                host_free[inward] = start + host_cycles(chip, step.nbytes)
                copies.append((step.number, HostCopy(inward, step.nbytes, start, host_free[inward])))
            case "ctl.wait":
                now = max([now, *(copy.end for tag, copy in copies if tag == step.number)])
            case "ctl.launch":
                if step.number >= len(exe.launches):
                    raise EmulationError(f"controller, word {step.word}: launch {step.number} does not exist")
                if every or step.number not in again:
                    again[step.number] = time(step.number, len(runs))
                timed.append(again[step.number])
                start = max(now, cores_free)
                cores_free = start + timed[-1].cycles
                runs.append((step.number, start, cores_free))
            case _:
                now = max([now, *(end for number, _, end in runs if number == step.number)])
    inward, outward = ([copy for _, copy in copies if copy.to_device is way] for way in (True, False))
    first = np.full((cores, QUEUES), -1, np.int64)
    last = np.full((cores, QUEUES), -1, np.int64)
    for part, (_, start, _) in zip(timed, runs, strict=True):
        first = np.where((first < 0) & (part.first >= 0), part.first + start, first)
        last = np.where(part.last >= 0, part.last + start, last)

    def total(name: str, shape: tuple[int, ...]) -> NDArray[np.int64]:
        zero = np.zeros(shape, np.int64)
        return sum((getattr(part, name) for part in timed), start=zero)

    weights = exe.weight_bytes
    return TimingResult(
        cycles=runs[-1][2] - runs[0][1] if runs else 0,
        total_cycles=max([now, cores_free, *host_free.values()]),
        load_cycles=host_cycles(chip, weights) if weights else 0,
        host_in_cycles=sum(c.end - c.start for c in inward),
        host_out_cycles=sum(c.end - c.start for c in outward),
        host_in_bytes=sum(c.nbytes for c in inward),
        host_out_bytes=sum(c.nbytes for c in outward),
        busy=total("busy", (cores, QUEUES)),
        first=first,
        last=last,
        instructions=total("instructions", (cores, QUEUES + 1)),
        link_bytes=total("link_bytes", (cores, 5)),
        port_read=total("port_read", (chip.dram_ports,)),
        port_written=total("port_written", (chip.dram_ports,)),
        launches=runs,
        copies=[copy for _, copy in copies],
        trace=_join([(part.trace, start) for part, (_, start, _) in zip(timed, runs, strict=True)]),
        declared=mapped is None and depends_on_values(exe),
    )


def _join(parts: list[tuple[Trace | None, int]]) -> Trace | None:
    pieces = [(part, start) for part, start in parts if part is not None]
    if not pieces:
        return None

    def column(name: str, shift: bool = False) -> NDArray[Any]:
        return np.concatenate([getattr(part, name) + (start if shift else 0) for part, start in pieces])

    same = [column(name) for name in ("core", "unit", "word", "program")]
    return Trace(same[0], same[1], same[2], same[3], column("start", True), column("end", True))


@dataclass
class KernelState:
    """What the kernel leaves behind: results, and where everybody stands."""

    pc: NDArray[np.int64]
    halted: NDArray[np.uint8]
    dispatched: NDArray[np.int64]
    started: NDArray[np.int64]
    outstanding: NDArray[np.uint8]
    pend_word: NDArray[np.int32]
    pend_time: NDArray[np.int64]
    tokens: NDArray[np.int64]
    semaphores: NDArray[np.int64]
    seq_time: NDArray[np.int64]


def time_launch(
    exe: Executable,
    tables: Tables,
    number: int,
    trace: bool = False,
    mapped: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None,
) -> LaunchTiming:
    """
    Run the kernel over one launch; `mapped` (see `MappedWork.of_run`) gives cycles that depend on values.

    Raises EmulationError for a deadlock, for runs without end, and where `mapped` does not fit.
    """
    chip, cores = exe.chip, exe.chip.cores
    cycles, first_mapped = _mapped(tables, number, mapped)
    numbers = np.array(
        [
            chip.queue_depth, chip.semaphores, chip.noc_packet_bytes, chip.link_bytes_per_cycle,
            max(chip.hop_cycles, 1), chip.dram_ports, chip.dram_bytes_per_cycle, chip.dram_latency,
        ], np.int64,
    )  # fmt: skip
    lanes = cores * QUEUES
    ring = 1 << (chip.queue_depth - 1).bit_length()
    instructions = tables.instructions()
    traced = int(instructions[:, :QUEUES].sum()) if trace else 0
    if traced > MAX_TRACE:
        raise EmulationError(f"{traced} instructions are too many for a trace (at most {MAX_TRACE}): run without it")
    routes = tables.routes
    room, status = FIRST_ROOM, NO_ROOM
    while True:
        state = KernelState(
            tables.base.copy(), np.zeros(cores, np.uint8), np.zeros(lanes, np.int64), np.zeros(lanes, np.int64),
            np.zeros(lanes, np.uint8), np.zeros((lanes, ring), np.int32), np.zeros((lanes, ring), np.int64),
            np.zeros(cores * 64, np.int64), np.zeros(cores * chip.semaphores, np.int64), np.zeros(cores, np.int64),
        )  # fmt: skip
        seq_count, busy = np.zeros(cores, np.int64), np.zeros(lanes, np.int64)
        first, last = np.full(lanes, -1, np.int64), np.full(lanes, -1, np.int64)
        link_bytes, finish = np.zeros(cores * 5, np.int64), np.zeros(2, np.int64)
        read, written = np.zeros(chip.dram_ports, np.int64), np.zeros(chip.dram_ports, np.int64)
        t_word, t_lane = np.zeros(traced, np.int32), np.zeros(traced, np.int32)
        t_start, t_end = np.zeros(traced, np.int64), np.zeros(traced, np.int64)
        arguments: list[Any] = [
            tables.kind, tables.unit, tables.wait, tables.signal, tables.a, tables.b, tables.lead, tables.target,
            tables.base, routes.router, routes.mask, routes.child, routes.port, routes.put_root, routes.load_root,
            routes.store_root, cycles, first_mapped.copy(), numbers,
            state.pc, state.halted, state.dispatched, state.started, state.outstanding,
            state.pend_word, state.pend_time, state.tokens, state.semaphores, state.seq_time,
            *_working_room(exe, ring, room), seq_count, busy, first, last, link_bytes, read, written, finish,
            t_word, t_lane, t_start, t_end,
        ]  # fmt: skip
        status = int(simulate(*arguments))
        if status != NO_ROOM or room >= LAST_ROOM:
            break
        room *= 16
    if status != DONE:
        limit = "cycles" if status == TOO_LONG else "tokens, messages or packets at one time"
        raise EmulationError(f"launch {number} needs more {limit} than the emulator allows: is a loop count damaged?")
    stuck = np.flatnonzero((state.halted == 0) | (state.dispatched > state.started).reshape(cores, QUEUES).any(axis=1))
    if len(stuck):
        raise EmulationError(describe(exe, exe.launches[number], list(_blocked(tables, state, chip.semaphores))))
    trace_arrays = None
    if trace:
        count = int(finish[1])
        core, unit = t_lane[:count] // QUEUES, (t_lane[:count] % QUEUES).astype(np.uint8)
        word = (t_word[:count] - tables.base[core]).astype(np.int32)
        program = exe.launches[number].program_of_core[core].astype(np.int32)
        trace_arrays = Trace(core, unit, word, program, t_start[:count], t_end[:count])
    executed = np.concatenate([state.started.reshape(cores, QUEUES), seq_count[:, None]], axis=1)
    return LaunchTiming(
        int(finish[0]), busy.reshape(cores, QUEUES), first.reshape(cores, QUEUES), last.reshape(cores, QUEUES),
        executed, link_bytes.reshape(cores, 5), read, written, trace_arrays,
    )  # fmt: skip


def _mapped(
    tables: Tables, number: int, mapped: tuple[NDArray[np.int64], NDArray[np.int64]] | None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Cycles of what depends on values, and where each lane's begin; empty where the words' declarations hold."""
    if mapped is None:
        return np.zeros(0, np.int64), np.zeros(tables.mapped().size, np.int64)
    cycles, first = mapped
    if not np.array_equal(np.diff(first), tables.mapped().reshape(-1)):
        raise EmulationError(f"launch {number}: the functional run that gave the cycles was of another executable")
    return cycles, first


def _working_room(exe: Executable, ring: int, room: int) -> list[NDArray[Any]]:
    """The kernel's private arrays, in the order of its parameters, with `room` tokens, counts and packets."""
    chip, cores = exe.chip, exe.chip.cores
    lanes = cores * QUEUES
    by_lane = [np.zeros((lanes, ring), np.int64), *(np.zeros(lanes, np.int64) for _ in range(3))]
    by_lane += [np.zeros(lanes, np.int32), np.full(lanes, -1, np.int32)]
    by_core = [np.zeros(cores, np.int32), *(np.zeros((cores, MAX_LOOPS), np.int64) for _ in range(3))]
    shared = [np.zeros(cores * 5, np.int64), np.zeros(chip.dram_ports, np.int64)]
    lengths = (cores * 64, cores * 64, cores * chip.semaphores, cores * chip.semaphores)
    heads = [np.full(length, -1, np.int32) for length in lengths]
    kinds = (np.int64, np.int32, np.int64, np.int32, np.int32, np.int64, np.int32, np.uint8, np.int32)
    return [*by_lane, *by_core, *shared, *heads, *(np.empty(room, kind) for kind in kinds)]


def _blocked(tables: Tables, state: KernelState, semaphores: int) -> Iterator[Blocked]:
    """The head of every queue that cannot start."""
    wrap = state.pend_word.shape[1] - 1
    for lane in np.flatnonzero(state.dispatched > state.started).tolist():
        core, unit = divmod(lane, QUEUES)
        slot = int(state.started[lane]) & wrap
        flat = int(state.pend_word[lane, slot])
        since = int(state.pend_time[lane, slot])
        missing = tuple(
            v
            for v in range(QUEUES)
            if int(tables.wait[flat]) >> v & 1 and not state.tokens[(core * QUEUES + v) * QUEUES + unit]
        )
        has = int(state.semaphores[core * semaphores + int(tables.b[flat])]) if tables.b[flat] < semaphores else 0
        rest = int(state.pc[core] - tables.base[core])
        yield Blocked(core, unit, int(flat - tables.base[core]), missing, has, int(tables.a[flat]), since, rest)

"""
The reference of timing: a slow, readable engine that advances from event to event.

Rules
- The sequencer of a core spends one cycle on each word. An instruction of a unit enters that unit's queue at the end
  of its cycle and can start then; the sequencer waits while the queue holds `queue_depth` instructions that have not
  started. `loop` takes a cycle when it is met, going back takes none.
- A unit runs its queue in order, one instruction at a time. An instruction starts when the unit is free, every token
  that it waits for is there (it takes them all at once), and, for a wait, the semaphore has reached n (it takes n).
- MPU, VPU, DAU and MAP instructions take the cycles that `costs` says, waits and signals one. Tokens are given at the
  end. Cycles that depend on values are those of a functional run, or without one those that the words declare.
- put, load and store move packets of at most `noc_packet_bytes`, one after the other: the next one is offered when the
  one before has left the first thing on its way (the links out of the own router, or the DRAM port). The unit is free
  when the last one has. put gives its tokens then; load and store when the last byte has arrived, `dram_latency`
  later: consecutive loads overlap their latencies. signal and ready send one flit and do not wait for it to leave.
- A packet that reaches a router takes every link that it needs there (several where a multicast forks) as soon as the
  link is free, for its bytes / link_bytes_per_cycle; its head is at the next router `hop_cycles` (at least 1) later.
  The link into the destination's core is one such link; the semaphore rises when the last packet has passed it.
  Reads leave the DRAM port the same way, writes end there. Of packets that reach a router in the same cycle, the one
  from the lower core goes first, then that of the lower unit.
- Delivery of a read takes no link into the core: loads and stores have ports of their own.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict, deque
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np

from ...dialects.coreasm.isa import BY_CODE, DATA_DEPENDENT, QUEUES, Cost, Family
from ..executable.executable import Executable
from ..executable.load import patched_words
from ..machine.costs import link_cycles, port_cycles, word_costs
from ..machine.errors import EmulationError
from ..machine.mapped_work import MappedWork
from ..machine.noc import EAST, EJECT, NORTH, SOUTH, WEST, port_of_core, port_rows
from .engine import LaunchTiming, TimingResult, follow_controller

End: TypeAlias = Literal["core", "port", "deliver"]
"""The end of a packet's route: the destination's core, a DRAM port, or a core's load unit."""


@dataclass
class _Instruction:
    core: int
    word: int
    family: Family
    cost: Cost
    unit: int
    wait: tuple[int, ...]
    signal: tuple[int, ...]
    cycles: int
    nbytes: int
    semaphore: int
    count: int
    targets: tuple[int, ...]
    available: int = 0


@dataclass
class _Packet:
    """A packet at a router (or, `at_port`, at the DRAM port that it is read from)."""

    owner: _Instruction
    nbytes: int
    router: int
    goals: tuple[int, ...]
    end: End
    first: bool
    """Whether it is at its source, where the next packet of the instruction waits for it to leave."""
    last: bool
    at_port: bool = False


@dataclass
class _Unit:
    queue: deque[_Instruction] = field(default_factory=deque[_Instruction])
    free: bool = True
    left: int = 0
    begin: int = 0


class _Machine:
    """One launch on one chip."""

    def __init__(self, exe: Executable, number: int, mapped: dict[int, deque[int]] | None) -> None:
        self.exe, self.chip, self.mapped = exe, exe.chip, mapped
        launch, cores = exe.launches[number], exe.chip.cores
        self.words: list[Any] = []
        self.costs: list[Any] = []
        for core in range(cores):
            program = exe.programs[int(launch.program_of_core[core])]
            words = patched_words(program, launch.params_of_core[core])
            self.words.append(words)
            self.costs.append(word_costs(exe.chip, words, program.descs))
        self.pc = [0] * cores
        self.loops: list[list[list[int]]] = [[] for _ in range(cores)]
        self.sequencer_free = [0] * cores
        self.halted = [False] * cores
        self.units = [[_Unit() for _ in range(QUEUES)] for _ in range(cores)]
        self.tokens: Counter[tuple[int, int, int]] = Counter()
        self.semaphores: Counter[tuple[int, int]] = Counter()
        self.link_free: defaultdict[tuple[int, int], int] = defaultdict(int)
        self.port_free = [0] * self.chip.dram_ports
        self.agenda: defaultdict[int, list[Any]] = defaultdict(list)
        self.packets: defaultdict[int, list[_Packet]] = defaultdict(list)
        self.times: list[int] = [0]
        self.now = 0
        self.end = 0
        self.busy = np.zeros((cores, QUEUES), np.int64)
        self.first = np.full((cores, QUEUES), -1, np.int64)
        self.last = np.full((cores, QUEUES), -1, np.int64)
        self.count = np.zeros((cores, QUEUES + 1), np.int64)
        self.link_bytes = np.zeros((cores, 5), np.int64)
        self.read = np.zeros(self.chip.dram_ports, np.int64)
        self.written = np.zeros(self.chip.dram_ports, np.int64)

    # ---- Time

    def at(self, time: int, action: Any) -> None:
        """Schedule `action` for the beginning of cycle `time`."""
        heapq.heappush(self.times, time)
        self.agenda[time].append(action)

    def offer(self, time: int, packet: _Packet) -> None:
        """Schedule the arrival of `packet` at its router in cycle `time`."""
        heapq.heappush(self.times, time)
        self.packets[time].append(packet)

    def run(self) -> LaunchTiming:
        while self.times:
            self.now = heapq.heappop(self.times)
            for action in self.agenda.pop(self.now, []):
                action()
            moved = True
            while moved:
                moved = any([self.step(core) for core in range(self.chip.cores)])
            for packet in sorted(self.packets.pop(self.now, []), key=lambda p: (p.owner.core, p.owner.unit)):
                self.pass_router(packet)
        if not all(self.halted) or any(unit.queue for core in self.units for unit in core):
            raise EmulationError("deadlock")
        return LaunchTiming(
            self.end, self.busy, self.first, self.last, self.count, self.link_bytes, self.read, self.written
        )

    def note_end(self, time: int) -> None:
        self.end = max(self.end, time)

    # ---- A core

    def step(self, core: int) -> bool:
        """Start all instructions that can start, and dispatch at most one word. Returns whether anything changed."""
        moved = False
        for index in range(QUEUES):
            while self.can_start(core, self.units[core][index]):
                self.start(core, index)
                moved = True
        if not self.halted[core] and self.sequencer_free[core] <= self.now:
            moved |= self.dispatch(core)
        return moved

    def dispatch(self, core: int) -> bool:
        index = self.pc[core]
        word = self.words[core][index]
        entry = BY_CODE[int(word["op"])]
        following = index + 1
        if entry.unit < QUEUES:
            unit = self.units[core][entry.unit]
            if len(unit.queue) >= self.chip.queue_depth:
                return False
            instruction = self.decode(core, index)
            instruction.available = self.now + 1
            unit.queue.append(instruction)
        else:
            self.count[core, QUEUES] += 1
            if entry.function == "halt":
                self.halted[core] = True
                self.note_end(self.now + 1)
                return True
            if entry.function == "loop":
                self.loops[core].append([following, following + int(word["addr"][1]), int(word["addr"][0])])
                following = -1
        self.sequencer_free[core] = self.now + 1
        self.at(self.now + 1, lambda: None)
        if following < 0:
            self.pc[core] = index + 1
            return True
        while self.loops[core] and self.loops[core][-1][1] == following:
            loop = self.loops[core][-1]
            loop[2] -= 1
            if loop[2] > 0:
                following = loop[0]
                break
            self.loops[core].pop()
        self.pc[core] = following
        return True

    def decode(self, core: int, index: int) -> _Instruction:
        word, costs = self.words[core][index], self.costs[core]
        entry = BY_CODE[int(word["op"])]

        def bits(value: int) -> tuple[int, ...]:
            return tuple(v for v in range(QUEUES) if value >> v & 1)

        targets: tuple[int, ...] = ()
        if entry.core_set:
            targets = tuple(np.flatnonzero(self.exe.core_sets[int(word["desc"][3])]).tolist())
        cycles, nbytes = int(costs.cycles[index]), int(costs.traffic[index])
        if self.mapped is not None and entry.cost in DATA_DEPENDENT:
            found = self.mapped[core * QUEUES + entry.unit].popleft()
            cycles, nbytes = (cycles, found) if entry.cost == Cost.PUT_ENCODED else (found, nbytes)
        return _Instruction(
            core, index, entry.family, entry.cost, int(entry.unit), bits(int(word["wait"])), bits(int(word["signal"])),
            cycles, nbytes, int(word["imm"]), int(word["addr"][0]), targets,
        )  # fmt: skip

    def can_start(self, core: int, unit: _Unit) -> bool:
        if not unit.free or not unit.queue or unit.queue[0].available > self.now:
            return False
        head = unit.queue[0]
        if not all(self.tokens[core, v, head.unit] for v in head.wait):
            return False
        return head.cost != Cost.WAIT or self.semaphores[core, head.semaphore] >= head.count

    def start(self, core: int, index: int) -> None:
        unit = self.units[core][index]
        head = unit.queue.popleft()
        for v in head.wait:
            self.tokens[core, v, index] -= 1
        self.count[core, index] += 1
        if self.first[core, index] < 0:
            self.first[core, index] = self.now
        unit.free, unit.begin, unit.left = False, self.now, head.nbytes
        match head.cost:
            case Cost.PUT | Cost.DRAM:
                self.next_packet(head, self.now)
                return
            case Cost.PUT_ENCODED:  # all of it is looked at before the first packet leaves
                self.next_packet(head, self.now + head.cycles)
                return
            case Cost.WAIT:
                self.semaphores[core, head.semaphore] -= head.count
                done = self.now + 1
            case Cost.SIGNAL:
                done = self.now + 1
                flit = self.chip.link_bytes_per_cycle
                self.offer(self.now, _Packet(head, flit, core, head.targets, "core", first=False, last=True))
            case _:
                done = self.now + head.cycles
        self.at(done, lambda: self.release(head))
        self.at(done, lambda: self.complete(head))

    def release(self, instruction: _Instruction) -> None:
        """The unit is free for its next instruction."""
        core, index = instruction.core, instruction.unit
        unit = self.units[core][index]
        unit.free = True
        self.busy[core, index] += self.now - unit.begin
        self.last[core, index] = max(self.last[core, index], self.now)
        self.note_end(self.now)

    def complete(self, instruction: _Instruction) -> None:
        """
        Complete an instruction: its results are written (the operand of a put may be overwritten); give its tokens.
        """
        core, index = instruction.core, instruction.unit
        for v in instruction.signal:
            self.tokens[core, index, v] += 1
        self.last[core, index] = max(self.last[core, index], self.now)
        self.note_end(self.now)

    # ---- The network

    def next_packet(self, head: _Instruction, time: int) -> None:
        """Offer the next packet of an instruction at a time from now on."""
        unit = self.units[head.core][head.unit]
        size = min(unit.left, self.chip.noc_packet_bytes)
        unit.left -= size
        port = port_of_core(self.chip, head.core)
        home = port_rows(self.chip)[port] * self.chip.cols
        last = unit.left == 0
        match head.family:
            case Family.PUT:
                packet = _Packet(head, size, head.core, head.targets, "core", True, last)
            case Family.STORE:
                packet = _Packet(head, size, head.core, (home,), "port", True, last)
            case _:
                packet = _Packet(head, size, home, (head.core,), "deliver", True, last, at_port=True)
        self.offer(time, packet)

    def way(self, router: int, goal: int) -> int:
        """The output of `router` towards `goal`, along the row first."""
        cols = self.chip.cols
        if goal % cols != router % cols:
            return EAST if goal % cols > router % cols else WEST
        return SOUTH if goal > router else NORTH

    def pass_router(self, packet: _Packet) -> None:
        chip, head = self.chip, packet.owner
        on_link, on_port = int(link_cycles(chip, packet.nbytes)), int(port_cycles(chip, packet.nbytes))
        hop = max(chip.hop_cycles, 1)
        left_source = self.now
        if packet.at_port:
            start = self.take_port(head, packet.nbytes, self.read)
            left_source = start + on_port
            onward = _Packet(head, packet.nbytes, packet.router, packet.goals, packet.end, False, packet.last)
            self.offer(start + hop, onward)
        else:
            steps = {EAST: 1, WEST: -1, NORTH: -chip.cols, SOUTH: chip.cols}
            forks: defaultdict[int, list[int]] = defaultdict(list)
            for goal in packet.goals:
                if goal != packet.router:
                    forks[self.way(packet.router, goal)].append(goal)
            for way, goals in forks.items():
                start = self.take_link(packet.router, way, packet.nbytes)
                left_source = max(left_source, start + on_link)
                there = packet.router + steps[way]
                onward = _Packet(head, packet.nbytes, there, tuple(goals), packet.end, False, packet.last)
                self.offer(start + hop, onward)
            if packet.router in packet.goals:
                match packet.end:
                    case "core":
                        arrival = self.take_link(packet.router, EJECT, packet.nbytes) + on_link
                        left_source = max(left_source, arrival)
                        self.note_end(arrival)
                        if packet.last:
                            key = (packet.router, head.semaphore)
                            self.at(arrival, lambda: self.semaphores.update([key]))
                    case "port":
                        start = self.take_port(head, packet.nbytes, self.written)
                        left_source = max(left_source, start + on_port)
                        self.arrive(packet, start + max(on_link, on_port) + chip.dram_latency)
                    case "deliver":
                        self.arrive(packet, self.now + max(on_link, on_port) + chip.dram_latency)
        if packet.first and not packet.last:
            self.at(left_source, lambda: self.next_packet(head, left_source))
        elif packet.first:
            self.at(left_source, lambda: self.release(head))
            if head.cost in (Cost.PUT, Cost.PUT_ENCODED):
                self.at(left_source, lambda: self.complete(head))

    def arrive(self, packet: _Packet, time: int) -> None:
        self.note_end(time)
        if packet.last:
            self.at(time, lambda: self.complete(packet.owner))

    def take_link(self, router: int, way: int, nbytes: int) -> int:
        """Reserve a link for a packet at its router. Returns when the packet's head enters it."""
        start = max(self.now, self.link_free[router, way])
        self.link_free[router, way] = start + int(link_cycles(self.chip, nbytes))
        self.link_bytes[router, way] += nbytes
        return start

    def take_port(self, head: _Instruction, nbytes: int, moved: Any) -> int:
        port = port_of_core(self.chip, head.core)
        start = max(self.now, self.port_free[port])
        self.port_free[port] = start + int(port_cycles(self.chip, nbytes))
        moved[port] += nbytes
        return start


def run_reference(exe: Executable, mapped: MappedWork | None = None) -> TimingResult:
    """Time a run of `exe` by the definition (`mapped`: see `run_timing`). Raises EmulationError for a deadlock."""

    def launch(number: int, run: int) -> LaunchTiming:
        return _Machine(exe, number, None if mapped is None else _queues(mapped, run)).run()

    return follow_controller(exe, launch, mapped)


def _queues(mapped: MappedWork, run: int) -> dict[int, deque[int]]:
    """Cycles (or bytes) that depend on values, in the order of each unit's queue (by core * 8 + unit)."""
    queues: dict[int, deque[int]] = defaultdict(deque)
    for of_run, lane, time in zip(mapped.run, mapped.lane, mapped.times, strict=True):
        if of_run == run:
            queues[int(lane)].append(int(time))
    return queues

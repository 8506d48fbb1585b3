"""
The definition of timing: a slow, readable reference engine that advances from event to event.

Rules
- The sequencer of a core spends one cycle on each word. An instruction of a unit enters that unit's queue at the end of
  its cycle and can start then; the sequencer waits while the queue has `queue_depth` instructions that have not
  started. `loop` takes a cycle when it is executed, jumping back takes none. `drain` and `lr` take the first cycle
  from which on all units of the core are idle: their queues are empty, and all their instructions are complete.
- A unit executes its queue in order, one instruction at a time. An instruction starts when the unit is free, all tokens
  that it waits for are available (it takes them at once), and, for a wait, the semaphore has reached n (it takes n).
- MPU, VPU, DAU and MAP instructions take the cycles of `costs`, waits and signals take one. Tokens are given at the
  end. Cycles that depend on values are those of a functional run, or without one those that the words declare.
- put, load and store move packets of at most `noc_packet_bytes`, one after the other: the next packet is offered when
  the previous one has left the first resources of its route (the links out of its own router; for a store at the port's
  own router, the port). A load's next packet leaves the DRAM port when the previous one has left the port, and will
  have left its first link a hop later (but never before it has begun on that link): the link has no gap between them,
  and no packets queue up in front of it. The unit is free when a next packet could be offered. put gives its tokens
  then; load and store when the last byte has arrived, `dram_latency` later, but never before the unit's earlier ones:
  consecutive loads overlap their latencies, and complete in order. signal and ready send one flit and do not wait for
  it to leave.
- A packet that reaches a router takes all links that it needs there (several if a multicast forks), each independently:
  a free link at once, for its bytes / link_bytes_per_cycle. A link that is occupied is reserved for the next packet
  that arrives; packets that arrive while it is reserved wait in the queue of their input. A router has seven inputs:
  from its four neighbours, from SEND (and RECV) and STORE of its core, and from its DRAM port. When the packet begins
  for which a link was reserved, the link is reserved for the first packet of the next input with a waiting packet, in
  round-robin order after that packet's input. This precedes the arrival of packets at the router in the same cycle; of
  these, the packet from the lower core is first, then that of the lower unit.
- A packet's head is at the next router `hop_cycles` (at least 1) after it began on the link. The link into the
  destination's core is such a link, too; the semaphore rises when the last packet has passed it. Writes end in a DRAM
  port.
- A DRAM port serves packets in the order of arrival. Its time is counted in bytes, of which it moves
  `dram_bytes_per_cycle` / `dram_ports` per cycle: a packet begins in the cycle in which the previous one ends.
- Delivery of a read takes no link into the core: loads and stores have ports of their own.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict, deque
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from ...chips.dram_ports import port_of_core, port_rows
from ...dialects.coreasm.isa import BY_CODE, DATA_DEPENDENT, QUEUES, Cost, Family
from ..executable.executable import Executable
from ..executable.load import patched_words
from ..machine.costs import link_cycles, port_cycles, word_costs
from ..machine.errors import EmulationError
from ..machine.expand import Decisions
from ..machine.mapped_work import MappedWork
from ..machine.noc import (
    EAST,
    EJECT,
    FROM_CORE,
    FROM_DRAM,
    FROM_STORE,
    INPUTS,
    NORTH,
    SOUTH,
    WEST,
)
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
    """Whether it is at its source, where the next packet of its instruction waits for it to leave."""
    last: bool
    came_from: int
    """The input of the router, a number below `noc.INPUTS`."""
    at_port: bool = False


@dataclass
class _Link:
    """A link out of a router, or into its core."""

    free: int = 0
    """The cycle from which it is free of all packets that took it, or for which it is reserved."""
    begin: int = 0
    """The cycle in which the last of these begins."""
    last: int = 0
    """The router input of the last of these."""
    waiting: defaultdict[int, deque[_Packet]] = field(default_factory=lambda: defaultdict(deque[_Packet]))
    """Waiting packets, by router input."""


@dataclass
class _Unit:
    queue: deque[_Instruction] = field(default_factory=deque[_Instruction])
    free: bool = True
    left: int = 0
    """Bytes of the current transfer that are not offered yet."""
    begin: int = 0
    links: int = 0
    """Number of links (or ports) that the packet at its source must still take."""
    gate: int = 0
    """The cycle in which this packet has left those that it took, and the DRAM port."""
    complete: int = 0
    """The cycle of completion of the last load or store whose bytes have all arrived."""
    incomplete: int = 0
    """Number of instructions that were started and are not complete."""


class _Machine:
    """The state of a chip during one launch."""

    def __init__(
        self,
        exe: Executable,
        number: int,
        mapped: dict[int, deque[int]] | None,
        decisions: Decisions | None = None,
    ) -> None:
        self.exe, self.chip, self.mapped = exe, exe.chip, mapped
        self.decisions = [deque[int]() for _ in range(exe.chip.cores)]
        if decisions is not None:
            parts = np.split(decisions.values, decisions.first[1:-1])
            self.decisions = [deque(part.tolist()) for part in parts]
        self.hop = max(exe.chip.hop_cycles, 1)
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
        self.links: defaultdict[tuple[int, int], _Link] = defaultdict(_Link)
        self.busy_links: set[tuple[int, int]] = set()
        """Links for which packets wait: (router, output)."""
        self.port_free = [0] * self.chip.dram_ports
        """[ports] time from which each port is free, in bytes: cycles times `dram_bytes_per_cycle`."""
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
            for router, way in sorted(self.busy_links):
                if self.links[router, way].begin == self.now:
                    self.next_turn(router, way)
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
            if entry.function in ("drain", "lr") and not all(map(self.is_idle, self.units[core])):
                return False
            self.count[core, QUEUES] += 1
            if entry.function == "halt":
                self.halted[core] = True
                self.note_end(self.now + 1)
                return True
            if entry.has_body:
                count, end = int(word["addr"][0]), following + int(word["addr"][1])
                if entry.function == "loop.r":
                    count = self.decide(core, count)
                if count:
                    self.loops[core].append([following, end, count])
                following = -1 if count else end
            elif entry.function == "leave" and not self.decide(core, 1):
                self.loops[core][-1][2] = 1
                following = self.loops[core][-1][1]
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

    def decide(self, core: int, declared: int) -> int:
        """The next decision of a sequencer; `declared` if none is left."""
        return self.decisions[core].popleft() if self.decisions[core] else declared

    def is_idle(self, unit: _Unit) -> bool:
        """Whether all instructions of a unit are complete, and its queue is empty."""
        return unit.free and not unit.queue and not unit.incomplete

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
        unit.incomplete += 1
        match head.cost:
            case Cost.PUT | Cost.DRAM:
                self.next_packet(head, self.now)
                return
            case Cost.PUT_ENCODED:  # zeros are found before the first packet leaves
                self.next_packet(head, self.now + head.cycles)
                return
            case Cost.WAIT:
                self.semaphores[core, head.semaphore] -= head.count
                done = self.now + 1
            case Cost.SIGNAL:
                done = self.now + 1
                flit = self.chip.link_bytes_per_cycle
                self.offer(self.now, _Packet(head, flit, core, head.targets, "core", False, True, FROM_CORE))
            case _:
                done = self.now + head.cycles
        self.at(done, lambda: self.release(head))
        self.at(done, lambda: self.complete(head))

    def release(self, instruction: _Instruction) -> None:
        """Free the unit of an instruction for the next one."""
        core, index = instruction.core, instruction.unit
        unit = self.units[core][index]
        unit.free = True
        self.busy[core, index] += self.now - unit.begin
        self.last[core, index] = max(self.last[core, index], self.now)
        self.note_end(self.now)

    def complete(self, instruction: _Instruction) -> None:
        """
        Complete an instruction and give its tokens: its results are written (the operand of a put may be overwritten).
        """
        core, index = instruction.core, instruction.unit
        self.units[core][index].incomplete -= 1
        for v in instruction.signal:
            self.tokens[core, index, v] += 1
        self.last[core, index] = max(self.last[core, index], self.now)
        self.note_end(self.now)

    # ---- The network

    def next_packet(self, head: _Instruction, time: int) -> None:
        """Offer the next packet of an instruction at `time`, which is not in the past."""
        unit = self.units[head.core][head.unit]
        size = min(unit.left, self.chip.noc_packet_bytes)
        unit.left -= size
        port = port_of_core(self.chip, head.core)
        home = port_rows(self.chip)[port] * self.chip.cols
        last = unit.left == 0
        match head.family:
            case Family.PUT:
                packet = _Packet(head, size, head.core, head.targets, "core", True, last, FROM_CORE)
            case Family.STORE:
                packet = _Packet(head, size, head.core, (home,), "port", True, last, FROM_STORE)
            case _:
                packet = _Packet(head, size, home, (head.core,), "deliver", True, last, FROM_DRAM, at_port=True)
        unit.gate = 0
        self.offer(time, packet)

    def way(self, router: int, goal: int) -> int:
        """The output of `router` towards `goal`, along the row first."""
        cols = self.chip.cols
        if goal % cols != router % cols:
            return EAST if goal % cols > router % cols else WEST
        return SOUTH if goal > router else NORTH

    def pass_router(self, packet: _Packet) -> None:
        """Process a packet that is now at its router, or at the DRAM port from which it is read."""
        head, here = packet.owner, packet.router
        unit = self.units[head.core][head.unit]
        forks: defaultdict[int, tuple[int, ...]] = defaultdict(tuple)
        for goal in packet.goals:
            forks[self.way(here, goal) if goal != here else EJECT] += (goal,)
        if packet.at_port:
            start, gate = self.take_port(packet, self.read)
            self.offer(start + self.hop, replace(packet, at_port=False))
            unit.gate = gate
            if packet.goals == (here,):  # no link follows
                unit.links = 1
                self.leave(packet, gate)
        elif EJECT not in forks or packet.end == "core":
            if packet.first:
                unit.links = len(forks)
            for way, goals in forks.items():
                link, part = self.links[here, way], replace(packet, goals=goals)
                if link.begin <= self.now:
                    self.take_link(here, way, part)
                else:
                    link.waiting[packet.came_from].append(part)
                    self.busy_links.add((here, way))
                    heapq.heappush(self.times, link.begin)
        elif packet.end == "port":
            start, gate = self.take_port(packet, self.written)
            duration = max(int(link_cycles(self.chip, packet.nbytes)), int(port_cycles(self.chip, packet.nbytes)))
            self.arrive(packet, start + duration + self.chip.dram_latency)
            if packet.first:
                unit.links = 1
                self.leave(packet, gate)
        else:
            duration = max(int(link_cycles(self.chip, packet.nbytes)), int(port_cycles(self.chip, packet.nbytes)))
            self.arrive(packet, self.now + duration + self.chip.dram_latency)

    def take_link(self, router: int, way: int, packet: _Packet) -> None:
        """Give a link to a packet, from when it is free."""
        head, link = packet.owner, self.links[router, way]
        on_link = int(link_cycles(self.chip, packet.nbytes))
        link.begin = max(self.now, link.free)
        link.free, link.last = link.begin + on_link, packet.came_from
        self.link_bytes[router, way] += packet.nbytes
        if way == EJECT:
            self.note_end(link.free)
            if packet.last:
                key = (router, head.semaphore)
                self.at(link.free, lambda: self.semaphores.update([key]))
        else:
            there = router + {EAST: 1, WEST: -1, NORTH: -self.chip.cols, SOUTH: self.chip.cols}[way]
            comes = {EAST: WEST, WEST: EAST, NORTH: SOUTH, SOUTH: NORTH}[way]
            self.offer(link.begin + self.hop, replace(packet, router=there, came_from=comes, first=False))
        if packet.first:
            early = min(self.hop, on_link - 1) if head.family == Family.LOAD else 0
            self.leave(packet, link.free - early)

    def next_turn(self, router: int, way: int) -> None:
        """Reserve a link for the next waiting packet, as the packet for which it was reserved begins now."""
        link = self.links[router, way]
        for turn in range(1, INPUTS + 1):
            queue = link.waiting[(link.last + turn) % INPUTS]
            if queue:
                self.take_link(router, way, queue.popleft())
                break
        if any(link.waiting.values()):
            heapq.heappush(self.times, link.begin)
        else:
            self.busy_links.remove((router, way))

    def leave(self, packet: _Packet, time: int) -> None:
        """A packet leaves one of the first resources of its route at `time`; after the last, offer the next packet."""
        head = packet.owner
        unit = self.units[head.core][head.unit]
        unit.links -= 1
        unit.gate = max(unit.gate, time)
        if unit.links:
            return
        gate = unit.gate
        if not packet.last:
            self.at(gate, lambda: self.next_packet(head, gate))
            return
        self.at(gate, lambda: self.release(head))
        if head.cost in (Cost.PUT, Cost.PUT_ENCODED):
            self.at(gate, lambda: self.complete(head))

    def arrive(self, packet: _Packet, time: int) -> None:
        self.note_end(time)
        if packet.last:
            unit = self.units[packet.owner.core][packet.owner.unit]
            unit.complete = max(unit.complete, time)
            self.at(unit.complete, lambda: self.complete(packet.owner))

    def take_port(self, packet: _Packet, moved: Any) -> tuple[int, int]:
        """Reserve the DRAM port for a packet that is there now. Returns the cycles in which it begins, and has left."""
        port, rate = port_of_core(self.chip, packet.owner.core), self.chip.dram_bytes_per_cycle
        start = max(self.now * rate, self.port_free[port])
        self.port_free[port] = start + packet.nbytes * self.chip.dram_ports
        moved[port] += packet.nbytes
        return start // rate, max(self.port_free[port] // rate, self.now + 1)


def run_reference(exe: Executable, mapped: MappedWork | None = None) -> TimingResult:
    """The timing of a run of `exe` by the definition (`mapped`: see `run_timing`). EmulationError for a deadlock."""

    def launch(number: int, run: int) -> LaunchTiming:
        if mapped is None:
            return _Machine(exe, number, None).run()
        return _Machine(exe, number, _queues(mapped, run), mapped.decisions.get(run)).run()

    return follow_controller(exe, launch, mapped)


def _queues(mapped: MappedWork, run: int) -> dict[int, deque[int]]:
    """Cycles (or bytes) that depend on values, by core * 8 + unit, in the order of each unit's queue."""
    queues: dict[int, deque[int]] = defaultdict(deque)
    for of_run, lane, time in zip(mapped.run, mapped.lane, mapped.times, strict=True):
        if of_run == run:
            queues[int(lane)].append(int(time))
    return queues

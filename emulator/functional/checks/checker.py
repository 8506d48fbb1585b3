"""The checking mode: reports reads of unwritten memory, accesses out of range, and races with both instructions."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....dialects.coreasm.isa import BY_CODE, INSTRUCTIONS, ITEMSIZE, MNEMONICS, Family
from ...executable.executable import Executable, source_name
from ...executable.host import ControllerStep
from ...machine.errors import EmulationError, Fault, location
from ...machine.expand import DECLARED, POST, REPLAY, Code, Sequencer, Stream
from ...machine.memory import new_memory
from ..deadlock import UNIT_NAMES
from ..decode import Steps
from .host import HostChecks
from .order import (
    AGENTS,
    BUSY,
    GROW,
    OK,
    OUT_OF_DRAM,
    OUT_OF_SRAM,
    RACE_READ,
    UNWRITTEN,
    check_chunk,
    mark_stores,
)
from .runs import AccessTable

_READ, _WRITTEN, _VALID = 1, 2, 4
"""Bits of a DRAM cell: read, or written, by a launch that is not joined yet; valid: has a value."""


def grain_of(exe: Executable) -> int:
    """
    The size of cells: 4, 2 or 1 bytes, the largest of which all addresses, strides and elements of the programs are
    multiples. Larger cells make the checks faster, and equally exact.
    """
    together = 4
    for program in exe.programs:
        together = math.gcd(together, _gcd(program.descs["stride"]))
        words = program.words
        for slot in range(4):
            used = words["desc"][:, slot] != 0xFFFF
            together = math.gcd(together, _gcd(words["addr"][used, slot]))
        registers = np.isin(words["op"], [MNEMONICS.index("addi"), MNEMONICS.index("li")])
        together = math.gcd(together, _gcd(words["addr"][registers, 0]))
        units = ~np.isin(words["op"], [k for k, name in enumerate(MNEMONICS) if name in _NO_ELEMENTS])
        for nibble in (words["dtype"][units] & 15, words["dtype"][units] >> 4):
            together = math.gcd(together, _gcd(ITEMSIZE[nibble]))
    for name in ("select", "eq", "ne", "lt", "le", "gt", "ge", "isnan", "isinf"):
        if any(np.any(program.words["op"] == MNEMONICS.index(name)) for program in exe.programs):
            return 1
    for launch in exe.launches:
        for core, values in enumerate(launch.params_of_core):
            params = exe.programs[int(launch.program_of_core[core])].params
            if len(values) == len(params):
                together = math.gcd(together, _gcd(np.asarray(values)[params[:, 1] < 4]))
    for info in exe.tensors:
        together = math.gcd(together, info.dram_address, info.nbytes)
    return math.gcd(together, exe.weights_address, exe.dram_bytes_used, exe.chip.sram_bytes)


_NO_ELEMENTS = frozenset({"", *(i.mnemonic for i in INSTRUCTIONS if not i.types)})


def _gcd(values: NDArray[Any]) -> int:
    return int(np.gcd.reduce(values.astype(np.int64), axis=None)) if values.size else 0


class Checker:
    """Checks a whole run: launches, chunk by chunk, and the controller's copies."""

    def __init__(self, exe: Executable) -> None:
        self.exe = exe
        self.grain = grain_of(exe)
        chip = exe.chip
        self.cells = chip.sram_bytes // self.grain
        self.written = new_memory(chip.cores * self.cells).reshape(chip.cores, self.cells)
        self.touched = new_memory(max(exe.dram_bytes_used // self.grain, 1))
        self.busy = new_memory(len(self.touched))
        """For each DRAM cell: 1 while a copy from the host writes it, 2 while a copy to the host reads it."""
        self.copies: list[ControllerStep] = []
        self.table = AccessTable()
        self._range(exe.weights_address, exe.weight_bytes, self.touched)[...] |= _VALID
        self.host = HostChecks(exe)

    def _range(self, address: int, nbytes: int, cells: NDArray[np.uint8]) -> NDArray[np.uint8]:
        return cells[address // self.grain : -(-(address + nbytes) // self.grain)]

    def controller(self, step: ControllerStep) -> None:
        """Check one word of the controller's program, after it was executed. Raises EmulationError on a race."""
        where = f"controller, word {step.word} '{step.mnemonic}'"
        self.host.follow(step, where)
        if step.mnemonic in ("ctl.h2d", "ctl.d2h"):
            inward = step.mnemonic == "ctl.h2d"
            cells = self._range(step.target if inward else step.source, step.nbytes, self.touched)
            busy = self._range(step.target if inward else step.source, step.nbytes, self.busy)
            if np.any(cells & ((_READ | _WRITTEN) if inward else _WRITTEN)):
                raise EmulationError(f"{where}: race with a launch that has not been joined")
            if np.any(busy if inward else busy == 1):
                raise EmulationError(f"{where}: race with a copy that has not been waited for")
            if not inward and not np.all(cells & _VALID):
                first = step.source + int(np.flatnonzero((cells & _VALID) == 0)[0]) * self.grain
                raise EmulationError(f"{where}: reads byte {first} of DRAM, which has not been written")
            if inward:
                cells |= _VALID
            busy[...] = 1 if inward else 2
            self.copies.append(step)
        elif step.mnemonic == "ctl.wait":
            for copy in [c for c in self.copies if c.number == step.number]:
                inward = copy.mnemonic == "ctl.h2d"
                self._range(copy.target if inward else copy.source, copy.nbytes, self.busy)[...] = 0
                self.copies.remove(copy)
        elif step.mnemonic == "ctl.join":
            self.touched &= _VALID

    def launch(self, number: int, code: Code, steps: list[Steps], sequencer: Sequencer) -> Callable[[Stream], None]:
        """Start the check of a launch. Returns a function to call for each chunk in order, before its execution."""
        return _LaunchCheck(self, code, steps, sequencer).check


@dataclass
class _Room:
    """Memory for clocks in flight: those of tokens and semaphore counts that were not consumed yet."""

    snapshots: NDArray[np.int32]
    references: NDArray[np.int32]
    free: NDArray[np.int64]
    nodes: NDArray[np.int64]

    @staticmethod
    def of(size: int, agents: int) -> _Room:
        free = np.zeros((2, size + 1), np.int64)
        free[:, 0], free[:, 1:] = size, np.arange(size)
        return _Room(np.zeros((size, agents), np.int32), np.zeros(size, np.int32), free, np.zeros((size, 2), np.int64))

    def grown(self) -> _Room:
        old = len(self.references)
        new = _Room.of(2 * old, self.snapshots.shape[1])
        for to, of in ((new.snapshots, self.snapshots), (new.references, self.references), (new.nodes, self.nodes)):
            to[:old] = of
        for kind in range(2):
            count = int(self.free[kind, 0])
            new.free[kind, 1 : 1 + old] = np.arange(old, 2 * old)
            new.free[kind, 1 + old : 1 + old + count] = self.free[kind, 1 : 1 + count]
            new.free[kind, 0] = old + count
        return new


class _LaunchCheck:
    def __init__(self, checker: Checker, code: Code, steps: list[Steps], sequencer: Sequencer) -> None:
        self.checker, self.code, self.steps = checker, code, steps
        self.sequencer = sequencer
        cores, agents, cells = len(code.base), AGENTS * len(code.base), checker.cells
        self.number = np.full(len(code.kind), -1, np.int64)
        self.clocks = np.zeros((agents, agents), np.int32)
        self.net = np.zeros(cores, np.int32)
        self.room = _Room.of(64 + 16 * cores, agents)
        self.token_ends = np.full((cores, 8, 8, 2), -1, np.int64)
        self.counter_ends = np.full((cores, sequencer.semaphores, 2), -1, np.int64)
        self.write_agent = _zeros((cores, cells))
        self.write_clock = _zeros((cores, cells))
        self.read_clock = _zeros((cores, 8, cells))
        stored = self._stored_cells()
        where = np.flatnonzero(stored)
        self.dram_low = int(where[0]) if len(where) else 0
        span = stored[self.dram_low : int(where[-1]) + 1] if len(where) else stored[:0]
        self.cell_of = np.where(span != 0, np.cumsum(span, dtype=np.int32) - 1, -1).astype(np.int32)
        self.far_agent, self.far_clock = _zeros((len(where),)), _zeros((len(where),))
        self.far_read = _zeros((len(where), cores))

    def _again(self, mode: int) -> Sequencer:
        """A sequencer from the beginning of the launch."""
        live = self.sequencer
        return Sequencer(self.code, live.queue_depth, live.semaphores, live.limit, mode, live.decisions)

    def _stored_cells(self) -> NDArray[np.uint8]:
        """The cells of DRAM that the launch writes: races are possible in these only."""
        stored = new_memory(len(self.checker.touched))
        for stream in self._again(DECLARED).chunks():
            flat = self.code.base[stream.core] + stream.word
            self._decode(stream, flat)
            mark_stores(flat, self.number, stream.address, *self.checker.table.arrays(), self.checker.grain, stored)
        return stored

    def _decode(self, stream: Stream, flat: NDArray[np.int64]) -> None:
        unknown = self.number[flat] < 0
        if not np.any(unknown):
            return
        words, first = np.unique(flat[unknown], return_index=True)
        indices = np.flatnonzero(unknown)[first]
        for word, index in zip(words.tolist(), indices.tolist(), strict=True):
            core, local = int(stream.core[index]), int(stream.word[index])
            steps = self.steps[core]
            try:
                decoded = steps.decode(local)
            except Fault as fault:
                raise self._error(str(fault), core, local) from fault
            put = BY_CODE[int(steps.program.words["op"][local])].family is Family.PUT
            self.number[word] = self.checker.table.number(decoded, put)

    def check(self, stream: Stream) -> None:
        """Check one chunk. Raises EmulationError at the first fault."""
        code, checker = self.code, self.checker
        flat = code.base[stream.core] + stream.word
        self._decode(stream, flat)
        found = np.zeros(5, np.int64)
        at, what = 0, OK
        while at < len(flat):
            room = self.room
            what, at = check_chunk(
                at, stream.core, flat, self.number, stream.address, code.kind, code.unit, code.wait, code.signal,
                code.imm, code.address[:, 0], code.core_set, code.core_sets, *checker.table.arrays(), checker.grain,
                self.clocks, self.net, room.snapshots, room.references, room.free, room.nodes, self.token_ends,
                self.counter_ends, checker.written, self.write_agent, self.write_clock, self.read_clock,
                checker.touched, checker.busy, checker.touched, self.cell_of, self.dram_low, self.far_agent,
                self.far_clock, self.far_read, found,
            )  # fmt: skip
            if what == GROW:
                self.room = room.grown()
            elif what != OK:
                raise self._explain(what, int(stream.core[at]), int(stream.word[at]), found)

    def _explain(self, what: int, core: int, word: int, found: NDArray[np.int64]) -> EmulationError:
        at, other, memory_of, slot, clock = (int(v) for v in found)
        far = self._is_far(core, word, slot)
        memory = "DRAM" if far else f"SRAM of core {memory_of}" if memory_of != core else "SRAM"
        if what in (OUT_OF_SRAM, OUT_OF_DRAM):
            size = len(self.checker.touched) * self.checker.grain if far else self.checker.exe.chip.sram_bytes
            text = f"operand {slot} accesses bytes {at} to {other - 1} of {'DRAM' if far else 'SRAM'}, which has {size}"
        elif what == UNWRITTEN:
            text = f"operand {slot} reads byte {at} of {memory}, which has not been written"
        elif what == BUSY:
            text = f"race: operand {slot} accesses byte {at} of DRAM, which a copy of the controller still accesses"
        else:
            deed = "read" if what == RACE_READ else "write"
            text = f"race: operand {slot} accesses byte {at} of {memory}, not ordered with the {deed} by "
            text += self._who(other, clock)
        return self._error(text, core, word)

    def _is_far(self, core: int, word: int, slot: int) -> bool:
        return any(a.slot == slot and a.dram for a in self.steps[core].decode(word).accesses)

    def _who(self, agent: int, clock: int) -> str:
        """A description of instruction number `clock` of `agent`, found by generating the stream again."""
        core, unit = divmod(agent, AGENTS)
        puts = unit == 8
        count = 0
        for stream in self._again(REPLAY).chunks():
            flat = self.code.base[stream.core] + stream.word
            ours = (stream.core == core) & (self.code.unit[flat] == (5 if puts else unit))
            if puts:
                ours &= (self.code.kind[flat] == POST) & self._puts(flat)
            hits = np.flatnonzero(ours)
            if count + len(hits) >= clock:
                word = int(stream.word[hits[clock - count - 1]])
                program = self.steps[core].program
                mnemonic = MNEMONICS[int(program.words["op"][word])]
                source = source_name(self.checker.exe, program, word)
                return f"core {core} {UNIT_NAMES[min(unit, 7) if not puts else 5]}, " + location(
                    program.name, word, mnemonic, source
                )
            count += len(hits)
        return f"core {core}"

    def _puts(self, flat: NDArray[np.int64]) -> NDArray[np.bool_]:
        first = np.array([*self.checker.table.first, len(self.checker.table.rows)])
        return (first[self.number[flat] + 1] - first[self.number[flat]]) > 0

    def _error(self, what: str, core: int, word: int) -> EmulationError:
        steps = self.steps[core]
        mnemonic = MNEMONICS[int(steps.program.words["op"][word])]
        return EmulationError(
            what, core, steps.program.name, word, mnemonic, source_name(self.checker.exe, steps.program, word)
        )


def _zeros(shape: tuple[int, ...]) -> NDArray[np.int32]:
    """Zeros whose pages are allocated at their first access."""
    return new_memory(4 * math.prod(shape)).view(np.int32).reshape(shape)

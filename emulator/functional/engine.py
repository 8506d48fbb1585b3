"""
The functional engine: runs an executable and returns its outputs, as each instruction defines them.

The order of execution is that of the sequencer (`expand.py`), which simulates queues, tokens and semaphores. Each
instruction is executed by NumPy on views of the cores' memories (`semantics/`). The executable is the only description
of the network.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ...dialects.coreasm.isa import MNEMONICS
from ..executable.executable import Executable, TensorInfo, source_name
from ..executable.host import controller_steps, host_memory, read_outputs, tensor_values
from ..machine.errors import EmulationError, Fault
from ..machine.expand import COUNT, DEADLOCK, DRAIN, FAULT, FAULTS, NO_MORE, READ, Code, Sequencer, Stream
from ..machine.mapped_work import MappedWork, Recorder
from ..machine.memory import Array, new_memory
from .deadlock import explain_deadlock
from .decode import Decoder, Steps
from .kept_decoders import decoder_for
from .observer import LaunchView, Machine, Observer
from .one_blas_thread import one_thread
from .semantics.base import Step


@dataclass
class FunctionalResult:
    """The result of a functional run."""

    outputs: dict[str, Array]
    executed: NDArray[np.int64]
    """[cores] number of instructions executed in all launches, without those of the sequencer."""
    machine: Machine
    executable: Executable
    mapped: MappedWork
    """The work of instructions whose cost depends on values, for the timing engine."""

    def tensor(self, name: str) -> Array:
        """
        The value of tensor `name` (of any role) in DRAM after the run; bf16 is returned as f32.

        Raises EmulationError if the executable has no such tensor.
        """
        for info in self.executable.tensors:
            if info.name == name:
                return read_tensor(self, info)
        raise EmulationError(f"the executable has no tensor '{name}'")


def read_tensor(result: FunctionalResult, info: TensorInfo) -> Array:
    """
    The value of a tensor in DRAM after a run, as a copy with its shape; bf16 is returned as f32.

    Raises EmulationError for a tensor that is larger than DRAM.
    """
    if info.nbytes > len(result.machine.dram):
        raise EmulationError(f"tensor '{info.name}' is larger than DRAM: it is never in memory as a whole")
    raw = result.machine.dram[info.dram_address : info.dram_address + info.nbytes]
    return tensor_values(raw, info)


def run_functional(
    exe: Executable,
    inputs: Mapping[str, Array],
    check: bool = False,
    limit: int = 1 << 40,
    observer: Observer | None = None,
) -> FunctionalResult:
    """
    Run `exe` on `inputs` (by name; shapes and types as in its table of tensors).

    `check` also detects reads of unwritten memory and races, at several times the cost. `limit` bounds the instructions
    of a launch; `observer` is notified of the execution.

    Raises InputError for inputs that do not match, and EmulationError for a program that violates the rules of the
    chip.
    """
    machine = _machine_for(exe)
    host = host_memory(exe, inputs)
    with decoder_for(exe, machine.srams) as decoder, one_thread(), np.errstate(all="ignore"):
        engine = _Engine(exe, machine, decoder, limit, observer)
        if check:
            from .checks.checker import Checker

            engine.checker = Checker(exe)
        for step in controller_steps(exe):
            step.run(host, machine.dram, engine.launch)
            if engine.checker is not None:
                engine.checker.controller(step)
        mapped = engine.recorder.work()
    return FunctionalResult(read_outputs(exe, host, machine.dram), engine.executed, machine, exe, mapped)


def _machine_for(exe: Executable) -> Machine:
    """New memories of a chip, with the weights of an executable. Raises EmulationError if these do not fit."""
    chip = exe.chip
    if exe.dram_bytes_used > chip.dram_bytes:
        needs = f"the executable needs {exe.dram_bytes_used} bytes of DRAM"
        raise EmulationError(f"{needs}, chip '{chip.name}' has {chip.dram_bytes}")
    dram = new_memory(max(exe.dram_bytes_used, 1))
    weights = np.frombuffer(exe.weights, np.uint8)
    if exe.weights_address + len(weights) > len(dram) and len(weights):
        raise EmulationError("the weights do not fit in the DRAM that the executable declares")
    dram[exe.weights_address : exe.weights_address + len(weights)] = weights
    return Machine([new_memory(chip.sram_bytes) for _ in range(chip.cores)], dram)


class _Engine:
    def __init__(
        self, exe: Executable, machine: Machine, decoder: Decoder, limit: int, observer: Observer | None
    ) -> None:
        self.exe, self.machine, self.decoder, self.limit, self.observer = exe, machine, decoder, limit, observer
        self.checker: Any = None
        self.recorder = Recorder(decoder.pending)
        self.executed = np.zeros(exe.chip.cores, np.int64)
        self.runs = 0

    def launch(self, number: int) -> None:
        """Run launch `number` to its end."""
        exe = self.exe
        if number >= len(exe.launches):
            raise EmulationError(f"the controller starts launch {number}, there are {len(exe.launches)}")
        decoded = self.decoder.launch(exe, number)
        code, steps = decoded.code, decoded.steps
        sequencer = Sequencer(code, exe.chip.queue_depth, exe.chip.semaphores, self.limit)
        check = None if self.checker is None else self.checker.launch(number, code, steps, sequencer)
        view = None if self.observer is None else LaunchView(number, code, steps, self.machine)
        watch = None if self.observer is None or view is None else self.observer.launch(view)
        for stream in sequencer.chunks():
            kinds = code.kind[code.base[stream.core] + stream.word]
            of_units = (kinds != READ) & (kinds != DRAIN)
            self.executed += np.bincount(stream.core[of_units], minlength=len(self.executed))
            if check is not None:
                check(stream)
            if watch is None:
                self._run(stream, steps, code)
            else:
                watch(stream, lambda part: self._run(part, steps, code))
            if decoded.depends is not None:
                self._note(stream, decoded.depends, code)
            if numbers := self.decoder.numbers:
                reads = kinds == READ
                sequencer.give(stream.core[reads], stream.word[reads], np.array(numbers, np.int64))
                numbers.clear()
        self.recorder.decided(self.runs, sequencer.decisions)
        self.runs += 1
        if sequencer.status == DEADLOCK:
            raise EmulationError(explain_deadlock(exe, exe.launches[number], sequencer))
        if sequencer.status == FAULT:
            kind, core, word, value = (int(v) for v in sequencer.state.fault)
            most = int(code.address[code.base[core] + word, 0])
            what = NO_MORE if kind == COUNT and not most else FAULTS[kind].format(value=value, most=most)
            raise self._located(what, steps[core], core, word, code)

    def _run(self, stream: Stream, steps: list[Steps], code: Code) -> None:
        srams, dram = self.machine.srams, self.machine.dram
        run: list[list[Step | None]] = [s.run for s in steps]
        cores, words = cast("list[int]", stream.core.tolist()), cast("list[int]", stream.word.tolist())
        addresses = (stream.address[:, k].tolist() for k in range(4))
        order = cast("Iterator[tuple[int, int, int, int, int, int]]", zip(cores, words, *addresses, strict=True))
        core = word = 0
        executed = 0
        try:
            for core, word, x0, x1, x2, x3 in order:
                step: Step = run[core][word] or steps[core].decode(word).step
                step(srams[core], dram, x0, x1, x2, x3)
                executed += 1
        except Fault as fault:
            raise self._located(str(fault), steps[core], core, word, code) from fault
        except (TypeError, ValueError, OverflowError, MemoryError) as error:
            what = self._out_of_range(steps[core], word, stream.address[executed]) or f"cannot be executed: {error}"
            raise self._located(what, steps[core], core, word, code) from error

    def _note(self, stream: Stream, depends: NDArray[np.bool_], code: Code) -> None:
        """Record the locations of the executions in a chunk whose cost depends on values."""
        flat = code.base[stream.core] + stream.word
        at = np.flatnonzero(depends[flat])
        self.recorder.position(self.runs, stream.core[at], code.unit[flat[at]], stream.word[at])

    def _out_of_range(self, steps: Steps, word: int, address: NDArray[np.int64]) -> str:
        """A description of the operand of a word that extends beyond its memory; empty if there is none."""
        found = steps.known(word)
        for access in () if found is None else found.accesses:
            low, high = access.geometry.extent(access.itemsize)
            low, high = low + int(address[access.slot]), high + int(address[access.slot])
            size = len(self.machine.dram) if access.dram else self.exe.chip.sram_bytes
            if low < 0 or high > size:
                verb = "writes" if access.write else "reads"
                memory = "DRAM" if access.dram else "SRAM"
                return f"operand {access.slot} {verb} bytes {low} to {high - 1} of {memory}, which has {size}"
        return ""

    def _located(self, what: str, steps: Steps, core: int, word: int, code: Code) -> EmulationError:
        program, op = steps.program, int(steps.program.words["op"][word])
        return EmulationError(what, core, program.name, word, MNEMONICS[op], source_name(self.exe, program, word))

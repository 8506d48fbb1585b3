"""Explanation of a deadlock: which units are blocked, and which cores wait for which."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...dialects.coreasm.isa import MNEMONICS
from ..executable.executable import Executable, Launch, source_name
from ..machine.errors import location
from ..machine.expand import POST, WAIT, Sequencer

UNIT_NAMES = ("MPU", "VPU", "DAU", "LOAD", "STORE", "SEND", "RECV", "MAP")
_SHOWN = 8
"""Maximum number of blocked units in a message, to keep the cause visible."""


@dataclass(frozen=True)
class Blocked:
    """The instruction at the head of a unit's queue, which cannot start."""

    core: int
    unit: int
    word: int
    semaphore: int
    """The semaphore that it waits for; -1: it waits for tokens only."""
    has: int
    needs: int
    tokens_from: tuple[int, ...]
    """Units of the same core whose tokens are missing."""
    may_signal: tuple[int, ...]
    """Cores that still have an instruction to execute that would raise the semaphore."""


def blocked_units(sequencer: Sequencer) -> list[Blocked]:
    """All units with a non-empty queue, in a launch that is deadlocked."""
    code, state = sequencer.code, sequencer.state
    cores, units = np.nonzero(state.queued)
    found: list[Blocked] = []
    for core, unit in zip(cores.tolist(), units.tolist(), strict=True):
        flat = int(state.queue[core, unit, state.head[core, unit], 0])
        missing = tuple(v for v in range(8) if (int(code.wait[flat]) >> v) & 1 and not state.tokens[core, v, unit])
        semaphore, has, needs = -1, 0, 0
        may_signal: tuple[int, ...] = ()
        if code.kind[flat] == WAIT:
            number = int(code.imm[flat])
            has, needs = int(state.counters[core, number]), int(code.address[flat, 0])
            if has < needs:
                semaphore = number
                may_signal = tuple(_signallers(sequencer, core, number))
        found.append(Blocked(core, unit, flat - int(code.base[core]), semaphore, has, needs, missing, may_signal))
    return found


def _signallers(sequencer: Sequencer, core: int, semaphore: int) -> Iterator[int]:
    """Cores that still have an instruction to execute that raises `semaphore` of `core`."""
    code = sequencer.code
    reach = code.core_sets[:, core]
    raises = (code.kind == POST) & (code.imm == semaphore)
    raises[raises] = reach[code.core_set[raises]]
    for other, (base, length) in enumerate(zip(code.base.tolist(), code.length.tolist(), strict=True)):
        if np.any(raises[_pending(sequencer, other, base, length)]):
            yield other


def _pending(sequencer: Sequencer, core: int, base: int, length: int) -> NDArray[np.int64]:
    """Words that `core` may still execute: those in queues, and those from its program counter or active loops on."""
    state = sequencer.state
    queued: list[int] = []
    slots = state.queue.shape[2]
    for unit in range(8):
        head = int(state.head[core, unit])
        for k in range(int(state.queued[core, unit])):
            queued.append(int(state.queue[core, unit, (head + k) % slots, 0]))
    if state.halted[core]:
        return np.array(queued, np.int64)
    start = int(state.pc[core])
    for start_of_loop, _, left in state.loops[core, : int(state.depth[core])].tolist():
        if left > 1:
            start = min(start, start_of_loop)
    return np.concatenate([np.array(queued, np.int64), np.arange(base + start, base + length)])


def find_cycle(blocked: list[Blocked]) -> list[int]:
    """Cores of a cycle of waits, with the first core repeated at the end; empty if there is none."""
    waits_for: dict[int, list[int]] = {}
    for unit in blocked:
        waits_for.setdefault(unit.core, []).extend(unit.may_signal)
    done: set[int] = set()
    for root in waits_for:
        path: list[int] = [root]
        choices = [iter(waits_for.get(root, ()))]
        while path:
            step = next(choices[-1], None)
            if step is None:
                done.add(path.pop())
                choices.pop()
            elif step in path:
                return [*path[path.index(step) :], step]
            elif step not in done:
                path.append(step)
                choices.append(iter(waits_for.get(step, ())))
    return []


def explain_deadlock(exe: Executable, launch: Launch, sequencer: Sequencer) -> str:
    """
    The message of a deadlock: the blocked units, what each waits for, which cores could provide it, and the cycle if
    there is one.
    """
    blocked = blocked_units(sequencer)
    stuck = sorted({unit.core for unit in blocked})
    lines = [f"deadlock: {len(stuck)} of {exe.chip.cores} cores are blocked"]
    for unit in blocked[:_SHOWN]:
        program = exe.programs[int(launch.program_of_core[unit.core])]
        name = source_name(exe, program, unit.word)
        mnemonic = MNEMONICS[int(program.words["op"][unit.word])]
        where = location(program.name, unit.word, mnemonic, name)
        lines.append(f"  core {unit.core} {UNIT_NAMES[unit.unit]}, {where}: {_lacks(unit, stuck)}")
    if len(blocked) > _SHOWN:
        lines.append(f"  and {len(blocked) - _SHOWN} more units")
    cycle = find_cycle(blocked)
    if cycle:
        lines.append("  cycle: " + " waits for ".join(f"core {core}" for core in cycle))
    return "\n".join(lines)


def _lacks(unit: Blocked, stuck: list[int]) -> str:
    reasons: list[str] = []
    if unit.semaphore >= 0:
        reason = f"semaphore {unit.semaphore} has {unit.has}, needs {unit.needs}"
        if unit.may_signal:
            names = ", ".join(f"core {core}{' (stuck)' if core in stuck else ''}" for core in unit.may_signal[:_SHOWN])
            reasons.append(f"{reason}; may still be raised by {names}")
        else:
            reasons.append(f"{reason}; no remaining instruction of any core raises it")
    if unit.tokens_from:
        reasons.append("no token from " + ", ".join(UNIT_NAMES[v] for v in unit.tokens_from))
    return "; ".join(reasons) or "its queue is blocked"

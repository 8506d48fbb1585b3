"""
Generators of random valid programs without deadlock, for tests of the timing engines: with loops, multicasts, DRAM
traffic and sparse work.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...chips.chip import Chip
from ...chips.load import load_chip
from ...formats.sparse.block import block_for
from ...formats.sparse.index_formats import stride
from ..executable.build import Assembly, Operand, at
from ..executable.executable import Executable
from ..machine.expand import Decisions
from ..machine.mapped_work import COLUMNS, MappedWork
from ..machine.memory import BOOL, F32
from .kernel_arrays import KIND, LEAVE, LOOP_BY
from .tables import Tables, build_tables

MPU, VPU, DAU, LOAD, STORE, SEND, RECV, MAP = range(8)
_BLOCK = block_for(stride(4), 8, 12)
_ENCODED = Operand(0, *_BLOCK.descriptor)


def local(asm: Assembly, rng: random.Random, core: int, wait: int = 0, signal: int = 0, unit: int | None = None) -> int:
    """Append a random instruction of MPU, VPU, DAU, LOAD, STORE or MAP. Returns its unit."""
    unit = rng.choice([MPU, VPU, VPU, DAU, LOAD, STORE, MAP]) if unit is None else unit
    declared = (0, 0, 0, rng.randrange(100))
    n, m, k = (rng.choice([1, 2, 3, 5, 8, 9, 16, 33]) for _ in range(3))
    match unit:
        case 0:
            mkn = 1 << 4 | 1 << 8 | 1 << 12
            a, b = at(0, (m, k)), at(0, (k, n))
            if rng.random() < 0.3:
                a, d = at(0, (m, _BLOCK.length)), at(0, (m, _BLOCK.fibers))
                asm.op(core, "matmul.zw", d, a, _ENCODED, imm=mkn, wait=wait, signal=signal, raw=declared)
            else:
                asm.op(core, "matmul", at(0, (m, n)), a, b, imm=mkn, wait=wait, signal=signal)
        case 1:
            name = rng.choice(["add", "mul", "div"])
            asm.op(core, name, at(0, (m, n)), at(0, (m, n)), 1.0, wait=wait, signal=signal)
        case 2:
            source = at(0, (m, n), strides=(4 * n + rng.choice([0, 4]), 4))
            asm.op(core, "copy", at(0, (m, n)), source, wait=wait, signal=signal)
        case 3:
            source = at(0, (m, 4 * n), strides=(16 * n + rng.choice([0, 4]), 4))
            asm.op(core, "load", at(0, (m, 4 * n)), source, wait=wait, signal=signal)
        case 7:
            dense = at(0, (_BLOCK.fibers, _BLOCK.length))
            operands: dict[str, tuple[Operand | float, ...]] = {
                "encode": (_ENCODED, dense, 0.0),
                "decode": (dense, _ENCODED),
                "connect": (_ENCODED, _ENCODED),
                "combine": (_ENCODED, _ENCODED, _ENCODED),
                "compact": (_ENCODED, dense, _ENCODED),
            }
            name = rng.choice(list(operands))
            types = {"connect": (F32, BOOL), "combine": (BOOL, BOOL)}.get(name, (F32, F32))
            asm.op(
                core, name, *operands[name], source=types[0], result=types[1], wait=wait, signal=signal, raw=declared
            )
        case _:
            asm.op(core, "store", at(0, (m, 4 * n)), at(0, (m, 4 * n)), wait=wait, signal=signal)
    return unit


def random_program(seed: int, chip: Chip | None = None, rounds: int = 12, dynamic_loops: bool = False) -> Executable:
    """
    An executable with rounds of local work, dependent instructions, loops and messages, in the same order on all cores.

    It has no deadlock: the targets receive a message before any later work, and its sender never waits for a later
    message. `dynamic_loops`: with loops whose number of iterations is known at run time only.
    """
    rng = random.Random(seed)
    chip = chip or load_chip(rng.choice(["tiny", "edge", "grid"]))
    asm = Assembly(chip)
    cores = range(chip.cores)
    for step in range(rounds):
        for core in cores:
            match rng.randrange(5):
                case 0:
                    local(asm, rng, core)
                case 1:
                    linked(asm, rng, core)
                case 2:
                    loop(asm, rng, core, 2, dynamic_loops)
                case _:
                    pass
        for _ in range(max(1, chip.cores // 4)):
            message(asm, rng, rng.choice(cores), rng.sample(cores, min(chip.cores, rng.choice([1, 1, 1, 2, 5]))), step)
    return asm.build()


def random_work(seed: int, exe: Executable) -> MappedWork:
    """Random costs of all executions whose cost depends on values, for one run of each launch of `exe`."""
    rng = np.random.default_rng(seed)
    run: list[NDArray[np.int32]] = []
    lane: list[NDArray[np.int32]] = []
    cycles: list[NDArray[np.int64]] = []
    decisions: dict[int, Decisions] = {}
    for number, launch in enumerate(exe.launches):
        tables = build_tables(exe, launch)
        if len(made := _random_decisions(rng, tables)):
            decisions[number] = Decisions.of(exe.chip.cores, made[:, 0], made[:, 1])
        executed = tables.mapped(decisions.get(number)).reshape(-1)
        count = int(executed.sum())
        run.append(np.full(count, number, np.int32))
        lane.append(rng.permutation(np.repeat(np.arange(len(executed), dtype=np.int32), executed)))
        cycles.append(rng.integers(1, 100, (count, len(COLUMNS))))
    runs, lanes = np.concatenate(run), np.concatenate(lane)
    return MappedWork(runs, lanes, np.zeros_like(lanes), np.concatenate(cycles), decisions)


def _random_decisions(rng: np.random.Generator, tables: Tables) -> NDArray[np.int64]:
    """[n, 2] cores and random decisions for their loops: more than they need, with values as for counts."""
    made: list[tuple[int, int]] = []
    for core, segment in enumerate(tables.segment_of_core.tolist()):
        rows = tables.word_class[tables.bounds[segment] : tables.bounds[segment + 1]]
        if np.isin(tables.classes[rows, KIND], [LOOP_BY, LEAVE]).any():
            made += [(core, int(value)) for value in rng.integers(0, 4, 64)]
    return np.array(made, np.int64).reshape(-1, 2)


def linked(asm: Assembly, rng: random.Random, core: int) -> None:
    """Append an instruction of one unit, one of another unit that waits for it, and a third that waits for both."""
    units = rng.sample([MPU, VPU, DAU, LOAD, STORE, MAP], 3)
    first = local(asm, rng, core, unit=units[0], signal=1 << units[1] | 1 << units[2])
    second = local(asm, rng, core, unit=units[1], wait=1 << first, signal=1 << units[2])
    local(asm, rng, core, unit=units[2], wait=1 << first | 1 << second)


def loop(asm: Assembly, rng: random.Random, core: int, depth: int, dynamic_loops: bool = False) -> None:
    """
    Append a hardware loop over local work; at random with a nested loop, possibly at its end. `dynamic_loops`: at
    random with a count or an end that depends on values, and with waits for idle units.
    """
    body = Assembly(asm.chip, table=asm.table, sets=asm.sets, sources=asm.sources)
    for _ in range(rng.randrange(1, 4)):
        if depth > 1 and rng.random() < 0.4:
            loop(body, rng, core, depth - 1, dynamic_loops)
        elif rng.random() < 0.4:
            linked(body, rng, core)
        else:
            local(body, rng, core)
        if dynamic_loops and rng.random() < 0.4:
            body.op(core, rng.choice(["leave", "drain"]), imm=0)
    inner = body.words[core]
    name = "loop.r" if dynamic_loops and rng.random() < 0.5 else "loop"
    asm.op(core, name, raw=(rng.randrange(1, 6), len(inner)), imm=0)
    for word in inner:
        asm.op(core, "nop")
        asm.words[core][-1] = word


def message(asm: Assembly, rng: random.Random, sender: int, targets: Sequence[int], step: int) -> None:
    """Append a multicast put or signal after a unit's work, at random with credits, and the receivers' waits."""
    n = rng.choice([1, 7, 64, 300, 1000])
    semaphore = rng.randrange(8)
    if rng.random() < 0.5:
        for core in targets:
            asm.op(core, "ready", cores=[sender], imm=8 + semaphore)
        asm.op(sender, "send.wait", imm=8 + semaphore, raw=(len(targets),))
    unit = local(asm, rng, sender, unit=rng.choice([MPU, VPU, DAU, LOAD]), signal=1 << SEND)
    if rng.random() < 0.2:
        asm.op(sender, "signal", cores=targets, imm=semaphore, wait=1 << unit)
    else:
        name, sent = rng.choice([("put", 0), ("put", 0), ("put.z", n)])
        x, raw = at(0, (n,)), (0, 0, 0, sent)
        asm.op(sender, name, x, x, cores=targets, imm=semaphore, wait=1 << unit, raw=raw)
    for core in targets:
        then = rng.choice([VPU, MPU, STORE])
        asm.op(core, "wait", imm=semaphore, raw=(1,), signal=1 << then)
        local(asm, rng, core, unit=then, wait=1 << RECV)

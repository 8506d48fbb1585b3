"""Tests of deadlock errors: they name the waiting instruction, after a short run."""

from __future__ import annotations

import random
import time

import numpy as np
import pytest
from meshloom.chips import load_chip
from meshloom.dialects.coreasm.isa import OPCODE
from meshloom.emulator.executable.build import Assembly, at
from meshloom.emulator.executable.executable import Executable
from meshloom.emulator.machine.errors import EmulationError
from meshloom.emulator.timing.engine import run_timing
from meshloom.emulator.timing.random_programs import SEND, VPU, random_program

TINY = load_chip("tiny")


def damaged(seed: int) -> tuple[Executable, int, bool]:
    """A random program in which one send is dropped or has another semaphore; its core, and whether it is dropped."""
    rng = random.Random(seed)
    exe = random_program(seed, load_chip(rng.choice(["tiny", "edge"])), rounds=5)
    sends = [
        (core, word)
        for core, program in enumerate(exe.programs)
        for word in np.flatnonzero(np.isin(program.words["op"], [OPCODE["put"], OPCODE["signal"], OPCODE["ready"]]))
    ]
    core, word = rng.choice(sends)
    words = exe.programs[core].words
    drop = rng.random() < 0.5
    if drop:
        wait, signal = words["wait"][word], words["signal"][word]
        # The replacement keeps the tokens of its unit balanced.
        words[word] = np.zeros((), words.dtype)
        words["op"][word] = OPCODE["send.wait"]
        words["desc"][word] = 0xFFFF
        words["wait"][word], words["signal"][word], words["imm"][word] = wait, signal, 63
    else:
        words["imm"][word] = (int(words["imm"][word]) + 1) % 8 + 20
    return exe, core, drop


@pytest.mark.parametrize("seed", range(60))
def test_lost_sends_are_reported(seed: int) -> None:
    run_timing(random_program(0, TINY))  # compiles the kernel
    exe, _, _ = damaged(seed)
    begin = time.perf_counter()
    with pytest.raises(EmulationError, match=r"deadlock: (?s:.*)core \d+ (SEND|RECV), word \d+ .*waits for semaphore"):
        run_timing(exe)
    assert time.perf_counter() - begin < 1


def test_cycle_of_cores_is_shown() -> None:
    """Two cores each wait for the other's message before they send their own."""
    asm = Assembly(TINY, source="exchange")
    for core, other in ((1, 2), (2, 1)):
        asm.op(core, "wait", imm=4, raw=(1,), signal=1 << SEND)
        asm.op(core, "put", at(0, (8,)), at(0, (8,)), cores=[other], imm=4, wait=1 << 6)
    with pytest.raises(EmulationError) as caught:
        run_timing(asm.build())
    text = str(caught.value)
    assert "deadlock: 2 of 4 cores are blocked" in text
    assert (
        "core 1 RECV, word 0 'wait' of program 'core1' (from exchange), since cycle 1: waits for semaphore 4, "
        "which has 0 of 1; may still be raised by core 2" in text
    )
    cycle = text.splitlines()[-1]
    assert cycle.startswith("  cycle: ")
    assert "core 1 RECV word 0" in cycle
    assert "core 2 RECV word 0" in cycle


def test_missing_token_is_shown() -> None:
    asm = Assembly(TINY)
    asm.op(0, "fill", at(0, (8,)), 1.0, wait=1 << VPU)
    with pytest.raises(EmulationError, match=r"core 0 DAU, word 0 'fill' .*: waits for a token from VPU"):
        run_timing(asm.build())

"""Runs of one executable share the decoded programs, and no other state."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
from meshloom.chips import load_chip
from meshloom.dialects.coreasm.isa import OPCODE
from meshloom.emulator.executable.build import Assembly, at, immediate_field
from meshloom.emulator.executable.executable import Executable
from meshloom.emulator.functional.engine import FunctionalResult, run_functional
from meshloom.emulator.machine.errors import EmulationError

F32 = 0


def sends(added: float) -> Executable:
    """Core 0 adds a number to 1, 2, ... 6 and puts the sums into the memory of core 3."""
    a = Assembly(load_chip("tiny"))
    a.op(0, "iota", at(0, (6,)), raw=(0, 1, 1))
    a.op(0, "add", at(64, (6,)), at(0, (6,)), added, signal=1 << 5)
    a.op(0, "put", at(128, (6,)), at(64, (6,)), imm=0, cores=[3], wait=1 << 1)
    a.words[0][1]["signal"] = 1 << 5
    a.op(3, "wait", imm=0, raw=(1,))
    exe = a.build()
    add = exe.programs[0].words[1]
    assert add["op"] == OPCODE["add"]
    return exe


def received(result: FunctionalResult) -> list[float]:
    return np.frombuffer(result.machine.srams[3][128:152].tobytes(), np.float32).tolist()


def test_a_result_keeps_its_memories_when_the_executable_runs_again() -> None:
    exe = sends(10.0)
    first = run_functional(exe, {})
    assert received(first) == [11, 12, 13, 14, 15, 16]
    first.machine.srams[3][128:152] = 0
    second = run_functional(exe, {})
    assert received(second) == [11, 12, 13, 14, 15, 16]
    assert received(first) == [0] * 6


@pytest.mark.parametrize("check", [False, True])
def test_changed_words_are_decoded_again(check: bool) -> None:
    exe = sends(10.0)
    assert received(run_functional(exe, {}, check=check)) == [11, 12, 13, 14, 15, 16]
    words = exe.programs[0].words = exe.programs[0].words.copy()
    words["addr"][1, 2] = immediate_field(20.0, F32)
    assert received(run_functional(exe, {}, check=check)) == [21, 22, 23, 24, 25, 26]


def test_a_failed_run_does_not_affect_the_next_one() -> None:
    exe = sends(10.0)
    good = exe.programs[0].words
    bad = exe.programs[0].words = good.copy()
    bad["desc"][1, 1] = 77
    for _ in range(2):
        with pytest.raises(EmulationError, match="operand 1 names access descriptor 77"):
            run_functional(exe, {})
    exe.programs[0].words = good
    assert received(run_functional(exe, {})) == [11, 12, 13, 14, 15, 16]


def test_decoders_are_freed_with_their_executable() -> None:
    exe = sends(1.0)
    run_functional(exe, {})
    program = weakref.ref(exe.programs[0])
    del exe
    gc.collect()
    assert program() is None

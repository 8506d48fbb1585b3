"""Cores that share a program and differ by parameters: addresses, immediates, descriptors, semaphores."""

from __future__ import annotations

import numpy as np
import pytest
from meshloom.chips import load_chip
from meshloom.dialects.coreasm.isa import FIELD_CODE
from meshloom.emulator.executable.build import Assembly, at
from meshloom.emulator.functional.engine import run_functional
from meshloom.emulator.machine.errors import EmulationError


@pytest.mark.parametrize("check", [False, True])
def test_parameters(check: bool) -> None:
    a = Assembly(load_chip("tiny"))
    a.op(0, "iota", at(0, (6,)), raw=(0, 1, 1))
    a.op(0, "add", at(64, (6,)), at(0, (6,)), 10.0, signal=1 << 5)
    a.op(0, "put", at(128, (6,)), at(64, (6,)), imm=0, cores=[3], wait=1 << 1)
    a.op(0, "mul", at(64, (3,)), at(64, (3,)), 2.0, wait=1 << 5)
    a.words[0][2]["signal"] = 1 << 1
    for core in range(3):
        a.op(3, "wait", imm=core, raw=(1,))
    exe = a.build()
    program = exe.programs[0]
    fields = [(1, "addr2"), (2, "addr0"), (2, "imm"), (3, "desc0"), (3, "desc1")]
    program.params = np.array([(word, FIELD_CODE[name]) for word, name in fields], np.uint32)
    exe.launches[0].program_of_core[:] = [0, 0, 0, 3]
    six, three = (int(program.words["desc"][word, 0]) for word in (0, 3))
    exe.launches[0].params_of_core[:3] = [
        np.array([np.array(value, np.float32).view(np.uint32), 128 + 32 * core, core, desc, desc], np.uint32)
        for core, (value, desc) in enumerate([(10.0, three), (20.0, three), (30.0, six)])
    ]
    result = run_functional(exe, {}, check=check)

    def floats(core: int, address: int, count: int) -> list[float]:
        raw = result.machine.srams[core][address : address + 4 * count]
        return np.frombuffer(raw.tobytes(), np.float32).tolist()

    base = np.arange(1, 7)
    for core, value in enumerate((10, 20, 30)):
        assert floats(3, 128 + 32 * core, 6) == (base + value).tolist()
    assert floats(0, 64, 6) == [22, 24, 26, 14, 15, 16]
    assert floats(1, 64, 6) == [42, 44, 46, 24, 25, 26]
    assert floats(2, 64, 6) == (2 * (base + 30)).tolist()


def test_missing_parameters() -> None:
    a = Assembly(load_chip("tiny"))
    a.op(0, "nop")
    exe = a.build()
    exe.programs[0].params = np.array([(0, 0)], np.uint32)
    with pytest.raises(EmulationError, match="program 'core0' has 1 parameters, but a core gives 0"):
        run_functional(exe, {})

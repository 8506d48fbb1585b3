"""Loops whose counts and ends are read from memory, on small programs assembled by hand."""

from __future__ import annotations

import numpy as np
import pytest
from meshloom.chips import load_chip
from meshloom.emulator.executable.build import Assembly, at
from meshloom.emulator.functional.engine import FunctionalResult, run_functional
from meshloom.emulator.functional.run_until import run_until
from meshloom.emulator.machine.errors import EmulationError
from meshloom.emulator.machine.memory import BOOL, I32, I64
from meshloom.emulator.timing.engine import run_timing
from meshloom.emulator.timing.reference import run_reference
from meshloom.lowering.linker.assemble import assemble
from meshloom.lowering.linker.listing import listing

DAU, SEND = 1 << 2, 1 << 5
MOST = 9


def halvings() -> Assembly:
    """
    Two cores halve x n times, but stop below 1, and return it as y; z is 1 if n is even, else 0.

    Each core reads n itself. An inner loop runs once if n is odd, else not at all.
    """
    a = Assembly(load_chip("tiny"))
    a.tensor("n", "input", (), 0, I64)
    a.tensor("x", "input", (1,), 64)
    a.tensor("y", "output", (2,), 128)
    a.tensor("z", "output", (2,), 192)
    for core in range(2):
        a.op(core, "load", at(0, (1,), I64), at(0, (1,), I64), source=I64)
        a.op(core, "load", at(8, (1,)), at(64, (1,)))
        a.op(core, "fill", at(20, (1,)), 1.0)
        a.op(core, "lr", None, at(0, (1,), I64), source=I64, imm=1)
        a.op(core, "loop.r", raw=(MOST, 5), imm=1)
        a.op(core, "mul", at(8, (1,)), at(8, (1,)), 0.5)
        a.op(core, "ge", at(16, (1,), BOOL), at(8, (1,)), 1.0, result=BOOL)
        a.op(core, "lr", None, at(16, (1,), BOOL), source=BOOL, imm=2)
        a.op(core, "leave", imm=2)
        a.op(core, "nop")
        a.op(
            core,
            "mod",
            at(24, (1,), I64),
            at(0, (1,), I64),
            2,
            source=I64,
        )
        a.op(core, "lr", None, at(24, (1,), I64), source=I64, imm=3)
        a.op(core, "loop.r", raw=(1, 1), imm=3)
        a.op(core, "add", at(20, (1,)), at(20, (1,)), -1.0)
        a.op(core, "drain")
        a.op(core, "store", at(128 + 4 * core, (1,)), at(8, (1,)))
        a.op(core, "store", at(192 + 4 * core, (1,)), at(20, (1,)))
    return a


def run(n: int, x: float, check: bool = False) -> FunctionalResult:
    return run_functional(halvings().build(), {"n": np.array(n), "x": np.array([x], np.float32)}, check=check)


def expected(n: int, x: float) -> tuple[float, int]:
    """The expected value of y, and the number of steps."""
    for step in range(n):
        x /= 2
        if x < 1:
            return x, step + 1
    return x, n


@pytest.mark.parametrize("check", [False, True])
@pytest.mark.parametrize(("n", "x"), [(0, 40.0), (1, 40.0), (3, 40.0), (9, 40.0), (9, 1e6), (2, 0.5)])
def test_counts_and_conditions(n: int, x: float, check: bool) -> None:
    result = run(n, x, check)
    value, steps = expected(n, x)
    assert result.outputs["y"].tolist() == [value] * 2
    assert result.outputs["z"].tolist() == [1 - n % 2] * 2
    assert result.executed.tolist() == [6 + 2 * steps + n % 2] * 2 + [0] * 2


def test_cycles_follow_the_count() -> None:
    cycles: list[int] = []
    for n in range(MOST + 1):
        result = run(n, 1e6)
        timing = run_timing(result.executable, mapped=result.mapped)
        assert timing.cycles == run_reference(result.executable, result.mapped).cycles
        assert timing.instructions[:, :8].sum(axis=1).tolist() == result.executed.tolist()
        cycles.append(timing.cycles)
    odd, even = np.diff(cycles[1::2]), np.diff(cycles[::2])
    assert len({*odd.tolist(), *even.tolist()}) == 1
    declared = run_timing(halvings().build())
    assert declared.declared
    assert declared.cycles == cycles[MOST]


@pytest.mark.parametrize("n", [-1, MOST + 1, 1 << 40])
def test_counts_out_of_range(n: int) -> None:
    with pytest.raises(EmulationError, match=f"is to run {n} times: expected 0 to {MOST}"):
        run(n, 1.0)


def test_a_run_until_a_task_uses_counts_from_memory() -> None:
    a = halvings()
    for core in range(2):
        a.source = "last"
        a.op(core, "mov", at(32, (1,)), at(8, (1,)))
    machine = run_until(a.build(), {"n": np.array(3), "x": np.array([40], np.float32)}, "last")
    assert machine.srams[1][32:36].view(np.float32).tolist() == [5.0]


def test_instructions_after_drain_need_no_tokens() -> None:
    for word, is_race in (("drain", False), ("nop", True)):
        a = Assembly(load_chip("tiny"))
        a.op(0, "fill", at(0, (4,)), 1.0)
        a.op(0, word)
        a.op(0, "add", at(16, (4,)), at(0, (4,)), 1.0)
        if is_race:
            with pytest.raises(EmulationError, match=r"race: operand 1 accesses byte 0 .* core 0 DAU"):
                run_functional(a.build(), {}, check=True)
        else:
            run_functional(a.build(), {}, check=True)


def test_numbers_that_are_unwritten_or_unordered() -> None:
    a = Assembly(load_chip("tiny"))
    a.op(0, "lr", None, at(0, (1,), I32), source=I32, imm=1)
    with pytest.raises(EmulationError, match="reads byte 0 of SRAM, which has not been written"):
        run_functional(a.build(), {}, check=True)
    a = Assembly(load_chip("tiny"))
    a.op(0, "fill", at(0, (1,), I32), 1, source=I32)
    a.op(0, "lr", None, at(0, (1,), I32), source=I32, imm=1)
    a.op(1, "fill", at(0, (1,), I32), 2, source=I32, signal=SEND)
    a.op(1, "put", at(0, (1,), I32), at(0, (1,), I32), source=I32, wait=DAU, imm=0, cores=[0])
    a.op(0, "wait", imm=0, raw=(1,))
    with pytest.raises(EmulationError, match=r"race: operand \d accesses byte 0"):
        run_functional(a.build(), {}, check=True)


def test_deadlock_of_drain() -> None:
    a = Assembly(load_chip("tiny"))
    a.op(0, "wait", imm=3, raw=(1,))
    a.op(0, "drain")
    exe, message = a.build(), r"deadlock(.|\n)*core 0 RECV"
    with pytest.raises(EmulationError, match=message):
        run_functional(exe, {})
    with pytest.raises(EmulationError, match=message):
        run_timing(exe)


def test_leave_outside_of_a_loop() -> None:
    a = Assembly(load_chip("tiny"))
    a.op(0, "leave", imm=1)
    with pytest.raises(EmulationError, match="no loop to leave"):
        run_functional(a.build(), {})
    with pytest.raises(EmulationError, match="no loop to leave"):
        run_timing(a.build())


def test_lr_reads_one_element() -> None:
    a = Assembly(load_chip("tiny"))
    a.op(0, "lr", None, at(0, (2,), I32), source=I32, imm=1)
    with pytest.raises(EmulationError, match="a number is one element, not 2"):
        run_functional(a.build(), {})


def test_listings() -> None:
    exe = halvings().build()
    text = "\n".join(listing(exe))
    assert "loop.r most = 9 r1 from" in text
    assert "lr i64 [0x0, d0] r1" in text
    again = assemble(text.splitlines(), weights=exe.weights)
    assert "\n".join(listing(again)) == text

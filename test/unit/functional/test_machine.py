"""Functional emulation of small programs assembled by hand: loops, registers, messages, deadlocks, faults, checks."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from meshloom.chips import load_chip
from meshloom.emulator.executable.build import Assembly, at
from meshloom.emulator.functional.engine import FunctionalResult, run_functional
from meshloom.emulator.machine.errors import EmulationError
from meshloom.emulator.machine.memory import F32, I32
from meshloom.support.errors import InputError

MPU, VPU, DAU, LOAD, STORE, SEND, RECV = (1 << k for k in range(7))


def new() -> Assembly:
    return Assembly(load_chip("tiny"))


def sram(result: FunctionalResult, core: int, address: int, count: int) -> list[float]:
    return np.frombuffer(result.machine.srams[core][address : address + 4 * count].tobytes(), np.float32).tolist()


def network() -> Assembly:
    """y = x @ w + 1.5 on core 0, properly synchronised."""
    a = new()
    a.tensor("x", "input", (4, 8), 0)
    a.tensor("y", "output", (4, 6), 1024)
    a.tensor("t", "temp", (4, 6), 2048)
    a.weights, a.weights_address = np.arange(48, dtype=np.float32).tobytes(), 512
    a.op(0, "load", at(0, (4, 8)), at(0, (4, 8)))
    a.op(0, "load", at(256, (8, 6)), at(512, (8, 6)), signal=MPU)
    a.op(0, "matmul", at(1024, (4, 6)), at(0, (4, 8)), at(256, (8, 6)), imm=0x1110, wait=LOAD, signal=VPU | STORE)
    a.op(0, "store", at(2048, (4, 6)), at(1024, (4, 6)), wait=MPU, signal=VPU)
    a.source = "add1"
    a.op(0, "add", at(1024, (4, 6)), at(1024, (4, 6)), 1.5, wait=MPU | STORE, signal=STORE)
    a.op(0, "store", at(1024, (4, 6)), at(1024, (4, 6)), wait=VPU)
    return a


@pytest.mark.parametrize("check", [False, True])
def test_whole_run(check: bool) -> None:
    x = np.linspace(-1, 1, 32, dtype=np.float32).reshape(4, 8)
    result = run_functional(network().build(), {"x": x}, check=check)
    product = x @ np.arange(48, dtype=np.float32).reshape(8, 6)
    np.testing.assert_allclose(result.outputs["y"], product + 1.5, rtol=1e-6)
    np.testing.assert_allclose(result.tensor("t"), product, rtol=1e-6)
    assert result.executed.tolist() == [6, 0, 0, 0]


def test_bad_inputs() -> None:
    exe = network().build()
    with pytest.raises(InputError, match="'x' is missing"):
        run_functional(exe, {})
    with pytest.raises(InputError, match=r"shape \[2\], expected \[4, 8\]"):
        run_functional(exe, {"x": np.zeros(2, np.float32)})
    with pytest.raises(InputError, match="type float64, expected float32"):
        run_functional(exe, {"x": np.zeros((4, 8))})
    with pytest.raises(InputError, match="unknown input 'z'"):
        run_functional(exe, {"z": np.zeros(1)})


def test_nested_loops_and_registers() -> None:
    """The program writes three reversed copies of a row; R1 moves the destination backwards, R2 the source."""
    a = new()
    a.op(0, "iota", at(0, (4,)), raw=(0, 5, 1))
    a.op(0, "li", imm=1, raw=(140,))
    a.op(0, "loop", raw=(3, 5))
    a.op(0, "li", imm=2, raw=(0,))
    a.op(0, "loop", raw=(4, 3))
    a.op(0, "add", at(0, (1,)), at(0, (1,)), 10.0, regs=0x21)
    a.op(0, "addi", imm=1, raw=(-4,))
    a.op(0, "addi", imm=2, raw=(4,))
    a.op(0, "nop")
    result = run_functional(a.build(), {})
    assert result.executed.tolist() == [13, 0, 0, 0]
    assert sram(result, 0, 96, 12) == [18.0, 17.0, 16.0, 15.0] * 3


@pytest.mark.parametrize(
    ("count", "body", "message"),
    [(0, 1, "loop count"), (2, 0, "loop count"), (2, 9, "enclosing block")],
)
def test_bad_loops(count: int, body: int, message: str) -> None:
    a = new()
    a.op(0, "loop", raw=(count, body))
    a.op(0, "nop")
    with pytest.raises(EmulationError, match=message):
        run_functional(a.build(), {})


def test_endless_program_meets_the_limit() -> None:
    a = new()
    for _ in range(4):
        a.op(0, "loop", raw=(0xFFFFFFF0, 4 - len(a.words.get(0, []))))
    a.op(0, "nop")
    for k in range(4):
        a.words[0][k]["addr"][1] = 4 - k
    with pytest.raises(EmulationError, match="limit"):
        run_functional(a.build(), {}, limit=10_000)


@pytest.mark.parametrize("check", [False, True])
def test_multicast_put(check: bool) -> None:
    a = new()
    a.op(0, "iota", at(0, (4,)), raw=(0, 1, 1), signal=SEND)
    a.op(0, "put", at(64, (4,)), at(0, (4,)), imm=5, cores=[0, 2, 3], wait=VPU)
    for core in (0, 2, 3):
        a.op(core, "wait", imm=5, raw=(1,), signal=VPU)
        a.op(core, "mul", at(128, (4,)), at(64, (4,)), float(core), wait=RECV)
    result = run_functional(a.build(), {}, check=check)
    assert sram(result, 3, 128, 4) == [3.0, 6.0, 9.0, 12.0]
    assert sram(result, 2, 64, 4) == [1.0, 2.0, 3.0, 4.0]
    assert sram(result, 0, 128, 4) == [0.0] * 4
    assert not result.machine.srams[1].any()


def test_put_and_wait_in_opposite_order_is_no_deadlock() -> None:
    """Each core waits before it sends, but in different queues: the units run concurrently, so there is no deadlock."""
    a = new()
    for core in (0, 1):
        a.op(core, "fill", at(0, (1,)), 1.0 + core, signal=SEND)
        a.op(core, "wait", imm=0, raw=(1,), signal=VPU)
        a.op(core, "neg", at(8, (1,)), at(4, (1,)), wait=RECV)
        a.op(core, "put", at(4, (1,)), at(0, (1,)), imm=0, cores=[1 - core], wait=DAU)
    result = run_functional(a.build(), {}, check=True)
    assert sram(result, 0, 8, 1) == [-2.0]
    assert sram(result, 1, 8, 1) == [-1.0]


def test_deadlock_names_the_waiting_cores() -> None:
    a = new()
    a.source = "conv1"
    for core, other in ((0, 1), (1, 2), (2, 0)):
        a.op(core, "wait", imm=3, raw=(1,))
        a.op(core, "ready", imm=3, cores=[other])
    a.op(3, "wait", imm=7, raw=(2,))
    with pytest.raises(EmulationError) as caught:
        run_functional(a.build(), {})
    text = str(caught.value)
    assert "deadlock: 4 of 4 cores" in text
    assert "core 0 RECV, word 0 'wait' of program 'core0' (from conv1): semaphore 3 has 0, needs 1" in text
    assert "may still be raised by core 2 (stuck)" in text
    assert "semaphore 7 has 0, needs 2; no remaining instruction" in text
    assert "cycle: core 0 waits for core 2 waits for core 1 waits for core 0" in text


def test_missing_token_is_a_deadlock() -> None:
    a = new()
    a.op(0, "fill", at(0, (1,)), 1.0, wait=MPU)
    with pytest.raises(EmulationError, match="no token from MPU"):
        run_functional(a.build(), {})


BAD: list[tuple[Callable[[Assembly], None], str]] = [
    (lambda a: a.op(1, "fill", at(65533, (1,)), 1.0), "core 1, word 0 'fill'.*(from op7).*operand 0.*65533"),
    (lambda a: a.op(0, "fill", at(0, (2,), strides=(-4,)), 1.0), "-4"),
    (lambda a: a.op(0, "load", at(0, (4,)), at((1 << 33) + 8, (4,))), "operand 1.* of DRAM"),
    (lambda a: a.op(0, "copy", at(0, (4,)), at(64, (5,))), "4 elements, source 5"),
    (lambda a: a.op(0, "add", at(0, (4,)), at(64, (3,)), 1.0), "differ in size"),
    (lambda a: a.op(0, "exp", at(0, (4,)), at(64, (4,)), source=I32), "element types 8 and 8"),
    (lambda a: a.op(0, "signal", imm=60000, cores=[1]), "no such semaphore"),
    (lambda a: a.op(0, "signal", imm=0), "no such core set"),
]


@pytest.mark.parametrize("check", [False, True])
@pytest.mark.parametrize(("build", "message"), BAD)
def test_faults_name_their_location(build: Callable[[Assembly], None], message: str, check: bool) -> None:
    a = new()
    a.source = "op7"
    build(a)
    with pytest.raises(EmulationError, match=message) as caught:
        run_functional(a.build(), {}, check=check)
    assert caught.value.source == "op7"
    assert caught.value.core is not None


def race(a: Assembly) -> str:
    with pytest.raises(EmulationError) as caught:
        run_functional(a.build(), {"x": np.zeros((4, 8), np.float32)} if a.tensors else {}, check=True)
    return str(caught.value)


@pytest.mark.parametrize("word", [2, 3, 4, 5])
def test_every_token_of_the_network_is_needed(word: int) -> None:
    a = network()
    a.words[0][word]["wait"] = 0
    text = race(a)
    assert "race: operand" in text
    assert "not ordered with the" in text


def test_race_names_both_sides() -> None:
    a = network()
    a.words[0][4]["wait"] = MPU
    assert "core 0, word 4 'add' of program 'core0' (from add1): race" in race(a)
    assert "read by core 0 STORE, word 3 'store' of program 'core0'" in race(a)


def test_disjoint_interleaved_accesses_do_not_race() -> None:
    a = new()
    a.op(0, "iota", at(0, (8,), strides=(8,)), raw=(0, 0, 1))
    a.op(0, "fill", at(4, (8,), strides=(8,)), 1.0)
    run_functional(a.build(), {}, check=True)
    a.words[0][1]["addr"][0] = 0
    assert "race" in race(a)


def test_put_needs_its_semaphore_not_only_a_token() -> None:
    a = new()
    a.op(0, "fill", at(0, (1,)), 1.0, signal=SEND)
    a.op(0, "put", at(4, (1,)), at(0, (1,)), imm=0, cores=[0], wait=DAU, signal=VPU)
    a.op(0, "neg", at(8, (1,)), at(4, (1,)), wait=SEND)
    assert "race" in race(a)


def test_reuse_of_a_receive_buffer_needs_credit() -> None:
    def exchange(credit: bool) -> Assembly:
        a = new()
        for turn in range(2):
            a.op(0, "fill", at(0, (1,)), float(turn), wait=SEND if turn else 0, signal=SEND)
            if credit and turn:
                a.op(0, "send.wait", imm=1, raw=(1,))
            a.op(0, "put", at(4, (1,)), at(0, (1,)), imm=0, cores=[1], wait=DAU, signal=0 if turn else DAU)
            a.op(1, "wait", imm=0, raw=(1,), signal=VPU)
            a.op(1, "neg", at(8 + 4 * turn, (1,)), at(4, (1,)), wait=RECV, signal=RECV)
            a.op(1, "ready", imm=1, cores=[0], wait=VPU)
        return a

    run_functional(exchange(True).build(), {}, check=True)
    assert "race" in race(exchange(False))


def test_unwritten_reads() -> None:
    a = new()
    a.op(0, "fill", at(0, (3,)), 1.0, signal=VPU)
    a.op(0, "neg", at(64, (4,)), at(0, (4,)), wait=DAU)
    assert "operand 1 reads byte 12 of SRAM, which has not been written" in race(a)
    a = new()
    a.op(0, "load", at(0, (4,)), at(128, (4,)))
    assert "operand 1 reads byte 128 of DRAM, which has not been written" in race(a)
    a = new()
    a.tensor("y", "output", (4,), 0)
    assert "reads byte 0 of DRAM" in race_without_input(a)


def race_without_input(a: Assembly) -> str:
    with pytest.raises(EmulationError) as caught:
        run_functional(a.build(), {}, check=True)
    return str(caught.value)


def test_dram_race_between_cores() -> None:
    def through_dram(ordered: bool) -> Assembly:
        a = new()
        a.op(0, "fill", at(0, (4,)), 2.0, signal=STORE)
        a.op(0, "store", at(64, (4,)), at(0, (4,)), wait=DAU, signal=SEND if ordered else 0)
        a.op(0, "signal", imm=0, cores=[1], wait=STORE if ordered else 0)
        a.op(1, "wait", imm=0, raw=(1,), signal=LOAD)
        a.op(1, "load", at(0, (4,)), at(64, (4,)), wait=RECV)
        return a

    run_functional(through_dram(True).build(), {}, check=True)
    assert "of DRAM, not ordered with the write by core 0 STORE" in race(through_dram(False))


def test_copy_without_a_wait_races_with_the_launch() -> None:
    a = network()
    exe = a.build()
    exe.controller = np.delete(exe.controller, 1)  # the wait for the input
    with pytest.raises(EmulationError, match="a copy of the controller still accesses"):
        run_functional(exe, {"x": np.zeros((4, 8), np.float32)}, check=True)


def test_long_streams_cross_pieces() -> None:
    a = new()
    a.op(0, "fill", at(0, (1,)), 0.0, signal=VPU)
    a.op(0, "nop")
    a.op(0, "loop", raw=(50_000, 2))
    a.op(0, "add", at(0, (1,)), at(0, (1,)), 1.0, wait=DAU, signal=DAU)
    a.op(0, "copy", at(4, (1,)), at(0, (1,)), source=F32, wait=VPU, signal=VPU)
    for check in (False, True):
        result = run_functional(a.build(), {}, check=check)
        assert sram(result, 0, 4, 1) == [50_000.0]

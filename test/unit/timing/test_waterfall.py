"""The waterfall from the roofline to the run: small programs whose parts are worked out by hand."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from meshloom.chips import load_chip
from meshloom.emulator.executable.build import Assembly, at
from meshloom.emulator.executable.executable import Executable
from meshloom.emulator.reports import waterfall as parts
from meshloom.emulator.reports.explain import explain
from meshloom.emulator.timing.engine import run_timing
from meshloom.emulator.timing.random_programs import DAU, VPU, random_program

TINY = load_chip("tiny")


def falls(exe: Executable, **ideal: int) -> dict[str, float]:
    """The parts that are not 0, for a network of this work."""
    note = json.dumps({"macs": 0, "vpu_ops": 0, "dram_bytes": 0, **ideal})
    exe = replace(exe, notes={**exe.notes, "ideal": note})
    timing = run_timing(exe, trace=True)
    found = explain(exe, timing).waterfall
    assert found is not None
    assert sum(found.parts.values()) == pytest.approx(timing.cycles)
    assert found.ratio == pytest.approx(timing.cycles / found.parts[parts.IDEAL])
    return {part: cycles for part, cycles in found.parts.items() if abs(cycles) > 1e-9}


def test_one_core_of_four_with_products_that_leave_most_of_the_array_empty() -> None:
    """
    [16, 4] x [4, 4] on the 8 x 8 array of one core of 4: 256 products are 1 cycle of all arrays, which take 16 + 22 - 1
    cycles on one of them: a quarter each is 4 - 1 not filled, 5.25 loading, and 27.75 the other three wait for this.
    """
    asm = Assembly(TINY)
    asm.op(0, "matmul", at(0, (16, 4)), at(1024, (16, 4)), at(2048, (4, 4)), imm=1 << 4 | 1 << 8 | 1 << 12)
    assert falls(asm.build(), macs=256) == {
        parts.IDEAL: 1,
        parts.FILLING: 3,
        parts.LOADING: 5.25,
        parts.UNEVEN: 27.75,
        parts.DISPATCH: 1,
    }


def test_waits_are_named_after_what_the_critical_path_does() -> None:
    """
    An add of 64 f32 (4 + 8 cycles) on core 0, a copy of 12 that waits for it. The network's 64 operations are 2 cycles
    of all 4 vector units; of the 12 on one of them, 4 begin it, which is 1 of all, and in 9 the other three wait.
    """
    asm = Assembly(TINY)
    x = at(0, (64,))
    asm.op(0, "add", x, x, 1.0, signal=1 << DAU)
    asm.op(0, "copy", x, x, wait=1 << VPU)
    assert falls(asm.build(), vpu_ops=64) == {
        parts.IDEAL: 2,
        parts.FILLING: 1,
        parts.UNEVEN: 9,
        parts.COPIES: 12,
        parts.DISPATCH: 1,
    }


def test_of_networks_that_dram_sets_the_products_that_it_waits_for_are_taken_apart() -> None:
    """
    As the first, but with 8 bytes of DRAM traffic, 1 cycle of all ports, that this program does not do: it waits for 37
    cycles of products: 4 at the full rate of that array, 12 with most of it empty, and 21 without any.
    """
    asm = Assembly(TINY)
    asm.op(0, "matmul", at(0, (16, 4)), at(1024, (16, 4)), at(2048, (4, 4)), imm=1 << 4 | 1 << 8 | 1 << 12)
    found = falls(asm.build(), dram_bytes=8)
    assert found == pytest.approx(
        {
            parts.IDEAL: 1,
            parts.REPEATED: -1,
            parts.FILLING: 12,
            parts.LOADING: 21,
            parts.PRODUCTS: 4,
            parts.DISPATCH: 1,
        }
    )


@pytest.mark.parametrize("ideal", [{"macs": 10**4}, {"vpu_ops": 10**4}, {"dram_bytes": 10**4}])
@pytest.mark.parametrize("seed", range(3))
def test_parts_add_up_to_the_run(ideal: dict[str, int], seed: int) -> None:
    assert set(falls(random_program(seed, TINY, rounds=10), **ideal)) <= set(parts.PARTS)


def test_without_the_network_s_own_work_there_is_none() -> None:
    exe = random_program(0, TINY, rounds=2)
    assert explain(exe, run_timing(exe, trace=True)).waterfall is None

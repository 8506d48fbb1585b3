"""Tests of the waterfall from the roofline to the run, on small programs whose parts are computed by hand."""

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
    """The nonzero parts, for a network whose work is `ideal`."""
    note = json.dumps({"macs": 0, "vpu_ops": 0, "dram_bytes": 0, **ideal})
    exe = replace(exe, notes={**exe.notes, "ideal": note})
    timing = run_timing(exe, trace=True)
    found = explain(exe, timing).waterfall
    assert found is not None
    assert sum(found.parts.values()) == pytest.approx(timing.cycles)
    assert found.ratio == pytest.approx(timing.cycles / found.parts[parts.IDEAL])
    return {part: cycles for part, cycles in found.parts.items() if abs(cycles) > 1e-9}


def test_one_core_of_four_with_products_that_fill_part_of_the_array() -> None:
    """
    One core of four computes products that fill a quarter of the array.

    [16, 4] x [4, 4] has 256 products, 1 cycle of all 8 x 8 arrays. They take 16 + 22 - 1 cycles on one array. As a
    quarter of the arrays, these count as 4 - 1 not filled and 5.25 loading; the other three wait for 27.75.
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


def test_waits_are_attributed_to_the_critical_path() -> None:
    """
    Waits are attributed to the instructions on the critical path.

    Core 0 executes an add of 64 f32 (4 + 8 cycles), and a copy of 12 cycles that waits for it. The network's 64
    operations are 2 cycles of all 4 vector units. Of the 12 cycles of the add, 4 start it, which count as 1 of all
    units, and in 9 the other three wait.
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


def test_products_of_networks_limited_by_dram_are_divided_into_parts() -> None:
    """
    If DRAM limits the network, the cycles of products that the run waits for are divided into parts.

    The program is the first one, but the network has 8 bytes of DRAM traffic, 1 cycle of all ports, which the program
    does not transfer. It waits for 37 cycles of products: 4 at the full rate of the array, 12 with most of it unfilled,
    and 21 of loading.
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


def test_without_the_work_of_the_network_there_is_no_waterfall() -> None:
    exe = random_program(0, TINY, rounds=2)
    assert explain(exe, run_timing(exe, trace=True)).waterfall is None

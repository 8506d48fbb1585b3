"""Tests of statistics, roofline, energy and traces, on small programs against numbers computed by hand."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import numpy as np
import pytest
from meshloom.chips import load_chip
from meshloom.emulator.executable.build import Assembly, at
from meshloom.emulator.executable.executable import Executable
from meshloom.emulator.machine.errors import EmulationError
from meshloom.emulator.machine.memory import I8, I32
from meshloom.emulator.reports.roofline import Work, roofline
from meshloom.emulator.reports.stats import collect
from meshloom.emulator.reports.trace import to_chrome, to_npz
from meshloom.emulator.timing.engine import run_timing
from meshloom.support.errors import MeshloomError

TINY = load_chip("tiny")
MATMUL = 1 << 4 | 1 << 8 | 1 << 12


def small() -> Executable:
    """Core 0 executes a load, three matmuls in a loop over addresses, an exp, and a put to core 1 at address 2000."""
    asm = Assembly(TINY, weights=bytes(256), source="gemm")
    asm.tensor("x", "input", (64,), 0)
    asm.op(0, "load", at(0, (64,)), at(0, (64,)), signal=1)
    asm.op(0, "loop", raw=(3, 2))
    asm.op(0, "matmul", at(512, (8, 8)), at(0, (8, 8)), at(0, (8, 8)), imm=MATMUL, regs=0x001)
    asm.op(0, "addi", imm=1, raw=(256,))
    asm.op(0, "exp", at(512, (64,)), at(512, (64,)), wait=0)
    asm.op(0, "put", at(2000, (64,)), at(512, (64,)), cores=[1], imm=0)
    asm.op(1, "wait", imm=0, raw=(1,))
    return asm.build()


def test_counts() -> None:
    exe = small()
    timing = run_timing(exe)
    stats = collect(exe, timing)
    assert stats["cycles"] == timing.cycles
    assert stats["time_us"] == timing.cycles / 500  # 0.5 GHz
    assert stats["macs"] == 3 * 8 * 8 * 8
    assert stats["vpu_ops"] == 64 * 4
    assert stats["units"]["MPU"]["busy_cycles"] == 3 * (8 + 16 + 8 - 2 - 1)
    assert stats["units"]["MPU"]["instructions"] == 3
    # 11 of core 0 (load, loop, 3 matmul, 3 addi, exp, put, halt), 2 of core 1, a halt of each other core
    assert stats["instructions"]["executed"] == 11 + 2 + 2
    assert stats["instructions"]["static"] == 7 + 2 + 2
    assert stats["bytes"]["links"] == {"horizontal": 256, "vertical": 256, "into_cores": 256}  # load south to north
    assert stats["bytes"]["dram_read"] == 256
    assert stats["bytes"]["host_in"] == 256
    # The third matmul writes 256 bytes from 512 + 2 * 256 on; the put writes up to 2000 + 256 in core 1.
    assert stats["peak_sram"]["of_core"] == [1280, 2256, 0, 0]
    assert stats["energy_pj"]["mac"] == pytest.approx(1536 * 3.1)
    assert stats["energy_pj"]["dram"] == 256 * 30
    json.dumps(stats)


def test_roofline_of_the_executable() -> None:
    """DRAM is the limit, with 256 bytes at 8 per cycle; 1,536 MACs on 4 arrays of 64, 256 operations on 4 * 8 lanes."""
    exe = small()
    stats = collect(exe, run_timing(exe))
    found = stats["roofline"]
    assert found["of"] == "executable"
    assert found["by_unit"]["MPU"] == 1536 / 256
    assert found["by_unit"]["VPU"] == 256 / 32
    assert found["by_unit"]["DRAM"] == 32
    assert (found["unit"], found["cycles"]) == ("DRAM", 32)
    assert found["ratio"] == stats["cycles"] / 32


def test_roofline_of_the_network() -> None:
    exe = replace(small(), notes={"ideal": json.dumps({"macs": 25600, "vpu_ops": 32, "dram_bytes": 80})})
    found = collect(exe, run_timing(exe))["roofline"]
    assert (found["of"], found["unit"], found["cycles"]) == ("network", "MPU", 100)
    assert found["by_unit"]["DRAM"] == 10
    bad = replace(exe, notes={"ideal": "[1]"})
    with pytest.raises(EmulationError, match="note 'ideal'"):
        collect(bad, run_timing(bad))


def test_macs_of_i8_count_at_their_rate() -> None:
    """512 MACs of i8 count as 128 of f32 on the array."""
    asm = Assembly(TINY)
    asm.op(0, "matmul", at(512, (8, 8)), at(0, (8, 8), I8), at(0, (8, 8), I8), imm=MATMUL, source=I8, result=I32)
    exe = asm.build()
    stats = collect(exe, run_timing(exe))
    assert stats["macs"] == 512
    assert stats["roofline"]["by_unit"]["MPU"] == 512 / 4 / 256


def test_roofline_excludes_the_host() -> None:
    bound = roofline(TINY, Work(macs=256, host_bytes=1e9))
    assert bound.binding == "MPU"
    assert bound.cycles["host"] == 2.5e8


def test_traces() -> None:
    exe = small()
    timing = run_timing(exe, trace=True)
    arrays = np.load(io.BytesIO(to_npz(timing)))
    assert arrays["start"].tolist() == timing.trace.start.tolist() if timing.trace else False
    events = json.loads(to_chrome(exe, timing))["traceEvents"]
    matmuls = [e for e in events if e["name"] == "matmul"]
    assert len(matmuls) == 3
    assert matmuls[0]["args"]["source"] == "gemm"
    assert matmuls[0]["dur"] == pytest.approx(29 / 500)
    with pytest.raises(MeshloomError, match="not traced"):
        to_npz(run_timing(exe))


def test_the_busiest_parts_are_reported() -> None:
    """
    The busiest link and port are reported, not the mean of all.

    In a row of 4 with links of 8 bytes per cycle, cores 0 and 1 put 800 bytes each to core 3: 200 cycles on the links
    from 1 to 3 and into core 3, 100 on that from 0 to 1. A load of 320 bytes uses the port at core 0 for 40 cycles.
    """
    asm = Assembly(replace(TINY, rows=1, cols=4))
    x = at(0, (200,))
    asm.op(0, "put", x, x, cores=[3], imm=0)
    asm.op(1, "put", x, x, cores=[3], imm=0)
    asm.op(3, "wait", imm=0, raw=(2,))
    asm.op(0, "load", at(0, (80,)), at(0, (80,)))
    exe = asm.build()
    timing = run_timing(exe)
    found = {one["kind"]: one for one in collect(exe, timing)["busiest"]}
    assert found["link"]["cycles"] == 200
    assert found["link"]["name"] in ("link east of core 1", "link east of core 2", "link into core 3")
    assert found["DRAM port"]["cycles"] == 40
    assert collect(exe, timing)["busiest"][0]["kind"] == "link"
    assert timing.cycles >= 200

"""Tests of the network-on-chip against theory: queueing, conservation of bytes, more resources, another clock."""

from __future__ import annotations

import csv
from dataclasses import replace

import numpy as np
import pytest
from booksim import POINTS, mean_latency
from meshloom.chips import load_chip
from meshloom.chips.chip import Chip
from meshloom.chips.dram_ports import port_of_core, port_rows
from meshloom.emulator.executable.build import Assembly, at
from meshloom.emulator.executable.executable import Executable
from meshloom.emulator.timing.engine import run_timing
from meshloom.emulator.timing.random_programs import SEND, VPU, random_program
from noc import random_traffic

TINY = load_chip("tiny")
EDGE = load_chip("edge")


def poisson_sources(sources: list[int], target: int, load: float, count: int, seed: int) -> tuple[Executable, float]:
    """
    Each source puts `count` packets to `target` with exponential gaps; the target's link has the utilisation `load`.

    A gap is an `iota` of 4 + ceil(n / 8) cycles on 8 lanes; the put waits for it by a token. Also returns the load that
    results from the rounded gaps.
    """
    chip = replace(TINY, rows=3, cols=3, queue_depth=4096, noc_packet_bytes=256)
    rng = np.random.default_rng(seed)
    asm = Assembly(chip)
    service = 256 // chip.link_bytes_per_cycle
    total = 0.0
    for core in sources:
        gaps = np.maximum(np.round(rng.exponential(service * len(sources) / load, count)).astype(int), 5)
        total += 1 / gaps.mean()
        for gap in gaps.tolist():
            asm.op(core, "iota", at(0, (8 * (gap - 4),)), raw=(0, 0, 1), signal=1 << SEND)
            asm.op(core, "put", at(0, (64,)), at(0, (64,)), cores=[target], imm=1, wait=1 << VPU)
    asm.op(target, "loop", raw=(count * len(sources), 1))
    asm.op(target, "wait", imm=1, raw=(1,))
    return asm.build(), service * total


@pytest.mark.parametrize(
    ("sources", "load"),
    [
        ([3], 0.5),
        ([3], 0.8),
        pytest.param([1, 3, 5, 7], 0.5, marks=pytest.mark.slow),
        ([1, 3, 5, 7], 0.7),
        pytest.param([0, 2, 6, 8, 1, 7], 0.6, marks=pytest.mark.slow),
    ],
)
def test_queueing_is_m_d_1(sources: list[int], load: float) -> None:
    """
    The mean waiting time is that of an M/D/1 queue: rho * S / (2 (1 - rho)).

    All packets pass the link into core 4 of a 3 x 3 mesh, at the end of a tree of equally fast links; in such a tree
    the waiting times of all links add up to that of one queue. A packet without waiting takes hops * 2 + S cycles. The
    tolerance is 5%, because no gap is shorter than 5 cycles, and the sample is finite.
    """
    target, service = 4, 32
    waits: list[float] = []
    theory: list[float] = []
    for seed in range(6):
        exe, rho = poisson_sources(sources, target, load, 6000 // len(sources), seed)
        trace = run_timing(exe, trace=True).trace
        assert trace is not None
        made = trace.end[trace.unit == VPU]
        arrived = trace.end[(trace.core == target) & (trace.unit == 6)] - 1
        x, y = trace.core % 3, trace.core // 3
        hops = np.abs(x - 1) + np.abs(y - 1)
        unloaded = 2 * hops[trace.unit == VPU].mean() + service
        waits.append(arrived.mean() - made.mean() - unloaded)
        theory.append(rho * service / (2 * (1 - rho)))
    assert np.mean(waits) == pytest.approx(np.mean(theory), rel=0.05)


@pytest.mark.parametrize("load", [0.1, 0.3, 0.5])
def test_the_benchmark_measures_the_network_alone(load: float) -> None:
    """Receivers are ready before the first packet arrives: more idle time before it does not change latencies."""
    found = random_traffic(8, 8, load, 60, 0)
    assert random_traffic(8, 8, load, 60, 0, idle=3000) == pytest.approx(found, rel=1e-9)
    assert found["latency"] > found["empty"]


def test_latency_of_the_benchmark_without_load() -> None:
    """With a packet of 32 cycles every 3200, which seldom meets another, the latency is that of hops and bytes."""
    found = random_traffic(4, 4, 0.0005, 30, 1)
    assert found["latency"] == pytest.approx(found["empty"], abs=0.1)


@pytest.mark.parametrize("seed", range(6))
def test_bytes_are_conserved(seed: int) -> None:
    """Bytes into each core equal those sent to it; bytes on links between routers equal those sent, times hops."""
    chip = replace(EDGE, dram_ports=2)
    asm = Assembly(chip)
    rng = np.random.default_rng(seed)
    received, sent, hops = np.zeros(16, int), 0, 0
    for _ in range(200):
        source, target, n = (int(v) for v in rng.integers([0, 0, 1], [16, 16, 900]))
        asm.op(source, "put", at(0, (n,)), at(0, (n,)), cores=[target], imm=3)
        asm.op(target, "wait", imm=3, raw=(1,))
        received[target] += 4 * n
        sent += 4 * n
        hops += 4 * n * (abs(source % 4 - target % 4) + abs(source // 4 - target // 4))
    result = run_timing(asm.build())
    assert np.array_equal(result.link_bytes[:, 4], received)
    assert result.link_bytes[:, :4].sum() == hops
    assert result.link_bytes[:, 4].sum() == sent


def test_dram_bytes_pass_one_port_and_the_links_to_it() -> None:
    """Bytes of core (3, 2) of 4 x 4 pass 3 links west and 1 south to the port at row 3, which serves two rows."""
    chip = replace(EDGE, dram_ports=2)
    assert port_rows(chip) == [1, 3]
    assert [port_of_core(chip, y * 4) for y in range(4)] == [0, 0, 1, 1]
    asm = Assembly(chip)
    x = at(0, (64,))
    asm.op(11, "store", x, x)
    asm.op(11, "load", x, x)
    result = run_timing(asm.build())
    assert result.port_written.tolist() == [0, 256]
    assert result.port_read.tolist() == [0, 256]
    assert result.link_bytes[[11, 10, 9], 1].tolist() == [256] * 3  # west along row 2
    assert result.link_bytes[8, 3] == 256  # south to row 3
    assert result.link_bytes[[12, 13, 14], 0].tolist() == [256] * 3  # back: east along row 3
    assert result.link_bytes[15, 2] == 256  # north
    assert result.link_bytes.sum() == 8 * 256


def more(chip: Chip, name: str) -> Chip:
    return replace(chip, **{name: 2 * getattr(chip, name)})


@pytest.mark.parametrize("name", ["vpu_lanes", "sram_bytes_per_cycle", "link_bytes_per_cycle", "dram_bytes_per_cycle"])
def test_more_of_a_resource_is_not_slower_without_contention(name: str) -> None:
    """
    Without contention, more of a resource never takes more cycles.

    With one active core and a wide DRAM port (or a varied one) hardly anything is shared. The cycles are those of the
    longest path through the instructions, which cannot grow.

    The matrix unit is excluded: for small products, more rows take longer to fill, by its formula.
    """
    for seed in range(8):
        port = {} if name in ("link_bytes_per_cycle", "dram_bytes_per_cycle") else {"dram_bytes_per_cycle": 1 << 12}
        chip = replace(TINY, rows=1, cols=1, **port)
        exe = random_program(seed, chip, rounds=20)
        assert run_timing(replace(exe, chip=more(chip, name))).cycles <= run_timing(exe).cycles


@pytest.mark.parametrize("name", ["vpu_lanes", "link_bytes_per_cycle", "dram_bytes_per_cycle", "queue_depth"])
def test_more_of_a_resource_is_hardly_slower_with_contention(name: str) -> None:
    """
    With contention, work that is ready earlier may delay critical work, but only slightly.

    These are Graham's scheduling anomalies; serving the inputs of a router in turn keeps them small
    (`test_monotone.py`).
    """
    ratios: list[float] = []
    for seed in range(12):
        exe = random_program(seed, EDGE, rounds=8)
        ratios.append(run_timing(replace(exe, chip=more(EDGE, name))).cycles / run_timing(exe).cycles)
    assert max(ratios) <= 1.02
    assert np.mean(ratios) < 1.002


def test_shorter_latencies_are_not_slower() -> None:
    """With a single core, shorter DRAM latency and hops never take more cycles."""
    chip = replace(TINY, rows=1, cols=1)
    for seed in range(5):
        exe = random_program(seed, chip, rounds=20)
        base = run_timing(exe).cycles
        assert run_timing(replace(exe, chip=replace(chip, dram_latency=50))).cycles <= base
        assert run_timing(replace(exe, chip=replace(chip, hop_cycles=1))).cycles <= base


def test_clock_changes_no_cycle() -> None:
    exe = random_program(3, EDGE)
    fast = replace(exe, chip=replace(EDGE, clock_ghz=2 * EDGE.clock_ghz))
    assert run_timing(fast).cycles == run_timing(exe).cycles


@pytest.mark.parametrize(("flits", "load"), [(1, 0.2), (4, 0.3), (20, 0.1), (20, 0.3)])
def test_latencies_are_close_to_booksim2(flits: int, load: float) -> None:
    """
    Latencies of uniform random traffic on an 8 x 8 mesh are within 15% of those of BookSim2.

    The inputs of a router are served in turn after 4 flits. Both figures are of one seed.
    """
    with POINTS.open() as file:
        expected = {
            (int(p["packet_flits"]), float(p["inj_flits"])): float(p["packet_latency"]) for p in csv.DictReader(file)
        }
    assert mean_latency(flits, load, 60 if flits > 4 else 200, turn=4) == pytest.approx(expected[flits, load], rel=0.15)

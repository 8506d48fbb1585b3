"""
The network-on-chip against BookSim2: mean packet latencies under uniform random traffic on an 8 x 8 mesh.

    python bench/booksim.py [--packets N] [--turn FLITS]

One JSON line a point of `data/booksim2_mesh8x8_uniform.csv` (8 virtual channels of 8 flits each, XY routing), up to 0.3
flits per node and cycle, then the mean and the worst error: with arbitration between a router's inputs after whole
packets, and after `--turn` flits (`noc_packet_bytes` of the chip). Each node is a core whose program sends packets to
random cores, itself included, with exponential gaps; the emulator runs it as any program. BookSim2 counts time in
flits: a flit is `FLIT` cycles here, so that gaps between packets can be as short. Without load BookSim2 takes
4 x routers + 1 + flits: 4 x links + flits, and 5 cycles into and out of the network, which a program does not observe.
"""

from __future__ import annotations

import argparse
import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
from meshloom.chips import load_chip
from meshloom.emulator.executable.build import Assembly, at
from meshloom.emulator.timing.engine import run_timing
from meshloom.emulator.timing.random_programs import RECV, SEND, VPU

POINTS = Path(__file__).parent / "data" / "booksim2_mesh8x8_uniform.csv"
FLIT = 8
"""Cycles of a flit on a link of 8 bytes a cycle."""
IN_AND_OUT = 5
MOST_LOAD = 0.3


def mean_latency(
    flits: int, load: float, packets: int, turn: int = 0, seed: int = 0, rows: int = 8, cols: int = 8
) -> float:
    """
    Mean latency of packets in BookSim2's cycles, from the creation of a packet to the arrival of its last flit.

    `load`: flits offered per node and cycle; `packets`: number of packets of each node; `turn`: flits of one input that
    a router sends over a link before another input may send (`noc_packet_bytes` of the chip), 0 for whole packets.
    """
    nbytes = flits * FLIT * 8
    chip = replace(
        load_chip("tiny"), rows=rows, cols=cols, link_bytes_per_cycle=8, hop_cycles=4 * FLIT,
        noc_packet_bytes=FLIT * 8 * turn or nbytes,
        queue_depth=4096,
    )  # fmt: skip
    rng, asm = np.random.default_rng(seed), Assembly(chip)
    targets = rng.integers(0, chip.cores, (chip.cores, packets))
    gaps = np.maximum(np.round(rng.exponential(FLIT * flits / load, (chip.cores, packets))).astype(int), 5)
    arrivals = np.bincount(targets.reshape(-1), minlength=chip.cores)
    for core in np.flatnonzero(arrivals).tolist():
        asm.op(core, "loop", raw=(int(arrivals[core]), 1))
        asm.op(core, "wait", imm=1, raw=(1,))
    message = at(0, (nbytes // 4,))
    for core in range(chip.cores):
        for gap, target in zip(gaps[core].tolist(), targets[core].tolist(), strict=True):
            asm.op(core, "iota", at(0, (8 * (gap - 4),)), raw=(0, 0, 1), signal=1 << SEND)
            asm.op(core, "put", message, message, cores=[target], imm=1, wait=1 << VPU)
    trace = run_timing(asm.build(), trace=True).trace
    assert trace is not None
    made, arrived = trace.end[trace.unit == VPU].mean(), (trace.end[trace.unit == RECV] - 1).mean()
    return float(arrived - made) / FLIT + IN_AND_OUT


def main() -> None:
    parser = argparse.ArgumentParser(description="The network-on-chip against BookSim2.")
    parser.add_argument("--packets", type=int, default=300, help="number of packets of each node")
    parser.add_argument("--turn", type=int, default=4, help="flits that one input of a router sends before another may")
    options = parser.parse_args()
    errors: list[tuple[float, float]] = []
    with POINTS.open() as file:
        points = [point for point in csv.DictReader(file) if float(point["inj_flits"]) <= MOST_LOAD]
    for point in points:
        flits, load, expected = int(point["packet_flits"]), float(point["inj_flits"]), float(point["packet_latency"])
        # At low load packets rarely contend, so that few of them are enough.
        packets = options.packets if load > 0.01 else max(options.packets // 10, 1)
        whole = mean_latency(flits, load, packets)
        turns = mean_latency(flits, load, packets, options.turn) if flits > options.turn else whole
        errors.append((whole / expected - 1, turns / expected - 1))
        line = {"bench": "booksim", "flits": flits, "load": load, "booksim": expected}
        found = {"whole": round(whole, 2), "error": round(errors[-1][0], 4)}
        found |= {"in_turn": round(turns, 2), "error_in_turn": round(errors[-1][1], 4)}
        print(json.dumps({**line, **found}), flush=True)
    for name, sizes in zip(("whole", "in_turn"), np.abs(errors).T, strict=True):
        total = {"mean_error": round(float(sizes.mean()), 4), "worst_error": round(float(sizes.max()), 4)}
        print(json.dumps({"bench": "booksim", "packets": name, **total}))


if __name__ == "__main__":
    main()

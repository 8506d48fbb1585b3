"""
The network-on-chip against queueing theory: one JSON line for each point.

`m_d_1`: mean waiting of packets with Poisson arrivals on a shared link over rho S / (2 (1 - rho)). `uniform`: latency
of packets to random other cores on an 8 x 8 mesh by offered load (bytes a cycle and core over the link's), with the
mean of an unloaded network for comparison; it rises steeply at saturation. `accepted` is the delivered load, from the
first packet until the first core has sent its last one: with XY routing at most 4 / 8 of the capacity of the links, as
half of the packets cross the middle of the mesh.
"""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
from meshloom.chips import load_chip
from meshloom.emulator.executable.build import Assembly, at
from meshloom.emulator.timing.engine import run_timing
from meshloom.emulator.timing.random_programs import RECV, SEND, VPU


def random_traffic(
    rows: int, cols: int, load: float, count: int, seed: int, target: int = -1, idle: int = 0
) -> dict[str, float]:
    """
    Every core (but `target`) puts `count` packets of 256 bytes with exponential gaps to `target`, or to random others.

    `load`: of the link into the target, or of each core's own link if targets are random. Cores wait for `idle` cycles
    before their first packets; this does not change the measured latency of the network.
    """
    chip = replace(load_chip("tiny"), rows=rows, cols=cols, queue_depth=4096, noc_packet_bytes=256)
    rng, asm, service = np.random.default_rng(seed), Assembly(chip), 32
    hops: list[int] = []
    sources = [core for core in range(chip.cores) if core != target]
    packets: list[tuple[int, int, int]] = []
    """(source, gap before the packet, target)"""
    arrivals, rate = np.zeros(chip.cores, int), 0.0
    for core in sources:
        mean_gap = service / load * (len(sources) if target >= 0 else 1)
        gaps = np.maximum(np.round(rng.exponential(mean_gap, count)).astype(int), 5)
        rate += 1 / gaps.mean()
        gaps[0] += idle
        for gap in gaps.tolist():
            to = target if target >= 0 else int(rng.choice([c for c in sources if c != core]))
            hops.append(abs(core % cols - to % cols) + abs(core // cols - to // cols))
            arrivals[to] += 1
            packets.append((core, gap, to))
    # Receives are first in the program: after a core's own puts they would delay the first packets.
    for core in np.flatnonzero(arrivals).tolist():
        asm.op(core, "loop", raw=(int(arrivals[core]), 1))
        asm.op(core, "wait", imm=1, raw=(1,))
    for core, gap, to in packets:
        asm.op(core, "iota", at(0, (8 * (gap - 4),)), raw=(0, 0, 1), signal=1 << SEND)
        asm.op(core, "put", at(0, (64,)), at(0, (64,)), cores=[to], imm=1, wait=1 << VPU)
    trace = run_timing(asm.build(), trace=True).trace
    assert trace is not None
    latency = float((trace.end[trace.unit == RECV] - 1).mean() - trace.end[trace.unit == VPU].mean())
    empty = float(chip.hop_cycles * np.mean(hops)) + service
    ends = trace.end[trace.unit == RECV]
    begin = int(trace.end[trace.unit == VPU].min())
    sent = min(int(trace.end[(trace.unit == SEND) & (trace.core == core)].max()) for core in sources)
    accepted = service * int((ends <= sent).sum()) / ((sent - begin) * (1 if target >= 0 else chip.cores))
    load = service * rate / (1 if target >= 0 else chip.cores)
    return {"load": load, "latency": latency, "empty": empty, "accepted": accepted}


def main() -> None:
    for load in (0.3, 0.5, 0.7, 0.8):
        points = [random_traffic(3, 3, load, 3000, seed, target=4) for seed in range(5)]
        waiting = float(np.mean([p["latency"] - p["empty"] for p in points]))
        theory = float(np.mean([p["load"] * 32 / (2 * (1 - p["load"])) for p in points]))
        line = {"bench": "noc", "case": "m_d_1", "load": load, "waiting": round(waiting, 2), "theory": round(theory, 2)}
        print(json.dumps({**line, "ratio": round(waiting / theory, 3)}), flush=True)
    for load in (0.1, 0.2, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.8):
        found = random_traffic(8, 8, load, 150, 0)
        line = {"bench": "noc", "case": "uniform", "mesh": "8x8"}
        print(json.dumps({**line, **{key: round(value, 3) for key, value in found.items()}}), flush=True)


if __name__ == "__main__":
    main()

"""
Cycles of programs that use one resource, against closed forms: matrix units, DRAM ports, the host link.

    python bench/closed_forms.py [--shapes N] [--seed N]

One JSON line for each case. `matrix`: products of random shapes on random arrays, one instruction each, against
SCALE-Sim's formula for weight-stationary arrays; `different` must be 0. `dram_ports`: all cores load at the same time
through random ports, against the bytes of the busiest port at its rate, plus latency and route (`below` and `above`:
cycles outside of that range); `host`: copies of random sizes in both directions, against the latency plus the bytes at
the rate of the link.
"""

from __future__ import annotations

import argparse
import json
import math
import random
from dataclasses import replace

from meshloom.chips import load_chip
from meshloom.emulator.executable.build import Assembly, at
from meshloom.emulator.timing.engine import run_timing
from meshloom.emulator.timing.random_programs import MPU

PRODUCTS = 100
"""Number of products in a program, on one array."""


def different_products(count: int, rng: random.Random) -> int:
    """Number of products, out of `count`, with cycles other than ceil(K / R) ceil(N / C) (M + 2 R + C - 2) - 1."""
    tiny, different = load_chip("tiny"), 0
    for first in range(0, count, PRODUCTS):
        rows, cols = rng.randrange(1, 130), rng.randrange(1, 130)
        asm, expected = Assembly(replace(tiny, mpu_rows=rows, mpu_cols=cols)), list[int]()
        for _ in range(min(PRODUCTS, count - first)):
            m, k, n = (rng.choice((rng.randrange(1, 9), rng.randrange(1, 700))) for _ in range(3))
            asm.op(0, "matmul", at(0, (m, n)), at(0, (m, k)), at(0, (k, n)), imm=1 << 4 | 1 << 8 | 1 << 12)
            expected.append(max(math.ceil(k / rows) * math.ceil(n / cols) * (m + 2 * rows + cols - 2) - 1, 1))
        trace = run_timing(asm.build(), trace=True).trace
        assert trace is not None
        found = (trace.end - trace.start)[trace.unit == MPU].tolist()
        different += sum(one != other for one, other in zip(found, expected, strict=True))
    return different


def beyond_ports(rng: random.Random) -> int:
    """
    Deviation, in cycles, of concurrent loads of random sizes from the range that the ports allow.

    Links are wide enough that ports limit the rate. The first word is dispatched in cycle 0. Least cycles: bytes of the
    busiest port at its rate, and the latency; most: in addition the route to the farthest core. Negative: too few
    cycles.
    """
    rows, cols = rng.randrange(1, 5), rng.randrange(1, 5)
    ports, rate, latency = rng.randrange(1, rows + 1), rng.choice((3, 8, 50, 128)), rng.randrange(200)
    chip = replace(
        load_chip("tiny"), rows=rows, cols=cols, dram_ports=ports, dram_bytes_per_cycle=rate, dram_latency=latency,
        link_bytes_per_cycle=4096, noc_packet_bytes=1024,
    )  # fmt: skip
    asm = Assembly(chip)
    for core in range(chip.cores):
        for _ in range(rng.randrange(1, 8)):
            n = 8 * rng.randrange(1, 800)
            asm.op(core, "load", at(0, (n,)), at(0, (n,)))
    timing = run_timing(asm.build())
    busiest = int(timing.port_read.max())
    least = 1 + busiest * ports // rate + latency
    most = least + chip.hop_cycles * (rows + cols) + 1
    return min(timing.cycles - least, 0) or max(timing.cycles - most, 0)


def host_difference(rng: random.Random) -> int:
    """Cycles of copies in both directions minus latency and bytes over the rate, each direction one after the other."""
    chip = replace(load_chip("tiny"), host_bytes_per_cycle=rng.choice((1, 3, 16)), host_latency=rng.randrange(2000))
    asm, expected = Assembly(chip, dram_bytes=1 << 20), {"input": 0, "output": 0}
    for number in range(rng.randrange(2, 9)):
        role, size = ("input", "output")[number % 2], rng.randrange(1, 10_000)
        asm.tensor(f"t{number}", role, (size,), number << 16)
        expected[role] += chip.host_latency + math.ceil(4 * size / chip.host_bytes_per_cycle)
    timing = run_timing(asm.build())
    return timing.total_cycles - timing.cycles - sum(expected.values())


def main() -> None:
    parser = argparse.ArgumentParser(description="Matrix units, DRAM ports and host link against closed forms.")
    parser.add_argument("--shapes", type=int, default=10_000, help="products of random shapes")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    line: dict[str, object] = {"bench": "closed_forms", "case": "matrix", "shapes": options.shapes}
    print(json.dumps({**line, "different": different_products(options.shapes, rng)}), flush=True)
    beyond = [beyond_ports(rng) for _ in range(200)]
    line = {"bench": "closed_forms", "case": "dram_ports", "programs": len(beyond)}
    print(json.dumps({**line, "below": min(beyond), "above": max(beyond)}), flush=True)
    differences = [host_difference(rng) for _ in range(200)]
    line = {"bench": "closed_forms", "case": "host", "programs": len(differences)}
    print(json.dumps({**line, "different": sum(one != 0 for one in differences)}))


if __name__ == "__main__":
    main()

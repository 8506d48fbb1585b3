"""
Comparison of the two timing engines on random programs: all fields of the timing must be equal.

    python bench/engines.py [--first SEED] [--count N]

The seed determines the program and the chip (one of the four, often with changed links, hops, packets, ports and
queues). One JSON line for every 20 programs, with the seed to continue from; exits with 1 at the first difference.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from dataclasses import fields, replace

import numpy as np
from meshloom.chips import load_chip
from meshloom.chips.chip import Chip
from meshloom.emulator.reports.stats import collect
from meshloom.emulator.timing.engine import TimingResult, run_timing
from meshloom.emulator.timing.random_programs import random_program
from meshloom.emulator.timing.reference import run_reference

EVERY = 20


def random_chip(rng: random.Random) -> Chip:
    """`tiny`, `edge`, `grid` or (rarely: its 256 cores take long) `cloud`; in half of the cases with changes."""
    chip = load_chip(rng.choice(["tiny"] * 12 + ["edge"] * 4 + ["grid"] * 2 + ["cloud"]))
    if rng.random() < 0.5:
        return chip
    return replace(
        chip,
        link_bytes_per_cycle=rng.choice([1, 3, 8, 32, 64]),
        hop_cycles=rng.choice([0, 1, 2, 3, 9]),
        noc_packet_bytes=rng.choice([32, 100, 256, 1024]),
        dram_bytes_per_cycle=rng.choice([3, 8, 50, 128, 1000, 4096]),
        dram_ports=rng.choice([1, 2, min(3, chip.rows)]),
        queue_depth=rng.choice([1, 2, 16]),
    )


def difference(seed: int) -> str | None:
    """The difference between the engines for the program of a seed; None: there is none."""
    rng = random.Random(seed)
    chip = random_chip(rng)
    exe = random_program(seed, chip, rounds=rng.choice([3, 6, 10]) if chip.cores <= 4 else 64 // chip.cores or 1)
    fast, slow = run_timing(exe), run_reference(exe)
    for name in (field.name for field in fields(TimingResult) if field.name != "trace"):
        if not np.array_equal(np.asarray(getattr(fast, name), object), np.asarray(getattr(slow, name), object)):
            return name
    return None if collect(exe, fast)["energy_pj"] == collect(exe, slow)["energy_pj"] else "energy"


def main() -> int:
    parser = argparse.ArgumentParser(description="Both timing engines on random programs.")
    parser.add_argument("--first", type=int, default=0, help="seed of the first program")
    parser.add_argument("--count", type=int, default=200, help="programs")
    options = parser.parse_args()
    for done in range(options.count):
        seed = options.first + done
        found = difference(seed)
        if found is not None:
            print(json.dumps({"bench": "engines", "seed": seed, "differs": found}))
            return 1
        if (done + 1) % EVERY == 0:
            print(json.dumps({"bench": "engines", "agree": done + 1, "next": seed + 1}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

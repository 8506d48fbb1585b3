"""
How fast the timing engine is: one JSON line per case.

Usage: python bench/timing_engine.py [FILE.mlx ...]

Without files: synthetic mixes on 64 cores (8 x 8) with a share of sends and receives in contention, and a mix of local
work only. `kernel` is the compiled kernel alone, `end_to_end` includes decoding, costs and routes. Rates are executed
instructions (loops' repeats included, the sequencer's own words too) per CPU second of one core, best of three;
`busiest_link` is the share of the cycles in which the busiest link is taken. The pure-Python reference runs a
hundredth of the second mix beside them.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Callable

from meshloom.chips import load_chip
from meshloom.emulator.executable.build import Assembly, at
from meshloom.emulator.executable.executable import Executable, read_executable
from meshloom.emulator.timing.engine import run_timing, time_launch
from meshloom.emulator.timing.reference import run_reference
from meshloom.emulator.timing.tables import build_tables

RECV, SEND, VPU = 6, 5, 1


def exchange_mix(total: int, nbytes: int, send_share: float, near: bool, loop: bool = False) -> Executable:
    """
    64 cores, about `total` instructions: rounds of local work, each with a put to another core and a wait.

    `send_share` of the instructions are puts and waits. In each round core c puts to c + d (mod 64), d drawn per
    round: 1 or 8 if `near`, else up to 63. With `loop`, one round is repeated by a hardware loop; else every
    instruction is a word of its own.
    """
    rng = random.Random(1)
    asm = Assembly(load_chip("grid"))
    per_round = max(4, round(2 / send_share))
    rounds = total // (64 * per_round)
    x, small = at(0, (nbytes // 4,)), at(0, (8, 8))
    sizes = [rng.choice([16, 64, 128]) for _ in range(per_round)]
    distances = [rng.choice([1, 8]) if near else rng.randrange(1, 64) for _ in range(1 if loop else rounds)]
    for core in range(64):
        if loop:
            asm.op(core, "loop", raw=(rounds, per_round))
        for distance in distances:
            for index in range(per_round - 2):
                n = at(0, (sizes[index],))
                match index % 3:
                    case 0:
                        asm.op(core, "add", n, n, 1.0, signal=1 << SEND if index == 0 else 0)
                    case 1:
                        asm.op(core, "matmul", small, small, small, imm=1 << 4 | 1 << 8 | 1 << 12)
                    case _:
                        asm.op(core, "fill", n, 0.0)
            asm.op(core, "put", x, x, cores=[(core + distance) % 64], imm=0, wait=1 << VPU)
            asm.op(core, "wait", imm=0, raw=(1,))
    return asm.build()


def best(action: Callable[[], object], repeats: int = 3) -> float:
    """Least CPU seconds of `action`."""
    seconds: list[float] = []
    for _ in range(repeats):
        begin = time.process_time()
        action()
        seconds.append(time.process_time() - begin)
    return min(seconds)


def measure(name: str, exe: Executable) -> None:
    """Print the line of one case."""
    tables = [build_tables(exe, launch) for launch in exe.launches]
    result = run_timing(exe)
    counts = result.instructions
    executed = int(counts.sum())
    kernel = best(lambda: [time_launch(exe, tables[number], number) for number, _, _ in result.launches])
    whole = best(lambda: run_timing(exe))
    line = {
        "bench": "timing_engine", "case": name, "cores": exe.chip.cores, "cycles": result.cycles,
        "instructions": executed,
        "send_recv_share": round(float(counts[:, [SEND, RECV]].sum()) / executed, 3),
        "busiest_link": round(float(result.link_bytes.max()) / result.cycles / exe.chip.link_bytes_per_cycle, 3),
        "link_bytes": int(result.link_bytes.sum()), "kernel_s": round(kernel, 4), "end_to_end_s": round(whole, 4),
        "kernel_minstr_per_s": round(executed / kernel / 1e6, 2),
        "end_to_end_minstr_per_s": round(executed / whole / 1e6, 2),
        "goal_kernel": 20, "goal_end_to_end": 5,
    }  # fmt: skip
    print(json.dumps(line), flush=True)


def main() -> None:
    run_timing(exchange_mix(2000, 64, 0.2, near=True))  # compiled once
    for path in sys.argv[1:]:
        measure(path, read_executable(path))
    if sys.argv[1:]:
        return
    measure("20% sends and receives, near, a word each", exchange_mix(1_000_000, 64, 0.2, near=True))
    measure("20% sends and receives, far, contended, a word each", exchange_mix(1_000_000, 256, 0.2, near=False))
    measure("20% sends and receives, far, links saturated", exchange_mix(1_000_000, 1024, 0.2, near=False))
    measure("20% sends and receives, far, contended, in loops", exchange_mix(1_000_000, 256, 0.2, False, loop=True))
    measure("2% sends and receives, a word each", exchange_mix(1_000_000, 64, 0.02, near=True))
    short = exchange_mix(20_000, 256, 0.2, near=False)
    seconds = best(lambda: run_reference(short), 1)
    fast = run_timing(short)
    count = int(fast.instructions.sum())
    line = {
        "bench": "timing_engine", "case": "pure-Python reference", "instructions": count, "seconds": round(seconds, 2),
        "minstr_per_s": round(count / seconds / 1e6, 4), "agrees": run_reference(short).cycles == fast.cycles,
    }  # fmt: skip
    print(json.dumps(line))


if __name__ == "__main__":
    main()

"""
Cycles of networks compiled for series of chips with an increasing amount of one resource: a JSON line for each network
and resource.

    python bench/more_resources.py [--chip edge] [--seed 0] [NETWORK ...]

A network is a name as in `conv_cycles.py`; without names: rnet, pnet, onet and mobilenet-96. Every chip of a series
contains the one before: more SRAM a core, more cores with the same DRAM ports, a faster DRAM, wider links.

chips, cycles    the factors of the series, and the cycles on each of its chips
worst            largest ratio of the cycles on a chip to the fewest on a smaller chip of the series: 1 if more of a
                 resource never takes more cycles
compile_cpu_s    CPU seconds of compiling for all chips of the series
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from time import process_time
from typing import Any

from conv_cycles import load
from meshloom.chips import Chip, load_chip

from models import Inputs

NETWORKS = ("rnet", "pnet", "onet", "mobilenet-96")


def series(chip: Chip) -> dict[str, dict[str, Chip]]:
    """Resource -> factor -> chip."""
    found: dict[str, dict[str, Chip]] = {}
    for name in ("sram_bytes", "dram_bytes_per_cycle", "link_bytes_per_cycle"):
        found[name] = {f"{by}x": replace(chip, **{name: by * getattr(chip, name)}) for by in (1, 2, 4, 8)}
    meshes = ((1, 1), (1, 2), (2, 2), (2, 4), (4, 4))
    found["cores"] = {
        f"{rows * cols}x": replace(chip, rows=rows * chip.rows, cols=cols * chip.cols) for rows, cols in meshes
    }
    return found


def measure(model: bytes, inputs: Inputs, chips: dict[str, Chip]) -> dict[str, Any]:
    """The figures of a network on a series of chips."""
    from meshloom.emulator.timing.engine import run_timing
    from meshloom.tools.api import compile

    shapes = {key: value.shape for key, value in inputs.items()}
    start = process_time()
    compiled = [compile(model, chip, shapes).executable for chip in chips.values()]
    compiling = process_time() - start
    cycles = [run_timing(exe).cycles for exe in compiled]
    worst = max(after / min(cycles[: number + 1]) for number, after in enumerate(cycles))
    return {"chips": [*chips], "cycles": cycles, "worst": round(worst, 3), "compile_cpu_s": round(compiling, 2)}


def main() -> int:
    """Print a line a network and resource."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", metavar="NETWORK", default=[*NETWORKS])
    parser.add_argument("--chip", default="edge")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    for name in options.networks:
        model, inputs = load(name, options.seed)
        for resource, chips in series(load_chip(options.chip)).items():
            figures = measure(model, inputs, chips)
            print(json.dumps({"network": name, "chip": options.chip, "resource": resource, **figures}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

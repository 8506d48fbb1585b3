"""
Sensitivity of compiled networks to the constants of the search: cycles, and processor time of compiling, with another
value of one constant, as shares of those with its present value.

Prints a JSON line for each constant and value: the geometric mean, the least and the largest share of the cycles over
the models, and the share of the processor time of all of them.

    python bench/constants.py rnet onet vad --chip tiny
    python bench/constants.py --only analysis.search:ACCEPT_RATIO
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Generator, Iterable
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib import import_module
from math import exp, log
from time import process_time
from unittest.mock import patch

from light_models import LIGHT_MODELS
from meshloom.analysis.planning.plan_memo import forget_plans
from meshloom.tools.api import compile
from public_models import PUBLIC_MODELS

from models import load_model

CONSTANTS: dict[str, tuple[float, ...]] = {
    "analysis.search:ACCEPT_RATIO": (1.0, 0.99, 0.97),
    "analysis.planning.tiling_beam_search:BEAM": (3, 12),
    "analysis.planning.tiling_beam_search:TILINGS": (2, 8),
    "analysis.planning.tiling_beam_search:DRAM_BOUND_RATIO": (1.0, 1.3),
    "analysis.planning.tiling_beam_search:CONTENTION": (0.0, 0.6),
    "analysis.planning.multi_buffering:TASKS": (4, 16),
    "analysis.planning.shift_prefetch:TRIALS": (100, 400),
    "analysis.planning.plan_network:CROWDED_STEPS": (4, 16),
    "analysis.planning.plan_network:WORKING_SHARE": (0.85, 0.97),
    "analysis.planning.kept_constants:LEAST_BYTES": (1024, 16384),
    "analysis.planning.kept_constants:KEPT_SHARE": (0.5, 0.85),
    "analysis.planning.plan_task:PRUNE_RATIO": (1.2, 2.0),
    "analysis.planning.plan_task:MAX_GRIDS": (4, 16),
    "analysis.planning.plan_task:MAX_REFINEMENTS": (32, 128),
    "analysis.planning.estimate:NEIGHBOURS": (0.5, 0.9),
    "analysis.placement.methods:LEAST_GAIN": (0.0, 0.01),
    "analysis.placement.methods:RELAXED_GAIN": (0.0, 0.05),
    "analysis.placement.methods:QUICK_TRIALS": (20, 80),
    "transforms.manycore_split_reductions:ACCEPT_RATIO": (0.9, 0.999),
    "transforms.manycore_split_reductions:SECOND_TASK": (0, 500),
    "transforms.manycore_split_reductions:NETWORK_ACCEPT_RATIO": (1.0, 0.98),
    "transforms.dataflow_block_outputs:ACCEPT_RATIO": (0.6, 1.0),
    "lowering.autotune.candidate_plans:MIN_STEP_LATENCIES": (1, 4),
    "lowering.autotune.fewer_cores:MAX_BOUND_SHARE": (0.6, 1.0),
    "lowering.autotune.fewer_cores:MIN_CORES": (16, 64),
    "dialects.dataflow.contraction.matmul:MIN_SHARED_TERMS": (64, 256),
}
"""Module and name of a constant -> the alternative values."""
MODELS = ("rnet", "pnet", "onet", "magika", "vad", "vad-sequence", "vad-half")


@dataclass(frozen=True)
class Measured:
    """Cycles by model, and the processor time of compiling all of them."""

    cycles: dict[str, int]
    seconds: float


@contextmanager
def changed(constant: str, value: float) -> Generator[None]:
    """Replace a constant by another value of the same type, in all modules that have imported it."""
    place, name = constant.split(":")
    own = vars(import_module(f"meshloom.{place}"))[name]
    with ExitStack() as stack:
        for module in [one for key, one in sys.modules.items() if key.startswith("meshloom.")]:
            if vars(module).get(name) is own:
                stack.enter_context(patch.object(module, name, type(own)(value)))
        yield


def measure(names: Iterable[str], chip: str) -> Measured:
    """Compile each model and emulate it."""
    cycles: dict[str, int] = {}
    seconds = 0.0
    for name in names:
        data, inputs = load_model(name)
        forget_plans()
        start = process_time()
        network = compile(data, chip, {key: value.shape for key, value in inputs.items()})
        seconds += process_time() - start
        cycles[name] = network.timing.cycles
    return Measured(cycles, seconds)


def main() -> int:
    """Print one line a constant and value."""
    every = [*PUBLIC_MODELS, *(f"light-{name}" for name in LIGHT_MODELS)]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL", help=f"default: {', '.join(MODELS)}")
    parser.add_argument("--chip", default="edge")
    parser.add_argument("--only", choices=tuple(CONSTANTS), metavar="MODULE:NAME", help="one of the constants")
    options = parser.parse_args()
    names = options.models or MODELS
    if unknown := [name for name in names if name not in every]:
        parser.error(f"unknown model {unknown[0]}")
    measure(names[:1], options.chip)  # kernels are compiled once for all
    own = measure(names, options.chip)
    for constant in [options.only] if options.only else CONSTANTS:
        for value in CONSTANTS[constant]:
            with changed(constant, value):
                other = measure(names, options.chip)
            shares = [other.cycles[name] / own.cycles[name] for name in names]
            line = {
                "constant": constant,
                "value": value,
                "chip": options.chip,
                "cycles": round(exp(sum(map(log, shares)) / len(shares)), 4),
                "least": round(min(shares), 4),
                "largest": round(max(shares), 4),
                "cpu": round(other.seconds / own.seconds, 2),
            }
            print(json.dumps(line), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

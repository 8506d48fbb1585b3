"""
Figures of recurrent networks: one JSON line a network, each measured in a process of its own.

    python bench/recurrent.py [--chip edge] [--seed 0] [--steps N] [NETWORK ...]

A network is a name of `recurrent_networks.NETWORKS`, `vad-sequence` (where `make models` has fetched it), or
`KIND:layers:hidden:inputs:steps[:both]` with a kind of LSTM, GRU, RNN, Scan, Loop and Cells; `--steps` gives all of
them but vad-sequence as many steps. Without names: all of these names.

cycles, reference_cycles    of a run, and of the reference time (see `docs/reports.md`); `reference_ratio` is the cycles
                            over the reference, `roofline_ratio` over the network's roofline
instructions                of the executable; a run executes some of them several times
compile_cpu_s               CPU seconds of compiling, without the first compilation of a process
dram_read_ratio             bytes read from DRAM over the bytes of inputs and weights
equal                       whether outputs are those of ONNX Runtime without optimisations, within its tolerance
onnxruntime_cpu_s           CPU seconds of a run in ONNX Runtime, optimised, on one thread
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from onnx import ModelProto
from public_models import PUBLIC_MODELS
from recurrent_networks import NETWORKS, Recurrent, build

from models import Inputs, runtime_seconds, warm_up

VAD = "vad-sequence"


def load(name: str, seed: int, steps: int | None) -> tuple[bytes, Inputs]:
    """A network's bytes and seeded inputs. Raises ValueError for an unknown name."""
    if name == VAD:
        model = PUBLIC_MODELS[VAD]
        return model.as_bytes(), model.inputs(seed)
    network = NETWORKS[name] if name in NETWORKS else Recurrent.parse(name)
    if steps is not None:
        network = replace(network, steps=steps)
    made: ModelProto = build(network, seed)
    values = np.random.default_rng(seed + 1).standard_normal((network.steps, 1, network.inputs))
    return made.SerializeToString(), {"x": values.astype(np.float32)}


def measure(name: str, chip: str, seed: int, steps: int | None) -> dict[str, Any]:
    """All figures of one network. Raises what the compiler or the emulator raises."""
    from meshloom.emulator.functional.engine import run_functional
    from meshloom.emulator.reports.stats import collect
    from meshloom.emulator.timing.engine import run_timing
    from meshloom.tools.api import compile
    from meshloom.tools.oracle import Oracle, compare

    data, inputs = load(name, seed, steps)
    compile(warm_up(), chip)
    start = process_time()
    network = compile(data, chip, {key: value.shape for key, value in inputs.items()})
    compiling = process_time() - start
    exe = network.executable
    outputs = run_functional(exe, inputs).outputs
    expected = Oracle(data).run(inputs)
    stats = collect(exe, run_timing(exe))
    must = json.loads(exe.notes["ideal"])["dram_bytes"] - sum(value.nbytes for value in expected.values())
    reference = stats.get("reference")
    return {
        "network": name,
        "chip": chip,
        "steps": steps if steps is not None and name != VAD else len(next(iter(inputs.values()))),
        "equal": all(compare(key, outputs[key], value).equal for key, value in expected.items()),
        "cycles": stats["cycles"],
        "reference_cycles": None if reference is None else round(reference["cycles"]),
        "reference_ratio": None if reference is None else round(reference["ratio"], 3),
        "reference_set_by": None if reference is None else reference["set_by"],
        "reference_cores": None if reference is None else reference["cores"],
        "roofline_ratio": round(stats["roofline"]["ratio"] or 0.0, 3),
        "instructions": stats["instructions"]["static"],
        "executed": stats["instructions"]["executed"],
        "compile_cpu_s": round(compiling, 3),
        "dram_read": stats["bytes"]["dram_read"],
        "dram_read_ratio": round(stats["bytes"]["dram_read"] / must, 3),
        "onnxruntime_cpu_s": float(f"{runtime_seconds(data, inputs):.4g}"),
    }


def main() -> int:
    """Print one line a network; 1 if one of them failed or differs from ONNX Runtime."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", metavar="NETWORK")
    parser.add_argument("--chip", default="edge")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--alone", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    names: list[str] = options.networks or [*NETWORKS, VAD]
    for name in names:
        if name not in NETWORKS and name != VAD:
            try:
                Recurrent.parse(name)
            except ValueError as error:
                parser.error(f"unknown network: {error}, nor one of {', '.join(NETWORKS)}")
    if options.alone:
        print(json.dumps(measure(names[0], options.chip, options.seed, options.steps)))
        return 0
    failed = False
    for name in names:
        if name == VAD and not Path(PUBLIC_MODELS[VAD].path).is_file():
            print(json.dumps({"network": name, "missing": "run make models"}), flush=True)
            continue
        rest = ["--chip", options.chip, "--seed", str(options.seed)]
        rest += [] if options.steps is None else ["--steps", str(options.steps)]
        with tempfile.TemporaryFile() as errors:
            done = subprocess.run(
                [sys.executable, __file__, "--alone", name, *rest], stdout=subprocess.PIPE, stderr=errors, check=False
            )
            errors.seek(0)
            words = errors.read().decode(errors="replace").strip().splitlines()
        if done.returncode:
            figures: dict[str, Any] = {
                "network": name,
                "chip": options.chip,
                "error": words[-1] if words else "no message",
            }
        else:
            figures = json.loads(done.stdout.splitlines()[-1])
        failed |= not figures.get("equal", False)
        print(json.dumps(figures), flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())

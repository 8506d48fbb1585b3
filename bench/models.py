"""
Figures of the public and the light models on `edge`: one JSON line a model, each measured in a process of its own.

    python bench/models.py [--chip NAME] [MODEL ...]

CPU seconds, the best of several runs; ratios are to ONNX Runtime (one thread, optimised) in the same process.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from light_models import LIGHT_MODELS, light_model
from numpy.typing import NDArray
from public_models import PUBLIC_MODELS

Inputs = dict[str, NDArray[Any]]


def cpu_seconds(action: Callable[[], object], at_least: int = 1, budget: float = 2.0) -> float:
    """The least CPU time of a call, over `at_least` calls and more until `budget` seconds are spent."""
    best, spent, calls = float("inf"), 0.0, 0
    while calls < at_least or (spent < budget and calls < 200):
        start = process_time()
        action()
        used = process_time() - start
        best, spent, calls = min(best, used), spent + used, calls + 1
    return best


def load_model(name: str) -> tuple[bytes, Inputs]:
    """A model's bytes and seeded inputs."""
    if name in PUBLIC_MODELS:
        model = PUBLIC_MODELS[name]
        return model.as_bytes(), model.inputs(0)
    light, inputs = light_model(name.removeprefix("light-"))
    return light.SerializeToString(), inputs


def runtime_seconds(data: bytes, inputs: Inputs) -> float:
    """ONNX Runtime on one thread, CPU seconds a run."""
    import onnxruntime

    ort: Any = onnxruntime
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = ort.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    return cpu_seconds(lambda: session.run(None, inputs), at_least=3)


def measure(name: str, chip: str) -> dict[str, Any]:
    """All figures of one model. Raises what the compiler or the emulator raises."""
    from meshloom.emulator.functional.engine import run_functional
    from meshloom.emulator.reports.stats import collect
    from meshloom.emulator.timing.engine import run_timing
    from meshloom.tools.api import compile
    from meshloom.tools.oracle import Oracle, compare

    data, inputs = load_model(name)
    shapes = {key: value.shape for key, value in inputs.items()}
    compile(warm_up(), chip)  # numba's kernels are compiled once for all
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = process_time()
    network = compile(data, chip, shapes)
    compiling = process_time() - start
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    exe = network.executable
    outputs = run_functional(exe, inputs).outputs
    run_timing(exe)
    functional = cpu_seconds(lambda: run_functional(exe, inputs))
    timing = cpu_seconds(lambda: run_timing(exe))
    expected = Oracle(data).run(inputs)
    peer = runtime_seconds(data, inputs)
    stats = collect(exe, run_timing(exe))
    executed = stats["instructions"]["executed"]
    return {
        "model": name,
        "chip": chip,
        "equal": all(compare(key, outputs[key], value).equal for key, value in expected.items()),
        "compile_cpu_s": round(compiling, 3),
        "compile_peak_mb": memory // 1024,
        "before_compile_peak_mb": before // 1024,
        "instructions": stats["instructions"]["static"],
        "code_bytes": stats["instructions"]["code_bytes"],
        "executed": executed,
        "onnxruntime_cpu_s": float(f"{peer:.4g}"),
        "functional_cpu_s": float(f"{functional:.4g}"),
        "functional_ratio": round(functional / peer, 2),
        "timing_cpu_s": float(f"{timing:.4g}"),
        "timing_ratio": round(timing / peer, 2),
        "timing_instructions_per_s": round(executed / max(timing, 1e-9)),
        "cycles": stats["cycles"],
        "estimate_error": round(sum(row[2] for row in json.loads(exe.notes["subgraphs"])) / stats["cycles"] - 1, 4),
        "roofline_ratio": round(stats["roofline"]["ratio"] or 0.0, 3),
        "roofline_unit": stats["roofline"]["unit"],
        "peak_sram": stats["peak_sram"]["max"],
    }


def warm_up() -> bytes:
    """Compile a small network, so that all kernels are compiled."""
    from onnx import TensorProto, helper, numpy_helper

    weights = numpy_helper.from_array(np.ones((8, 8), np.float32), "w")
    tensors = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [8, 8]) for name in ("x", "y")]
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])], "warm", tensors[:1], tensors[1:], [weights]
    )
    return helper.make_model(graph).SerializeToString()


def main() -> int:
    """Print one line a model; 1 if one of them failed or differs from ONNX Runtime."""
    known = [*PUBLIC_MODELS, *(f"light-{name}" for name in LIGHT_MODELS)]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL", help=f"default: all of {', '.join(known)}")
    parser.add_argument("--chip", default="edge")
    parser.add_argument("--alone", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if unknown := [name for name in options.models if name not in known]:
        parser.error(f"unknown model {unknown[0]}: choose of {', '.join(known)}")
    if options.alone:
        print(json.dumps(measure(options.models[0], options.chip)))
        return 0
    status = 0
    for name in options.models or known:
        line = _in_process(name, options.chip)
        status |= not line.get("equal", False)
        print(json.dumps(line), flush=True)
    return status


def _in_process(name: str, chip: str) -> dict[str, Any]:
    """Measure in a fresh process, so that its peak memory is this model's."""
    with tempfile.TemporaryFile("w+") as errors:
        command = [sys.executable, str(Path(__file__).resolve()), "--alone", "--chip", chip, name]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=errors, text=True)
        if done.returncode == 0:
            return json.loads(done.stdout)
        errors.seek(0)
        return {"model": name, "chip": chip, "error": errors.read().strip().splitlines()[-1:]}


if __name__ == "__main__":
    sys.exit(main())

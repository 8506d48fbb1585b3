"""
CPU seconds and memory of compiling and of running: one JSON line a case, each measured in processes of its own.

    python bench/compile_speed.py [CASE ...] [--against FOLDER] [--repeat N] [--write FOLDER]

A case is NETWORK@CHIP for compiling, or one of these before it with a colon:

cold        compiling with an empty cache of kernels
functional  the functional engine: the first run in a process, and the least of further ones
timing      the timing engine: as `functional`
run         a whole `meshloom-run`

A network is a public model, `light-NAME`, a name of `transformers.ENCODERS` or LAYERSxWIDTHxHEADSxSEQUENCE, or
`bert_sgd` (a training step, compiled with `--budget 0.6`). Without cases: all of `CASES`.

cpu_s         CPU seconds: of compiling, from the import of Meshloom to the executable
peak_mb       the largest resident memory of the process
instructions  of the executable; sha256: of its bytes
peer_cpu_s    of ONNX Runtime on one thread: of compiling, creating a session; of running, a run; `peer_ratio` is ours
              over it
against       the same figures of another checkout's environment, measured in turn; `ratio` is ours over its
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from light_models import light_model
from public_models import PUBLIC_MODELS
from transformers import ENCODERS, Encoder, build_encoder

from models import Inputs, cpu_seconds, runtime_seconds

CASES = (
    "light-resnet50@edge", "light-resnet50@grid", "light-squeezenet@edge", "minilm@edge", "layers16@edge",
    "bert-base@edge", "bert-base@cloud", "cold:rnet@edge", "rnet@edge", "bert_sgd@edge",
    "functional:light-resnet50@edge", "functional:light-resnet50@cloud", "timing:light-resnet50@grid",
    "run:rnet@edge", "run:light-resnet50@edge",
)  # fmt: skip
TRAINING_STEP = Path(__file__).resolve().parent.parent / "test" / "data" / "training_steps" / "bert_sgd" / "model.onnx"
BUDGET = 0.6
FURTHER_RUNS = 5
KINDS = ("cold", "functional", "timing", "run")


def load(network: str) -> tuple[bytes, Inputs]:
    """A network's bytes and seeded inputs. Raises ValueError for an unknown name."""
    if network in PUBLIC_MODELS:
        return PUBLIC_MODELS[network].as_bytes(), PUBLIC_MODELS[network].inputs(0)
    if network.startswith("light-"):
        model, inputs = light_model(network.removeprefix("light-"))
        return model.SerializeToString(), inputs
    if network == "bert_sgd":
        return TRAINING_STEP.read_bytes(), {}
    shape = ENCODERS[network] if network in ENCODERS else Encoder(*map(int, network.split("x")))
    values = np.random.default_rng(1).standard_normal((1, shape.sequence, shape.width), np.float32)
    return build_encoder(shape).SerializeToString(), {"x": values}


def split_case(case: str) -> tuple[str, str, str]:
    """(Kind, network, chip) of a case. Raises ValueError."""
    kind, _, rest = case.rpartition(":")
    network, _, chip = rest.partition("@")
    if not chip or kind not in ("", *KINDS):
        raise ValueError(f"case '{case}' is not NETWORK@CHIP with {', '.join(KINDS)} or nothing before it")
    return kind, network, chip


def compiling(network: str, chip: str, output: Path | None) -> dict[str, Any]:
    """Figures of compiling one network in this process, which has not imported Meshloom before."""
    data, inputs = load(network)
    start = process_time()
    from meshloom.lowering.options.subgraph_options import SubgraphOptions

    import meshloom

    shapes = {name: value.shape for name, value in inputs.items()}
    budget = BUDGET if network == "bert_sgd" else None
    exe = meshloom.compile(data, chip, shapes, subgraphs=SubgraphOptions(jobs=1), budget=budget).executable
    used, peak = process_time() - start, peak_mb()
    from meshloom.emulator.executable.executable import to_bytes

    written = to_bytes(exe)
    if output is not None:
        output.write_bytes(written)
    return {
        "cpu_s": round(used, 3),
        "peak_mb": peak,
        "instructions": sum(len(program.words) for program in exe.programs),
        "bytes": len(written),
        "sha256": hashlib.sha256(written).hexdigest()[:16],
    }


def peak_mb() -> int:
    """The largest resident memory of this process. On Linux, `ru_maxrss` is at least that of the parent at the fork."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmHWM")) // 1024


def engine(kind: str, network: str, file: Path) -> dict[str, Any]:
    """Figures of runs in one of the engines."""
    _, inputs = load(network)
    start = process_time()
    from meshloom.emulator.executable.executable import read_executable
    from meshloom.emulator.functional.engine import run_functional
    from meshloom.emulator.timing.engine import run_timing

    imported = process_time() - start
    exe = read_executable(file)

    def run() -> object:
        return run_functional(exe, inputs) if kind == "functional" else run_timing(exe)

    start = process_time()
    run()
    first = process_time() - start
    further = cpu_seconds(run, FURTHER_RUNS, 0.0)
    peak = peak_mb()
    figures = {"import_cpu_s": imported, "first_cpu_s": first, "cpu_s": further}
    return {name: round(value, 4) for name, value in figures.items()} | {"peak_mb": peak}


def peer(kind: str, network: str) -> dict[str, Any]:
    """CPU seconds of ONNX Runtime."""
    data, inputs = load(network)
    if kind == "functional":
        return {"peer_cpu_s": round(runtime_seconds(data, inputs), 4)}
    import onnxruntime

    ort: Any = onnxruntime
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    create = cpu_seconds(lambda: ort.InferenceSession(data, options, providers=["CPUExecutionProvider"]), 3, 0.0)
    return {"peer_cpu_s": round(create, 4)}


class Checkout:
    """An environment in which cases are measured, and the executables that it has compiled."""

    def __init__(self, python: str, folder: Path) -> None:
        self.python, self.folder = python, folder
        folder.mkdir(parents=True, exist_ok=True)

    def file(self, network: str, chip: str) -> Path:
        """The path of the executable of a network."""
        return self.folder / f"{network}-{chip}.mlx"

    def measure(self, case: str) -> dict[str, Any]:
        """The figures of a case, or its error."""
        kind, network, chip = split_case(case)
        file = self.file(network, chip)
        if kind not in ("", "cold") and not file.exists():
            made = self._alone(f"{network}@{chip}", file, {})
            if "error" in made:
                return made
        if kind == "run":
            return self._whole_run(file)
        if kind == "cold":
            with tempfile.TemporaryDirectory() as empty:
                return self._alone(case, file, {"NUMBA_CACHE_DIR": empty})
        return self._alone(case, file, {})

    def _alone(self, case: str, file: Path, environment: dict[str, str]) -> dict[str, Any]:
        command = [self.python, __file__, "--alone", str(file), case]
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment}, check=False)
        if done.returncode:
            return {"error": (done.stderr.strip().splitlines() or ["no message"])[-1]}
        return json.loads(done.stdout.splitlines()[-1])

    def _whole_run(self, file: Path) -> dict[str, Any]:
        command = [self.python, "-m", "meshloom.tools.run", str(file), "--random", "0", "-q"]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode:
            return {"error": (done.stderr.strip().splitlines() or ["no message"])[-1]}
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return {"cpu_s": round(used, 3)}


def best_of(measured: list[dict[str, Any]]) -> dict[str, Any]:
    """The least CPU seconds and memory of several measurements; other figures are those of the last."""
    if failed := next((one for one in measured if "error" in one), None):
        return failed
    least = {name: min(one[name] for one in measured) for name in measured[0] if name.endswith(("_s", "_mb"))}
    return {**measured[-1], **least}


def main() -> int:
    """Print one line a case; 1 if one of them failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="CASE")
    parser.add_argument("--against", type=Path, metavar="FOLDER", help="another checkout, with its .venv")
    parser.add_argument("--repeat", type=int, default=1, metavar="N", help="measure N times and print the least")
    parser.add_argument("--write", type=Path, metavar="FOLDER", help="keep the executables in this folder")
    parser.add_argument("--alone", type=Path, metavar="FILE", help=argparse.SUPPRESS)
    options = parser.parse_args()
    cases: list[str] = options.cases or list(CASES)
    try:
        split = [split_case(case) for case in cases]
    except ValueError as error:
        parser.error(str(error))
    if options.alone is not None:
        kind, network, chip = split[0]
        if kind in ("functional", "timing"):
            figures = engine(kind, network, options.alone)
        else:
            figures = compiling(network, chip, options.alone)
        print(json.dumps(figures))
        return 0
    failed = False
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch) if options.write is None else options.write
        ours = Checkout(sys.executable, root / "ours")
        theirs = None
        if options.against is not None:
            theirs = Checkout(str(options.against / ".venv" / "bin" / "python"), root / "against")
        for case, (kind, network, chip) in zip(cases, split, strict=True):
            found: tuple[list[dict[str, Any]], list[dict[str, Any]]] = ([], [])
            for _ in range(options.repeat):
                for checkout, into in zip((theirs, ours), found, strict=True):
                    if checkout is not None:
                        into.append(checkout.measure(case))
            line: dict[str, Any] = {
                "case": case,
                "network": network,
                "chip": chip,
                "kind": kind or "compile",
                **best_of(found[1]),
            }
            if kind not in ("run", "timing") and network != "bert_sgd" and "cpu_s" in line:
                line |= peer(kind, network)
                line["peer_ratio"] = round(line["cpu_s"] / line["peer_cpu_s"], 2)
            if theirs is not None:
                line["against"] = best_of(found[0])
                if "cpu_s" in line and "cpu_s" in line["against"]:
                    line["ratio"] = round(line["cpu_s"] / line["against"]["cpu_s"], 3)
            failed |= "error" in line
            print(json.dumps(line), flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())

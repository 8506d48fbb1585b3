"""
Cycles of convolutional networks over their roofline: one JSON line a network, and the geometric mean of all.

    python bench/conv_cycles.py [--chip edge] [--seed 0] [NETWORK ...]

A network is a name of `conv_networks.NETWORKS`, `public_models.PUBLIC_MODELS`, or `light-NAME` of `light_models`; `own`
stands for all of the first, `public` for those of PUBLIC. Without names: `own`.

cycles, roofline_cycles    of a run, and the least that the unit `unit` needs for the network's work
ratio, parts               cycles over roofline cycles, and its components (`emulator/reports/waterfall.py`)
compile_cpu_s              CPU seconds of compiling, without the first compilation of a process
equal                      whether outputs are those of ONNX Runtime without optimisations, within its tolerance
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from time import process_time
from typing import Any

from conv_networks import NETWORKS, build
from light_models import LIGHT_MODELS, light_model
from public_models import PUBLIC_MODELS

from models import Inputs, warm_up

PUBLIC = (
    "pnet", "ocr-det", "light-squeezenet", "light-shufflenet", "ocr-rec", "ocr-cls", "light-resnet50", "rnet", "onet",
)  # fmt: skip


def load(name: str, seed: int) -> tuple[bytes, Inputs]:
    """A network's bytes and seeded inputs."""
    if name in NETWORKS:
        model, inputs = build(name, seed)
    elif name in PUBLIC_MODELS:
        return PUBLIC_MODELS[name].as_bytes(), PUBLIC_MODELS[name].inputs(seed)
    else:
        model, inputs = light_model(name.removeprefix("light-"), seed)
    return model.SerializeToString(), inputs


def measure(name: str, chip: str, seed: int) -> dict[str, Any]:
    """All figures of one network. Raises what the compiler or the emulator raises."""
    from meshloom.emulator.functional.engine import run_functional
    from meshloom.emulator.reports.explain import explain
    from meshloom.emulator.reports.stats import collect
    from meshloom.emulator.timing.engine import run_timing
    from meshloom.tools.api import compile
    from meshloom.tools.oracle import Oracle, compare

    data, inputs = load(name, seed)
    start = process_time()
    exe = compile(data, chip, {key: value.shape for key, value in inputs.items()}).executable
    compiling = process_time() - start
    timing = run_timing(exe, trace=True)
    stats = collect(exe, timing)
    outputs = run_functional(exe, inputs).outputs
    expected = Oracle(data).run(inputs)
    where = explain(exe, timing).waterfall
    return {
        "network": name,
        "chip": chip,
        "cycles": stats["cycles"],
        "roofline_cycles": round(stats["roofline"]["cycles"]),
        "unit": stats["roofline"]["unit"],
        "ratio": round(stats["roofline"]["ratio"], 3),
        "parts": None if where is None else where.figures(),
        "by_unit": {unit: round(cycles) for unit, cycles in stats["roofline"]["by_unit"].items()},
        "busy": {unit: round(stats["units"][unit]["utilisation"], 3) for unit in ("MPU", "VPU", "DAU", "LOAD")},
        "instructions": stats["instructions"]["static"],
        "compile_cpu_s": round(compiling, 2),
        "equal": all(compare(key, outputs[key], value).equal for key, value in expected.items()),
    }


def main() -> int:
    """Print a line a network and one of the mean; 1 if a network differs from ONNX Runtime."""
    known = [*NETWORKS, *PUBLIC_MODELS, *(f"light-{name}" for name in LIGHT_MODELS)]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", metavar="NETWORK", default=["own"])
    parser.add_argument("--chip", default="edge")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    groups = {"own": tuple(NETWORKS), "public": PUBLIC}
    names = [one for name in options.networks for one in groups.get(name, (name,))]
    if unknown := [name for name in names if name not in known]:
        parser.error(f"unknown network {unknown[0]}: choose of own, public, {', '.join(known)}")
    from meshloom.tools.api import compile

    compile(warm_up(), options.chip)
    status, ratios = 0, list[float]()
    for name in names:
        line = measure(name, options.chip, options.seed)
        status |= not line["equal"]
        ratios.append(line["ratio"])
        print(json.dumps(line), flush=True)
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    print(json.dumps({"networks": len(ratios), "chip": options.chip, "geometric_mean_ratio": round(mean, 3)}))
    return status


if __name__ == "__main__":
    sys.exit(main())

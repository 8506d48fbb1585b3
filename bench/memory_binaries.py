"""
Training steps in less device memory, down to the binary: one JSON line a step, set of kinds and budget.

    python bench/memory_binaries.py [--chip edge] [--steps vit_sgd] [--kinds swap,recompute] [--budgets 1,0.8,0.6]

All budgets of a step run the same launches (each up to `--launch-share` of the DRAM of the step as one launch), so that
exact kinds must compute the same bits. Baseline of every line: the same launches with unlimited memory, in the same
process:

budget, budget_bytes     share of the DRAM that the launches need without offloading, and bytes
of_one_launch            budget over the DRAM that the step needs as a single launch
planned_peak, peak       peak of the bytes in use: planned, and measured by the emulator from all accesses to DRAM
peak_equal, cycles_equal whether the peaks, and the cycles, of plan and emulator are equal
cycles, over_unlimited   cycles of the whole run with host copies; the same over those of the baseline
over_bound               the same over the larger one of: launches alone, host bytes at the rate of the link
host_in, host_out        bytes over the host link, with inputs and outputs; moved_in, moved_out: those over the peer's
actions                  number of uses of each kind
same_bits                whether all outputs are equal; largest_error, if not: the largest difference over the largest
                         value

Budgets without a plan have a field "refused" with the error message of the compiler.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from meshloom.analysis.planning.plan_memo import forget_plans
from meshloom.emulator.executable.executable import Executable
from meshloom.emulator.functional.engine import run_functional
from meshloom.emulator.reports.device_memory import device_memory
from meshloom.emulator.timing.engine import TimingResult
from meshloom.lowering.offload.compile_launches import Budget
from meshloom.lowering.offload.save_memory import Saving
from meshloom.lowering.options.subgraph_options import SubgraphOptions
from meshloom.support.errors import MeshloomError
from meshloom.tools.api import CompiledNetwork, compile
from meshloom.tools.tensor_files import random_inputs
from numpy.typing import NDArray
from onnx import numpy_helper

STEPS = Path(__file__).resolve().parents[1] / "test" / "data" / "training_steps"
Arrays = Mapping[str, NDArray[Any]]


def model_of(step: str) -> Path:
    """The file of a step: in a folder with inputs, or the model alone."""
    folder = STEPS / step
    return folder / "model.onnx" if folder.is_dir() else folder.with_suffix(".onnx")


def inputs_of(step: str, exe: Executable) -> Arrays:
    """The inputs in the folder of the step, or random ones."""
    folder = STEPS / step / "test_data_set_0"
    if not folder.is_dir():
        return random_inputs(exe.inputs, 0)
    names = [info.name for info in onnx.ModelProto.FromString(model_of(step).read_bytes()).graph.input]
    read = (onnx.TensorProto.FromString((folder / f"input_{number}.pb").read_bytes()) for number in range(len(names)))
    return {name: numpy_helper.to_array(one) for name, one in zip(names, read, strict=True)}


def compare(outputs: Arrays, expected: Arrays) -> dict[str, Any]:
    """Whether all bits are equal, and the largest difference if not."""
    if all(np.array_equal(outputs[name], value) for name, value in expected.items()):
        return {"same_bits": True}
    errors = [
        float(np.abs(outputs[name].astype(np.float64) - value).max(initial=0) / (np.abs(value).max(initial=0) or 1))
        for name, value in expected.items()
    ]
    return {"same_bits": False, "largest_error": float(f"{max(errors):.3g}")}


def bound(network: CompiledNetwork, timing: TimingResult) -> float:
    """A lower bound of the cycles of this executable: its launches in sequence, or its host bytes in each direction."""
    launches = sum(end - start for _, start, end in timing.launches)
    link = max(timing.host_in_bytes, timing.host_out_bytes) / network.executable.chip.host_bytes_per_cycle
    return max(launches, link)


def line(network: CompiledNetwork, peer: TimingResult) -> dict[str, Any]:
    """The figures of one executable."""
    memory, timing = device_memory(network.executable, network.timing), network.timing
    assert memory is not None
    figures = network.report["memory"]
    return {
        "budget_bytes": figures["budget_bytes"],
        "planned_peak": figures["peak_bytes"],
        "peak": memory.peak,
        "peak_equal": memory.peak == figures["peak_bytes"] and memory.stray == 0,
        "cycles": timing.total_cycles,
        "cycles_equal": timing.total_cycles == figures["planned_cycles"],
        "over_unlimited": round(timing.total_cycles / peer.total_cycles, 4),
        "over_bound": round(timing.total_cycles / bound(network, timing), 4),
        "launches": figures["launches"],
        "host_in": timing.host_in_bytes,
        "host_out": timing.host_out_bytes,
        "moved_in": timing.host_in_bytes - peer.host_in_bytes,
        "moved_out": timing.host_out_bytes - peer.host_out_bytes,
        "actions": {kind: count for kind, count in figures["actions"].items() if count},
    }


def lines_of(step: str, chip: str, kinds: list[str], budgets: list[float], share: float, folder: Path) -> None:
    """Print the lines of one step."""
    options = SubgraphOptions(cache=folder)
    whole = compile(model_of(step), chip, subgraphs=options, budget=Budget(None, launch_bytes=1 << 62))
    single = whole.report["memory"]["unsaved_bytes"]
    launch_bytes = int(share * single)
    full = compile(model_of(step), chip, subgraphs=options, budget=Budget(None, launch_bytes=launch_bytes))
    needed = full.report["memory"]["reserved_bytes"]
    inputs = inputs_of(step, full.executable)
    expected = run_functional(full.executable, inputs).outputs
    for names in kinds:
        saving = Saving(frozenset(names.split("+")))
        for budget in budgets:
            head = {"bench": "memory_binaries", "step": step, "chip": chip, "kinds": names, "budget": budget}
            forget_plans()
            began = time.process_time()
            try:
                network = compile(
                    model_of(step), chip, subgraphs=options, budget=Budget(int(budget * needed), saving, launch_bytes)
                )
            except MeshloomError as error:
                print(json.dumps({**head, "refused": str(error)}), flush=True)
                continue
            seconds = time.process_time() - began
            results = compare(run_functional(network.executable, inputs).outputs, expected)
            head["of_one_launch"] = round(budget * needed / single, 4)
            row = {**head, **line(network, full.timing), **results, "compile_cpu_s": round(seconds, 2)}
            print(json.dumps(row), flush=True)


def main() -> None:
    """Print the lines."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chip", default="edge")
    parser.add_argument("--steps", default="vit_sgd")
    parser.add_argument("--kinds", default="swap,recompute,swap+recompute,swap+compress+recompute")
    parser.add_argument("--budgets", default="1,0.9,0.8,0.7,0.6,0.5,0.4")
    parser.add_argument("--launch-share", type=float, default=0.15)
    options = parser.parse_args()
    for step in options.steps.split(","):
        with tempfile.TemporaryDirectory() as folder:
            lines_of(
                step, options.chip, options.kinds.split(","), [float(one) for one in options.budgets.split(",")],
                options.launch_share, Path(folder),
            )  # fmt: skip


if __name__ == "__main__":
    main()

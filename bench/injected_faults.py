"""
The defects of a compiled program that each kind of check detects, as JSON lines. A defect is a changed address, stride
or order of instructions, as by an edit of the listing.

`found` is the first check that detects the defect: `run` (an error without checks), `validate` (races, unwritten
memory), `tensors` (the result of a task differs from the interpreter's). If none does: `harmless` (the bytes of outputs
are equal), `rounding` (they differ by at most 1e-6 of the largest value of the output: another order of additions), or
`missed`. The last line has the counts.

    meshloom-compile models/rnet.onnx --chip tiny --shape input_2=1x24x24x3 -o rnet.mlx --print-ir-after-all stages
    python bench/injected_faults.py rnet.mlx stages/03-memory.mlir --faults 300 --seed 1
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from meshloom.analysis.execution.compare_results import compare_results
from meshloom.emulator.executable.encoded_interface import HostInterface
from meshloom.emulator.executable.executable import Executable, read_executable
from meshloom.emulator.functional.engine import run_functional
from meshloom.emulator.functional.record_results import ResultRecorder
from meshloom.emulator.machine.memory import Array
from meshloom.lowering.linker.execution_order import execution_orders
from meshloom.support.errors import MeshloomError
from meshloom.tools.oracle import compare
from meshloom.tools.tensor_files import random_inputs
from meshloom.tools.validate_tensors import modules_of
from mutate_binary import Mutator
from xdsl.dialects.builtin import ModuleOp

KINDS = 3
ROUNDING = 1e-6
"""Largest difference by rounding, relative to the largest value of an output."""


def main(args: Sequence[str] | None = None) -> int:
    """Print a line for each defect, and one with the counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("executable", type=Path)
    parser.add_argument("module", type=Path, help="the module at the memory level that it was made of")
    parser.add_argument("--faults", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(args)
    exe = read_executable(options.executable)
    (module,) = modules_of(exe, options.module)
    inputs = HostInterface.of(exe).in_memory(random_inputs(HostInterface.of(exe).inputs, options.seed))
    trial = Trial(exe, module, inputs)
    mutator = Mutator(exe, options.seed)
    counts: Counter[str] = Counter()
    for number in range(options.faults):
        fault = mutator.next(number % KINDS)
        found, words = trial.found(fault.executable)
        counts[found] += 1
        place = {"program": exe.programs[fault.program].name, "words": fault.words}
        print(json.dumps({"kind": fault.kind, **place, "what": fault.what, "found": found, "by": words}), flush=True)
    print(json.dumps({"faults": options.faults, **dict(sorted(counts.items()))}))
    return 0


class Trial:
    """Runs defective programs of one module on the same inputs."""

    def __init__(self, exe: Executable, module: ModuleOp, inputs: dict[str, Array]) -> None:
        self.module, self.inputs = module, inputs
        self.order_of = execution_orders(module, exe.chip)
        self.right = run_functional(exe, inputs).outputs

    def found(self, exe: Executable) -> tuple[str, str]:
        """The first check that detects a defect, and its message."""
        try:
            outputs = run_functional(exe, self.inputs).outputs
        except MeshloomError as error:
            return "run", str(error)
        try:
            run_functional(exe, self.inputs, check=True)
        except MeshloomError as error:
            return "validate", str(error)
        recorder = ResultRecorder(exe, all_steps=True, order_of=self.order_of)
        run_functional(exe, self.inputs, observer=recorder)
        if differences := compare_results(self.module, self.inputs, recorder).differences:
            return "tensors", str(differences[0])
        if all(value.tobytes() == outputs[name].tobytes() for name, value in self.right.items()):
            return "harmless", ""
        far = max(compare(name, outputs[name], value).difference for name, value in self.right.items())
        rounded = all(_is_rounding(outputs[name], value) for name, value in self.right.items())
        return "rounding" if rounded else "missed", f"outputs differ by {far:.3g}"


def _is_rounding(one: Array, other: Array) -> bool:
    """Whether outputs differ by rounding only."""
    if other.dtype.kind != "f":
        return bool(np.array_equal(one, other))
    return bool(np.allclose(one, other, rtol=0, atol=ROUNDING * float(np.abs(other).max(initial=0)), equal_nan=True))


if __name__ == "__main__":
    sys.exit(main())

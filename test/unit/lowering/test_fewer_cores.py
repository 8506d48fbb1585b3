"""Loops leave cores unused if further cores cost more in exchanges than they gain."""

from __future__ import annotations

import numpy as np
from meshloom.analysis.recurrent_work import recurrent_layers
from meshloom.chips import load_chip
from meshloom.dialects.dataflow.entry_function import find_main
from meshloom.emulator.functional.engine import run_functional
from meshloom.emulator.reports.recurrent_time import layer_cycles
from meshloom.emulator.timing.engine import run_timing
from meshloom.frontend.onnx_import import import_onnx
from meshloom.lowering.driver.compile_module import compile_module
from meshloom.tools.oracle import Oracle, compare
from recurrent_networks import Recurrent, build

STEPS = 24


def test_steps_run_on_the_number_of_cores_with_the_least_reference_time() -> None:
    """A state of 96 elements: 12 cores have 8 each, which fill a burst of DRAM; 16 would have 6 each."""
    edge = load_chip("edge")
    model = build(Recurrent.parse(f"RNN:1:96:64:{STEPS}"))
    module = import_onnx(model)
    (layer,) = recurrent_layers(find_main(module))
    assert min(range(1, edge.cores + 1), key=lambda cores: layer_cycles(edge, layer, cores)) == 12

    compilation = compile_module(module, edge)
    assert any("12 of 16 cores: emulated" in line and line.endswith("taken") for line in compilation.log.lines())
    # Whole bursts are read: nothing but the weights and the input crosses the ports.
    read = int(run_timing(compilation.executable).port_read.sum())
    assert read <= 1.1 * (compilation.executable.weight_bytes + STEPS * 64 * 4)
    inputs = {"x": np.random.default_rng(0).standard_normal((STEPS, 1, 64)).astype(np.float32)}
    outputs = run_functional(compilation.executable, inputs, check=True).outputs
    for name, value in Oracle(model.SerializeToString()).run(inputs).items():
        assert compare(name, outputs[name], value).equal


def test_the_log_compares_loops_with_unrolled_steps() -> None:
    compilation = compile_module(import_onnx(build(Recurrent.parse("RNN:1:8:4:8"))), load_chip("tiny"))
    last = compilation.log.lines()[-1]
    assert "loops: " in last
    assert "unrolled" in last
    assert last.endswith(("kept", "unrolled"))

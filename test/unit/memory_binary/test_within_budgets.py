"""
Training steps within budgets: the planned peak and cycles equal those of the emulator.

The emulator's figures come from the accesses of copies and programs alone (`emulator/reports/device_memory.py`).
"""

from __future__ import annotations

import re
import runpy
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from meshloom.emulator.functional.engine import run_functional
from meshloom.emulator.reports.device_memory import device_memory
from meshloom.lowering.offload.compile_launches import Budget
from meshloom.lowering.options.subgraph_options import SubgraphOptions
from meshloom.support.errors import BudgetError
from meshloom.tools.api import CompiledNetwork, compile
from meshloom.tools.read_module import read_module
from meshloom.tools.tensor_files import random_inputs
from xdsl.dialects.builtin import ModuleOp

ROOT = Path(__file__).parents[3]
STEPS = ROOT / "test" / "data" / "training_steps"
SHARES = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


def digits() -> ModuleOp:
    """The training step of `examples/learn_digits.py`."""
    found: ModuleOp = runpy.run_path(str(ROOT / "examples" / "learn_digits.py"))["training_step"]()[0]
    return found


MODELS: dict[str, tuple[str, Callable[[], ModuleOp]]] = {
    "digits": ("tiny", digits),
    "bert_sgd": ("edge", lambda: read_module(STEPS / "bert_sgd" / "model.onnx", {})),
    "vit_sgd": ("edge", lambda: read_module(STEPS / "vit_sgd" / "model.onnx", {})),
    "resnet18_sgd_64": ("edge", lambda: read_module(STEPS / "resnet18_sgd_64.onnx", {})),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Cache of compiled launches, most of which are the same for all budgets."""
    return tmp_path_factory.mktemp("cache")


def check_within(network: CompiledNetwork, amount: float) -> None:
    """The peak is at most the reserved bytes, and these at most the budget; peak and cycles are as planned."""
    figures, executable = network.report["memory"], network.executable
    run = device_memory(executable, network.timing)
    assert run is not None
    limit = int(amount * figures["unsaved_bytes"]) if amount <= 1 else int(amount)
    assert figures["budget_bytes"] == limit
    assert run.stray == 0
    assert run.peak == figures["peak_bytes"] <= figures["reserved_bytes"] <= limit
    assert executable.dram_bytes_used == figures["reserved_bytes"]
    assert network.timing.total_cycles == figures["planned_cycles"]


def check_budget(name: str, amount: float, folder: Path) -> CompiledNetwork:
    """Compile within a budget or, if it is refused, within the sufficient budget of the message."""
    chip, make = MODELS[name]
    options = SubgraphOptions(cache=folder)
    try:
        network = compile(make(), chip, subgraphs=options, budget=Budget(amount))
    except BudgetError as error:
        refused = error.capacity
        amount = float(re.findall(r"(\d+) bytes are enough", str(error))[0])
        network = compile(make(), chip, subgraphs=options, budget=Budget(amount))
        # A slightly smaller budget is refused: the message is exact except for 1/1,024 of the difference.
        with pytest.raises(BudgetError):
            compile(make(), chip, subgraphs=options, budget=Budget(amount - (amount - refused) // 256 - 1))
    check_within(network, amount)
    return network


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.6, 0.8])
def test_digits_within_a_budget(share: float, folder: Path) -> None:
    """Outputs equal those without a budget, except for the order of additions; every memory access is checked."""
    network = check_budget("digits", share, folder)
    inputs = random_inputs(network.executable.inputs, 0)
    outputs = run_functional(network.executable, inputs, check=True).outputs
    plain = compile(digits(), "tiny", subgraphs=SubgraphOptions(cache=folder))
    for name, value in plain.run(inputs).outputs.items():
        limit = 1e-4 * np.abs(value).max(initial=0) + 1e-6
        np.testing.assert_allclose(outputs[name], value, rtol=0, atol=limit, err_msg=name)


@pytest.mark.slow
@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("name", MODELS)
def test_training_steps_within_budgets(name: str, share: float, folder: Path) -> None:
    check_budget(name, share, folder)


WITHOUT_ELEMENTS = """
func.func @main(%x: tensor<0x20xf32>, %z: tensor<64x64xf32>) -> (tensor<0x20xf32>, tensor<64x64xf32>) {
  %a = dataflow.tanh %x : (tensor<0x20xf32>) -> tensor<0x20xf32>
  %e = dataflow.exp %z : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %m = dataflow.matmul %e, %z : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  func.return %a, %m : tensor<0x20xf32>, tensor<64x64xf32>
}
"""


def test_inputs_and_outputs_without_elements(tmp_path: Path) -> None:
    """The controller copies none of their bytes, and the note on the planned memory has no steps for them."""
    file = tmp_path / "network.mlir"
    file.write_text(WITHOUT_ELEMENTS)
    network = compile(read_module(file, {}), "tiny", budget=Budget(49152, launch_bytes=40000), effort="fast")
    memory = device_memory(network.executable, network.timing)
    assert memory is not None
    assert len(memory.planned.steps) == len(memory.spans) == 3  # copy, launch, copy
    assert memory.stray == 0
    assert memory.peak == memory.planned.peak
    result = network.run(random_inputs(network.executable.inputs, 0), check=True)
    assert {name: value.shape for name, value in result.outputs.items()} == {"result0": (0, 20), "result1": (64, 64)}

"""
Cycles of networks with pruned weights against their density, one JSON line a network and density.

    python bench/sparse_cycles.py [--chip edge] [--networks rnet,magika,products] [--densities 0.05,0.1,0.2,0.5,1]

Each line compares one pruned network compiled dense and with encoded weights (as `meshloom-compile --sparse` does), for
the same inputs:

faster             cycles dense over sparse; 1 where the compiler keeps to dense weights
mpu_fewer          cycles of the matrix and vector units that contractions take, dense over sparse
smaller            bytes of weights in the executable, dense over sparse
model_error        largest error of the model of cycles against counted ones, over the layers with encoded weights
lanes_before/after efficiency of the lanes with channels in the network's order and balanced, over the layers moved
difference         largest difference of a result to the dense network's, over the largest result

`products` are single layers bound by their weights, [rows x inputs x outputs] each; dense rows of one vector run on the
vector unit. The last line is a peer's: cycles that ethos-u-vela 5.1 estimates for int8 weights of which none are zero,
over those for 90%; its hardware skips no zeros, only the weights' transfer shrinks. It is quoted, not measured here.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from light_models import LIGHT_MODELS, light_model
from meshloom.chips import Chip, load_chip
from meshloom.dialects.coreasm.isa import Unit
from meshloom.dialects.dataflow import MatmulOp
from meshloom.dialects.dataflow.types import tensor
from meshloom.emulator.executable import Executable
from meshloom.emulator.functional import FunctionalResult, run_functional
from meshloom.emulator.timing import run_timing
from meshloom.frontend.onnx_import import import_onnx
from meshloom.lowering.pipeline import compile_module
from meshloom.lowering.sparse_weights import compile_encoded
from meshloom.tools.read_module import read_module
from meshloom.tools.sparse_layers import sparse_cycles
from meshloom.transforms.dataflow_fold_affine import DataflowFoldAffinePass
from meshloom.transforms.dataflow_prune import DataflowPrunePass
from meshloom.transforms.known_values import source_of
from meshloom.transforms.sparse_balance_lanes import Balanced, balance_lanes
from meshloom.transforms.sparse_plan import plan_encodings
from numpy.typing import NDArray
from public_models import PUBLIC_MODELS
from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import FunctionType, ModuleOp, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.rewriter import InsertPoint

PRODUCTS = {"1x4096x1024": (1, 4096, 1024), "1x1024x1000": (1, 1024, 1000), "16x2048x512": (16, 2048, 512)}
PEER = {
    "network": "peer", "peer": "ethos-u-vela 5.1 (estimate of its own model, quoted)", "density": 0.1, "faster": 1.007,
}  # fmt: skip
Arrays = Mapping[str, NDArray[Any]]


def product(rows: int, inputs: int, outputs: int) -> tuple[ModuleOp, dict[str, NDArray[Any]]]:
    """A module of one product with random weights, and its input."""
    generator = np.random.default_rng([rows, inputs, outputs])
    function = FuncOp("main", FunctionType.from_lists([tensor(f32, (rows, inputs))], []))
    builder = Builder(InsertPoint.at_end(function.body.block))
    weights = generator.standard_normal((inputs, outputs)).astype(np.float32)
    source = builder.insert(source_of(weights, f32, "weights")).results[0]
    result = builder.insert(MatmulOp(function.body.block.args[0], source)).result
    builder.insert(ReturnOp(result))
    function.function_type = FunctionType.from_lists([function.body.block.args[0].type], [result.type])
    return ModuleOp([function]), {"arg0": generator.standard_normal((rows, inputs)).astype(np.float32)}


def network(name: str) -> tuple[ModuleOp, Arrays]:
    """A network as a module, with seeded inputs."""
    if name in PRODUCTS:
        return product(*PRODUCTS[name])
    if name in LIGHT_MODELS:
        model, inputs = light_model(name)
        return import_onnx(model), inputs
    known = PUBLIC_MODELS[name]
    return read_module(known.path, dict(known.shapes)), known.inputs(0)


def busy(exe: Executable, run: FunctionalResult) -> int:
    """Cycles of the matrix unit of all cores, or of the vector unit where there are none (dense rows of one vector)."""
    units = run_timing(exe, mapped=run.mapped).busy.sum(axis=0)
    return int(units[Unit.MPU]) or int(units[Unit.VPU])


def model_error(exe: Executable, run: FunctionalResult) -> float:
    """Largest |declared / counted - 1| of the layers with encoded weights."""
    layers = sparse_cycles(exe, run.mapped).values()
    return max((abs(declared / counted - 1) for declared, counted in layers), default=0.0)


def line_of(name: str, density: float, chip: Chip) -> dict[str, Any]:
    """One network at one density."""
    module, inputs = network(name)
    DataflowFoldAffinePass().apply(Context(), module)
    if density < 1:
        DataflowPrunePass(density=density).apply(Context(), module)
    dense = compile_module(module.clone(), chip).executable
    before = run_functional(dense, inputs)
    balanced = balance_lanes(module.clone(), chip)
    plans = plan_encodings(module, chip=chip)
    compilation, encoded = compile_encoded(module, chip, lambda one: compile_module(one, chip))
    sparse = compilation.executable
    after = run_functional(sparse, inputs)
    cycles = run_timing(dense).cycles, run_timing(sparse, mapped=after.mapped).cycles
    difference = max(
        float(np.abs(after.outputs[out] - value).max()) / (float(np.abs(value).max()) or 1.0)
        for out, value in before.outputs.items()
    )
    return {
        "network": name,
        "chip": chip.name,
        "density": density,
        "layers": len(plans),
        "encoded": encoded * sum(plan.choice.format is not None for plan in plans),
        "dense_cycles": cycles[0],
        "sparse_cycles": cycles[1],
        "faster": round(cycles[0] / cycles[1], 3),
        "mpu_fewer": round(busy(dense, before) / max(1, busy(sparse, after)), 3),
        "smaller": round(_weights(dense) / _weights(sparse), 3),
        "model_error": round(model_error(sparse, after), 4),
        **_lanes(balanced),
        "difference": float(f"{difference:.3g}"),
    }


def _weights(exe: Executable) -> int:
    return exe.weight_bytes + exe.host_weight_bytes


def _lanes(balanced: list[Balanced]) -> dict[str, float]:
    if not balanced:
        return {}
    return {
        "lanes_before": round(float(np.mean([one.before for one in balanced])), 3),
        "lanes_after": round(float(np.mean([one.after for one in balanced])), 3),
    }


def main() -> None:
    """Print the lines."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chip", default="edge")
    parser.add_argument("--networks", default="products,rnet,pnet,onet,magika")
    parser.add_argument("--densities", default="0.05,0.1,0.2,0.33,0.5,0.75,1")
    options = parser.parse_args()
    chip = load_chip(options.chip)
    names = [one for name in options.networks.split(",") for one in (PRODUCTS if name == "products" else [name])]
    for name in names:
        if name in PUBLIC_MODELS and not Path(PUBLIC_MODELS[name].path).is_file():
            print(json.dumps({"network": name, "missing": "run make models"}), flush=True)
            continue
        for density in map(float, options.densities.split(",")):
            print(json.dumps(line_of(name, density, chip)), flush=True)
    print(json.dumps(PEER), flush=True)


if __name__ == "__main__":
    main()

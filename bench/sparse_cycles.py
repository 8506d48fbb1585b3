"""
Cycles of networks with pruned weights, by density: one JSON line for each network, density and method of pruning (by
magnitude over a whole tensor, or balanced: equally many weights for each output activation).

    python bench/sparse_cycles.py [--chip edge] [--networks rnet,magika,layers] [--densities 0.05,0.1,0.2,0.5,1]
        [--prune magnitude,balanced] [--lanes own]

Each line compares one pruned network compiled dense and sparse, on the same inputs. Sparse is the result of
`meshloom-compile --sparse --calibrate`: weights are encoded and zeros of activations skipped, or all is dense if that
is not faster. Calibration uses other inputs than the run:

faster             cycles dense over sparse; 1 if the compiler chooses the dense network
mpu_fewer          cycles of the matrix and vector units in contractions, dense over sparse
matrix_fewer       single layers only: cycles of one matrix unit for all dense weights, each loaded once, over those of
                   all matrix units as compiled (dense products of one row run on the vector unit, without loads)
weight_bound       layers on matrix units that are bound by their weights: when dense, loads take at least 4/5 of the
                   time of a matrix unit (the rows are at most a quarter of the cycles of a load). Their numbers, with
                   encoded and with dense weights; cycles of one matrix unit for their dense weights, each loaded once,
                   over those of all matrix units as compiled; the least such ratio of a layer. For networks that stay
                   dense, the figures of the sparse variant. Layers on vector units have no such cycles
weights_only       `faster` and `mpu_fewer` with encoded weights only
smaller            bytes of weights in the executable, dense over sparse
objective          criterion for the choice of panels: few cycles, or few loads of weights; the faster network is used
neurons            density of activations, the mean over layers
multiplied         share of the pairs of activation and weight that sparse products multiply; the product of both
                   densities if these are independent
model_error        |declared / counted - 1| of cycles, for all sparse layers together and for the worst one, with
                   activations calibrated on the inputs of the run; `other_inputs`: on other inputs
lanes_before/after efficiency of the lanes before and after balancing of channels, over the reordered layers
difference         largest difference of a result to the dense network's, over the largest result

`--lanes` replaces the chip's `map_lanes`, the assignment of stored weights to the lanes of matrix units. With joined
lanes, `lanes_before` and `lanes_after` are 1.

`layers` are single layers of random weights: products [rows x inputs x outputs] with few rows, bound by their weights
(dense products of one row run on the vector unit), and a 3 x 3 convolution on 128 channels of 56 x 56, bound by its
multiplications, with random zeros in the activations (`z` and their percentage).
The last line is for comparison: cycles estimated by ethos-u-vela 5.1 for int8 weights without zeros, over those with
90% zeros; its hardware does not skip zeros, only the transfer of weights is shorter. It is quoted, not measured here.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
from light_models import LIGHT_MODELS, light_model
from meshloom.analysis.execution.interpret import make_inputs
from meshloom.chips import Chip, load_chip
from meshloom.chips.chip import MAP_LANES
from meshloom.chips.cycles import bound_by_weights, load_cycles
from meshloom.dialects.coreasm.isa import Unit
from meshloom.dialects.dataflow import ConvOp, Dataflow, MatmulOp
from meshloom.dialects.dataflow.types import tensor
from meshloom.emulator.executable.executable import Executable
from meshloom.emulator.functional.engine import FunctionalResult, run_functional
from meshloom.emulator.timing.engine import run_timing
from meshloom.formats.sparse.prune import Method
from meshloom.frontend.onnx_import import import_onnx
from meshloom.lowering.driver.compile_module import Compilation, compile_module
from meshloom.lowering.driver.compile_sparse import compile_encoded, encode_weights
from meshloom.tools.read_module import read_module
from meshloom.tools.report.sparse_cycles import sparse_cycles
from meshloom.tools.report.trace_sums import task_times
from meshloom.transforms.canonicalize import CanonicalizePass
from meshloom.transforms.dataflow_fold_affine import DataflowFoldAffinePass
from meshloom.transforms.dataflow_prune import DataflowPrunePass
from meshloom.transforms.manycore_split_reductions import PARTS_SUFFIX
from meshloom.transforms.shared.constants import source_of
from meshloom.transforms.shared.contraction_weights import weight_uses
from meshloom.transforms.sparse_balance_lanes import Balanced, balance_lanes
from numpy.typing import NDArray
from public_models import PUBLIC_MODELS
from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import FunctionType, ModuleOp, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.rewriter import InsertPoint

PRODUCTS = {"1x4096x1024": (1, 4096, 1024), "1x1024x1000": (1, 1024, 1000), "16x2048x512": (16, 2048, 512)}
CONVOLUTIONS = {"conv128x56": 0, "conv128x56-z50": 50, "conv128x56-z80": 80}
LAYERS = (*PRODUCTS, *CONVOLUTIONS)
LAYER = "layer"
"""Prefix of the names of tasks with known weights; a number follows."""
PEER = {
    "network": "peer", "peer": "ethos-u-vela 5.1 (estimate of its own model, quoted)", "density": 0.1, "faster": 1.007,
}  # fmt: skip
Arrays = Mapping[str, NDArray[Any]]


def layer(name: str) -> tuple[ModuleOp, dict[str, NDArray[Any]]]:
    """A module of one layer with random weights, and its input."""
    generator = np.random.default_rng([*name.encode()])
    if name in PRODUCTS:
        rows, inputs, outputs = PRODUCTS[name]
        kernel: tuple[int, ...] = (inputs, outputs)
        shape: tuple[int, ...] = (rows, inputs)
    else:
        kernel, shape = (128, 128, 3, 3), (1, 128, 56, 56)
    function = FuncOp("main", FunctionType.from_lists([tensor(f32, shape)], []))
    builder = Builder(InsertPoint.at_end(function.body.block))
    source = builder.insert(source_of(generator.standard_normal(kernel).astype(np.float32), f32, "weights")).results[0]
    neurons = function.body.block.args[0]
    ones = [1, 1]
    op = MatmulOp(neurons, source) if name in PRODUCTS else ConvOp(neurons, source, pad_low=ones, pad_high=ones)
    result = builder.insert(op).results[0]
    builder.insert(ReturnOp(result))
    function.function_type = FunctionType.from_lists([neurons.type], [result.type])
    values = generator.standard_normal(shape).astype(np.float32)
    return ModuleOp([function]), {"arg0": values * (generator.random(shape) >= CONVOLUTIONS.get(name, 0) / 100)}


def network(name: str) -> tuple[ModuleOp, Arrays]:
    """A network as a module, with seeded inputs."""
    if name in LAYERS:
        return layer(name)
    if name in LIGHT_MODELS:
        model, inputs = light_model(name)
        return import_onnx(model), inputs
    known = PUBLIC_MODELS[name]
    return read_module(known.path, dict(known.shapes), values=known.values), known.inputs(0)


def busy(exe: Executable, run: FunctionalResult) -> int:
    """Cycles of the matrix units of all cores, or of the vector units if these are 0 (dense products of one row)."""
    units = run_timing(exe, mapped=run.mapped).busy.sum(axis=0)
    return int(units[Unit.MPU]) or int(units[Unit.VPU])


def matrix_busy(exe: Executable, run: FunctionalResult) -> dict[str, int]:
    """Cycles of all matrix units for each task, by its name."""
    timing = run_timing(exe, trace=True, mapped=run.mapped)
    assert timing.trace is not None
    found: dict[str, int] = {}
    for task in task_times(exe, timing, timing.trace):
        name = task.name.removesuffix(PARTS_SUFFIX)
        found[name] = found.get(name, 0) + task.busy[Unit.MPU]
    return found


def model_errors(exe: Executable, run: FunctionalResult) -> list[float]:
    """|declared / counted - 1|: of all sparse layers together, and the largest of one."""
    layers = list(sparse_cycles(exe, run.mapped).values())
    if not layers:
        return []
    declared, counted = map(sum, zip(*layers, strict=True))
    worst = max(abs(expected / real - 1) for expected, real in layers)
    return [round(abs(declared / counted - 1), 4), round(worst, 4)]


def calibration(name: str, module: ModuleOp, inputs: Arrays) -> Arrays:
    """Inputs for calibration, different from those of the run; for single layers, the inputs of the run mirrored."""
    if name in LAYERS:
        return {key: value[..., ::-1].copy() for key, value in inputs.items()}
    if name in LIGHT_MODELS:
        generator = np.random.default_rng(1)
        return {key: generator.standard_normal(value.shape).astype(value.dtype) for key, value in inputs.items()}
    return PUBLIC_MODELS[name].inputs(1) if name in PUBLIC_MODELS else make_inputs(module, 1)


def line_of(name: str, density: float, method: Method, chip: Chip) -> dict[str, Any]:
    """The figures of one network at one density, for one method of pruning."""
    module, inputs = network(name)
    _prune(module, density, method)
    uses = weight_uses(module)
    sizes = {f"{LAYER}{number}": (use.rows, use.fibers.inputs, use.fibers.outputs) for number, use in enumerate(uses)}
    for layer_name, use in zip(sizes, uses, strict=True):
        use.op.results[0].name_hint = layer_name
    judge = module.clone()
    compiled: list[Compilation] = []

    def compile(one: ModuleOp) -> Compilation:
        compiled.append(compile_module(one, chip))
        return compiled[-1]

    sparse = compile_encoded(
        module, chip, compile, lambda made: run_timing(made.executable).cycles, calibration(name, module, inputs)
    )
    dense = compiled[-1]  # it is compiled last, whichever is chosen
    objective = sparse.objective
    balanced = balance_lanes(judge.clone(), chip, objective)
    weights_only, same_inputs = judge.clone(), judge
    encode_weights(weights_only, chip, objective=objective)
    encode_weights(same_inputs, chip, inputs, objective)
    networks = (dense, compile(weights_only), sparse.compilation, compile(same_inputs))
    executables = [one.executable for one in networks]
    runs = [run_functional(executable, inputs) for executable in executables]
    pairs = list(zip(executables, runs, strict=True))
    cycles = [run_timing(executable, mapped=run.mapped).cycles for executable, run in pairs]
    units = [max(1, busy(executable, run)) for executable, run in pairs]
    taken = 2 if sparse.taken else 3
    known = [plan.neurons.density for plan in sparse.plans if plan.neurons is not None]
    return {
        "network": name,
        "chip": chip.name,
        "lanes": chip.map_lanes,
        "density": density,
        "prune": method,
        "layers": len(sparse.plans),
        "objective": objective,
        "encoded": sparse.taken * sum(plan.choice.format is not None for plan in sparse.plans),
        "skipping": sparse.taken * sum(plan.encode_neurons for plan in sparse.plans),
        "neurons": round(float(np.mean(known)), 3) if known else 1.0,
        "multiplied": round(_multiplied(runs[2]), 4),
        "dense_cycles": cycles[0],
        "sparse_cycles": cycles[2],
        "faster": round(cycles[0] / cycles[2], 3),
        "mpu_fewer": round(units[0] / units[2], 3),
        **({"matrix_fewer": round(_layer_cycles(name, chip) / units[2], 3)} if name in LAYERS else {}),
        **_weight_bound(sizes, chip, matrix_busy(*pairs[taken])),
        "weights_only": [round(cycles[0] / cycles[1], 3), round(units[0] / units[1], 3)],
        "smaller": round(_weights(executables[0]) / max(1, _weights(executables[2])), 3),
        "model_error": model_errors(executables[3], runs[3]),
        "other_inputs": model_errors(executables[2], runs[2]),
        **_lanes(balanced),
        "difference": _difference(runs[2].outputs, runs[0].outputs),
    }


def _prune(module: ModuleOp, density: float, method: Method) -> None:
    """Canonicalise a network and prune its weights to a density."""
    context = Context()
    context.load_dialect(Dataflow)
    CanonicalizePass().apply(context, module)
    DataflowFoldAffinePass().apply(context, module)
    if density < 1:
        DataflowPrunePass(density=density, method=method).apply(context, module)


def _difference(results: Arrays, expected: Arrays) -> float:
    """The largest difference of a result, over the largest expected one."""
    worst = max(
        float(np.abs(results[out] - value).max()) / (float(np.abs(value).max()) or 1.0)
        for out, value in expected.items()
    )
    return float(f"{worst:.3g}")


def _weight_bound(
    sizes: Mapping[str, tuple[int, int, int]], chip: Chip, busy: Mapping[str, int]
) -> dict[str, list[float]]:
    """Figures of `weight_bound`, from (rows, inputs, outputs) and matrix-unit cycles of layers by name of the task."""
    bound = [name for name, (rows, _, _) in sizes.items() if busy.get(name) and bound_by_weights(chip, rows)]
    if not bound:
        return {}
    once = [matrix_cycles(chip, *sizes[name]) for name in bound]
    counted = [busy[name] for name in bound]
    least = min(one / other for one, other in zip(once, counted, strict=True))
    return {"weight_bound": [len(bound), round(sum(once) / sum(counted), 3), round(least, 3)]}


def matrix_cycles(chip: Chip, rows: int, inputs: int, outputs: int) -> int:
    """Weights in blocks of the array's size, each loaded (see `chips.cycles.matmul_cycles`), then all rows passing."""
    return -(-inputs // chip.mpu_rows) * -(-outputs // chip.mpu_cols) * (load_cycles(chip) + rows)


def _layer_cycles(name: str, chip: Chip) -> int:
    return matrix_cycles(chip, *PRODUCTS.get(name, (56 * 56, 128 * 9, 128)))


def _multiplied(run: FunctionalResult) -> float:
    pairs, skipped = run.mapped.total("pairs"), run.mapped.total("skipped")
    return pairs / (pairs + skipped) if pairs + skipped else 1.0


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
    parser.add_argument("--networks", default="layers,rnet,pnet,onet,magika")
    parser.add_argument("--densities", default="0.05,0.1,0.2,0.33,0.5,0.75,1")
    parser.add_argument("--prune", default="magnitude,balanced")
    parser.add_argument("--lanes", choices=MAP_LANES)
    options = parser.parse_args()
    chip = load_chip(options.chip)
    if options.lanes is not None:
        chip = replace(chip, map_lanes=options.lanes)
    asked: list[str] = options.prune.split(",")
    if unknown := [method for method in asked if method not in get_args(Method)]:
        parser.error(f"unknown method {unknown[0]}")
    methods: list[Method] = [method for method in get_args(Method) if method in asked]
    names = [one for name in options.networks.split(",") for one in (LAYERS if name == "layers" else [name])]
    for name in names:
        if name in PUBLIC_MODELS and not Path(PUBLIC_MODELS[name].path).is_file():
            print(json.dumps({"network": name, "missing": "run make models"}), flush=True)
            continue
        for density in map(float, options.densities.split(",")):
            for method in methods if density < 1 else methods[:1]:
                print(json.dumps(line_of(name, density, method, chip)), flush=True)
    print(json.dumps(PEER), flush=True)


if __name__ == "__main__":
    main()

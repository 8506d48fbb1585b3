"""
Networks with whole channels of zeros: removed against encoded, one JSON line a network, chip and share of channels.

    python bench/zero_channels.py [--chips tiny,edge] [--networks 1x1024x1000,rnet] [--shares 0.1,0.2,0.5]

Of each weight tensor, the output channels (columns of a product, filters of a convolution) of the largest magnitude
stay, so many of them; the others are zero. Each network is compiled with dense weights, with weights encoded
(passes `sparse-balance-lanes`, `sparse-split-inputs`, `sparse-select-encoding`, in the faster of their two ways), and
with channels removed (`dataflow-remove-zero-channels`) and weights dense; results are compared with those of the first.

columns            share of the output channels that stays
smaller            bytes of weights in the executable, dense over encoded and over removed
file               bytes of the executable, the same
faster             emulated cycles, the same
ratio              encoded over removed: bytes of weights, bytes of the executable, cycles
difference         largest difference of a result to the dense network's, over the largest result
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from meshloom.chips import Chip, load_chip
from meshloom.dialects.dataflow import ConstantOp, WeightOp
from meshloom.emulator.executable.executable import Executable, write_executable
from meshloom.emulator.functional.engine import run_functional
from meshloom.emulator.timing.engine import run_timing
from meshloom.frontend.onnx_import import import_onnx
from meshloom.lowering.driver.compile_module import compile_module
from meshloom.lowering.driver.compile_sparse import encode_weights, without_zero_channels
from meshloom.transforms.shared.contraction_weights import PruneWeights, WeightUse, numeric_values
from meshloom.transforms.shared.rewrite_once import rewrite_once
from numpy.typing import NDArray
from public_models import PUBLIC_MODELS
from sparse_cycles import PRODUCTS, layer
from xdsl.dialects.builtin import ModuleOp

SHARES = (0.1, 0.2, 0.5)


def whole_channels(share: float, use: WeightUse) -> NDArray[np.bool_]:
    """Which weights stay: those of the output channels of the largest magnitude."""
    weights = use.fibers.matrix(np.abs(numeric_values(use.source).astype(np.float64))).sum(axis=1)
    stay = np.zeros(len(weights), bool)
    stay[np.argsort(-weights, kind="stable")[: max(1, round(share * len(weights)))]] = True
    return use.fibers.tensor(np.repeat(stay[:, None], use.fibers.inputs, axis=1))


def network(name: str) -> tuple[ModuleOp, Mapping[str, NDArray[Any]]]:
    """A network of operators, and inputs."""
    if name in PRODUCTS:
        return layer(name)
    model = PUBLIC_MODELS[name]
    return import_onnx(model.as_bytes(), dict(model.shapes)), model.inputs(0)


def encoded(module: ModuleOp, chip: Chip) -> Executable:
    """The faster of the two ways of encoding weights, without removing channels."""
    found: list[Executable] = []
    for objective in ("loads", "cycles"):
        variant = module.clone()
        encode_weights(variant, chip, objective=objective)
        found.append(compile_module(variant, chip).executable)
    return min(found, key=lambda one: run_timing(one).cycles)


def file_bytes(exe: Executable) -> int:
    """Of the executable as a file."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "network.mlx"
        write_executable(exe, path)
        return path.stat().st_size


def line_of(name: str, share: float, chip: Chip) -> dict[str, Any]:
    """One network on one chip with a share of its channels."""
    module, inputs = network(name)
    prune = (PruneWeights(partial(whole_channels, share)),)
    rewrite_once(module, {ConstantOp: prune, WeightOp: prune})
    smaller, removed = without_zero_channels(module)
    executables = [
        compile_module(module.clone(), chip).executable,
        encoded(module, chip),
        compile_module(smaller, chip).executable,
    ]
    weights = [exe.weight_bytes + exe.host_weight_bytes for exe in executables]
    files = [file_bytes(exe) for exe in executables]
    results = [run_functional(exe, inputs) for exe in executables]
    cycles = [run_timing(exe, mapped=one.mapped).cycles for exe, one in zip(executables, results, strict=True)]
    difference = max(
        float(np.abs(one.outputs[key] - value).max()) / (float(np.abs(value).max()) or 1.0)
        for one in results[1:]
        for key, value in results[0].outputs.items()
    )

    def times(numbers: list[int]) -> list[float]:
        return [round(numbers[0] / max(1, number), 3) for number in numbers[1:]]

    def over(numbers: list[int]) -> float:
        return round(numbers[1] / max(1, numbers[2]), 3)

    return {
        "network": name,
        "chip": chip.name,
        "columns": share,
        "tensors_shrunk": len(removed),
        "weight_bytes": weights,
        "cycles": cycles,
        "smaller": times(weights),
        "file": times(files),
        "faster": times(cycles),
        "ratio": [over(weights), over(files), over(cycles)],
        "difference": float(f"{difference:.3g}"),
    }


def main() -> None:
    """Print the lines."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chips", default="edge")
    parser.add_argument("--networks", default=",".join((*PRODUCTS, "rnet", "onet")))
    parser.add_argument("--shares", default=",".join(map(str, SHARES)))
    options = parser.parse_args()
    for chip in options.chips.split(","):
        for name in options.networks.split(","):
            for share in map(float, options.shares.split(",")):
                print(json.dumps(line_of(name, share, load_chip(chip))), flush=True)


if __name__ == "__main__":
    main()

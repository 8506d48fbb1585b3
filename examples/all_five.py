"""
Compiles a pruned network for a chip whose memory is too small for it: with all five methods, and with each of them left
out.

    python examples/all_five.py
    python examples/all_five.py --density 0.3 --memory 300000

The network finds the landmarks of a face (MTCNN's O-net; `make models` downloads it), and is pruned to a tenth of its
weights. The chip is `edge` with less memory than the network needs, so some of its weights are copied from the host
while it runs. The results of each row are compared with ONNX Runtime's.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
from meshloom.chips import Chip, load_chip
from meshloom.frontend.prune_onnx import prune_onnx
from meshloom.lowering.options.subgraph_options import SubgraphOptions
from meshloom.support.errors import MeshloomError
from meshloom.support.warn import MeshloomWarning
from meshloom.tools.oracle import Oracle
from numpy.typing import NDArray

import meshloom

MODEL = Path(__file__).resolve().parent.parent / "models" / "onet.onnx"
FACE = "input_3", (1, 48, 48, 3)
DENSITY = 0.1
MEMORY = 170_000
"""Bytes of DRAM of the small chip."""
TOLERANCE = 1e-4
"""Largest error relative to the largest element, for sums of a thousand products in another order."""

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Way:
    """How the network is compiled."""

    name: str
    saving: bool = True
    subgraphs: SubgraphOptions = field(default_factory=SubgraphOptions)
    order: str = "searched"
    placement: str = "searched"
    sparse: bool = True
    chips: int | None = None

    def compile(self, model: bytes, chip: Chip) -> meshloom.CompiledNetwork | meshloom.CompiledPipeline:
        """The network compiled for such chips. Raises MeshloomError if it does not fit."""
        options: dict[str, Any] = {"chips": self.chips} if self.chips else {}
        if self.saving:
            options["budget"] = float(chip.dram_bytes)
        compiler = cast("Callable[..., meshloom.CompiledNetwork | meshloom.CompiledPipeline]", meshloom.compile)
        how = {"sparse": self.sparse, "order": self.order, "placement": self.placement, "subgraphs": self.subgraphs}
        return compiler(model, chip, {FACE[0]: FACE[1]}, **how, **options)


ALL = Way("all five")
WAYS = (
    ALL,
    replace(ALL, name="without memory saving", saving=False),
    replace(ALL, name="without subgraphs", saving=False, subgraphs=SubgraphOptions(split_failures=False)),
    replace(ALL, name="without fusion of subgraphs", subgraphs=SubgraphOptions(fuse="none")),
    replace(ALL, name="without a search for the order", order="program"),
    replace(ALL, name="without placement by the mapper", placement="row-major"),
    replace(ALL, name="without sparse weights", sparse=False),
    replace(ALL, name="all five, on two chips", chips=2),
)


@dataclass(frozen=True)
class Figures:
    """The costs of a run, with the copies from and to the host."""

    cycles: int
    dram_bytes: int
    host_bytes: int
    launches: int

    @staticmethod
    def of(stats: dict[str, Any], cycles: int) -> Figures:
        """The figures from the statistics of a run on one chip or on several."""
        chips: list[dict[str, Any]] = stats.get("of_chip", [stats])
        moved = [one["bytes"] for one in chips]
        return Figures(
            cycles,
            sum(one["dram_read"] + one["dram_written"] for one in moved),
            sum(one["host_in"] + one["host_out"] for one in moved),
            sum(len(one.get("launches", ())) for one in chips),
        )


def run(way: Way, model: bytes, chip: Chip, inputs: Arrays, expected: Arrays) -> Figures:
    """
    Compile, run, and compare with the results of ONNX Runtime. Raises MeshloomError if the network does not fit or its
    results differ.
    """
    network = way.compile(model, chip)
    result = network.run(inputs, check=True)
    for name, value in expected.items():
        error = float(np.abs(result.outputs[name] - value).max())
        if error > TOLERANCE * float(np.abs(value).max()):
            raise MeshloomError(f"{way.name}: '{name}' differs from ONNX Runtime's by {error}")
    cycles = result.stats["total_cycles"] if isinstance(result, meshloom.RunResult) else result.cycles
    return Figures.of(result.stats, cycles)


def main(args: Sequence[str] | None = None) -> None:
    """Print a table: a row for each way."""
    parser = argparse.ArgumentParser(description="Compile a pruned network for a chip that is too small for it.")
    parser.add_argument("--density", type=float, default=DENSITY, help="share of weights that is left (default: 0.1)")
    parser.add_argument("--memory", type=int, default=MEMORY, help="bytes of the chip's DRAM (default: 170000)")
    options = parser.parse_args(args)
    model = prune_onnx(MODEL, options.density, "balanced").SerializeToString()
    chip = replace(load_chip("edge"), name="small", dram_bytes=options.memory)
    face = np.random.default_rng(0).standard_normal(FACE[1]).astype(np.float32)
    inputs: Arrays = {FACE[0]: face}
    expected = Oracle(model).run(inputs)
    print(f"O-net with {options.density:.0%} of its weights, on chips with {options.memory:,} bytes of memory")
    print(f"{'':32} {'cycles':>9} {'':>6} {'DRAM bytes':>11} {'host bytes':>11} {'launches':>9}")
    warnings.simplefilter("ignore", MeshloomWarning)  # that memory saving gains nothing shows in the table
    first: int | None = None
    for way in WAYS:
        try:
            found = run(way, model, chip, inputs, expected)
        except MeshloomError as error:
            print(f"{way.name:32} {error}", flush=True)
            continue
        first = first or found.cycles
        share = f"{found.cycles / first:.2f}x"
        moved = f"{found.dram_bytes:11,} {found.host_bytes:11,} {found.launches:9}"
        print(f"{way.name:32} {found.cycles:9,} {share:>6} {moved}", flush=True)


if __name__ == "__main__":
    main()

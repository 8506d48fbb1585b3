"""
Compiles a pruned network for a chip whose memory is too small for it: with all five methods, and with each of them left
out.

    python examples/all_five.py
    python examples/all_five.py --density 0.3 --memory 300000
    python examples/all_five.py --train

The network finds the landmarks of a face (MTCNN's O-net; `make models` downloads it), and is pruned to a tenth of its
weights. The chip is `edge` with less memory than the network needs, so some of its weights are copied from the host
while it runs. The results of each row are compared with ONNX Runtime's.

With `--train`, a training step of the pruned network is compiled: its connections are constant, and their values are
trained to give the box around the face. Activations of the forward pass wait for the backward pass in more memory than
the chip has. The loss is compared with that of ONNX Runtime's outputs, and the gradient with differences of that loss.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, cast

import numpy as np
from meshloom.chips import Chip, load_chip
from meshloom.frontend.parameters import import_with_parameters
from meshloom.frontend.prune_onnx import prune_onnx
from meshloom.lowering.options.subgraph_options import SubgraphOptions
from meshloom.support.errors import MeshloomError
from meshloom.support.warn import MeshloomWarning
from meshloom.tools.oracle import Oracle
from meshloom.transforms.dataflow_differentiate import DataflowDifferentiatePass
from meshloom.transforms.sparse_encode_stored import encode_stored
from meshloom.transforms.sparse_store_parameters import Connections, store_parameters
from numpy.typing import NDArray
from onnx import ModelProto, numpy_helper
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

import meshloom

MODEL = Path(__file__).resolve().parent.parent / "models" / "onet.onnx"
FACE = "input_3", (48, 48, 3)
BOX = "dense_5"
"""The output that is trained: 4 numbers an image."""
DENSITY = 0.1
MEMORY, TRAINING_MEMORY = 170_000, 2_900_000
"""Bytes of DRAM of the small chip, for the network and for its training step."""
BATCH = 2
"""Images of a training step."""
RATE = 0.01
TOLERANCE = 1e-4
"""Largest error relative to the largest element, for sums of a thousand products in another order."""
SLOPE_TOLERANCE = 0.02
"""
Largest relative error of a slope of the loss from the difference of two losses in f32; of slopes near zero, in units of
this share of the loss.
"""

Arrays = dict[str, NDArray[Any]]
Network = meshloom.CompiledNetwork | meshloom.CompiledPipeline
Result = meshloom.RunResult | meshloom.PipelineResult
compile_network = cast("Callable[..., Network]", meshloom.compile)


class Workload(Protocol):
    """What is compiled and run."""

    def compile(self, chip: Chip, *, sparse: bool, **options: Any) -> Network:
        """Compiled for such chips. Raises MeshloomError if it does not fit."""
        ...

    def run(self, network: Network) -> Result:
        """A run of the last compiled network. Raises MeshloomError if the results are not those of ONNX Runtime."""
        ...


def compare(name: str, value: NDArray[Any], expected: NDArray[Any]) -> None:
    """Raises MeshloomError if the values differ by more than the tolerance."""
    error = float(np.abs(value - expected).max())
    if not error <= TOLERANCE * float(np.abs(expected).max()):  # NaN, too
        raise MeshloomError(f"'{name}' differs from ONNX Runtime's by {error}")


@dataclass(frozen=True)
class Inference:
    """The network on one image."""

    model: ModelProto

    @cached_property
    def inputs(self) -> Arrays:
        """A random image, [1, 48, 48, 3]."""
        return {FACE[0]: np.random.default_rng(0).standard_normal((1, *FACE[1])).astype(np.float32)}

    def compile(self, chip: Chip, *, sparse: bool, **options: Any) -> Network:
        """See `Workload`."""
        return compile_network(self.model.SerializeToString(), chip, {FACE[0]: (1, *FACE[1])}, sparse=sparse, **options)

    def run(self, network: Network) -> Result:
        """See `Workload`."""
        result = network.run(self.inputs, check=True)
        for name, value in Oracle(self.model.SerializeToString()).run(self.inputs).items():
            compare(name, result.outputs[name], value)
        return result


@dataclass
class TrainingStep:
    """
    A training step of the network: gradient descent of the mean squared error of the box. The pruned weights have
    constant connections, and are encoded (`sparse`) or dense parameters; zeros are trained, too, if they are dense.
    """

    model: ModelProto
    connections: dict[str, Connections] = field(default_factory=dict[str, Connections])
    """Of the encoded weights of the network that was compiled last."""

    @cached_property
    def batch(self) -> Arrays:
        """Random images [batch, 48, 48, 3] and boxes [batch, 4]."""
        random = np.random.default_rng(0)
        shapes = {FACE[0]: (BATCH, *FACE[1]), "target": (BATCH, 4)}
        return {name: random.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}

    def _imported(self) -> tuple[ModuleOp, Arrays]:
        """The forward pass and its parameters."""
        return import_with_parameters(self.model.SerializeToString(), {FACE[0]: (BATCH, *FACE[1])})

    def compile(self, chip: Chip, *, sparse: bool, **options: Any) -> Network:
        """See `Workload`."""
        module, weights = self._imported()
        self.connections = store_parameters(module, weights, chip) if sparse else {}
        differentiate = DataflowDifferentiatePass(loss="mean-squared-error", optimizer="sgd", rate=RATE)
        differentiate.apply(Context(), module)
        if sparse:
            encode_stored(module, chip)
        return compile_network(module, chip, **options)

    def run(self, network: Network) -> Result:
        """See `Workload`."""
        weights, connections = self._imported()[1], self.connections
        stored = {name: connections[name].stored(value) for name, value in weights.items() if name in connections}
        given = self.batch | weights | stored
        result = network.run({name: given[name] for name in network.inputs}, check=True)
        compare("loss", result.outputs["loss"], np.asarray(self._loss({})))
        new = {name: result.outputs[f"new.{name}"] for name in weights if f"new.{name}" in result.outputs}
        new |= {name: connections[name].dense(value) for name, value in new.items() if name in connections}
        self._check_gradient(weights, {name: (weights[name] - value) / RATE for name, value in new.items()})
        return result

    def _check_gradient(self, weights: Arrays, gradient: Arrays) -> None:
        """
        Compare the slope of the loss in the direction of the gradient, and in that of each weight tensor, with the
        difference of two losses. Raises MeshloomError if they differ by more than the tolerance.
        """
        square = sum(float((value.astype(np.float64) ** 2).sum()) for value in gradient.values())
        directions = [(gradient, 0.02 * self._loss({}) / square)]
        directions += [({name: weights[name]}, 0.01) for name in gradient]
        for direction, step in directions:
            expected = self._slope(weights, direction, step)
            slope = sum(float(np.vdot(gradient[name].astype(np.float64), value)) for name, value in direction.items())
            if not abs(slope - expected) <= SLOPE_TOLERANCE * (abs(expected) + SLOPE_TOLERANCE * self._loss({})):
                names = ", ".join(direction)
                raise MeshloomError(f"{names}: the loss has the slope {slope}, ONNX Runtime's {expected}")

    def _slope(self, weights: Arrays, direction: Arrays, step: float) -> float:
        """The slope of the loss in ONNX Runtime, by the difference of two losses."""
        forward, backward = (
            self._loss({name: weights[name] + np.float32(side * step) * value for name, value in direction.items()})
            for side in (1, -1)
        )
        return (forward - backward) / (2 * step)

    def _loss(self, changed: Arrays) -> float:
        """The loss in ONNX Runtime, with these weights in place of the model's."""
        model = ModelProto()
        model.CopyFrom(self.model)
        for tensor in model.graph.initializer:
            if tensor.name in changed:
                tensor.CopyFrom(numpy_helper.from_array(changed[tensor.name], tensor.name))
        found = Oracle(model.SerializeToString()).run({FACE[0]: self.batch[FACE[0]]})[BOX]
        return float(((found.astype(np.float64) - self.batch["target"]) ** 2).mean())


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

    def compile(self, workload: Workload, chip: Chip) -> Network:
        """The workload compiled for such chips. Raises MeshloomError if it does not fit."""
        options: dict[str, Any] = {"chips": self.chips} if self.chips else {}
        if self.saving:
            options["budget"] = float(chip.dram_bytes)
        options |= {"order": self.order, "placement": self.placement, "subgraphs": self.subgraphs}
        return workload.compile(chip, sparse=self.sparse, **options)


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


def run(way: Way, workload: Workload, chip: Chip) -> Figures:
    """Compile, run, and compare with ONNX Runtime. Raises MeshloomError if it does not fit or its results differ."""
    result = workload.run(way.compile(workload, chip))
    cycles = result.stats["total_cycles"] if isinstance(result, meshloom.RunResult) else result.cycles
    return Figures.of(result.stats, cycles)


def main(args: Sequence[str] | None = None) -> None:
    """Print a table: a row for each way."""
    parser = argparse.ArgumentParser(description="Compile a pruned network for a chip that is too small for it.")
    parser.add_argument("--density", type=float, default=DENSITY, help="share of weights that is left (default: 0.1)")
    parser.add_argument("--train", action="store_true", help=f"a training step of {BATCH} images")
    parser.add_argument(
        "--memory", type=int, help=f"bytes of the chip's DRAM (default: {MEMORY}; with --train {TRAINING_MEMORY})"
    )
    options = parser.parse_args(args)
    try:
        model = prune_onnx(MODEL, options.density, "balanced")
    except MeshloomError as error:
        parser.error(str(error))
    workload: Workload = TrainingStep(model) if options.train else Inference(model)
    usual = TRAINING_MEMORY if options.train else MEMORY
    memory = usual if options.memory is None else options.memory
    chip = replace(load_chip("edge"), name="small", dram_bytes=memory)
    title = "A training step of O-net" if options.train else "O-net"
    print(f"{title} with {options.density:.0%} of its weights, on chips with {memory:,} bytes of memory")
    print(f"{'':32} {'cycles':>9} {'':>6} {'DRAM bytes':>11} {'host bytes':>11} {'launches':>9}")
    warnings.simplefilter("ignore", MeshloomWarning)  # that memory saving gains nothing shows in the table
    first: int | None = None
    for way in WAYS:
        try:
            found = run(way, workload, chip)
        except MeshloomError as error:
            print(f"{way.name:32} {error}", flush=True)
            continue
        first = first or found.cycles
        share = f"{found.cycles / first:.2f}x"
        moved = f"{found.dram_bytes:11,} {found.host_bytes:11,} {found.launches:9}"
        print(f"{way.name:32} {found.cycles:9,} {share:>6} {moved}", flush=True)


if __name__ == "__main__":
    main()

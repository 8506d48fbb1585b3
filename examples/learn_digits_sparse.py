"""
Training of a pruned network on an emulated chip, with encoded weights.

    python examples/learn_digits_sparse.py
    python examples/learn_digits_sparse.py --epochs 2 --density 0.05 --chip tiny

A network is trained to read handwritten digits; then its hidden layers are pruned to the tenth of their weights that
has the largest magnitudes, and training continues. The connections are fixed, and the values change. The parameters of
the pruned network's training step are the stored values: the step computes with encoded weights in the forward and
backward pass, and updates the stored weights only. The table compares its cost and accuracy with those of the dense
network.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from meshloom.chips import load_chip
from meshloom.formats.sparse.prune import magnitude_pruning
from meshloom.frontend.parameters import import_with_parameters
from meshloom.transforms.dataflow_differentiate import DataflowDifferentiatePass
from meshloom.transforms.sparse_encode_stored import encode_stored
from meshloom.transforms.sparse_store_parameters import Connections, store_parameters
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

import meshloom

DIGITS = Path(__file__).resolve().parent.parent / "test" / "data" / "digits" / "digits.csv.gz"
BATCH = 64
LEARN = 22 * BATCH
"""Number of images for training; the others are for testing."""
HIDDEN = (256, 256)

Arrays = dict[str, NDArray[Any]]


def digits() -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Images [n, 64] from 0 to 1, and their digits [n]."""
    table = np.loadtxt(DIGITS, delimiter=",")
    return (table[:, :64] / 16).astype(np.float32), table[:, 64].astype(np.int64)


def network() -> bytes:
    """Two hidden layers and an output layer as an ONNX model; its weights are random numbers."""
    rng = np.random.default_rng(0)
    sizes = (64, *HIDDEN, 10)
    nodes: list[Any] = []
    weights: list[Any] = []
    value = "image"
    for number, (inputs, outputs) in enumerate(pairwise(sizes)):
        matrix = rng.standard_normal((inputs, outputs)) * np.sqrt(2 / inputs)
        weights.append(numpy_helper.from_array(matrix.astype(np.float32), f"weight{number}"))
        weights.append(numpy_helper.from_array(np.zeros(outputs, np.float32), f"bias{number}"))
        nodes.append(helper.make_node("Gemm", [value, f"weight{number}", f"bias{number}"], [f"sum{number}"]))
        value = f"sum{number}"
        if number < len(HIDDEN):
            nodes.append(helper.make_node("Relu", [value], [f"hidden{number}"]))
            value = f"hidden{number}"
    graph = helper.make_graph(
        nodes,
        "digits",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, [BATCH, 64])],
        [helper.make_tensor_value_info(value, TensorProto.FLOAT, [BATCH, 10])],
        weights,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]).SerializeToString()


def differentiated(forward: ModuleOp) -> ModuleOp:
    """A training step: forward pass, loss, backward pass and update."""
    DataflowDifferentiatePass(loss="softmax-cross-entropy", optimizer="sgd", rate=0.05, momentum=0.9).apply(
        Context(), forward
    )
    return forward


def begin(weights: Mapping[str, NDArray[Any]]) -> Arrays:
    """Initial parameters and momenta."""
    return {**weights, **{f"{name}.momentum": np.zeros_like(value) for name, value in weights.items()}}


def learn(step: meshloom.CompiledNetwork, state: Arrays, epochs: int) -> Arrays:
    """Train for `epochs` epochs. Returns the new parameters and momenta."""
    images, labels = digits()
    rng = np.random.default_rng(1)
    for _ in range(epochs):
        for batch in rng.permutation(LEARN).reshape(-1, BATCH):
            outputs = step.run({"image": images[batch], "target": labels[batch], **state}).outputs
            state = {name: outputs[f"new.{name}"] for name in state}
    return state


def examine(weights: Mapping[str, NDArray[Any]]) -> float:
    """The share of test images that are classified correctly."""
    images, labels = digits()
    values = images[LEARN:]
    for number in range(len(HIDDEN) + 1):
        values = values @ weights[f"weight{number}"] + weights[f"bias{number}"]
        if number < len(HIDDEN):
            values = np.maximum(values, 0)
    return float((values.argmax(axis=1) == labels[LEARN:]).mean())


def prune(weights: Mapping[str, NDArray[Any]], density: float) -> Arrays:
    """The weights, with those of the hidden layers pruned to this density."""
    hidden = {f"weight{number}" for number in range(len(HIDDEN))}
    return {
        name: value * magnitude_pruning(value, density) if name in hidden else value for name, value in weights.items()
    }


@dataclass(frozen=True)
class PrunedStep:
    """The training step of a pruned network."""

    step: meshloom.CompiledNetwork
    connections: Mapping[str, Connections]

    def stored(self, weights: Mapping[str, NDArray[Any]]) -> Arrays:
        """The parameters; of pruned parameters, the stored values."""
        return {
            name: self.connections[name].stored(value) if name in self.connections else value
            for name, value in weights.items()
        }

    def whole(self, state: Mapping[str, NDArray[Any]]) -> Arrays:
        """The parameters with their zeros."""
        return {
            name: self.connections[name].dense(value) if name in self.connections else value
            for name, value in state.items()
            if not name.endswith(".momentum")
        }


def pruned_step(weights: Mapping[str, NDArray[Any]], chip: str) -> PrunedStep:
    """
    The training step whose parameters are the stored values of these weights, encoded wherever they are multiplied.
    """
    forward, _ = import_with_parameters(network(), {})
    connections = store_parameters(forward, weights, load_chip(chip))
    step = differentiated(forward)
    encode_stored(step, load_chip(chip))
    return PrunedStep(meshloom.compile(step, chip), connections)


def main(args: Sequence[str] | None = None) -> None:
    """Train, prune, continue training, and print the cost of each step."""
    parser = argparse.ArgumentParser(description="Continue the training of a pruned network with encoded weights.")
    parser.add_argument(
        "--epochs", type=int, default=4, help="number of passes over the images, for each network (default: 4)"
    )
    parser.add_argument("--density", type=float, default=0.1, help="share of the weights that is kept (default: 0.1)")
    parser.add_argument("--chip", default="edge", help="the chip to learn on (default: edge)")
    options = parser.parse_args(args)
    forward, first = import_with_parameters(network(), {})
    dense = meshloom.compile(differentiated(forward), options.chip)
    learnt = learn(dense, begin(first), options.epochs)
    whole = {name: learnt[name] for name in first}
    longer = learn(dense, learnt, options.epochs)
    pruned = prune(whole, options.density)
    sparse = pruned_step(pruned, options.chip)
    on = sparse.whole(learn(sparse.step, begin(sparse.stored(pruned)), options.epochs))
    stays = all(bool((on[name] == 0)[pruned[name] == 0].all()) for name in sparse.connections)

    print(f"{'step':34}{'weights':>9}{'cycles':>9}{'with host':>11}{'accuracy':>10}")
    for name, step, weights in (
        ("dense", dense, whole),
        ("dense, learning on", dense, longer),
        ("pruned", None, pruned),
        ("pruned and encoded, learning on", sparse.step, on),
    ):
        count = sum(np.count_nonzero(weights[f"weight{number}"]) for number in range(len(HIDDEN) + 1))
        cycles = "-" if step is None else f"{step.timing.cycles:,}"
        total = "-" if step is None else f"{step.timing.total_cycles:,}"
        print(f"{name:34}{count:>9,}{cycles:>9}{total:>11}{examine(weights):>10.1%}")
    faster = dense.timing.cycles / sparse.step.timing.cycles
    print(f"a step with encoded weights is {faster:.2f} times as fast on the device;", end=" ")
    print("what was not connected has stayed zero" if stays else "connections have changed")


if __name__ == "__main__":
    main()

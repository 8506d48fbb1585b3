"""
Training of a network that reads handwritten digits, on an emulated chip with too little memory for a training step.

    python examples/learn_digits.py
    python examples/learn_digits.py --epochs 2 --twice

A training step keeps results of the forward pass until the backward pass needs them, which takes more memory than the
chip has. So some of them are copied to the host after the forward pass, and back before their next use. `--twice`
trains once more on a chip with enough memory, and checks that the results are identical bit by bit.
"""

from __future__ import annotations

import argparse
import gzip
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from meshloom.chips import load_chip
from meshloom.frontend.parameters import import_with_parameters
from meshloom.lowering.options.subgraph_options import SubgraphOptions
from meshloom.support.errors import MeshloomError
from meshloom.transforms.dataflow_differentiate import DataflowDifferentiatePass
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

import meshloom

DIGITS = Path(__file__).resolve().parent.parent / "test" / "data" / "digits" / "digits.csv.gz"
BATCH = 64
LEARN = 22 * BATCH
"""Number of images for training; the others are for testing."""
MEMORY = 580_000
"""Bytes of DRAM of the small chip. As one launch, a training step needs more than twice as many."""
LAUNCH_BYTES = 360_000
"""Bytes of DRAM that one launch may need."""

Arrays = dict[str, NDArray[Any]]


def digits() -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Images [n, 1, 8, 8] from 0 to 1, and their digits [n]."""
    with gzip.open(DIGITS, "rt") as file:
        table = np.loadtxt(file, delimiter=",")
    return (table[:, :64] / 16).astype(np.float32).reshape(-1, 1, 8, 8), table[:, 64].astype(np.int64)


def network() -> bytes:
    """Two convolutions and an output layer as an ONNX model; its weights are random numbers."""
    rng = np.random.default_rng(0)

    def weight(name: str, *shape: int) -> Any:
        values = rng.standard_normal(shape) * np.sqrt(2 / np.prod(shape[1:]))
        return numpy_helper.from_array(values.astype(np.float32), name)

    def bias(name: str, size: int) -> Any:
        return numpy_helper.from_array(np.zeros(size, np.float32), name)

    weights = [
        weight("conv1.weight", 8, 1, 3, 3), bias("conv1.bias", 8),
        weight("conv2.weight", 16, 8, 3, 3), bias("conv2.bias", 16),
        weight("decide.weight", 10, 256), bias("decide.bias", 10),
    ]  # fmt: skip
    nodes = [
        helper.make_node("Conv", ["image", "conv1.weight", "conv1.bias"], ["edges"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["edges"], ["bright_edges"]),
        helper.make_node(
            "Conv", ["bright_edges", "conv2.weight", "conv2.bias"], ["strokes"], pads=[1, 1, 1, 1], strides=[2, 2]
        ),
        helper.make_node("Relu", ["strokes"], ["bright_strokes"]),
        helper.make_node("Flatten", ["bright_strokes"], ["row"]),
        helper.make_node("Gemm", ["row", "decide.weight", "decide.bias"], ["scores"], transB=1),
    ]
    graph = helper.make_graph(
        nodes,
        "digits",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, [BATCH, 1, 8, 8])],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, [BATCH, 10])],
        weights,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]).SerializeToString()


def training_step() -> tuple[ModuleOp, Arrays]:
    """A training step: forward pass, loss, backward pass and update; and the initial weights and momenta."""
    step, weights = import_with_parameters(network(), {})
    DataflowDifferentiatePass(loss="softmax-cross-entropy", optimizer="sgd", rate=0.1, momentum=0.9).apply(
        Context(), step
    )
    return step, weights | {f"{name}.momentum": np.zeros_like(value) for name, value in weights.items()}


def learn(step: meshloom.CompiledNetwork, state: Arrays, epochs: int, tell: bool = True) -> Arrays:
    """Train for `epochs` epochs. Returns the new parameters and momenta."""
    images, labels = digits()
    rng = np.random.default_rng(1)
    for epoch in range(epochs):
        order = rng.permutation(LEARN).reshape(-1, BATCH)
        losses: list[float] = []
        for batch in order:
            inputs: Arrays = {"image": images[batch], "target": labels[batch], **state}
            outputs = step.run(inputs).outputs
            losses.append(float(outputs["loss"]))
            state = {name: outputs[f"new.{name}"] for name in state}
        if tell:
            print(f"  epoch {epoch + 1}: loss {np.mean(losses):.3f}")
    return state


def examine(state: Arrays) -> float:
    """The share of test images that are classified correctly."""
    forward, weights = import_with_parameters(network(), {})
    reader = meshloom.compile(forward, chip="tiny")
    images, labels = digits()
    right = 0
    batches = np.arange(LEARN, len(images) // BATCH * BATCH).reshape(-1, BATCH)
    for batch in batches:
        scores = reader.run({"image": images[batch]} | {name: state[name] for name in weights}).outputs["scores"]
        right += int((scores.argmax(axis=1) == labels[batch]).sum())
    return right / batches.size


def main(args: Sequence[str] | None = None) -> None:
    """Train, and print the accuracy."""
    parser = argparse.ArgumentParser(
        description="Train a network to read digits on a chip with too little memory for a training step."
    )
    parser.add_argument("--epochs", type=int, default=8, help="number of passes over the images (default: 8)")
    parser.add_argument("--twice", action="store_true", help="also train with enough memory, and compare")
    options = parser.parse_args(args)
    step, state = training_step()
    chip = replace(load_chip("tiny"), name="small", dram_bytes=MEMORY)
    print(f"training on {LEARN} images of digits, on a chip with {MEMORY:,} bytes of memory")
    try:
        meshloom.compile(step, chip, subgraphs=SubgraphOptions(split_failures=False))
    except MeshloomError as error:
        print(f"without memory saving, the step does not compile: {error}")
    small = meshloom.compile(step, chip, budget=meshloom.Budget(launch_bytes=LAUNCH_BYTES))
    memory = small.report["memory"]
    moved = ", ".join(f"{count} x {action}" for action, count in memory["actions"].items() if count)
    print(f"with memory saving it compiles: {memory['peak_bytes']:,} bytes at most; in each step {moved}")
    learnt = learn(small, state, options.epochs)
    print(f"it reads {100 * examine(learnt):.1f}% of {len(digits()[1]) // BATCH * BATCH - LEARN} new digits correctly")
    if options.twice:
        large = meshloom.compile(step, "tiny", budget=meshloom.Budget(launch_bytes=LAUNCH_BYTES))
        expected = learn(large, state, options.epochs, tell=False)
        same = all(np.array_equal(learnt[name], expected[name]) for name in expected)
        slower = small.timing.total_cycles / large.timing.total_cycles - 1
        print(f"with enough memory ({large.report['memory']['peak_bytes']:,} bytes) it learns", end=" ")
        print("the same, bit by bit" if same else "something else", end="; ")
        print(f"a step takes {100 * slower:.1f}% longer with memory saving")


if __name__ == "__main__":
    main()

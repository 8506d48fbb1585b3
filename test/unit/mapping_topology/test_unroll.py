"""Tests of networks unrolled to neurons, against loops that enumerate the inputs of each layer."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from meshloom.frontend.topology.read import read_topology
from meshloom.mapping.topology.topology import Topology
from meshloom.support.errors import InputError
from onnx import TensorProto, helper, numpy_helper

Edges = set[tuple[int, int]]
Places = dict[tuple[int, ...], int]


def unrolled(tmp_path: Path, nodes: list[Any], shapes: dict[str, list[int]], **weights: tuple[int, ...]) -> Topology:
    """The topology of a model with these nodes, inputs and weights; its output is `y`."""
    inputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in shapes.items()]
    output = [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
    rng = np.random.default_rng(0)
    tensors = [numpy_helper.from_array(rng.normal(size=s).astype(np.float32), n) for n, s in weights.items()]
    graph = helper.make_graph(nodes, "net", inputs, output, tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    (tmp_path / "net.onnx").write_bytes(model.SerializeToString())
    return read_topology(tmp_path / "net.onnx")


def edges_of(topology: Topology) -> Edges:
    assert topology.src_indptr is not None
    assert topology.src_indices is not None
    sources = np.repeat(np.arange(topology.vertices), np.diff(topology.src_indptr))
    edges = list(zip(sources.tolist(), topology.src_indices.tolist(), strict=True))
    assert len(set(edges)) == len(edges)
    return set(edges)


def places(first: int, *shape: int) -> Places:
    """Index in a tensor -> number of the neuron, row-major from `first`."""
    return {at: first + k for k, at in enumerate(itertools.product(*map(range, shape)))}


def windows(
    source: Places, target: Places, kernel: tuple[int, int], stride: int, pad: int, dilation: int, groups: int | None
) -> Edges:
    """Edges of a convolution [N, C, H, W]; `groups` None: each channel by itself, as in pooling."""
    channels = 1 + max(at[1] for at in source)
    out = 1 + max(at[1] for at in target)
    edges: Edges = set()
    for (n, o, y, x), neuron in target.items():
        count = 1 if groups is None else channels // groups
        first = o if groups is None else o * groups // out * count
        for c, a, b in itertools.product(range(first, first + count), range(kernel[0]), range(kernel[1])):
            at = (n, c, y * stride + a * dilation - pad, x * stride + b * dilation - pad)
            if at in source:
                edges.add((source[at], neuron))
    return edges


@pytest.mark.parametrize(
    ("stride", "pad", "dilation", "groups"), [(1, 0, 1, 1), (2, 1, 1, 1), (1, 2, 2, 2), (3, 2, 1, 4)]
)
def test_convolution_with_bias_and_activation(
    tmp_path: Path, stride: int, pad: int, dilation: int, groups: int
) -> None:
    conv = helper.make_node(
        "Conv", ["x", "w", "b"], ["c"], strides=[stride] * 2, pads=[pad] * 4, dilations=[dilation] * 2, group=groups
    )
    nodes = [conv, helper.make_node("Relu", ["c"], ["r"]), helper.make_node("Mul", ["r", "s"], ["y"])]
    topology = unrolled(tmp_path, nodes, {"x": [1, 4, 8, 7]}, w=(8, 4 // groups, 3, 2), b=(8,), s=(8, 1, 1))
    height = (8 + 2 * pad - 2 * dilation - 1) // stride + 1
    width = (7 + 2 * pad - dilation - 1) // stride + 1
    source, target = places(0, 1, 4, 8, 7), places(4 * 8 * 7, 1, 8, height, width)
    assert topology.vertices == len(source) + len(target)
    assert edges_of(topology) == windows(source, target, (3, 2), stride, pad, dilation, groups)
    assert topology.size.tolist() == [1] * topology.vertices
    assert set(topology.data.tolist()) == {1}


def test_pooling_and_global_pooling(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("MaxPool", ["x"], ["p"], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]),
        helper.make_node("GlobalAveragePool", ["p"], ["y"]),
    ]
    topology = unrolled(tmp_path, nodes, {"x": [1, 2, 6, 6]})
    source, pooled = places(0, 1, 2, 6, 6), places(72, 1, 2, 3, 3)
    last = {(neuron, 72 + 18 + at[1]) for at, neuron in pooled.items()}
    assert edges_of(topology) == windows(source, pooled, (3, 3), 2, 1, 1, None) | last


def test_dense_after_flatten_and_transpose(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Transpose", ["x"], ["t"], perm=[0, 2, 1]),
        helper.make_node("Flatten", ["t"], ["f"]),
        helper.make_node("Slice", ["f", "starts", "ends", "axes"], ["s"]),
        helper.make_node("Gemm", ["s", "w", "b"], ["g"]),
        helper.make_node("Sigmoid", ["g"], ["y"]),
    ]
    integers = [("starts", 2), ("ends", 5), ("axes", 1)]
    constants = [
        helper.make_node("Constant", [], [n], value=numpy_helper.from_array(np.array([v], np.int64)))
        for n, v in integers
    ]
    topology = unrolled(tmp_path, [*constants, *nodes], {"x": [1, 2, 4]}, w=(3, 5), b=(5,))
    flat = np.arange(8).reshape(2, 4).T.ravel()[2:5].tolist()
    assert edges_of(topology) == {(u, 8 + k) for u in flat for k in range(5)}


def test_residual_addition_joins_two_branches(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"]),
        helper.make_node("Add", ["a", "x"], ["s"]),
        helper.make_node("Relu", ["s"], ["y"]),
    ]
    topology = unrolled(tmp_path, nodes, {"x": [1, 3]}, w=(3, 3))
    dense = {(u, 3 + k) for u in range(3) for k in range(3)}
    assert edges_of(topology) == dense | {(3 + k, 6 + k) for k in range(3)} | {(k, 6 + k) for k in range(3)}


def test_concatenation_and_a_function_of_one_neuron_make_no_neurons(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Tanh", ["a"], ["t"]),
        helper.make_node("Mul", ["a", "t"], ["m"]),  # both factors depend on the same neuron
        helper.make_node("Concat", ["m", "b"], ["c"], axis=1),
        helper.make_node("MatMul", ["c", "w"], ["y"]),
    ]
    topology = unrolled(tmp_path, nodes, {"a": [1, 2], "b": [1, 3]}, w=(5, 1))
    assert edges_of(topology) == {(u, 5) for u in range(5)}


def test_softmax_connects_neurons_along_its_axis_only(tmp_path: Path) -> None:
    topology = unrolled(tmp_path, [helper.make_node("Softmax", ["x"], ["y"], axis=-1)], {"x": [2, 3]})
    reach = {u: {v for s, v in edges_of(topology) if s == u} for u in range(topology.vertices)}
    # Whatever neurons are in between, those of one row are not connected to those of the other.
    rows = [{0, 1, 2}, {3, 4, 5}]
    for _ in range(5):
        rows = [row | {v for u in row for v in reach[u]} for row in rows]
    assert not rows[0] & rows[1]
    assert rows[0] | rows[1] == set(range(topology.vertices))


def test_errors(tmp_path: Path) -> None:
    (tmp_path / "bad.onnx").write_bytes(b"\x08\x07nonsense")
    with pytest.raises(InputError, match=r"bad\.onnx"):
        read_topology(tmp_path / "bad.onnx")
    (tmp_path / "net.graph").write_text("0 0\n")
    with pytest.raises(InputError, match="only ONNX models"):
        read_topology(tmp_path / "net.graph", {"x": (1,)})

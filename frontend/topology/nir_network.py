"""
Unrolls NIR files (Neuromorphic Intermediate Representation, Nature Communications 15, 8122, 2024) to neurons.

Every element of an input, of a layer of neurons and of a linear layer is a neuron, with two exceptions: the results of
a linear layer with one successor are part of the neurons of that successor (the synapses of a LIF layer end at its
neurons), and scaling, flattening, delays and outputs are part of the node before them. A weight of 0 is not an edge.
Needs the package `nir`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...mapping.topology.topology import Topology, from_directed
from ...support.errors import InputError

_NEURONS = {"CubaLI", "CubaLIF", "I", "IF", "LI", "LIF", "Threshold"}
_PLAIN = {"Scale", "Flatten", "Delay", "Output", "Input"}
_LINEAR = {"Linear", "Affine", "Conv1d", "Conv2d", "SumPool2d", "AvgPool2d"}
_DAMAGE = (OSError, KeyError, ValueError, TypeError, AssertionError, AttributeError, IndexError, RuntimeError)
_Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]


def read_nir(path: str | Path) -> Topology:
    """
    The neurons of the network at `path`, each of size 1, one spike over every edge.

    Raises InputError naming the file if `nir` is not installed, the file is not a NIR file, or a node has an unknown
    kind.
    """
    try:
        import nir
    except ImportError as error:
        raise InputError(f"{path}: reading NIR files needs the package nir: pip install 'meshloom[nir]'") from error
    module: Any = nir
    try:
        graph = module.read(str(path))
        graph.infer_types()
        nodes, edges = _flat(graph, "")
        return _Unroller(nodes, edges).run()
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    except _DAMAGE as error:
        raise InputError(f"{path}: not a readable NIR network: {' '.join(str(error).split())[:300]}") from error


def _flat(graph: Any, prefix: str) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """The nodes and edges of a graph with its nested graphs inlined; edges lead to the inputs and outputs of these."""
    nodes: dict[str, Any] = {}
    edges: list[tuple[str, str]] = []
    entry: dict[str, str] = {}
    leave: dict[str, str] = {}
    for name, node in graph.nodes.items():
        full = f"{prefix}{name}"
        if type(node).__name__ != "NIRGraph":
            nodes[full] = node
            entry[name] = leave[name] = full
            continue
        inner_nodes, inner_edges = _flat(node, f"{full}/")
        if len(node.inputs) != 1 or len(node.outputs) != 1:
            raise InputError(f"subgraph {full} has {len(node.inputs)} inputs and {len(node.outputs)} outputs")
        nodes |= inner_nodes
        edges += inner_edges
        entry[name] = f"{full}/{next(iter(node.inputs))}"
        leave[name] = f"{full}/{next(iter(node.outputs))}"
    edges += [(leave[source], entry[target]) for source, target in graph.edges]
    return nodes, edges


class _Unroller:
    def __init__(self, nodes: Mapping[str, Any], edges: list[tuple[str, str]]) -> None:
        self.nodes = nodes
        self.edges = edges
        self.same: dict[str, str] = {name: name for name in nodes}
        """Disjoint-set forest: the parent of each node; nodes of one tree are the same neurons."""

    def run(self) -> Topology:
        """Join nodes that are the same neurons, number the neurons, and connect them."""
        for name, node in self.nodes.items():
            if self._kind(name) not in _NEURONS | _PLAIN | _LINEAR:
                raise InputError(f"node {name}: {type(node).__name__} cannot be unrolled to neurons")
        kept = [edge for edge in self.edges if not self._join(*edge)]
        first: dict[str, int] = {}
        total = 0
        for name in self._in_order():
            if (root := self._root(name)) not in first:
                first[root] = total
                total += math.prod(self._shape(root, "output"))
        sources: list[NDArray[np.int64]] = []
        targets: list[NDArray[np.int64]] = []
        for source, target in kept:
            if self._kind(target) in _LINEAR:
                read, result = _linear(self.nodes[target], self._shape(target, "input"), self._shape(target, "output"))
            else:
                read = result = np.arange(math.prod(self._shape(target, "output")))
            if read.size and read.max() >= math.prod(self._shape(source, "output")):
                raise InputError(f"node {target} reads more elements than {source} has")
            sources.append(first[self._root(source)] + read)
            targets.append(first[self._root(target)] + result)
        pairs = np.stack([np.concatenate([*sources, _NONE]), np.concatenate([*targets, _NONE])], axis=1)
        pairs = np.unique(pairs, axis=0)  # by source, then target
        indptr = np.searchsorted(pairs[:, 0], np.arange(total + 1))
        return from_directed(indptr, pairs[:, 1])

    def _in_order(self) -> list[str]:
        """
        All nodes, breadth first from the inputs, so that ids follow the flow of data; files store nodes in the order of
        their names.
        """
        order = dict.fromkeys(sorted(name for name in self.nodes if self._kind(name) == "Input"))
        while True:
            found = [target for source, target in self.edges if source in order and target not in order]
            if not found:
                return list(order | dict.fromkeys(sorted(self.nodes)))
            order |= dict.fromkeys(found)

    def _join(self, source: str, target: str) -> bool:
        """
        Make `target` the same neurons as `source` if `target` only passes values on, or `source` is a linear layer with
        no other successor. Returns whether they are the same.
        """
        if self._kind(target) in _LINEAR:
            return False
        passes_on = self._kind(target) in _PLAIN and sum(t == target for _, t in self.edges) == 1
        synapses = self._kind(source) in _LINEAR and sum(s == source for s, _ in self.edges) == 1
        if not (passes_on or synapses) or self._root(source) == self._root(target):
            return False
        if math.prod(self._shape(source, "output")) != math.prod(self._shape(target, "output")):
            raise InputError(f"nodes {source} and {target} differ in their numbers of elements")
        self.same[self._root(target)] = self._root(source)
        return True

    def _kind(self, name: str) -> str:
        return type(self.nodes[name]).__name__

    def _root(self, name: str) -> str:
        while self.same[name] != name:
            name = self.same[name]
        return name

    def _shape(self, name: str, side: str) -> tuple[int, ...]:
        types: Any = self.nodes[name].input_type if side == "input" else self.nodes[name].output_type
        shape = types[side]
        if shape is None:
            raise InputError(f"node {name} has no {side} shape")
        return tuple(int(extent) for extent in np.atleast_1d(shape))


_NONE = np.zeros(0, np.int64)


def _linear(node: Any, source: tuple[int, ...], target: tuple[int, ...]) -> _Pairs:
    """The pairs (element read, element of the result) of a linear layer whose weight is not 0."""
    kind = type(node).__name__
    if kind in ("Linear", "Affine"):
        weight = np.asarray(node.weight)
        if weight.ndim != 2:
            raise InputError(f"{kind} of rank {weight.ndim}, expected a matrix")
        result, read = np.nonzero(weight)
        return read, result
    if kind in ("SumPool2d", "AvgPool2d"):
        kernel = _two(node.kernel_size)
        weights = np.ones((source[0], 1, *kernel))
        return _windows(weights, source, target, _two(node.stride), _two(node.padding), (1, 1), source[0])
    weights = np.asarray(node.weight)
    if kind == "Conv1d":  # as an image of one row
        weights = weights[:, :, None, :]
        source, target = (source[0], 1, source[1]), (target[0], 1, target[1])
        stride, dilation = (1, int(node.stride)), (1, int(node.dilation))
        reach = (0, (weights.shape[3] - 1) * dilation[1])
        padding = _padding(node.padding, reach, _along_row)
    else:
        stride, dilation = _two(node.stride), _two(node.dilation)
        reach = ((weights.shape[2] - 1) * dilation[0], (weights.shape[3] - 1) * dilation[1])
        padding = _padding(node.padding, reach, _two)
    return _windows(weights, source, target, stride, padding, dilation, int(node.groups))


def _padding(value: Any, reach: tuple[int, int], numbers: Callable[[Any], tuple[int, int]]) -> tuple[int, int]:
    """Padding before the first element, (rows, columns); for "same", half of `reach`, the kernel's extent minus 1."""
    if isinstance(value, bytes):
        value = value.decode()
    if isinstance(value, str):
        return (reach[0] // 2, reach[1] // 2) if value == "same" else (0, 0)
    return numbers(value)


def _along_row(value: Any) -> tuple[int, int]:
    return 0, int(value)


def _two(value: Any) -> tuple[int, int]:
    numbers = np.ravel(value).tolist()
    return int(numbers[0]), int(numbers[-1])


def _windows(
    weights: NDArray[Any],
    source: tuple[int, ...],
    target: tuple[int, ...],
    stride: tuple[int, int],
    padding: tuple[int, int],
    dilation: tuple[int, int],
    groups: int,
) -> _Pairs:
    """A convolution from [C, H, W] to [O, H', W'] with weights [O, C / groups, K, L]."""
    out, per_group, *_ = weights.shape
    if len(source) != 3 or len(target) != 3 or out != target[0] or per_group * groups > source[0]:
        raise InputError(f"a window over shapes {source} and {target} with weights {weights.shape}")
    rows, columns = np.meshgrid(np.arange(target[1]), np.arange(target[2]), indexing="ij")
    reads, results = [_NONE], [_NONE]
    for o, c, a, b in np.argwhere(weights).tolist():
        channel = o // (out // groups) * per_group + c
        y, x = rows * stride[0] + a * dilation[0] - padding[0], columns * stride[1] + b * dilation[1] - padding[1]
        kept = (y >= 0) & (y < source[1]) & (x >= 0) & (x < source[2])
        reads.append((channel * source[1] + y[kept]) * source[2] + x[kept])
        results.append((o * target[1] + rows[kept]) * target[2] + columns[kept])
    return np.concatenate(reads), np.concatenate(results)

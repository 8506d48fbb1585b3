"""Tests of reading NIR networks, unrolled to neurons."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from meshloom.frontend.topology.read import read_topology
from meshloom.mapping.topology.topology import Topology
from meshloom.support.errors import InputError

nir: Any = pytest.importorskip("nir")


def read(tmp_path: Path, nodes: dict[str, Any], edges: list[tuple[str, str]]) -> Topology:
    nir.write(str(tmp_path / "net.nir"), nir.NIRGraph(nodes, edges))
    return read_topology(tmp_path / "net.nir")


def edges_of(topology: Topology) -> list[tuple[int, int]]:
    assert topology.src_indptr is not None
    assert topology.src_indices is not None
    sources = np.repeat(np.arange(topology.vertices), np.diff(topology.src_indptr))
    return list(zip(sources.tolist(), topology.src_indices.tolist(), strict=True))


def lif(*shape: int) -> Any:
    one = np.ones(shape)
    return nir.LIF(tau=one, r=one, v_leak=one, v_threshold=one)


def test_synapses_end_at_the_neurons_and_zero_weights_are_none(tmp_path: Path) -> None:
    weight = np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]])
    nodes = {"in": nir.Input(np.array([3])), "w": nir.Affine(weight, np.ones(2)), "lif": lif(2)}
    nodes["out"] = nir.Output(np.array([2]))
    topology = read(tmp_path, nodes, [("in", "w"), ("w", "lif"), ("lif", "out")])
    assert topology.vertices == 5
    assert edges_of(topology) == [(0, 3), (1, 4), (2, 3)]


def test_recurrence(tmp_path: Path) -> None:
    nodes = {"in": nir.Input(np.array([2])), "a": nir.Linear(np.eye(2)), "lif": lif(2)}
    nodes |= {"back": nir.Linear(np.array([[0.0, 1.0], [1.0, 0.0]])), "out": nir.Output(np.array([2]))}
    edges = [("in", "a"), ("a", "lif"), ("lif", "back"), ("back", "lif"), ("lif", "out")]
    topology = read(tmp_path, nodes, edges)
    assert topology.vertices == 4
    assert edges_of(topology) == [(0, 2), (1, 3), (2, 3), (3, 2)]


def test_convolution_pooling_flatten_dense(tmp_path: Path) -> None:
    conv = nir.Conv2d((6, 6), np.ones((2, 1, 3, 3)), 1, 1, 1, 1, np.zeros(2))
    pool = nir.SumPool2d(np.array([2, 2]), np.array([2, 2]), np.array([0, 0]))
    nodes = {"in": nir.Input(np.array([1, 6, 6])), "conv": conv, "if": lif(2, 6, 6), "pool": pool}
    nodes |= {"flat": nir.Flatten({"input": np.array([2, 3, 3])}, 0, -1), "dense": nir.Linear(np.ones((4, 18)))}
    nodes["out"] = nir.Output(np.array([4]))
    names = list(nodes)
    topology = read(tmp_path, nodes, list(itertools.pairwise(names)))
    assert topology.vertices == 36 + 72 + 18 + 4
    near = {(36 * (o + 1) + y * 6 + x, a * 6 + b) for o in range(2) for y in range(6) for x in range(6)
            for a in range(6) for b in range(6) if abs(a - y) <= 1 and abs(b - x) <= 1}  # fmt: skip
    pooled = {(36 + o * 36 + y * 6 + x, 108 + o * 9 + y // 2 * 3 + x // 2)
              for o in range(2) for y in range(6) for x in range(6)}  # fmt: skip
    dense = {(108 + k, 126 + j) for k in range(18) for j in range(4)}
    assert set(edges_of(topology)) == {(u, v) for v, u in near} | pooled | dense


def test_one_dimension_strided(tmp_path: Path) -> None:
    nodes = {"in": nir.Input(np.array([2, 5])), "out": nir.Output(np.array([3, 2]))}
    nodes["conv"] = nir.Conv1d(5, np.ones((3, 2, 2)), 2, 0, 1, 1, np.zeros(3))
    topology = read(tmp_path, nodes, [("in", "conv"), ("conv", "out")])
    expected = {
        (c * 5 + 2 * x + k, 10 + o * 2 + x) for o in range(3) for c in range(2) for x in range(2) for k in range(2)
    }
    assert edges_of(topology) == sorted(expected)


def test_damage(tmp_path: Path) -> None:
    (tmp_path / "net.nir").write_bytes(b"\x89HDF\r\n\x1a\n nothing")
    with pytest.raises(InputError, match=r"net\.nir: not a readable NIR network"):
        read_topology(tmp_path / "net.nir")
    whole = tmp_path / "whole.nir"
    nir.write(str(whole), nir.NIRGraph.from_list(nir.Linear(np.eye(2)), lif(2)))
    data = whole.read_bytes()
    for cut in range(0, len(data), 997):
        (tmp_path / "net.nir").write_bytes(data[:cut])
        with pytest.raises(InputError, match=r"net\.nir: "):
            read_topology(tmp_path / "net.nir")

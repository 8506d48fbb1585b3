"""Tests of reading cost graphs: valid files, and an error for each defect."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from meshloom.analysis.cost_graphs.read import parse_cost_graph, read_cost_graph
from meshloom.analysis.cost_graphs.select import forward_graph, with_weight_loads
from meshloom.support.errors import InputError

from .graphs import random_json

SMALL: dict[str, Any] = {
    "name": "small",
    "tensors": [
        {"id": 7, "shape": [2, 3], "size": 24, "kind": "input"},
        {"id": 8, "shape": [3], "size": 12, "kind": "weight"},
        {"id": 9, "shape": [2], "size": 8, "kind": "act"},
        {"id": 3, "shape": [2], "size": 8, "kind": "grad"},
    ],
    "ops": [
        {"id": 0, "name": "fc", "unit": "MPU", "ins": [7, 8], "outs": [9], "flops": 12, "dur_ns": 5, "phase": "fwd"},
        {"id": 1, "name": "fc.dx", "unit": "VPU", "ins": [9, 9], "outs": [3], "flops": 6, "dur_ns": 4, "phase": "bwd"},
    ],
}


def test_a_graph_is_read(tmp_path: Path) -> None:
    path = tmp_path / "small.json"
    path.write_text(json.dumps(SMALL))
    graph = read_cost_graph(path)
    assert (graph.name, graph.ops, graph.tensors) == ("small", 2, 4)
    assert graph.unit_names == ("MPU", "VPU")
    assert graph.duration.tolist() == [5, 4]
    assert graph.inputs[1].tolist() == [2]  # read twice, listed once
    assert graph.producer.tolist() == [-1, -1, 0, 1]
    assert graph.readers[2].tolist() == [1]
    assert graph.predecessors[1].tolist() == [0]
    assert graph.successors[0].tolist() == [1]
    assert graph.counted.tolist() == [False, False, True, True]


def test_forward_alone() -> None:
    graph = forward_graph(parse_cost_graph(SMALL))
    assert graph.op_names == ("fc",)
    assert graph.tensor_ids == (7, 8, 9)
    with pytest.raises(InputError, match="no operations of phase 'fwd'"):
        forward_graph(parse_cost_graph({"tensors": [], "ops": []}))


def test_weights_are_loaded() -> None:
    graph = with_weight_loads(parse_cost_graph(SMALL), 5e9)
    assert graph.op_names == ("load 8", "fc", "fc.dx")
    assert graph.unit_names[graph.unit[0]] == "DMA"
    assert graph.duration[0] == 3  # 12 bytes at 5 bytes per ns take 2.4 ns, rounded up
    assert graph.predecessors[1].tolist() == [0]
    assert graph.counted.tolist() == [False, True, True, True]
    assert len(set(graph.op_ids)) == 3
    with pytest.raises(InputError, match="positive"):
        with_weight_loads(parse_cost_graph(SMALL), 0)


@pytest.mark.parametrize("seed", range(5))
def test_loads_keep_the_program_in_order(seed: int) -> None:
    graph = with_weight_loads(parse_cost_graph(random_json(seed, 20)), 1e9)
    assert (graph.predecessors.values < graph.predecessors.rows).all()
    assert [name for name in graph.op_names if name.startswith("op")] == [f"op{number}" for number in range(20)]


def changed(*path: str | int, to: object) -> dict[str, Any]:
    copy: Any = json.loads(json.dumps(SMALL))
    place = copy
    for key in path[:-1]:
        place = place[key]
    if to is None:
        del place[path[-1]]
    else:
        place[path[-1]] = to
    return copy


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], "expected an object, found a list"),
        (changed("ops", to=None), "graph has no 'ops'"),
        (changed("ops", to=3), "'ops' is 3, expected a list"),
        (changed("ops", 0, to="x"), r"ops\[0\]: expected an object"),
        (changed("ops", 1, "dur_ns", to=None), r"op 1 \(fc.dx\) has no 'dur_ns'"),
        (changed("ops", 1, "dur_ns", to=-4), "'dur_ns' is -4, expected a whole number from 0"),
        (changed("ops", 1, "dur_ns", to=0.5), "'dur_ns' is 0.5"),
        (changed("ops", 1, "dur_ns", to=float("nan")), "'dur_ns' is NaN"),
        (changed("ops", 1, "dur_ns", to=True), "'dur_ns' is true"),
        (changed("ops", 1, "dur_ns", to=1 << 70), "'dur_ns' is 11"),
        (changed("tensors", 2, "size", to=-1), "tensor 9: 'size' is -1"),
        (changed("tensors", 2, "id", to=8), "tensor 8 is defined twice"),
        (changed("tensors", 2, "shape", to=[2, -1]), "'shape' is a list, expected a list of whole numbers from 0 on"),
        (changed("tensors", 2, "kind", to=5), "'kind' is 5, expected a string"),
        (changed("ops", 1, "id", to=0), r"op 0 \(fc.dx\) is defined twice"),
        (changed("ops", 1, "ins", to=[4]), "'ins' names tensor 4, which is not in 'tensors'"),
        (changed("ops", 1, "outs", to=[9]), r"tensor 9 is computed twice, by op 0 \(fc\) and op 1 \(fc.dx\)"),
        (changed("ops", 1, "ins", to=[3]), r"op 1 \(fc.dx\) depends on itself: it is part of a cycle"),
        (changed("ops", 0, "ins", to=[3]), r"op 0 \(fc\) depends on itself"),
        (changed("ops", 0, "outs", to=[]), r"op 1 \(fc.dx\) reads tensor 9, which no operation computes"),
        (changed("ops", to=SMALL["ops"][::-1]), r"op 1 \(fc.dx\) reads tensor 9 before op 0 \(fc\) computes it"),
    ],
)
def test_errors_state_the_location(data: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_cost_graph(data)


def test_not_json(tmp_path: Path) -> None:
    path = tmp_path / "graph.json"
    for text in (b"", b"{", b"\xff\xfe\x00", b"[" * 100_000):
        path.write_bytes(text)
        with pytest.raises(InputError, match=r"graph\.json is not JSON"):
            read_cost_graph(path)


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["ops", "id", "ins"]), inner, max_size=3)
    ),
)


@given(st.sampled_from([("ops",), ("tensors",), ("ops", 0), ("tensors", 1)]), st.data())
def test_damaged_graphs_raise_input_errors_only(path: tuple[str | int, ...], data: st.DataObject) -> None:
    keys = {1: ["name", "ops", "tensors"], 2: ["id", "name", "unit", "ins", "outs", "dur_ns", "kind", "size", "shape"]}
    where = (*path, data.draw(st.sampled_from(keys[2]))) if len(path) == 2 else path
    junk = data.draw(JUNK)
    try:
        graph = parse_cost_graph(changed(*where, to=junk) if junk is not None else SMALL)
    except InputError:
        return
    assert (graph.predecessors.values < graph.predecessors.rows).all()
    assert graph.duration.dtype == np.int64

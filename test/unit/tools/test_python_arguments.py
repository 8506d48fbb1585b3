"""Tests of the Python API: arguments of a wrong type are `InputError`s, and assumed sizes are warnings."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import onnx
import pytest
from meshloom.support.errors import InputError
from meshloom.support.warn import MeshloomWarning
from onnx import TensorProto, helper

import meshloom
from meshloom import mapping
from meshloom.backend import prepare

api = cast("Any", meshloom)
X = np.zeros((1, 3), np.float32)


def relu(*shape: int | str) -> onnx.ModelProto:
    """A model of y = relu(x)."""
    graph = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_empty_tensor_value_info("y")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


NETWORK = meshloom.compile(relu(1, 3), "tiny")
PIPELINE = meshloom.compile(relu(1, 3), "tiny", chips=1)

CASES: dict[str, tuple[Callable[[], Any], str]] = {
    "model": (lambda: api.compile(123), "model is of type int, expected the path of an .onnx file"),
    "model None": (lambda: api.compile(None), "model is of type NoneType"),
    "chip": (lambda: api.compile(relu(1), 5), "chip is of type int, expected the name of a chip"),
    "shapes": (lambda: api.compile(relu(1), "tiny", [(1, 3)]), "shapes is of type list, expected a mapping"),
    "shape": (lambda: api.compile(relu("n"), "tiny", {"x": 3}), "the shape of 'x' is 3, expected integers"),
    "sizes": (lambda: api.compile(relu("n"), "tiny", {"x": ("1",)}), "the shape of 'x' is"),
    "fraction": (lambda: api.compile(relu("n"), "tiny", {"x": (1.5,)}), "the shape of 'x' is"),
    "negative": (lambda: api.compile(relu("n"), "tiny", {"x": (-1,)}), "a size is negative"),
    "key of shapes": (lambda: api.compile(relu("n"), "tiny", {0: (1,)}), "a key of shapes is of type int"),
    "progress": (lambda: api.compile(relu(1), "tiny", None, 3), "progress is of type int"),
    "subgraphs": (lambda: api.compile(relu(1), subgraphs="whole"), "subgraphs is of type str"),
    "budget": (lambda: api.compile(relu(1), budget="0.5"), "budget is of type str, expected bytes"),
    "chips": (lambda: api.compile(relu(1), chips="2"), "chips is of type str, expected a number of chips"),
    "chips bool": (lambda: api.compile(relu(1), chips=True), "chips is of type bool"),
    "values": (lambda: api.compile(relu(1), values=[3]), "values is of type list"),
    "run array": (lambda: cast("Any", NETWORK).run(X), "inputs is of type ndarray, expected a mapping from the names"),
    "run list": (lambda: cast("Any", NETWORK).run([X]), "inputs is of type list"),
    "run None": (lambda: cast("Any", NETWORK).run(None), "inputs is of type NoneType"),
    "run ragged": (lambda: NETWORK.run({"x": cast("Any", [[1], [1, 2]])}), "input 'x' is not an array"),
    "run object": (lambda: NETWORK.run({"x": cast("Any", object())}), "input 'x' has shape"),
    "pipeline run": (lambda: cast("Any", PIPELINE).run(X), "inputs is of type ndarray"),
    "pipeline stream": (lambda: cast("Any", PIPELINE).run_stream(3), "inputs is of type int, expected a list"),
    "pipeline stream of arrays": (lambda: cast("Any", PIPELINE).run_stream([X]), "inputs is of type ndarray"),
    "load": (lambda: api.load(3), "path is of type int, expected the path of an .mlx file"),
    "save": (lambda: cast("Any", NETWORK).save(3), "path is of type int"),
    "pipeline save": (lambda: cast("Any", PIPELINE).save(None), "path is of type NoneType"),
    "mesh": (lambda: mapping.map_network((), cast("Any", 16)), "mesh is of type int, expected a Mesh"),
    "network": (lambda: mapping.map_network(3, "2x2"), "a network is a Topology"),
    "network of one array": (lambda: mapping.map_network(([0],), "2x2"), "a network of 1 arrays"),
    "topology": (lambda: mapping.read_topology(cast("Any", 3)), "path is of type int"),
    "method": (lambda: mapping.map_network(([0, 0], []), "2x2", method=cast("Any", 3)), "no mapping method"),
    "objective": (lambda: mapping.map_network(([0, 0], []), "2x2", objective=cast("Any", 3)), "objective '3'"),
    "capacity": (
        lambda: mapping.map_network(([0, 0], []), "2x2", capacity=cast("Any", "a")),
        "capacity is of type str",
    ),
    "seed": (lambda: mapping.map_network(([0, 0], []), "2x2", seed=cast("Any", "a")), "seed is of type str"),
    "backend model": (lambda: prepare(cast("Any", 3)), "model is of type int, expected an onnx.ModelProto"),
    "backend inputs": (lambda: prepare(relu(1, 3)).run(3), "inputs is of type int"),
    "backend number of inputs": (lambda: prepare(relu(1, 3)).run([X, X]), "2 inputs are given, the model has 1"),
}


@pytest.mark.parametrize("case", CASES)
def test_wrong_arguments(case: str) -> None:
    call, message = CASES[case]
    with pytest.raises(InputError, match=message):
        call()


def test_paths_as_text_or_path_objects(tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    path.write_bytes(relu(1, 3).SerializeToString())
    for model in (path, str(path)):
        network = meshloom.compile(model, "tiny", {"x": cast("Any", [np.int64(1), 3])})
        for target in (tmp_path / "a.mlx", str(tmp_path / "b.mlx")):
            network.save(target)
            assert isinstance(meshloom.load(target), meshloom.CompiledNetwork)


def test_a_batch_without_a_size_is_a_warning(tmp_path: Path) -> None:
    message = r"input 'x' is \[batch, 3\], dimension 'batch' is taken as 1; set it with .* \(in Python: shapes=\)"
    with pytest.warns(MeshloomWarning, match=message) as caught:
        network = meshloom.compile(relu("batch", 3), "tiny")
    assert [warning.filename for warning in caught] == [__file__]
    assert network.run({"x": X}).outputs["y"].shape == (1, 3)
    path = tmp_path / "net.onnx"
    path.write_bytes(relu("batch", 3).SerializeToString())
    with pytest.warns(MeshloomWarning, match=message):
        mapping.read_topology(path)


def test_a_batch_with_a_size_is_no_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        meshloom.compile(relu("batch", 3), "tiny", {"x": (2, 3)})
        meshloom.compile(relu(1, 3), "tiny")

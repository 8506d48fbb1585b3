"""Shapes that follow from shapes by operators that move numbers: they are known at import, and ONNX Runtime agrees."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper
from reference import check, ints, model_of, random

X = random(2, 3, 4)


def expanded(nodes: list[Any], constants: dict[str, Any], opset: int = 18) -> None:
    """`nodes` make the shape `s` of `shape`, which is X's; 1.5 is expanded to it, and X's sum added."""
    before = [helper.make_node("Shape", ["x"], ["shape"])]
    after = [
        helper.make_node("Expand", ["one", "s"], ["e"]),
        helper.make_node("ReduceSum", ["x"], ["sum"], keepdims=0),
        helper.make_node("Add", ["e", "sum"], ["y"]),
    ]
    constants = {"one": np.float32(1.5), **constants}
    model = model_of(
        [*before, *nodes, *after], {"x": X}, ["y"], {k: np.asarray(v) for k, v in constants.items()}, opset
    )
    check(model, {"x": X})


@pytest.mark.parametrize("largest", [0, 1])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_shape_from_the_largest_dimensions(k: int, largest: int) -> None:
    nodes = [helper.make_node("TopK", ["shape", "k"], ["s", "places"], largest=largest)]
    expanded(nodes, {"k": ints(k)})


@pytest.mark.parametrize("reduction", ["none", "add", "mul", "max", "min"])
@pytest.mark.parametrize("op", ["ScatterND", "ScatterElements"])
def test_shape_with_dimensions_replaced(op: str, reduction: str) -> None:
    indices = np.asarray([[0], [-1]]) if op == "ScatterND" else np.asarray([0, -1])
    nodes = [helper.make_node(op, ["shape", "places", "sizes"], ["s"], reduction=reduction)]
    expanded(nodes, {"places": indices, "sizes": ints(3, 2)})


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.int32, np.uint8])
@pytest.mark.parametrize("reduction", ["none", "add", "mul", "max", "min"])
def test_known_updates_of_known_data(reduction: str, dtype: Any) -> None:
    """Several updates of one place, where they are joined; no operation is left of them."""
    data = np.arange(12).reshape(4, 3).astype(dtype)
    places = np.asarray([[1], [2]]) if reduction == "none" else np.asarray([[1], [1]])
    updates = np.asarray([[5, 1, 2], [3, 7, 4]]).astype(dtype)
    nodes = [
        helper.make_node("ScatterND", ["data", "places", "updates"], ["known"], reduction=reduction),
        helper.make_node("Cast", ["known"], ["floats"], to=1),
        helper.make_node("Add", ["floats", "x"], ["y"]),
    ]
    x = random(4, 3)
    model = model_of(nodes, {"x": x}, ["y"], {"data": data, "places": places, "updates": updates})
    module = check(model, {"x": x})
    assert not [op for op in module.walk() if op.name == "dataflow.scatter"]

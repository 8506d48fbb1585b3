"""Shapes computed from shapes by TopK, scatters and Unique are known at import, and equal ONNX Runtime's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper
from reference import check, ints, model_of, random

X = random(2, 3, 4)


def expanded(nodes: list[Any], constants: dict[str, Any], opset: int = 18) -> None:
    """Check a network whose `nodes` compute `s` from `shape`, the shape of X; 1.5 is expanded to `s`, X's sum added."""
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
    """Scatters of known values are folded, also with several updates of one element where a reduction combines them."""
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


@pytest.mark.parametrize("in_order", [0, 1])
@pytest.mark.parametrize(("values", "axis"), [([5, 2, 5, 3, 2, 2], None), ([5, 2, 5, 3, 2, 2], 0), ([7], -1)])
def test_unique_values_of_a_shape(values: list[int], axis: int | None, in_order: int) -> None:
    """The results of Unique: values, first positions, inverse indices and counts."""
    attributes: dict[str, Any] = {} if axis is None else {"axis": axis}
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Unique", ["s"], ["u", "first", "places", "counts"], sorted=in_order, **attributes),
        helper.make_node("Concat", ["u", "first", "places", "counts"], ["y"], axis=0),
    ]
    x = random(*values)
    check(model_of(nodes, {"x": x}, ["y"]), {"x": x})


@pytest.mark.parametrize("in_order", [0, 1])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_unique_slices_of_known_values(axis: int, in_order: int) -> None:
    data = np.asarray([[3, 1, 3], [0, 2, 0], [3, 1, 3], [0, 1, 0]], np.float32)
    names = ["u", "first", "places", "counts"]
    nodes = [
        helper.make_node("Unique", ["data"], names, axis=axis, sorted=in_order),
        *(helper.make_node("Cast", [name], [f"{name}_floats"], to=1) for name in names),
        *(helper.make_node("Mul", [f"{name}_floats", "x"], [f"{name}_times_x"]) for name in names),
    ]
    x = np.asarray(2, np.float32)
    check(model_of(nodes, {"x": x}, [f"{name}_times_x" for name in names], {"data": data}), {"x": x})

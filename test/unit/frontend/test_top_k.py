"""TopK for any k, with ties and infinities, by each of its implementations, against a stable sort."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from meshloom.dialects.dataflow.interpreter import interpret_function
from meshloom.frontend.onnx_import import import_onnx
from meshloom.support.errors import InputError
from meshloom.tools.api import compile
from numpy.typing import NDArray
from onnx import helper
from reference import ints, model_of

Array = NDArray[Any]


def numbers(shape: tuple[int, ...], kind: str) -> Array:
    """Elements with many ties, or with many of the lowest values of the type."""
    rng = np.random.default_rng(len(shape) + shape[-1])
    match kind:
        case "ties":
            return rng.integers(0, 5, shape).astype(np.float32)
        case "infinite":
            return rng.choice(np.array([-np.inf, np.inf, 0, 1], np.float32), shape, p=[0.6, 0.2, 0.1, 0.1])
        case "least":
            return rng.choice(np.array([-(2**31), 2**31 - 1, 7], np.int32), shape, p=[0.6, 0.2, 0.2])
        case "bytes":
            return rng.integers(0, 3, shape, np.uint8)
        case _:
            return rng.standard_normal(shape).astype(np.float32)


def best(x: Array, k: int, axis: int, largest: int) -> tuple[Array, Array]:
    """The first k elements of a stable sort, and their indices; of equal elements, the first comes first."""
    keys = x.astype(np.float64)
    order = np.argsort(-keys if largest else keys, axis=axis, kind="stable").take(range(k), axis)
    return np.take_along_axis(x, order, axis), order


def check(x: Array, k: int, axis: int = -1, largest: int = 1, chip: str = "") -> None:
    """Compare TopK, interpreted or on a chip, with `best`."""
    node = helper.make_node("TopK", ["x", "k"], ["values", "places"], axis=axis, largest=largest)
    model = model_of([node], {"x": x}, ["values", "places"], {"k": ints(k)}, opset=18)
    if chip:
        got = compile(model, chip).run({"x": x}, check=True).outputs
    else:
        got = interpret_function(import_onnx(model), {"x": x})
    values, places = best(x, k, axis, largest)
    np.testing.assert_array_equal(got["places"], places)
    np.testing.assert_array_equal(got["values"], values)


@pytest.mark.parametrize("kind", ["normal", "ties", "infinite", "least", "bytes"])
@pytest.mark.parametrize(("size", "k"), [(1, 1), (9, 1), (9, 4), (9, 9), (700, 3), (700, 65), (700, 180), (300, 300)])
@pytest.mark.parametrize("largest", [0, 1])
def test_any_k(kind: str, size: int, k: int, largest: int) -> None:
    check(numbers((2, size), kind), k, largest=largest)


@pytest.mark.parametrize("axis", [0, 1, 2, -2])
def test_any_axis(axis: int) -> None:
    check(numbers((6, 5, 7), "ties"), 4, axis)


def test_long_rows_are_cut_into_pieces() -> None:
    """With k = 70, 2,100 elements are cut into eight pieces, the last one not full, and the best of those into two."""
    check(numbers((2, 2100), "infinite"), 70)
    check(numbers((2, 2100), "least"), 70, largest=0)


@pytest.mark.parametrize(
    ("size", "k", "chip"), [(200, 100, "tiny"), (40, 40, "edge"), (900, 3, "edge"), (900, 65, "edge")]
)
def test_on_the_chip(size: int, k: int, chip: str) -> None:
    check(numbers((1, size), "infinite"), k, chip=chip)


def test_nan_comes_first() -> None:
    x = np.array([[1, np.nan, 3, -np.inf, np.nan, 2]], np.float32)
    model = model_of([helper.make_node("TopK", ["x", "k"], ["v", "i"])], {"x": x}, ["v", "i"], {"k": ints(6)}, opset=18)
    assert interpret_function(import_onnx(model), {"x": x})["i"].tolist() == [[1, 4, 2, 5, 0, 3]]


def test_k_of_0_and_above_the_size() -> None:
    check(numbers((2, 9), "normal"), 0)
    with pytest.raises(InputError, match=r"operator TopK .* k = 10 is not within 0 and the size 9 of axis 1"):
        check(numbers((2, 9), "normal"), 10)

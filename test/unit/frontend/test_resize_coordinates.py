"""Resize selects nearest elements by exact coordinates, also where those are integers or halfway between two."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from meshloom.dialects.dataflow.interpreter import interpret_function
from meshloom.frontend.onnx_import import import_onnx
from meshloom.support.errors import InputError
from onnx import helper
from reference import check, ints, model_of, random

HALF = Fraction(1, 2)
PLACES: dict[str, Callable[[int, Fraction, int, int], Fraction]] = {
    "half_pixel": lambda i, scale, size, length: (i + HALF) / scale - HALF,
    "asymmetric": lambda i, scale, size, length: i / scale,
    "align_corners": lambda i, scale, size, length: Fraction(i * (size - 1), max(1, length - 1)),
    "half_pixel_symmetric": lambda i, scale, size, length: (
        Fraction(size, 2) * (1 - length / (scale * size)) + (i + HALF) / scale - HALF
    ),
    "pytorch_half_pixel": lambda i, scale, size, length: (i + HALF) / scale - HALF if length > 1 else Fraction(0),
}
"""ONNX's formulas."""
ROUND: dict[str, Callable[[Fraction], int]] = {
    "floor": math.floor,
    "ceil": math.ceil,
    "round_prefer_floor": lambda place: math.ceil(place - HALF),
    "round_prefer_ceil": lambda place: math.floor(place + HALF),
}


def resized(x: Any, operands: list[str], constants: dict[str, Any], **attributes: Any) -> list[float]:
    node = helper.make_node("Resize", operands, ["y"], **attributes)
    model = model_of([node], {"x": x}, ["y"], constants, opset=18)
    return interpret_function(import_onnx(model), {"x": x})["y"].reshape(-1).tolist()


@pytest.mark.parametrize("nearest", ROUND)
@pytest.mark.parametrize("transform", PLACES)
def test_nearest_elements_for_sizes(transform: str, nearest: str) -> None:
    for size, length in [(15, 1), (7, 17), (10, 14), (15, 11), (14, 17), (20, 14), (18, 21), (20, 24), (23, 7), (3, 9)]:
        x = np.arange(size, dtype=np.float32)
        scale = Fraction(length, size)
        places = [PLACES[transform](i, scale, size, length) for i in range(length)]
        expected = [min(max(ROUND[nearest](place), 0), size - 1) for place in places]
        got = resized(
            x,
            ["x", "", "", "sizes"],
            {"sizes": ints(length)},
            mode="nearest",
            nearest_mode=nearest,
            coordinate_transformation_mode=transform,
        )
        assert got == expected, (size, length)


@pytest.mark.parametrize("nearest", ROUND)
@pytest.mark.parametrize("scale", [1 / 3, 0.7, 1.2, 3.0, 2.5, 0.5])
@pytest.mark.parametrize("transform", PLACES)
def test_nearest_elements_for_scales(transform: str, scale: float, nearest: str) -> None:
    """The exact scale is the f32 that is in the file."""
    exact = Fraction(float(np.float32(scale)))
    x = np.arange(15, dtype=np.float32)
    length = math.floor(15 * exact + Fraction(1, 10**7))
    places = [PLACES[transform](i, exact, 15, length) for i in range(length)]
    expected = [min(max(ROUND[nearest](place), 0), 14) for place in places]
    constants = {"scales": np.asarray([scale], np.float32)}
    attributes = {"mode": "nearest", "nearest_mode": nearest, "coordinate_transformation_mode": transform}
    assert resized(x, ["x", "", "scales"], constants, **attributes) == expected


@pytest.mark.parametrize("shape", [(0, 3), (3, 0)])
@pytest.mark.parametrize("given", ["sizes", "scales"])
def test_empty_tensors_are_resized_to_empty_tensors(shape: tuple[int, int], given: str) -> None:
    twice = [2 * size for size in shape]
    operands = ["x", "", "", "sizes"] if given == "sizes" else ["x", "", "scales"]
    constants = {"sizes": ints(*twice)} if given == "sizes" else {"scales": np.asarray([2, 2], np.float32)}
    x = random(*shape)
    check(model_of([helper.make_node("Resize", operands, ["y"], mode="nearest")], {"x": x}, ["y"], constants), {"x": x})


@pytest.mark.parametrize(
    ("scales", "words"),
    [
        ([0, 1], "scales .* each must be a number above 0"),
        ([-1, 1], "scales .* each must be a number above 0"),
        ([math.nan, 1], "scales .* each must be a number above 0"),
        ([math.inf, 1], "scales .* each must be a number above 0"),
        ([1, 2, 1], "3 scales are given for 2 axes"),
    ],
)
def test_invalid_scales_are_refused(scales: list[float], words: str) -> None:
    x = random(2, 3)
    for op, opset, operands in (
        ("Resize", 18, ["x", "", "s"]),
        ("Resize", 10, ["x", "s"]),
        ("Upsample", 9, ["x", "s"]),
    ):
        node = helper.make_node(op, operands, ["y"], mode="nearest")
        model = model_of([node], {"x": x}, ["y"], {"s": np.asarray(scales, np.float32)}, opset)
        with pytest.raises(InputError, match=f"operator {op} .*{words}"):
            import_onnx(model)


@pytest.mark.parametrize(
    ("sizes", "words"),
    [([0, 3], "each must be above 0"), ([-1, 3], "each must be above 0"), ([3], "1 sizes are given for 2 axes")],
)
def test_invalid_sizes_are_refused(sizes: list[int], words: str) -> None:
    x = random(2, 3)
    node = helper.make_node("Resize", ["x", "", "", "s"], ["y"], mode="nearest")
    with pytest.raises(InputError, match=f"operator Resize .*{words}"):
        import_onnx(model_of([node], {"x": x}, ["y"], {"s": ints(*sizes)}))


@pytest.mark.filterwarnings("error")
def test_a_region_outside_of_the_operand_has_the_extrapolation_value() -> None:
    constants = {"region": np.asarray([0, 1.4, 1, 2.6], np.float32), "scales": np.asarray([1, 2], np.float32)}
    got = resized(
        random(2, 6),
        ["x", "region", "scales"],
        constants,
        mode="cubic",
        exclude_outside=1,
        extrapolation_value=0.5,
        coordinate_transformation_mode="tf_crop_and_resize",
    )
    assert got == [0.5] * 24

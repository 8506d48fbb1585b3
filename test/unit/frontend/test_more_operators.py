"""Operators of signals, sampling, optimisers and inverse trigonometry, each against ONNX Runtime or numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from meshloom.dialects.dataflow.interpreter import interpret_function
from meshloom.frontend.onnx_import import import_onnx
from meshloom.support.errors import InputError
from onnx import helper
from onnx.reference import ReferenceEvaluator
from reference import check_node, ints, model_of, random


@pytest.mark.parametrize("op", ["Asin", "Acos", "Atan"])
def test_inverse_trigonometry(op: str) -> None:
    inside = np.concatenate([np.linspace(-1, 1, 201), [0, 1e-8, -1e-20, np.nan]])
    x = (np.concatenate([inside, [1e30, -7, 2.4, np.inf, -np.inf]]) if op == "Atan" else inside).astype(np.float32)
    check_node(op, [x], tolerance=5e-7)
    wide = x.astype(np.float64)
    model = model_of([helper.make_node(op, ["x"], ["y"])], {"x": wide}, ["y"])
    exact = {"Asin": np.arcsin, "Acos": np.arccos, "Atan": np.arctan}[op](wide)
    np.testing.assert_allclose(interpret_function(import_onnx(model), {"x": wide})["y"], exact, rtol=1e-14, atol=2e-15)


@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("attributes", [{}, {"inverse": 1}, {"onesided": 1}])
@pytest.mark.parametrize("length", [None, 5, 12])
def test_fourier_transform(parts: int, attributes: dict[str, int], length: int | None) -> None:
    if parts == 2 and "onesided" in attributes:
        return
    x = random(2, 9, 3, parts)
    known = {} if length is None else {1: np.asarray(length, np.int64)}
    # ONNX Runtime computes the angles in f32.
    check_node("DFT", [x], known, axis=1, opset=17, tolerance=5e-5, **attributes)
    check_node("DFT", [x], {**known, 2: np.asarray(-3, np.int64)}, opset=20, tolerance=5e-5, **attributes)


@pytest.mark.parametrize("length", [8, 9])
def test_inverse_transform_of_a_real_spectrum(length: int) -> None:
    x = random(3, length)
    spectrum = np.fft.rfft(x)
    halves = np.stack([spectrum.real, spectrum.imag], -1).astype(np.float32)
    node = helper.make_node("DFT", ["x", "n"], ["y"], inverse=1, onesided=1)
    model = model_of([node], {"x": halves}, ["y"], {"n": np.asarray(length, np.int64)}, opset=20)
    got = interpret_function(import_onnx(model), {"x": halves})["y"]
    np.testing.assert_allclose(got[..., 0], x, atol=1e-6)


@pytest.mark.parametrize("window", [True, False])
@pytest.mark.parametrize("onesided", [0, 1])
def test_short_time_fourier_transform(window: bool, onesided: int) -> None:
    operands = {1: np.asarray(3, np.int64), 3: np.asarray(8, np.int64)}
    shape = {2: np.hanning(8).astype(np.float32)} if window else {}
    check_node("STFT", [random(2, 30, 1)], {**operands, **shape}, onesided=onesided, tolerance=1e-5)


def test_mel_weights() -> None:
    sizes = [np.asarray(size, np.int64) for size in (8, 64, 8000)]
    edges = [np.asarray(edge, np.float32) for edge in (100, 3900)]
    check_node("MelWeightMatrix", [], dict(enumerate([*sizes, *edges])))


@pytest.mark.parametrize("mode", ["linear", "nearest", "cubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("align", [0, 1])
def test_grid_sample(mode: str, padding: str, align: int) -> None:
    grid = (np.random.default_rng(1).random((2, 3, 4, 2)) * 3.2 - 1.6).astype(np.float32)
    attributes: dict[str, Any] = {"mode": mode, "padding_mode": padding, "align_corners": align}
    check_node("GridSample", [random(2, 3, 5, 4), grid], opset=20, tolerance=2e-5, **attributes)
    attributes["mode"] = {"linear": "bilinear", "cubic": "bicubic"}.get(mode, mode)
    check_node("GridSample", [random(2, 3, 5, 1), grid], opset=16, tolerance=2e-5, **attributes)


@pytest.mark.parametrize("mode", ["linear", "nearest"])
def test_grid_sample_in_space(mode: str) -> None:
    grid = (np.random.default_rng(1).random((1, 2, 3, 2, 3)) * 2.4 - 1.2).astype(np.float32)
    check_node("GridSample", [random(1, 2, 3, 4, 5), grid], opset=20, mode=mode)


def test_max_unpool() -> None:
    x = random(2, 3, 4, 6)
    places = np.stack([np.arange(24).reshape(4, 6)[::2, ::2] + 24 * plane for plane in range(6)])
    places = places.reshape(2, 3, 2, 3).astype(np.int64)
    values = np.ascontiguousarray(x[:, :, ::2, ::2])
    check_node("MaxUnpool", [values, places], kernel_shape=[2, 2], strides=[2, 2])


@pytest.mark.parametrize(
    "attributes", [{}, {"strides": [2, 1], "pads": [1, 0, 1, 2]}, {"dilations": [1, 2], "pads": [1, 1, 1, 1]}]
)
def test_columns_to_image(attributes: dict[str, Any]) -> None:
    strides, pads = attributes.get("strides", [1, 1]), attributes.get("pads", [0] * 4)
    dilations = attributes.get("dilations", [1, 1])
    steps = [
        (size + pads[axis] + pads[axis + 2] - (k - 1) * dilations[axis] - 1) // strides[axis] + 1
        for axis, (size, k) in enumerate(((5, 2), (6, 3)))
    ]
    check_node("Col2Im", [random(2, 12, steps[0] * steps[1])], {1: ints(5, 6), 2: ints(2, 3)}, **attributes)


@pytest.mark.parametrize(("exclusive", "reverse"), [(0, 0), (1, 0), (0, 1), (1, 1)])
def test_cumulative_product(exclusive: int, reverse: int) -> None:
    x = np.random.default_rng(0).integers(-2, 4, (3, 7)).astype(np.int64)
    node = helper.make_node("CumProd", ["x", "axis"], ["y"], exclusive=exclusive, reverse=reverse)
    model = model_of([node], {"x": x}, ["y"], {"axis": np.asarray(1, np.int64)}, opset=26)
    turned = x[:, ::-1] if reverse else x
    products = np.cumprod(turned, 1)
    if exclusive:
        products = np.concatenate([np.ones((3, 1), np.int64), products[:, :-1]], 1)
    expected = products[:, ::-1] if reverse else products
    np.testing.assert_array_equal(interpret_function(import_onnx(model), {"x": x})["y"], expected)


@pytest.mark.parametrize("mode", ["linear", "circular"])
def test_cache_update(mode: str) -> None:
    cache, update = random(2, 3, 6, 4), random(2, 3, 2, 4, seed=1)
    starts = ints(1, 5) if mode == "circular" else ints(0, 4)
    node = helper.make_node("TensorScatter", ["cache", "update", "starts"], ["y"], mode=mode)
    given = {"cache": cache, "update": update, "starts": starts}
    expected = cache.copy()
    for batch, start in enumerate(starts):
        for row in range(2):
            expected[batch, :, (start + row) % 6] = update[batch, :, row]
    got = interpret_function(import_onnx(model_of([node], given, ["y"], opset=24)), given)["y"]
    np.testing.assert_array_equal(got, expected)


def test_adam_step() -> None:
    x, gradient, mean = (random(4, seed=seed) for seed in range(3))
    squares = np.abs(random(4, seed=3))
    rate, times = np.asarray(0.1, np.float32), np.asarray(3, np.int64)
    operands = {"r": rate, "t": times, "x": x, "g": gradient, "v": mean, "h": squares}
    attributes: dict[str, Any] = {"alpha": 0.9, "beta": 0.99, "epsilon": 1e-5, "norm_coefficient": 0.01}
    node = helper.make_node("Adam", list(operands), ["nx", "nv", "nh"], domain="ai.onnx.preview.training", **attributes)
    model = model_of([node], operands, ["nx", "nv", "nh"])
    model.opset_import.append(helper.make_opsetid("ai.onnx.preview.training", 1))
    got = interpret_function(import_onnx(model), operands)
    full = gradient + 0.01 * x
    new_mean, new_squares = 0.9 * mean + 0.1 * full, 0.99 * squares + 0.01 * full**2
    step = 0.1 * np.sqrt(1 - 0.99**3) / (1 - 0.9**3)
    np.testing.assert_allclose(got["nv"], new_mean, rtol=1e-5)
    np.testing.assert_allclose(got["nh"], new_squares, rtol=1e-5)
    np.testing.assert_allclose(got["nx"], x - step * new_mean / (np.sqrt(new_squares) + 1e-5), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "attributes", [{"auto_pad": "SAME_UPPER", "strides": [3, 3]}, {"auto_pad": "SAME_LOWER", "strides": [3, 1]}]
)
def test_transposed_convolution_with_wide_strides_gets_no_negative_padding(attributes: dict[str, Any]) -> None:
    check_node("ConvTranspose", [random(1, 4, 4, 4)], {1: random(4, 3, 2, 2, seed=1)}, **attributes)


@pytest.mark.parametrize(("dtype", "epsilon"), [("f2", 2.0**-10), ("f4", 2.0**-23), ("f8", 2.0**-52)])
@pytest.mark.parametrize("at_run_time", [False, True])
def test_seeded_dropout_draws_the_mask_of_the_reference(dtype: str, epsilon: float, at_run_time: bool) -> None:
    x = random(7, 300).astype(dtype)
    for training in (False, True):
        operands: dict[str, Any] = {"x": x, "ratio": np.asarray(0.3, dtype), "training": np.asarray(training)}
        node = helper.make_node("Dropout", list(operands), ["y", "mask"], seed=11)
        given: dict[str, Any] = operands if at_run_time else {"x": x}
        rest = {name: array for name, array in operands.items() if name not in given}
        model = model_of([node], given, ["y", "mask"], rest, opset=22)
        reference: Any = ReferenceEvaluator(model)
        wanted, mask = reference.run(None, given)
        got = interpret_function(import_onnx(model), given)
        np.testing.assert_array_equal(got["mask"], mask)
        assert training != bool(mask.all())
        # The reference scales in f64 if the ratio is a Python number or an f64, which is one rounding more or less.
        np.testing.assert_allclose(got["y"], wanted, rtol=2 * epsilon)


def test_dropout_without_a_seed_is_refused_in_training() -> None:
    x, half = random(4, 4), np.asarray(0.5, np.float32)
    node = helper.make_node("Dropout", ["x", "ratio", "training"], ["y"])
    model = model_of([node], {"x": x}, ["y"], {"ratio": half, "training": np.asarray(True)}, opset=22)
    with pytest.raises(InputError, match="give the node a seed"):
        import_onnx(model)

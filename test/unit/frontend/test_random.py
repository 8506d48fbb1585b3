"""Random numbers: those of ONNX Runtime where it has the operator and a seed, and by the shares of large samples."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import onnx
import pytest
from meshloom.dialects.dataflow.interpreter import interpret_function
from meshloom.frontend.minimal_standard import MODULUS, MULTIPLIER, MinimalStandard
from meshloom.frontend.onnx_import import import_onnx
from meshloom.support.errors import InputError
from onnx import TensorProto, helper
from reference import Array, model_of, run_reference

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="ONNX Runtime draws other numbers elsewhere")


def results(model: onnx.ModelProto, inputs: dict[str, Array]) -> dict[str, Array]:
    """What the imported model computes."""
    module = import_onnx(model)
    module.verify()
    return interpret_function(module, dict(inputs))


def one(kind: str, x: Any = None, **attributes: Any) -> tuple[onnx.ModelProto, dict[str, Array]]:
    """A model of one node, with an operand x if one is given."""
    inputs = {} if x is None else {"x": x}
    node = helper.make_node(kind, list(inputs), ["y"], **attributes)
    return model_of([node], inputs, ["y"], opset=21), inputs


@pytest.mark.parametrize("seed", [0, 1, 7, MODULUS - 1, MODULUS + 5])
@pytest.mark.parametrize("count", [1, 2, 3, 100])
def test_the_generator_follows_its_recurrence(seed: int, count: int) -> None:
    state = seed % MODULUS or 1
    expected: list[np.float32] = []
    for _ in range(2 * count):
        state = state * MULTIPLIER % MODULUS
        expected.append(np.float32(state - 1) / np.float32(MODULUS - 1))
    generator = MinimalStandard(seed)
    got = np.concatenate([generator.floats(count), generator.floats(count)])
    np.testing.assert_array_equal(got, np.array(expected, np.float32))


@LINUX
@pytest.mark.parametrize("dtype", [TensorProto.FLOAT, TensorProto.DOUBLE], ids=["f32", "f64"])
@pytest.mark.parametrize(
    ("kind", "attributes"),
    [("RandomUniform", {"low": -3.0, "high": 0.5}), ("RandomNormal", {"mean": 2.0, "scale": 0.25})],
)
@pytest.mark.parametrize("seed", [0.0, 3.7, 123456.0])
def test_numbers_with_a_seed_are_those_of_onnx_runtime(
    kind: str, attributes: dict[str, Any], dtype: int, seed: float
) -> None:
    given = {**attributes, "dtype": dtype, "seed": seed}
    x = np.zeros((5, 7), np.float32)
    for model, inputs in (one(kind, shape=[5, 7], **given), one(f"{kind}Like", x, **given)):
        expected = run_reference(model, inputs)["y"]
        got = results(model, inputs)["y"]
        assert got.dtype == expected.dtype
        np.testing.assert_allclose(got, expected, rtol=4e-7 if dtype == TensorProto.FLOAT else 1e-15)


@LINUX
@pytest.mark.parametrize("dtype", [TensorProto.INT32, TensorProto.INT64])
def test_multinomial_classes_are_those_of_onnx_runtime(dtype: int) -> None:
    x = np.random.default_rng(0).standard_normal((1, 9)).astype(np.float32)
    model, inputs = one("Multinomial", x, sample_size=300, seed=5.0, dtype=dtype)
    expected = run_reference(model, inputs)["y"]
    got = results(model, inputs)["y"]
    assert got.dtype == expected.dtype
    np.testing.assert_array_equal(got, expected)


def test_multinomial_draws_by_the_share_of_each_class() -> None:
    share = np.array([[0.1, 0.0, 0.6, 0.3], [0.25, 0.25, 0.25, 0.25]], np.float32)
    with np.errstate(divide="ignore"):
        got = results(*one("Multinomial", np.log(share), sample_size=4000, seed=1.0))["y"]
    counted = np.stack([np.bincount(row, minlength=4) for row in got]) / 4000
    np.testing.assert_allclose(counted, share, atol=0.03)  # four standard deviations
    assert counted[0, 1] == 0


@pytest.mark.parametrize("dtype", [TensorProto.FLOAT, TensorProto.BOOL, TensorProto.INT64, None])
def test_bernoulli_gives_1_with_the_given_probability(dtype: int | None) -> None:
    x = np.repeat(np.array([0, 0.2, 0.9, 1], np.float32), 4000).reshape(4, 4000)
    given = {} if dtype is None else {"dtype": dtype}
    got = results(*one("Bernoulli", x, **given))["y"]
    assert got.dtype == (np.float32 if dtype is None else helper.tensor_dtype_to_np_dtype(dtype))
    assert set(np.unique(got).tolist()) == {0, 1}
    np.testing.assert_allclose(got.astype(np.float64).mean(axis=1), [0, 0.2, 0.9, 1], atol=0.03)
    assert not got[0].any()
    assert got[3].all()


def test_nodes_without_a_seed_draw_different_numbers_the_same_in_every_import() -> None:
    nodes = [helper.make_node("RandomNormal", [], [name], shape=[100]) for name in ("a", "b")]
    model = model_of(nodes, {}, ["a", "b"])
    first, second = results(model, {}), results(model, {})
    assert not np.isclose(first["a"], first["b"]).any()
    for name in ("a", "b"):
        np.testing.assert_array_equal(first[name], second[name])


def test_numbers_in_the_body_of_a_loop_are_refused() -> None:
    drawn = helper.make_node("RandomNormalLike", ["c"], ["noise"], name="draw")
    added = helper.make_node("Add", ["c", "noise"], ["d"])
    kept = helper.make_node("Identity", ["go"], ["on"])
    values = {name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in ("c", "d")}
    numbers = [
        helper.make_tensor_value_info("i", TensorProto.INT64, []),
        *[helper.make_tensor_value_info(name, TensorProto.BOOL, []) for name in ("go", "on")],
    ]
    body = helper.make_graph([drawn, added, kept], "body", [*numbers[:2], values["c"]], [numbers[2], values["d"]])
    loop = helper.make_node("Loop", ["n", "", "x"], ["y"], body=body)
    model = model_of([loop], {"x": np.zeros(4, np.float32)}, ["y"], {"n": np.array(3)})
    with pytest.raises(InputError, match="node draw: random numbers inside a subgraph would be the same in each step"):
        import_onnx(model)

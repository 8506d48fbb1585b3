"""Convolutions and matrix products with fused activations, and variants of Gelu, against ONNX Runtime's own kernels."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from meshloom.frontend.onnx_import import import_onnx
from meshloom.support.errors import InputError
from onnx import helper
from reference import check_node, model_of, random

check_microsoft = partial(check_node, domain="com.microsoft")

CONV_ACTIVATIONS: list[tuple[str, list[float]]] = [
    ("Relu", []),
    ("Tanh", []),
    ("Sigmoid", []),
    ("LeakyRelu", [0.3]),
    ("Clip", [-0.5, 0.75]),
    ("HardSigmoid", [0.3, 0.4]),
]


@pytest.mark.parametrize(("name", "params"), CONV_ACTIVATIONS)
@pytest.mark.parametrize("addend", [False, True])
def test_fused_conv(name: str, params: list[float], addend: bool) -> None:
    inputs = [random(1, 4, 7, 6), None, None, random(1, 6, 4, 6, seed=4)] if addend else [random(1, 4, 7, 6)]
    known = {1: random(6, 2, 3, 3, seed=1), 2: random(6, seed=2)}
    attributes: dict[str, Any] = {"activation_params": params} if params else {}
    check_microsoft(
        "FusedConv", inputs, known, activation=name, group=2, strides=[2, 1], pads=[1, 1, 1, 1], **attributes
    )


@pytest.mark.parametrize("attributes", [{}, {"auto_pad": "SAME_LOWER", "strides": [2, 2]}, {"dilations": [2, 1]}])
def test_fused_conv_has_the_windows_of_conv(attributes: dict[str, Any]) -> None:
    check_microsoft("FusedConv", [random(2, 3, 9, 8)], {1: random(4, 3, 3, 3, seed=1)}, activation="Relu", **attributes)


def test_an_unknown_activation_is_refused() -> None:
    node = helper.make_node("FusedConv", ["x", "w"], ["y"], name="c", domain="com.microsoft", activation="Sinc")
    model = model_of([node], {"x": random(1, 1, 3, 3)}, ["y"], {"w": random(1, 1, 1, 1)})
    with pytest.raises(InputError, match=r"FusedConv.*activation 'Sinc' is unknown"):
        import_onnx(model)


@pytest.mark.parametrize(
    ("name", "numbers"),
    [
        ("Relu", {}),
        ("Tanh", {}),
        ("Sigmoid", {}),
        ("Softplus", {}),
        ("Softsign", {}),
        ("LeakyRelu", {"activation_alpha": 0.2}),
        ("Elu", {"activation_alpha": 0.7}),
        ("ThresholdedRelu", {"activation_alpha": 0.7}),
        ("HardSigmoid", {"activation_alpha": 0.3, "activation_beta": 0.4}),
    ],
)
def test_fused_gemm(name: str, numbers: dict[str, float]) -> None:
    attributes: dict[str, Any] = {"activation": name, **numbers} if name else {}
    known = {1: random(5, 4, seed=1), 2: random(5, seed=2)}
    check_microsoft("FusedGemm", [random(4, 3)], known, transA=1, transB=1, alpha=0.5, beta=2.0, **attributes)
    check_microsoft("FusedGemm", [random(3, 4), random(4, 5, seed=1)], **attributes)


@settings(deadline=None, max_examples=60, derandomize=True)
@given(
    batch=st.lists(st.integers(1, 3), max_size=2),
    sizes=st.tuples(st.integers(1, 5), st.integers(1, 5), st.integers(1, 5)),
    flips=st.tuples(*[st.booleans()] * 4),
    flat=st.booleans(),
    alpha=st.sampled_from([1.0, 0.25, -3.0]),
    known=st.sampled_from([(), (0,), (1,), (0, 1)]),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_fused_matmul(
    batch: list[int],
    sizes: tuple[int, int, int],
    flips: tuple[bool, bool, bool, bool],
    flat: bool,
    alpha: float,
    known: tuple[int, ...],
    dtype: Any,
) -> None:
    """
    `flat`: the right operand is one matrix for the whole batch or, without a batch, a vector.

    Products with a vector are tested without transposition: ONNX Runtime would read the matrix with swapped sizes.
    """
    rows, depth, columns = sizes
    turn_a, turn_b, batch_a, batch_b = (one and (bool(batch) or not flat) for one in flips)
    batch_a, batch_b = (one and bool(batch) and not flat for one in (batch_a, batch_b))
    left = [depth, rows] if turn_a else [rows, depth]
    right = [columns, depth] if turn_b else [depth, columns]
    x = random(*([left[0], *batch, left[1]] if batch_a else [*batch, *left])).astype(dtype)
    if flat:
        y = random(*(right if batch else [depth]), seed=1).astype(dtype)
    else:
        y = random(*([right[0], *batch, right[1]] if batch_b else [*batch, *right]), seed=1).astype(dtype)
    operands = [x, y]
    check_microsoft(
        "FusedMatMul",
        [None if index in known else one for index, one in enumerate(operands)],
        {index: operands[index] for index in known},
        transA=int(turn_a),
        transB=int(turn_b),
        transBatchA=int(batch_a),
        transBatchB=int(batch_b),
        alpha=alpha,
    )


WIDE = np.linspace(-6, 6, 40, dtype=np.float32).reshape(2, 4, 5)


@pytest.mark.parametrize(
    ("op", "bias", "attributes"),
    [
        ("Gelu", False, {}),
        ("BiasGelu", True, {}),
        ("FastGelu", False, {}),
        ("FastGelu", True, {}),
        ("QuickGelu", False, {}),
        ("QuickGelu", False, {"alpha": 1.0}),
        ("QuickGelu", False, {"alpha": -0.5}),
    ],
)
def test_gelu(op: str, bias: bool, attributes: dict[str, Any]) -> None:
    check_microsoft(op, [WIDE, random(5)] if bias else [WIDE], **attributes)

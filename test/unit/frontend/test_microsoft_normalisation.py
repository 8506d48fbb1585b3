"""Normalisation of layers, of sums and of embeddings, also by root mean square, against ONNX Runtime's own kernels."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import Array, check_node, random

check_microsoft = partial(check_node, domain="com.microsoft")
OPTIONS = settings(deadline=None, max_examples=30, derandomize=True)
TOLERANCE = {np.float32: 1e-5, np.float16: 4e-3}


@OPTIONS
@given(
    skip=st.sampled_from([(2, 3, 8), (1, 3, 8), (3, 8)]),
    beta=st.booleans(),
    bias=st.booleans(),
    shown=st.booleans(),
    epsilon=st.sampled_from([None, 1e-5, 0.5]),
    dtype=st.sampled_from([np.float32, np.float16]),
)
def test_skip_layer_normalization(
    skip: tuple[int, ...], beta: bool, bias: bool, shown: bool, epsilon: float | None, dtype: Any
) -> None:
    operands = [random(2, 3, 8), random(*skip, seed=1)]
    known = {
        2: random(8, seed=2),
        **({3: random(8, seed=3)} if beta else {}),
        **({4: random(8, seed=4)} if bias else {}),
    }
    attributes: dict[str, Any] = {} if epsilon is None else {"epsilon": epsilon}
    _check("SkipLayerNormalization", operands, known, 4 if shown else 1, dtype, attributes)


@OPTIONS
@given(
    shape=st.sampled_from([(2, 3, 8), (6, 8)]),
    bias=st.booleans(),
    shown=st.booleans(),
    epsilon=st.sampled_from([None, 1e-5, 0.5]),
    dtype=st.sampled_from([np.float32, np.float16]),
)
def test_skip_simplified_layer_normalization(
    shape: tuple[int, ...], bias: bool, shown: bool, epsilon: float | None, dtype: Any
) -> None:
    operands = [random(*shape), random(*shape, seed=1)]
    known = {2: random(8, seed=2), **({3: random(8, seed=4)} if bias else {})}
    attributes: dict[str, Any] = {} if epsilon is None else {"epsilon": epsilon}
    _check("SkipSimplifiedLayerNormalization", operands, known, 4 if shown else 1, dtype, attributes)


@pytest.mark.parametrize("axis", [-1, 1, 2])
@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("epsilon", [None, 0.25])
def test_simplified_layer_normalization(axis: int, outputs: int, epsilon: float | None) -> None:
    x = random(2, 3, 8)
    attributes: dict[str, Any] = {} if epsilon is None else {"epsilon": epsilon}
    scale = random(*x.shape[axis:], seed=1)
    check_node("SimplifiedLayerNormalization", [x], {1: scale}, outputs=outputs, axis=axis, **attributes)


def _check(
    op: str, operands: list[Array], known: dict[int, Array], outputs: int, dtype: Any, attributes: dict[str, Any]
) -> None:
    """Compare the first output and, of four, the last; ONNX Runtime does not compute those between."""
    names = ["y0"] if outputs == 1 else ["y0", "", "", "y3"]
    check_microsoft(
        op,
        [one.astype(dtype) for one in operands],
        {index: one.astype(dtype) for index, one in known.items()},
        outputs=names,
        tolerance=TOLERANCE[dtype],
        **attributes,
    )


@OPTIONS
@given(
    segments=st.booleans(),
    mask=st.booleans(),
    positions=st.sampled_from([None, 1, 2]),
    known=st.booleans(),
    seed=st.integers(0, 99),
)
def test_embed_layer_normalization(segments: bool, mask: bool, positions: int | None, known: bool, seed: int) -> None:
    """`positions`: none are given, one row for all entries, or a row for each entry."""
    rng = np.random.default_rng(seed)
    words = rng.integers(0, 7, (2, 4), np.int32)
    operands: dict[int, Array | None] = {
        1: rng.integers(0, 2, (2, 4), np.int32) if segments else None,
        2: random(7, 8, seed=seed),
        3: random(6, 8, seed=seed + 1),
        4: random(2, 8, seed=seed + 2) if segments else None,
        5: random(8, seed=seed + 3),
        6: random(8, seed=seed + 4),
    }
    if mask:
        operands[7] = rng.integers(0, 2, (2, 4), np.int32)
    if positions is not None:
        operands |= {7: operands.get(7), 8: rng.integers(0, 6, (positions, 4), np.int32)}
    given = {index: one for index, one in operands.items() if one is not None}
    inputs = [words] if known else [words, *(operands[index] for index in sorted(operands))]
    check_microsoft("EmbedLayerNormalization", inputs, given if known else {}, outputs=3)

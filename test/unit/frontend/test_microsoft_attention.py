"""Attention against ONNX Runtime's own kernels, over masks, biases, packings and caches."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from meshloom.dialects.dataflow.interpreter import interpret_function
from meshloom.frontend.onnx_import import import_onnx
from meshloom.support.errors import InputError
from onnx import helper
from reference import FLOAT, Array, check, check_node, model_of, random

check_microsoft = partial(check_node, domain="com.microsoft", tolerance=2e-5)
OPTIONS = settings(deadline=None, max_examples=60, derandomize=True)
MASKS = st.sampled_from(["none", "ends", "ends and starts", "keys", "pairs"])
FILTERS = st.sampled_from([None, -10000.0, -2.0])
"""A small value makes every addition of a mask visible in the result."""


def mask_of(kind: str, batch: int, queries: int, keys: int, seed: int) -> Array | None:
    """An int32 mask in one of the forms that the operators take."""
    rng = np.random.default_rng(seed)
    if kind == "none":
        return None
    if kind == "keys":
        return rng.integers(0, 2, (batch, keys), np.int32)
    if kind == "pairs":
        return rng.integers(0, 2, (batch, queries, keys), np.int32)
    ends = rng.integers(1, keys + 1, batch, np.int32)
    return ends if kind == "ends" else np.concatenate([ends, rng.integers(0, keys, batch, np.int32)])


@OPTIONS
@given(
    batch=st.integers(1, 2),
    length=st.sampled_from([1, 3, 5]),
    value_size=st.sampled_from([4, 6]),
    past=st.sampled_from([0, 2]),
    mask=MASKS,
    bias=st.booleans(),
    added=st.sampled_from([None, (1, 1), (1, 2), (0, 2), (0, 1)]),
    causal=st.booleans(),
    hidden=FILTERS,
    scale=st.sampled_from([None, 0.3]),
    seed=st.integers(0, 99),
)
def test_attention(
    batch: int,
    length: int,
    value_size: int,
    past: int,
    mask: str,
    bias: bool,
    added: tuple[int, int] | None,
    causal: bool,
    hidden: float | None,
    scale: float | None,
    seed: int,
) -> None:
    """`added`: the sizes batch (0: the batch's size) and heads of the tensor added to the scores; 1 is broadcast."""
    heads, size, keys = 2, 4, past + length
    value_size, added = (size, None) if past else (value_size, added)
    widths = [heads * size, heads * size, heads * value_size]
    operands: dict[int, Array] = {1: random(6, sum(widths), seed=seed)}
    if bias:
        operands[2] = random(sum(widths), seed=seed + 1)
    if (masked := mask_of(mask, batch, length, keys, seed)) is not None:
        operands[3] = masked
    if past:
        operands[4] = random(2, batch, heads, past, size, seed=seed + 2)
    if added is not None:
        operands[5] = random(added[0] or batch, added[1], length, keys, seed=seed + 3)
    options: dict[str, Any] = {"mask_filter_value": hidden, "scale": scale}
    if value_size != size:
        options["qkv_hidden_sizes"] = widths
    check_microsoft(
        "Attention",
        [random(batch, length, 6, seed=seed + 4)],
        operands,
        outputs=2 if past else 1,
        num_heads=heads,
        unidirectional=int(causal),
        **{name: value for name, value in options.items() if value is not None},
    )


@OPTIONS
@given(
    batch=st.integers(1, 2),
    lengths=st.sampled_from([(1, 1), (1, 4), (3, 3), (3, 5)]),
    value_size=st.sampled_from([4, 6]),
    keys_by_head=st.booleans(),
    past=st.sampled_from([0, 2]),
    mask=st.sampled_from(["none", "ends", "keys", "pairs"]),
    bias=st.booleans(),
    added=st.sampled_from([None, (1, 1), (1, 2), (0, 2), (0, 1)]),
    causal=st.booleans(),
    hidden=FILTERS,
    scale=st.sampled_from([None, 0.3]),
    seed=st.integers(0, 99),
)
def test_multi_head_attention(
    batch: int,
    lengths: tuple[int, int],
    value_size: int,
    keys_by_head: bool,
    past: int,
    mask: str,
    bias: bool,
    added: tuple[int, int] | None,
    causal: bool,
    hidden: float | None,
    scale: float | None,
    seed: int,
) -> None:
    """
    `keys_by_head`: keys and values have the layout [B, N, T, H], which excludes a bias and past values.

    Causal masks are tested with equal numbers of queries and new keys: with more keys, ONNX Runtime hides none from the
    last query.
    """
    heads, size, (queries, new) = 2, 4, lengths
    past, bias = (0, False) if keys_by_head else (past, bias)
    value_size = size if past or keys_by_head else value_size
    keys = past + new
    operands: list[Array | None] = [random(batch, queries, heads * size, seed=seed)]
    for width in (size, value_size):
        shape = (batch, heads, new, width) if keys_by_head else (batch, new, heads * width)
        operands.append(random(*shape, seed=seed + width))
    operands.append(random(heads * (2 * size + value_size), seed=seed + 1) if bias else None)
    operands.append(mask_of(mask, batch, queries, keys, seed))
    operands.append(None if added is None else random(added[0] or batch, added[1], queries, keys, seed=seed + 3))
    if past:
        operands += [random(batch, heads, past, width, seed=seed + width) for width in (size, value_size)]
    options: dict[str, Any] = {"mask_filter_value": hidden, "scale": scale}
    check_microsoft(
        "MultiHeadAttention",
        operands,
        outputs=3 if past else 1,
        num_heads=heads,
        unidirectional=int(causal and queries == new),
        **{name: value for name, value in options.items() if value is not None},
    )


def test_scores_of_multi_head_attention() -> None:
    inputs = {name: random(2, 3, 8, seed=seed) for seed, name in enumerate(("q", "k", "v"))}
    node = helper.make_node(
        "MultiHeadAttention", list(inputs), ["y", "", "", "scores"], domain="com.microsoft", num_heads=2
    )
    model = model_of([node], inputs, ["y", "scores"])
    model.graph.output[1].CopyFrom(helper.make_tensor_value_info("scores", FLOAT, [2, 2, 3, 3]))
    check(model, inputs)


def test_packed_operands_equal_separate_ones() -> None:
    """Packed operands give the results of separate ones; ONNX Runtime's kernel for CPUs takes no packed operands."""
    query, key, value = (random(2, 3, 2, 4, seed=seed) for seed in range(3))
    apart = _multi_head(*(one.reshape(2, 3, 8) for one in (query, key, value)))
    assert np.array_equal(_multi_head(np.stack([query, key, value], 3)), apart)
    assert np.array_equal(_multi_head(query.reshape(2, 3, 8), np.stack([key, value], 3)), apart)


def _multi_head(*operands: Array) -> Array:
    inputs = {f"x{index}": operand for index, operand in enumerate(operands)}
    node = helper.make_node("MultiHeadAttention", list(inputs), ["y"], domain="com.microsoft", num_heads=2)
    return interpret_function(import_onnx(model_of([node], inputs, ["y"])), inputs)["y"]


@pytest.mark.parametrize(
    ("op", "attributes", "message"),
    [
        ("Attention", {"do_rotary": 1}, "do_rotary = 1 is not supported"),
        ("Attention", {"past_present_share_buffer": 1}, "past_present_share_buffer = 1 is not supported"),
        ("Attention", {"qkv_hidden_sizes": [8, 8, 2]}, r"qkv_hidden_sizes \[8, 8, 2\] do not fit weights \[6, 24\]"),
        ("Attention", {"num_heads": 3}, "cannot be divided into 3 heads"),
    ],
)
def test_unsupported_options_are_refused(op: str, attributes: dict[str, Any], message: str) -> None:
    operands = {"x": random(1, 3, 6), "w": random(6, 24)}
    options: dict[str, Any] = {"num_heads": 2, **attributes}
    node = helper.make_node(op, list(operands), ["y"], name="a", domain="com.microsoft", **options)
    with pytest.raises(InputError, match=message):
        import_onnx(model_of([node], operands, ["y"]))

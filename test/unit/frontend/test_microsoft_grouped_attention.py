"""GroupQueryAttention with its cache and RotaryEmbedding against ONNX Runtime's own kernels."""

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
from reference import Array, check_node, ints, model_of, random, run_reference

check_microsoft = partial(check_node, domain="com.microsoft", tolerance=2e-5)
OPTIONS = settings(deadline=None, max_examples=80, derandomize=True)
HEADS, SIZE, MOST = 4, 32, 16


def angles(half: int, seed: int = 9) -> tuple[Array, Array]:
    """Cosines and sines for `MOST` positions."""
    turns = np.random.default_rng(seed).uniform(0, 6, (MOST, half))
    return np.cos(turns).astype(np.float32), np.sin(turns).astype(np.float32)


@OPTIONS
@given(
    by_head=st.booleans(),
    width=st.sampled_from([0, 4]),
    positions=st.sampled_from([(3,), (0,), None]),
    interleaved=st.booleans(),
    known=st.booleans(),
    dtype=st.sampled_from([np.float32, np.float16]),
    seed=st.integers(0, 99),
)
def test_rotary_embedding(
    by_head: bool, width: int, positions: Any, interleaved: bool, known: bool, dtype: Any, seed: int
) -> None:
    """`positions`: the first position of all entries, or None for a position of each token."""
    shape = (2, HEADS, 3, SIZE) if by_head else (2, 3, HEADS * SIZE)
    at = np.random.default_rng(seed).integers(0, MOST, (2, 3)) if positions is None else ints(*positions)
    cos, sin = (one.astype(dtype) for one in angles((width or SIZE) // 2))
    operands = [at, cos, sin]
    attributes = {"rotary_embedding_dim": width, "num_heads": HEADS} if width else {}
    x = random(*shape, seed=seed).astype(dtype)
    check_microsoft(
        "RotaryEmbedding",
        [x] if known else [x, *operands],
        dict(enumerate(operands, 1)) if known else {},
        tolerance=2e-5 if dtype == np.float32 else 4e-3,
        interleaved=int(interleaved),
        **attributes,
    )


@OPTIONS
@given(
    groups=st.sampled_from([1, 2, 4]),
    sizes=st.sampled_from(["first", "first, padded", "next", "next, room", "several", "several, room"]),
    packed=st.booleans(),
    rotary=st.sampled_from(["none", "halves", "neighbours", "part", "given"]),
    window=st.sampled_from([-1, 1, 3]),
    softcap=st.sampled_from([0.0, 2.0]),
    added=st.sampled_from([None, (1, 1), (0, HEADS)]),
    sink=st.sampled_from(["none", "smooth", "heads"]),
    causal=st.booleans(),
    scale=st.sampled_from([None, 0.3]),
    dtype=st.sampled_from([np.float32, np.float16]),
    seed=st.integers(0, 99),
)
def test_group_query_attention(
    groups: int,
    sizes: str,
    packed: bool,
    rotary: str,
    window: int,
    softcap: float,
    added: tuple[int, int] | None,
    sink: str,
    causal: bool,
    scale: float | None,
    dtype: Any,
    seed: int,
) -> None:
    """`sizes`: the first tokens, one further token of each entry, or several of one; a cache with or without room."""
    batch = 1 if sizes.startswith("several") else 2
    length = {"first": 5, "next": 1, "several": 3}[sizes.split(",")[0]]
    held = 0 if sizes.startswith("first") else 6 if sizes.endswith("room") else 4
    total = length if not held else 5 if length == 1 else 4 if held == 4 else 6
    if sizes == "several":
        total = 4 + length
    after = np.full(batch, total - 1, np.int32)
    if batch == 2 and sizes != "first":
        after[1] -= 2
    x = random(batch, length, (HEADS + 2 * groups) * SIZE, seed=seed)
    bounds = np.cumsum([HEADS * SIZE, groups * SIZE])
    operands: list[Array | None] = [x, None, None] if packed else list(np.split(x, bounds, axis=2))
    operands += [random(batch, groups, held, SIZE, seed=seed + n) if held else None for n in (1, 2)]
    given: dict[int, Array] = {5: after, 6: np.asarray(total, np.int32)}
    if rotary != "none":
        given[7], given[8] = angles(8 if rotary == "part" else SIZE // 2)
    if rotary == "given" and held:
        given[9] = np.random.default_rng(seed).integers(0, MOST, (batch, length))
    if added is not None:
        given[10] = random(added[0] or batch, added[1], length, total, seed=seed + 3)
    if sink == "heads":
        given[11] = random(HEADS, seed=seed + 4)
    options: dict[str, Any] = {"scale": scale, "smooth_softmax": 1 if sink == "smooth" else None}
    _check(
        [one if one is None else one.astype(dtype) for one in operands],
        {i: one.astype(dtype) if one.dtype == np.float32 else one for i, one in given.items()},
        after - (total - length) + 1 if sizes == "first, padded" else np.full(batch, length),
        after + 1,
        num_heads=HEADS,
        kv_num_heads=groups,
        do_rotary=int(rotary != "none"),
        rotary_interleaved=int(rotary == "neighbours"),
        local_window_size=window if causal else -1,
        softcap=softcap,
        causal=int(causal),
        **{name: value for name, value in options.items() if value is not None},
    )


def _check(operands: list[Array | None], known: dict[int, Array], rows: Array, after: Array, **attributes: Any) -> None:
    """Compare the defined elements: the first `rows` results and `after` positions of the cache of each entry."""
    names = [f"x{i}" if i in known or (i < 5 and operands[i] is not None) else "" for i in range(max(known) + 1)]
    given = {f"x{i}": one for i, one in enumerate(operands) if one is not None}
    node = helper.make_node("GroupQueryAttention", names, ["y", "k", "v"], domain="com.microsoft", **attributes)
    constants = {f"x{i}": one for i, one in known.items()}
    model = model_of([node], given, ["y", "k", "v"], constants)
    got, expected = interpret_function(import_onnx(model), given), run_reference(model, given)
    tolerance = 2e-5 if operands[0] is None or operands[0].dtype == np.float32 else 4e-3
    for entry, (row, place) in enumerate(zip(rows, after, strict=True)):
        for name, shown in (("y", np.s_[entry, :row]), ("k", np.s_[entry, :, :place]), ("v", np.s_[entry, :, :place])):
            assert got[name].shape == expected[name].shape
            assert got[name].dtype == expected[name].dtype
            np.testing.assert_allclose(got[name][shown], expected[name][shown], rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("kind", [1, 2])
@pytest.mark.parametrize("held", [0, 4])
def test_scores_before_and_after_softmax(kind: int, held: int) -> None:
    x = random(1, 3, (HEADS + 2) * SIZE)
    operands: list[Array | None] = [x, None, None]
    operands += [random(1, 1, held, SIZE, seed=seed) if held else None for seed in (1, 2)]
    known = {5: np.asarray([held + 2], np.int32), 6: np.asarray(held + 3, np.int32)}
    check_microsoft(
        "GroupQueryAttention",
        operands,
        known,
        outputs=["y", "k", "v", "scores"],
        num_heads=HEADS,
        kv_num_heads=1,
        qk_output=kind,
    )


def test_chunks_with_padding() -> None:
    """`query_seqlens` is the number of tokens of each entry; an entry without tokens keeps its cache."""
    shapes = [(3, 4, HEADS * SIZE), *[(3, 4, 2 * SIZE)] * 2, *[(3, 2, 9, SIZE)] * 2]
    operands: list[Array | None] = [random(*shape, seed=seed) for seed, shape in enumerate(shapes)]
    after, rows = np.asarray([6, 3, 4], np.int32), np.asarray([3, 4, 0], np.int32)
    cos, sin = angles(SIZE // 2)
    known = {5: after, 6: np.asarray(9, np.int32), 7: cos, 8: sin, 16: rows}
    _check(operands, known, rows, after + 1, num_heads=HEADS, kv_num_heads=2, do_rotary=1)


@pytest.mark.parametrize(
    ("attributes", "sizes", "message"),
    [
        ({"kv_num_heads": 3}, {}, "4 heads of queries cannot share 3 of keys"),
        ({"sliding_window_cache": 1, "local_window_size": 4}, {}, "sliding_window_cache = 1 is not supported"),
        ({}, {12: (1,), 13: (1,)}, "a quantised cache is not supported"),
        ({}, {14: (SIZE,), 15: (SIZE,)}, "normalise them before the operator"),
    ],
)
def test_unsupported_options_are_refused(
    attributes: dict[str, Any], sizes: dict[int, tuple[int, ...]], message: str
) -> None:
    given = {"x0": random(1, 2, HEADS * SIZE), "x1": random(1, 2, 2 * SIZE), "x2": random(1, 2, 2 * SIZE)}
    known: dict[str, Array] = {"x5": np.asarray([1], np.int32), "x6": np.asarray(2, np.int32)}
    known |= {f"x{index}": random(*shape) for index, shape in sizes.items()}
    names = [name if name in {**given, **known} else "" for name in (f"x{i}" for i in range(16))]
    options: dict[str, Any] = {"num_heads": HEADS, "kv_num_heads": 2, **attributes}
    node = helper.make_node("GroupQueryAttention", names, ["y", "k", "v"], domain="com.microsoft", **options)
    with pytest.raises(InputError, match=message):
        import_onnx(model_of([node], given, ["y"], known))


def test_total_length_must_be_known() -> None:
    """The error asks for the value of `total_sequence_length`, which defines the size of the cache."""
    given = {
        "x": random(1, 2, (HEADS + 4) * SIZE),
        "seqlens": np.asarray([1], np.int32),
        "total": np.asarray(2, np.int32),
    }
    names = ["x", "", "", "", "", "seqlens", "total"]
    node = helper.make_node(
        "GroupQueryAttention", names, ["y", "k", "v"], domain="com.microsoft", num_heads=HEADS, kv_num_heads=2
    )
    with pytest.raises(InputError, match=r"(?s)total_sequence_length must be known.*--value total="):
        import_onnx(model_of([node], given, ["y"]))

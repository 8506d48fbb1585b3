"""Products of quantised matrices against ONNX Runtime's own kernels."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import Array, check_node, random

check_microsoft = partial(check_node, domain="com.microsoft", steps=1)
OPTIONS = settings(deadline=None, max_examples=40, derandomize=True)
TYPES = st.sampled_from([(np.uint8, np.uint8), (np.uint8, np.int8), (np.int8, np.int8)])
SEEDS = st.integers(0, 99)


def codes(dtype: Any, shape: tuple[int, ...], seed: int) -> Array:
    """Quantised values from the whole range of a type."""
    info = np.iinfo(dtype)
    return np.random.default_rng(seed).integers(info.min, info.max, shape, dtype, endpoint=True)


def scales(columns: int, wide: bool, seed: int) -> Array:
    """One scale, or one for each column."""
    return np.random.default_rng(seed).uniform(0.001, 0.02, columns if wide else ()).astype(np.float32)


@OPTIONS
@given(
    types=TYPES,
    batch=st.sampled_from([(), (3,), (2, 1)]),
    depth=st.sampled_from([1, 5, 300]),
    wide=st.booleans(),
    zeros=st.booleans(),
    bias=st.booleans(),
    known=st.booleans(),
    seed=SEEDS,
)
def test_matmul_integer_to_float(
    types: Any, batch: tuple[int, ...], depth: int, wide: bool, zeros: bool, bias: bool, known: bool, seed: int
) -> None:
    x, y = codes(types[0], (*batch, 3, depth), seed), codes(types[1], (depth, 4), seed + 1)
    rest: dict[int, Array] = {1: y, 2: scales(1, False, seed), 3: scales(4, wide, seed + 1)}
    if zeros:
        rest |= {4: codes(types[0], (), seed + 2), 5: codes(types[1], (4,) if wide else (), seed + 3)}
    _check("MatMulIntegerToFloat", x, rest | ({6: random(4, seed=seed)} if bias else {}), known)


@OPTIONS
@given(
    dtype=st.sampled_from([np.uint8, np.int8]),
    batch=st.sampled_from([(), (3,), (2, 1)]),
    spread=st.sampled_from([0.0, 1.0, 1e3]),
    wide=st.booleans(),
    zeros=st.booleans(),
    bias=st.booleans(),
    seed=SEEDS,
)
def test_dynamic_quantize_matmul(
    dtype: Any, batch: tuple[int, ...], spread: float, wide: bool, zeros: bool, bias: bool, seed: int
) -> None:
    x = random(*batch, 3, 8, seed=seed) * np.float32(spread)
    rest: dict[int, Array] = {1: codes(dtype, (8, 4), seed + 1), 2: scales(4, wide, seed)}
    if zeros:
        rest |= {3: codes(dtype, (4,) if wide else (), seed + 3)}
    _check("DynamicQuantizeMatMul", x, rest | ({4: random(4, seed=seed)} if bias else {}), True)


@OPTIONS
@given(
    types=TYPES,
    flips=st.tuples(st.booleans(), st.booleans()),
    wide=st.booleans(),
    bias=st.sampled_from([None, (), (1,), (4,), (1, 4), (3, 1), (3, 4)]),
    quantised=st.booleans(),
    alpha=st.sampled_from([1.0, 0.5, -2.0]),
    known=st.booleans(),
    seed=SEEDS,
)
def test_quantised_gemm(
    types: Any, flips: tuple[bool, bool], wide: bool, bias: Any, quantised: bool, alpha: float, known: bool, seed: int
) -> None:
    x, y = codes(types[0], (3, 6), seed), codes(types[1], (6, 4), seed + 1)
    rest: dict[int, Array] = {1: scales(1, False, seed), 2: codes(types[0], (), seed + 2)}
    rest |= {
        3: y.T.copy() if flips[1] else y,
        4: scales(4, wide, seed),
        5: codes(types[1], (4,) if wide else (), seed + 3),
    }
    if bias is not None:
        rest[6] = np.random.default_rng(seed).integers(-9999, 9999, bias, np.int32)
    if quantised:
        rest |= {7: np.asarray(0.05, np.float32), 8: codes(types[0], (), seed + 4)}
    _check("QGemm", x.T.copy() if flips[0] else x, rest, known, transA=int(flips[0]), transB=int(flips[1]), alpha=alpha)


def _check(op: str, x: Array, rest: dict[int, Array], known: bool, **attributes: Any) -> None:
    """Compare one node; x is an input, the other operands are constants if `known`, else inputs."""
    if known:
        check_microsoft(op, [x], rest, tolerance=2e-5, **attributes)
    else:
        check_microsoft(op, [x, *(rest.get(i) for i in range(1, max(rest) + 1))], tolerance=2e-5, **attributes)


@OPTIONS
@given(
    bits=st.sampled_from([2, 4, 8]),
    block=st.sampled_from([16, 32]),
    depth=st.sampled_from([16, 32, 40, 64]),
    rows=st.sampled_from([(1,), (2, 3)]),
    zeros=st.sampled_from(["none", "packed", "floats"]),
    bias=st.booleans(),
    dtype=st.sampled_from([np.float32, np.float16]),
    seed=SEEDS,
)
def test_matmul_nbits(
    bits: int, block: int, depth: int, rows: tuple[int, ...], zeros: str, bias: bool, dtype: Any, seed: int
) -> None:
    outputs, blocks = 5, -(-depth // block)
    rest: dict[int, Array] = {
        1: codes(np.uint8, (outputs, blocks, block * bits // 8), seed),
        2: np.random.default_rng(seed).uniform(0.01, 0.1, outputs * blocks).astype(dtype),
    }
    if zeros == "packed":
        rest[3] = codes(np.uint8, (outputs * -(-blocks * bits // 8),), seed + 1)
    elif zeros == "floats" and bits != 8:  # ONNX Runtime's kernel does not support these
        rest[3] = np.random.default_rng(seed).uniform(0, 2**bits, outputs * blocks).astype(dtype)
    if bias:
        rest[5] = random(outputs, seed=seed).astype(dtype)
    check_microsoft(
        "MatMulNBits",
        [random(*rows, depth, seed=seed).astype(dtype)],
        rest,
        tolerance=2e-5 if dtype == np.float32 else 0.1,
        bits=bits,
        block_size=block,
        K=depth,
        N=outputs,
    )

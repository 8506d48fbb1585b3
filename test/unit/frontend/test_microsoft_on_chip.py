"""ONNX Runtime's own operators on the emulated chip, one of each family, against its kernels."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from meshloom.tools.api import compile
from onnx import helper
from reference import Array, model_of, random, run_reference


@dataclass(frozen=True)
class Case:
    """One node with its operands by position; those in `known` are constants."""

    op: str
    operands: dict[int, Array]
    known: tuple[int, ...]
    attributes: dict[str, Any] = field(default_factory=dict[str, Any])
    outputs: int = 1
    steps: int = 0
    """The largest difference of integer results."""


def codes(*shape: int, seed: int = 0) -> Array:
    """Quantised values."""
    return np.random.default_rng(seed).integers(0, 256, shape, np.uint8)


def number(value: float, dtype: Any = np.float32) -> Array:
    """A scale or zero point."""
    return np.asarray(value, dtype)


PAIR = {1: number(0.02), 2: number(120, np.uint8)}
CASES = [
    Case("FusedConv", {0: random(1, 4, 9, 9), 1: random(6, 4, 3, 3)}, (1,), {"activation": "Relu"}),
    Case("FusedMatMul", {0: random(2, 5, 8), 1: random(2, 8, 6)}, (), {"transBatchA": 0, "alpha": 0.5}),
    Case("FusedGemm", {0: random(3, 8), 1: random(8, 5), 2: random(5)}, (1, 2), {"activation": "Tanh"}),
    Case("BiasGelu", {0: random(3, 8), 1: random(8)}, (1,)),
    Case("SkipLayerNormalization", {0: random(2, 3, 8), 1: random(2, 3, 8, seed=1), 2: random(8)}, (2,)),
    Case(
        "QLinearAdd",
        {0: codes(4, 6), **PAIR, 3: codes(4, 6, seed=1), 4: number(0.03), 5: number(9, np.uint8), 6: number(0.05)},
        (1, 2, 4, 5, 6),
        steps=1,
    ),
    Case(
        "QLinearAveragePool",
        {0: codes(1, 3, 6, 6), **PAIR, 3: number(0.03), 4: number(9, np.uint8)},
        (1, 2, 3, 4),
        {"kernel_shape": [2, 2], "strides": [2, 2]},
        steps=1,
    ),
    Case(
        "DynamicQuantizeMatMul",
        {0: random(3, 16), 1: codes(16, 5), 2: number(0.02), 3: number(99, np.uint8)},
        (1, 2, 3),
    ),
    Case(
        "MatMulNBits",
        {0: random(3, 32), 1: codes(5, 2, 8), 2: np.full(10, 0.02, np.float32)},
        (1, 2),
        {"K": 32, "N": 5, "bits": 4, "block_size": 16},
    ),
    Case("Attention", {0: random(1, 4, 8), 1: random(8, 24)}, (1,), {"num_heads": 2, "unidirectional": 1}),
    Case(
        "GroupQueryAttention",
        {
            0: random(2, 1, 32),
            1: random(2, 1, 16, seed=1),
            2: random(2, 1, 16, seed=2),
            3: random(2, 1, 6, 16, seed=3),
            4: random(2, 1, 6, 16, seed=4),
            5: np.asarray([4, 3], np.int32),
            6: np.asarray(6, np.int32),
            7: random(8, 8, seed=5),
            8: random(8, 8, seed=6),
        },
        (6, 7, 8),
        {"num_heads": 2, "kv_num_heads": 1, "do_rotary": 1},
        outputs=3,
    ),
    Case(
        "EmbedLayerNormalization",
        {0: np.asarray([[1, 4, 2]], np.int32), 2: random(5, 8), 3: random(3, 8), 5: random(8), 6: random(8)},
        (2, 3, 5, 6),
        outputs=2,
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.op)
def test_equals_onnx_runtime(case: Case) -> None:
    names = [f"x{i}" if i in case.operands else "" for i in range(max(case.operands) + 1)]
    outputs = [f"y{i}" for i in range(case.outputs)]
    node = helper.make_node(case.op, names, outputs, domain="com.microsoft", **case.attributes)
    inputs = {f"x{i}": value for i, value in case.operands.items() if i not in case.known}
    model = model_of([node], inputs, outputs, {f"x{i}": case.operands[i] for i in case.known})
    result = compile(model, "tiny").run(inputs, check=True)
    assert result.cycles > 0
    for name, expected in run_reference(model, inputs).items():
        got = result.outputs[name]
        assert got.dtype == expected.dtype
        np.testing.assert_allclose(got.astype(np.float64), expected, rtol=2e-5, atol=max(2e-5, case.steps))

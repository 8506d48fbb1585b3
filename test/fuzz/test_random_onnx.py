"""Random ONNX models through the whole chain: what the emulated chip computes is what ONNX Runtime computes."""

from __future__ import annotations

import pytest
from meshloom.tools.api import compile
from random_onnx import RandomOnnx

QUICK = range(12)
MANY = range(12, 400)


def check(seed: int, nodes: int) -> None:
    model = RandomOnnx(seed, nodes)
    network = compile(model.model, "edge" if seed % 3 == 0 else "tiny")
    result = network.run(model.inputs, check=True)
    assert not (wrong := model.mismatch(result.outputs)), f"seed {seed}, {nodes} nodes: {wrong}"


@pytest.mark.parametrize("seed", QUICK)
def test_chip_equals_onnx_runtime(seed: int) -> None:
    check(seed, 3 + seed % 5)


@pytest.mark.slow
@pytest.mark.parametrize("seed", MANY)
def test_many_equal_onnx_runtime(seed: int) -> None:
    check(seed, 3 + seed % 14)

"""Tests of random ONNX models end to end: the emulated chip gives the results of ONNX Runtime."""

from __future__ import annotations

import pytest
from onnx_campaign import try_model

QUICK = (0, 1, 2, 3, 4, 7, 9)
"""Seeds whose models take only a few seconds each."""
FEWEST, MOST = 10, 40
"""Numbers of nodes of a model."""


def check(seed: int) -> None:
    """The results are right, or the model is rejected with the name of the operator."""
    outcome = try_model(seed, fewest=FEWEST, most=MOST)
    assert outcome.verdict in ("right", "refused"), f"seed {seed} is {outcome.verdict}: {outcome.words}"
    assert outcome.verdict == "right" or "operator " in outcome.words, f"seed {seed}: {outcome.words}"


@pytest.mark.parametrize("seed", QUICK)
def test_chip_equals_onnx_runtime(seed: int) -> None:
    check(seed)


@pytest.mark.slow
@pytest.mark.campaign(100, without=QUICK)
def test_many_equal_onnx_runtime(seed: int) -> None:
    check(seed)

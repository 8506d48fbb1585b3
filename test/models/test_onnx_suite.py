"""ONNX's own node cases of tiers 1 to 3 through `meshloom.backend`: right outputs from the emulator, with cycles."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import numpy as np
import pytest
from onnx.backend.test.loader import load_model_tests
from onnx_suite import TIERS, run_case


@cache
def cases() -> list[Any]:
    """The cases in the suite's order."""
    np.random.seed(0)
    operators = {name for tier in (1, 2, 3) for name in TIERS[tier].split()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loaded: list[Any] = load_model_tests(kind="node")
    return [case for case in loaded if {node.op_type for node in case.model.graph.node} <= operators]


def check(part: int, parts: int) -> None:
    """Run every `parts`-th case; all must pass."""
    wrong: list[str] = []
    for case in cases()[part::parts]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            status, message = run_case(case)
        if status != "pass":
            wrong.append(f"{case.name}: {status}: {message}")
    assert not wrong, "\n".join(wrong)


def test_some_cases() -> None:
    check(part=7, parts=40)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(8))
def test_all_cases(part: int) -> None:
    check(part, parts=8)

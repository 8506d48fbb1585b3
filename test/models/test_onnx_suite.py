"""Tests of ONNX's node test cases of tiers 1 to 3 through `meshloom.backend`: outputs and cycles of the emulator."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest
from onnx.backend.test.loader import load_model_tests
from onnx_suite import TIERS, run_case


@cache
def all_cases() -> list[Any]:
    """All cases, in the order of the suite."""
    np.random.seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return load_model_tests(kind="node")


def cases() -> list[Any]:
    """The cases whose operators are in tiers 1 to 3."""
    operators = {name for tier in (1, 2, 3) for name in TIERS[tier].split()}
    return [case for case in all_cases() if {node.op_type for node in case.model.graph.node} <= operators]


def check(chosen: Sequence[Any]) -> None:
    """Run the cases, all of which must pass."""
    wrong: list[str] = []
    for case in chosen:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            status, message = run_case(case)
        if status != "pass":
            wrong.append(f"{case.name}: {status}: {message}")
    assert not wrong, "\n".join(wrong)


def test_some_cases() -> None:
    check(cases()[7::40])


def test_loops_that_need_a_known_trip_count() -> None:
    """Loops that carry sequences, or whose slices depend on the step, are supported if the trip count is known."""
    names = {"test_loop11", "test_loop13_seq", "test_loop16_seq_none"}
    chosen = [case for case in all_cases() if case.name in names]
    assert len(chosen) == len(names)
    check(chosen)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(8))
def test_all_cases(part: int) -> None:
    check(cases()[part::8])

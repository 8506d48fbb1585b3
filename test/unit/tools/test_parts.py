"""Tests of parts of the tools: comparison, file names, random inputs, progress, numbers with units."""

from __future__ import annotations

import io

import numpy as np
import pytest
from meshloom.dialects.coreasm.encoding import TYPE_BY_NAME
from meshloom.emulator.executable.executable import TensorInfo
from meshloom.tools.oracle import compare
from meshloom.tools.progress import Progress
from meshloom.tools.report.summary import MICRO, scaled
from meshloom.tools.tensor_files import file_stems, random_inputs


def test_compare_floats_within_tolerance() -> None:
    expected = np.array([100.0, -1.0, 0.0], np.float32)
    # the tolerance is 1e-4 of the largest value, 100, plus 1e-6
    assert compare("a", expected + np.float32(0.009), expected).equal
    assert not compare("a", expected + np.float32(0.011), expected).equal


def test_compare_infinities_and_nans() -> None:
    expected = np.array([np.inf, -np.inf, np.nan, 1.0])
    assert compare("a", expected.copy(), expected).equal
    for index in range(4):
        other = expected.copy()
        other[index] = 7.0
        assert not compare("a", other, expected).equal
    assert not compare("a", np.array([np.nan]), np.array([0.0])).equal
    assert not compare("a", np.array([np.inf]), np.array([1e300])).equal


def test_compare_integers_exactly() -> None:
    extremes = np.array([-(2**63), 2**63 - 1], np.int64)
    assert compare("a", extremes.copy(), extremes).equal
    assert compare("a", extremes[::-1].copy(), extremes).difference == float(2**64)
    assert not compare("a", np.array([True]), np.array([False])).equal


@pytest.mark.parametrize("other", [np.zeros((2, 1), np.float32), np.zeros(2), np.zeros(3, np.float32)])
def test_compare_shapes_and_types(other: np.ndarray) -> None:
    assert not compare("a", other, np.zeros(2, np.float32)).equal


def test_file_stems() -> None:
    assert file_stems(["y", "a/b:0", "a_b_0", "..", "../x", ""]) == ["y", "a_b_0", "a_b_0-2", "__", ".._x", "_"]


def test_random_inputs_fit_and_repeat() -> None:
    tensors = [
        TensorInfo(name, "input", TYPE_BY_NAME[name].code, (4, 5), 0, 0) for name in ("f32", "bf16", "i64", "bool")
    ]
    first, second = random_inputs(tensors, 3), random_inputs(tensors, 3)
    assert [first[t.name].dtype.name for t in tensors] == ["float32", "uint16", "int64", "bool"]
    assert all(first[name].tobytes() == second[name].tobytes() for name in first)
    assert set(first["i64"].ravel().tolist()) == {0, 1}


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("stream", "quiet", "shown"), [
    (Terminal(), False, True), (Terminal(), True, False), (io.StringIO(), False, False),
])  # fmt: skip
def test_progress_only_on_terminals(stream: io.StringIO, quiet: bool, shown: bool) -> None:
    with Progress("tool", quiet, stream) as progress:
        progress("stage")
    assert ("stage" in stream.getvalue()) == shown


def test_scaled() -> None:
    assert [scaled(v, MICRO) for v in (0.5, 1, 999, 1500, 2.5e6)] == ["0.5 us", "1 us", "999 us", "1.5 ms", "2.5 s"]

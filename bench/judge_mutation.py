"""The effect of a defect in a program: changed outputs, an error, or none, with the reason why there was none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

import numpy as np
from meshloom.dialects.coreasm.isa import BY_CODE
from meshloom.emulator.executable.executable import Executable
from meshloom.emulator.functional.engine import FunctionalResult, run_functional
from meshloom.support.errors import MeshloomError
from mutate_binary import Mutation
from numpy.typing import NDArray

Inputs = Mapping[str, NDArray[Any]]
SUMS = ("add", "dot.acc", "matmul.acc", "reduce.sum.acc", "fma")


class Verdict(StrEnum):
    """The first of these verdicts that applies."""

    CHANGED = "the outputs change"
    ERROR = "the run ends in an error"
    CHECKED = "the run ends in an error when reads and races are checked"
    OTHER_INPUT = "the outputs change for another input: relu, max or rounding hide the defect for the first"
    EQUAL = "all memories end up the same: the bytes concerned have equal values, or are written again before use"
    SUMS = "two sums into one place changed their order, which rounding does not show"
    UNEXPLAINED = "nothing happens"


FOUND = (Verdict.CHANGED, Verdict.ERROR, Verdict.CHECKED, Verdict.OTHER_INPUT)
"""Verdicts of defects that a run reveals; a maximum, for example, may hide a defect for one input only."""


class Judge:
    """Compares defective programs with the right one, on the first of several inputs, and then on the others."""

    def __init__(self, exe: Executable, inputs: Sequence[Inputs]) -> None:
        self.exe = exe
        self.inputs = inputs
        self.right = [run_functional(exe, values) for values in inputs]

    def verdict(self, mutation: Mutation) -> Verdict:
        """The verdict on the defect."""
        try:
            result = run_functional(mutation.executable, self.inputs[0])
        except MeshloomError:
            return Verdict.ERROR
        if not _same_outputs(result, self.right[0]):
            return Verdict.CHANGED
        try:
            run_functional(mutation.executable, self.inputs[0], check=True)
        except MeshloomError:
            return Verdict.CHECKED
        return self._why_nothing(mutation, result)

    def _why_nothing(self, mutation: Mutation, result: FunctionalResult) -> Verdict:
        for values, right in zip(self.inputs[1:], self.right[1:], strict=True):
            if not _same_outputs(run_functional(mutation.executable, values), right):
                return Verdict.OTHER_INPUT
        if _same_memories(result, self.right[0]):
            return Verdict.EQUAL
        words = self.exe.programs[mutation.program].words["op"][list(mutation.words)]
        if mutation.kind == "order" and all(BY_CODE[int(op)].mnemonic in SUMS for op in words):
            return Verdict.SUMS
        return Verdict.UNEXPLAINED


def _same_outputs(a: FunctionalResult, b: FunctionalResult) -> bool:
    return all(a.outputs[name].tobytes() == value.tobytes() for name, value in b.outputs.items())


def _same_memories(a: FunctionalResult, b: FunctionalResult) -> bool:
    srams = zip(a.machine.srams, b.machine.srams, strict=True)
    return np.array_equal(a.machine.dram, b.machine.dram) and all(np.array_equal(x, y) for x, y in srams)

"""Instructions on rows, as plug-ins add them: operands, results and errors."""

from __future__ import annotations

import numpy as np
import pytest
from meshloom.dialects.coreasm.added_instructions import row_instruction
from meshloom.dialects.coreasm.encoding import TypeCode
from meshloom.emulator.functional.semantics.base import Instruction
from meshloom.emulator.functional.semantics.rows import rows
from meshloom.emulator.machine.errors import Fault
from meshloom.emulator.machine.memory import Array, Geometry
from meshloom.support.errors import InputError

F32 = [(TypeCode.F32, TypeCode.F32)]


def instruction(target: Geometry, source: Geometry) -> Instruction:
    return Instruction("sorted", TypeCode.F32, TypeCode.F32, 0, (target, source, None, None), (0, 0, 0, 0))


def largest_two(values: Array) -> Array:
    return np.sort(values, axis=-1)[..., -2:]


def test_functions_receive_whole_rows() -> None:
    memory = np.zeros(200, np.uint8)
    memory[:60].view(np.float32)[:] = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9]
    # Read rows of five elements in reverse, write every other float.
    decoded = rows(largest_two)(instruction(Geometry((3, 2), (16, 8)), Geometry((3, 5), (20, -4))))
    decoded.step(memory, np.zeros(0, np.uint8), 100, 16, 0, 0)
    assert memory[100:148].view(np.float32)[::2].tolist() == [4, 5, 6, 9, 9, 9]
    assert [(one.slot, one.write) for one in decoded.accesses] == [(0, True), (1, False)]


def test_wrong_numbers_of_rows_or_elements_are_faults() -> None:
    with pytest.raises(Fault, match="differ in size"):
        rows(largest_two)(instruction(Geometry((2, 2), (8, 4)), Geometry((3, 5), (20, 4))))
    decoded = rows(largest_two)(instruction(Geometry((3, 3), (12, 4)), Geometry((3, 5), (20, 4))))
    with pytest.raises(Fault, match=r"'sorted' gives \[3, 2\] elements for \[3, 3\]"):
        decoded.step(np.zeros(200, np.uint8), np.zeros(0, np.uint8), 100, 0, 0, 0)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (("sorted", 0x10, "D = A", F32), "opcode 0x10 is not reserved for plug-ins"),
        (("Sorted", 0xE3, "D = A", F32), "consists of lower-case letters"),
        (("sorted", 0xE3, "D = A", F32[:0]), "takes element types"),
        (("sorted", 0xE3, "D = A", F32, 0), "a factor of 1 or more"),
    ],
)
def test_invalid_entries_are_refused(
    entry: tuple[str, int, str, list[tuple[TypeCode, TypeCode]]], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        row_instruction(*entry)

"""Relocation of code: the words of each core equal those with each address relocated separately."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from meshloom.dialects.coreasm.encoding import DESC, NO_SOURCE, new_words
from meshloom.dialects.coreasm.isa import OPCODE
from meshloom.emulator.executable.executable import Launch, Program
from meshloom.emulator.executable.load import patched_words
from meshloom.lowering.codegen.core_sets import CoreSetTable
from meshloom.lowering.launch.dram_segments import SEGMENT_BITS
from meshloom.lowering.linker.relocate import LaunchCode, Relocation, relocated
from numpy.typing import NDArray

CORES = 3
HALVES = {"load": (1, 2), "store": (0, 3)}
"""Address fields of the lower and upper half of the DRAM operand."""


def random_code(rng: np.random.Generator, segments: int) -> LaunchCode:
    """A program of loads, stores and signals for three cores; any field of an address may be a parameter."""
    count = int(rng.integers(1, 8))
    words = new_words(count + 1)
    names = rng.choice(["load", "store", "signal"], count).tolist()
    params: list[tuple[int, int]] = []
    columns: list[NDArray[np.int64]] = []
    for number, name in enumerate(names):
        words["op"][number] = OPCODE[name]
        if name == "signal":
            words["desc"][number, 3] = rng.integers(2)
            if rng.integers(2):
                params.append((number, 7))
                columns.append(rng.integers(2, size=CORES))
            continue
        words["desc"][number, :2] = 0
        low, high = HALVES[name]
        start = int(rng.integers(segments)) << SEGMENT_BITS
        addresses = start + rng.integers(0, 1 << 34, CORES)
        if rng.integers(3) == 0:
            addresses[:] = addresses[0]
        for field, values in ((low, addresses & 0xFFFF_FFFF), (high, addresses >> 32)):
            words["addr"][number, field] = values[0]
            if (values != values[0]).any():
                params.append((number, field))
                columns.append(values)
    words["op"][-1] = OPCODE["halt"]
    descs = np.zeros(1, DESC)
    descs["size"] = 1
    values = np.stack(columns, axis=1).astype(np.uint32) if columns else np.zeros((CORES, 0), np.uint32)
    sources = np.where(rng.integers(2, size=count + 1) > 0, 4, NO_SOURCE).astype(np.uint32)
    program = Program("p", words, descs, np.array(params, np.uint32).reshape(-1, 2), sources)
    return LaunchCode([program], Launch(np.zeros(CORES, np.int32), list(values)), np.eye(2, CORES, dtype=np.bool_))


def relocated_words(words: NDArray[Any], segments: list[int], sets: list[int]) -> list[list[int]]:
    rows: list[list[int]] = []
    for word in words:
        row = [int(word["op"]), *(int(v) for v in word["addr"]), *(int(v) for v in word["desc"])]
        for name, (low, high) in HALVES.items():
            if int(word["op"]) == OPCODE[name]:
                address = row[1 + low] | row[1 + high] << 32
                address = segments[address >> SEGMENT_BITS] + address % (1 << SEGMENT_BITS)
                row[1 + low], row[1 + high] = address % (1 << 32), address >> 32
        if int(word["op"]) == OPCODE["signal"]:
            row[8] = sets[row[8]]
        rows.append(row)
    return rows


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_words_of_every_core_are_relocated(seed: int) -> None:
    rng = np.random.default_rng(seed)
    places: list[int] = rng.integers(0, 1 << 34, 3).tolist()
    code = random_code(rng, len(places))
    before = [patched_words(code.programs[0], values).copy() for values in code.launch.params_of_core]
    to = Relocation(np.array(places, np.int64), np.array([5, 3]), 10)
    (program,), launch = relocated(code, to)
    for core in range(CORES):
        after = patched_words(program, launch.params_of_core[core])
        rows = [[int(word["op"]), *map(int, word["addr"]), *map(int, word["desc"])] for word in after]
        assert rows == relocated_words(before[core], places, [5, 3])
        np.testing.assert_array_equal(patched_words(code.programs[0], code.launch.params_of_core[core]), before[core])
    assert set(program.sources.tolist()) <= {14, NO_SOURCE}


def test_launches_share_a_table_of_core_sets() -> None:
    a = np.array([[1, 0], [0, 1]], np.bool_)
    b = np.array([[0, 1], [1, 1]], np.bool_)
    table = CoreSetTable(2)
    numbers = [table.intern_rows(rows) for rows in (a, b, a[:0])]
    assert table.array().tolist() == [[True, False], [False, True], [True, True]]
    assert [n.tolist() for n in numbers] == [[0, 1], [1, 2], []]
    with pytest.raises(IndexError):
        numbers[0][2]

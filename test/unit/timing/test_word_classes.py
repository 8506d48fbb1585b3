"""Tests of classes of words with equal timing: the cost of a class is the cost of each of its words."""

from __future__ import annotations

import numpy as np
import pytest
from meshloom.chips import load_chip
from meshloom.emulator.executable.build import Assembly, at
from meshloom.emulator.machine.costs import word_costs
from meshloom.emulator.machine.word_classes import distinct
from meshloom.emulator.timing.kernel_arrays import SIGNALS, WAITS
from meshloom.emulator.timing.random_programs import VPU, random_program
from meshloom.emulator.timing.tables import build_tables

EDGE = load_chip("edge")


@pytest.mark.parametrize(("rows", "values"), [(1, 2), (700, 3), (5000, 9), (5000, 100_000)])
def test_equal_rows_share_a_number(rows: int, values: int) -> None:
    table = np.random.default_rng(rows).integers(0, values, (rows, 3), np.int64) << np.array([0, 31, 60])
    number, first = distinct(table)
    assert np.array_equal(table[first][number], table)
    assert len(first) == len(np.unique(table, axis=0))
    assert (np.diff(first) > 0).all()  # in the order of their first occurrence


@pytest.mark.parametrize("seed", range(4))
def test_the_cost_of_a_class_equals_that_of_each_of_its_words(seed: int) -> None:
    exe = random_program(seed, EDGE)
    tables = build_tables(exe, exe.launches[0])
    for index, (start, stop) in enumerate(zip(tables.bounds[:-1], tables.bounds[1:] - 1, strict=True)):
        program = exe.programs[int(tables.programs[index])]
        own = word_costs(EDGE, tables.words[start:stop], program.descs)
        classes = tables.word_class[start:stop]
        for name in ("cycles", "traffic", "macs", "vpu_ops", "sram_bytes"):
            assert np.array_equal(getattr(tables.costs, name)[classes], getattr(own, name)), name
        assert np.array_equal(tables.classes[classes, WAITS], program.words["wait"])
        assert np.array_equal(tables.classes[classes, SIGNALS], program.words["signal"])


def test_classes_depend_on_tokens_sizes_and_counts_but_not_on_addresses() -> None:
    asm = Assembly(EDGE)
    for place in (0, 64, 128):
        asm.op(0, "add", at(place, (8,)), at(place, (8,)), 1.0)
    asm.op(0, "add", at(0, (8,)), at(0, (8,)), 1.0, signal=1 << VPU)
    asm.op(0, "add", at(0, (9,)), at(0, (9,)), 1.0)
    asm.op(0, "wait", imm=1, raw=(1,))
    asm.op(0, "wait", imm=1, raw=(2,))
    asm.op(0, "wait", imm=2, raw=(1,))
    exe = asm.build()
    tables = build_tables(exe, exe.launches[0])
    start = tables.base[0]
    of_word = tables.word_class[start : start + 8].tolist()
    assert of_word[0] == of_word[1] == of_word[2]
    assert len(set(of_word)) == 6

"""The instruction table: consistency with the ops, the reference page and the checks of instruction words."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from meshloom.dialects.coreasm.check import Limits, canonical_words, first_problem
from meshloom.dialects.coreasm.isa import (
    BY_CODE,
    BY_MNEMONIC,
    DATA_DEPENDENT,
    DESC,
    INSTRUCTIONS,
    MNEMONICS,
    OPCODE,
    QUEUES,
    TYPES,
    UNIT_OF_OPCODE,
    WORD,
    Imm,
    Unit,
    bf16_to_f32,
    f32_to_bf16,
    new_words,
)
from meshloom.dialects.coreasm.ops import INSTRUCTION_OPS
from meshloom.tools.reference.isa_page import isa_page

ROOT = Path(__file__).parents[3]


def test_layout() -> None:
    assert (WORD.itemsize, DESC.itemsize) == (32, 40)
    assert [t.code for t in TYPES] == list(range(16))
    assert [t.bytes for t in TYPES] == [4, 2, 2, 8, 1, 1, 2, 2, 4, 4, 8, 8, 1, 3, 1, 1]


def test_entries_are_distinct_and_complete() -> None:
    assert len(BY_CODE) == len(BY_MNEMONIC) == len(INSTRUCTIONS)
    for i in INSTRUCTIONS:
        assert MNEMONICS[i.code] == i.mnemonic
        assert UNIT_OF_OPCODE[i.code] == i.unit
        assert i.semantics
        assert sum(o.writes for o in i.operands) <= 1
        assert len({o.slot for o in i.operands}) == len(i.operands) <= 4
        assert i.destination is None or i.destination.reads >= i.accumulates


def test_every_instruction_has_an_op() -> None:
    assert set(INSTRUCTION_OPS) | {"loop"} == set(BY_MNEMONIC)
    assert INSTRUCTION_OPS["reduce.sum.acc"].name == "coreasm.reduce.sum.acc"


def test_reference_page_is_up_to_date() -> None:
    written = (ROOT / "docs" / "reference" / "isa.md").read_text(encoding="utf-8")
    assert written == isa_page(), "run: python -m meshloom.tools.reference docs/reference"


def test_reference_page_has_every_instruction_with_all_its_fields() -> None:
    """The tables are parsed from the page and compared with the instruction table."""
    page_text = (ROOT / "docs" / "reference" / "isa.md").read_text(encoding="utf-8")
    cells = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in page_text.splitlines()]
    rows = {int(row[0], 16): row for row in cells if len(row) == 6 and re.fullmatch(r"0x[0-9a-f]{2}", row[0])}
    assert set(rows) == set(BY_CODE)
    for code, (_, mnemonic, _, fields, types, cost) in rows.items():
        entry = BY_CODE[code]
        assert mnemonic == f"`{entry.mnemonic}`"
        assert (types == "-") == (not entry.types)
        assert cost.split(" x ")[0] == entry.cost.value
        told = [] if fields == "none" else fields.replace("\\|", "|").split("; ")
        numbered = [one for one in told if re.match(r"[0-3]: ", one)]
        assert [one.split(" ")[:2] for one in numbered] == [[f"{o.slot}:", o.name] for o in entry.operands]
        assert [one.split(": ")[0][:5] for one in told if one.startswith("addr")] == [
            f"addr{s.slot}" for s in entry.scalars
        ]
        assert ("desc3: core set" in told) == entry.core_set
        assert ("desc0..3: bytes" in told) == entry.byte_count
        assert [one for one in told if one.startswith("imm: ")] == (
            [] if entry.imm is Imm.NONE else [f"imm: {entry.imm.value}"]
        )
        for number in (o.high for o in entry.operands if o.high is not None):
            assert f"upper address in slot {number}" in fields


def test_reference_page_names_fields_types_units_and_costs_that_depend_on_values() -> None:
    page_text = (ROOT / "docs" / "reference" / "isa.md").read_text(encoding="utf-8")
    assert WORD.fields is not None
    for name, (_, offset, *_) in WORD.fields.items():
        assert f"| {offset} | `{name}` |" in page_text
    for kind in TYPES:
        assert f"| {kind.code.value} | {kind.name} | {kind.bytes} |" in page_text
    for unit in Unit:  # the numbers that the fields `wait` and `signal` use
        assert f"### {unit.name}{f' (unit {unit.value})' if unit < QUEUES else ''}: " in page_text
    told = page_text.split("(`emulator/machine/costs_sparse.py`): ")[1].split(".")[0]
    assert set(re.findall(r'"([^"]+)"', told.replace("\n", " "))) == {cost.value for cost in DATA_DEPENDENT}


def test_table_needs_no_xdsl() -> None:
    modules = "meshloom.dialects.coreasm.isa, meshloom.emulator.executable.executable"
    code = f"import sys, {modules}; assert 'xdsl' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("code", [c for c in range(256) if c not in BY_CODE][::7])
def test_unknown_opcodes(code: int) -> None:
    words = new_words(3)
    words["op"][1] = code
    assert first_problem(words, Limits(1, 1, 1)) == (1, f"there is no instruction with opcode {code}")


def test_first_problem_is_that_of_the_first_word() -> None:
    words = new_words(3)
    words["imm"][2], words["op"][1], words["imm"][1] = 1, OPCODE["li"], 99
    assert first_problem(words, Limits(1, 1, 1)) == (1, "'li': register must be 1 to 15")
    assert first_problem(words[:1], Limits(0, 0, 0)) is None
    assert first_problem(words[:0], Limits(0, 0, 0)) is None


def test_canonical_words_are_not_copied() -> None:
    words = new_words(2)
    assert canonical_words(words) is words


@pytest.mark.parametrize("field", ["addr", "desc", "imm", "regs"])
def test_unused_fields_are_cleared(field: str) -> None:
    words, given = new_words(2), new_words(2)
    given[field][0] = 1
    fixed = canonical_words(given)
    assert fixed.tobytes() == words.tobytes()
    assert (given[field][0] == 1).all()


def test_fields_that_an_instruction_uses_are_kept() -> None:
    words = new_words(1)
    words["op"], words["imm"], words["regs"] = OPCODE["reduce.sum"], 2, 0x0021
    words["addr"][0, :2], words["desc"][0, :2] = (64, 128), (0, 1)
    assert canonical_words(words) is words
    words["regs"] |= 0x4300
    assert canonical_words(words)["regs"].tolist() == [0x0021]


def test_bf16() -> None:
    values = np.array([0.0, -0.0, 1.0, 1.00390625, 1.01171875, np.inf, -np.inf, 3.4e38, np.nan], np.float32)
    bits = f32_to_bf16(values)
    # 1 + 2^-8 lies between 1 and 1 + 2^-7: ties to even; the largest values round to infinity
    assert bits[:8].tolist() == [0, 0x8000, 0x3F80, 0x3F80, 0x3F82, 0x7F80, 0xFF80, 0x7F80]
    assert np.isnan(bf16_to_f32(bits))[8]
    all_bits = np.arange(1 << 16, dtype=np.uint16)
    back = f32_to_bf16(bf16_to_f32(all_bits))
    number = ~np.isnan(bf16_to_f32(all_bits))
    assert (back[number] == all_bits[number]).all()

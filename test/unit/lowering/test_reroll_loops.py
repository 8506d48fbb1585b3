"""Loop rerolling: expanding the loops gives the original instructions, and regular code becomes short."""

import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from meshloom.dialects.coreasm.isa import OPCODE
from meshloom.lowering.codegen.stream import CORE_SET_FLAG, IMMEDIATE, UNUSED
from meshloom.lowering.linker.reroll_loops import reroll_loops
from meshloom.lowering.linker.wide_words import WIDE
from numpy.typing import NDArray

HALT, LOOP, ADDI, LI, LOAD, STORE, ADD = (
    OPCODE[name] for name in ("halt", "loop", "addi", "li", "load", "store", "add")
)
HIGH_HALF = {(LOAD, 1): 2, (STORE, 0): 3}
"""(opcode, operand) of DRAM addresses -> the field with the upper half."""
Words = NDArray[np.void]


def signed(value: int) -> int:
    return value - 2**32 if value >= 2**31 else value


def expand(words: Words) -> list[tuple[Any, ...]]:
    """The executed instructions, in plain Python, with effective addresses (64-bit where an upper half exists)."""
    registers = [0] * 16
    result: list[tuple[Any, ...]] = []

    def run(begin: int, end: int, depth: int) -> None:
        assert depth <= 4, "loops nest too deeply"
        at = begin
        while at < end:
            word = words[at]
            op, imm = int(word["op"]), int(word["imm"])
            addr: list[int] = word["addr"].tolist()
            at += 1
            if op == LOOP:
                assert addr[0] >= 1
                assert 1 <= addr[1] <= end - at
                for _ in range(addr[0]):
                    run(at, at + addr[1], depth + 1)
                at += addr[1]
            elif op in (ADDI, LI):
                assert 1 <= imm <= 15
                registers[imm] = signed(addr[0]) + (registers[imm] if op == ADDI else 0)
            else:
                for k in range(4):
                    register = int(word["regs"]) >> (4 * k) & 15
                    if (half := HIGH_HALF.get((op, k))) is not None:
                        value = (addr[k] | addr[half] << 32) + registers[register]
                        addr[k], addr[half] = value & 0xFFFF_FFFF, value >> 32
                    else:
                        addr[k] += registers[register]
                        assert 0 <= addr[k] < 2**32
                fields = tuple(int(word[name]) for name in ("op", "dtype", "wait", "signal", "imm"))
                result.append((*fields, *addr, *word["desc"].tolist()))

    run(0, len(words), 0)
    return result


def word(op: int, *addr: int, desc: tuple[int, ...] = (), wait: int = 0, source: int = 0) -> Words:
    result = np.zeros(1, dtype=WIDE)
    result["op"], result["wait"], result["source"] = op, wait, source
    result["addr"][0, : len(addr)] = addr
    result["desc"] = UNUSED
    result["desc"][0, : len(desc)] = desc
    return result


def add(d: int, a: int, b: int, wait: int = 0) -> Words:
    return word(ADD, d, a, b, desc=(0, 1, 2), wait=wait)


def load(to: int, dram: int) -> Words:
    return word(LOAD, to, dram & 0xFFFF_FFFF, dram >> 32, desc=(0, 3))


def check(words: Words, most: int | None = None) -> Words:
    rolled = reroll_loops(words)
    assert expand(rolled) == expand(words)
    assert len(rolled) <= (len(words) if most is None else most)
    return rolled


def test_one_loop_by_hand():
    """d and a advance by 64 (one register), b is constant: li, loop, add, addi replace ten adds."""
    rolled = check(np.concatenate([add(64 * i, 1000 + 64 * i, 5000) for i in range(10)]), 4)
    assert rolled["op"].tolist() == [LI, LOOP, ADD, ADDI]
    assert rolled["addr"][1, :2].tolist() == [10, 2]
    assert rolled["regs"][2] == 0x011
    assert (rolled["imm"][3], rolled["addr"][3, 0]) == (1, 64)


def test_constant_addresses_need_no_register():
    assert len(check(np.concatenate([add(0, 8, 16)] * 10))) == 2


def test_contiguous_nests_need_no_correction():
    """The outer delta of d is 12 inner ones, so only the register of a needs an outer addi, which resets it."""
    words = [
        w
        for o in range(8)
        for w in [add(0, o * 4, 0, wait=1), *[add(1000 + 768 * o + 64 * t, 9000 + 8 * t, 0) for t in range(12)]]
    ]
    rolled = check(np.concatenate(words), 10)
    assert rolled["op"].tolist().count(LOOP) == 2


def test_operands_that_share_an_inner_register_may_differ_in_the_outer_loop():
    words = [add(1000 * o + 8 * t, 50_000 + 8 * t, 90_000 + 2000 * o + 8 * t) for o in range(9) for t in range(20)]
    check(np.concatenate(words), 12)


def test_an_operand_that_is_constant_in_the_inner_loop_advances_in_the_outer_loop():
    words = [add(64 * t, 1000 + 4 * o, 2000) for o in range(9) for t in range(20)]
    check(np.concatenate(words), 8)


def test_nests_have_at_most_four_levels():
    def nest(levels: int, base: int) -> list[Words]:
        if levels == 0:
            return [add(base, 0, 0)]
        # A different instruction before every inner run keeps the levels separate.
        head = [word(20 + levels, desc=())]
        return [w for i in range(5) for w in head + nest(levels - 1, base + i * 7**levels * 8)]

    for levels in (1, 2, 3, 4, 5):
        words = np.concatenate(nest(levels, 0))
        check(words, 40 if levels < 5 else 200)


def test_addresses_carry_over_four_gigabytes():
    words = np.concatenate([load(64 * i, 2**32 - 1000 + 300 * i) for i in range(10)])
    assert len(check(words)) == 6


def test_immediates_and_plain_fields_do_not_advance():
    immediates = np.concatenate([word(ADD, 0, i, desc=(0, IMMEDIATE)) for i in range(10)])
    assert len(check(immediates)) == 10
    sets = np.concatenate([word(30, 0, 0, 0, i, desc=(0, 1, UNUSED, CORE_SET_FLAG)) for i in range(10)])
    assert len(check(sets)) == 10


def test_more_than_fifteen_deltas_stay_unrolled():
    body = [[add(100_000 * k + (2 * k + 1) * 4 * i, 0, 0, wait=k) for k in range(16)] for i in range(6)]
    assert len(check(np.concatenate([w for part in body for w in part]))) == 96
    fifteen = np.concatenate([w for part in body for w in part[:15]])
    assert len(check(fifteen)) == 15 + 1 + 2 * 15


def test_far_strides_stay_unrolled():
    check(np.concatenate([load(0, 2**33 * i) for i in range(10)]))


def test_sources_are_those_of_the_first_iteration():
    words = np.concatenate([word(ADD, 4 * i, desc=(0,), source=i) for i in range(9)])
    assert check(words)["source"].tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("count", [0, 1, 2])
def test_short_programs(count: int):
    assert len(check(np.zeros(count, dtype=WIDE))) == count


@st.composite
def nests(draw: st.DrawFn, depth: int = 3) -> list[list[int]]:
    """Rows (op, wait, addresses) of random loop nests with noise."""
    rows: list[list[int]] = []
    for _ in range(draw(st.integers(1, 3))):
        if depth and draw(st.booleans()):
            body = draw(nests(depth - 1))
            step = [[draw(st.sampled_from([0, 0, 8, 8, 64, -8, 24])) for _ in range(3)] for _ in body]
            for i in range(draw(st.integers(2, 5))):
                rows += [
                    [*row[:2], *[a + i * d for a, d in zip(row[2:], s, strict=True)]]
                    for row, s in zip(body, step, strict=True)
                ]
        else:
            op = draw(st.sampled_from([ADD, ADD, LOAD, STORE]))
            rows.append(
                [op, draw(st.integers(0, 1)), *[draw(st.sampled_from([1000, 1008, 2000, 2**31])) for _ in range(3)]]
            )
    return rows


@settings(max_examples=300, deadline=None)
@given(nests())
def test_random_nests_expand_to_the_same(rows: list[list[int]]):
    words = np.zeros(len(rows), dtype=WIDE)
    words["desc"] = UNUSED
    for i, (op, wait, a, b, c) in enumerate(rows):
        words[i]["op"], words[i]["wait"] = op, wait
        if op == ADD:
            words[i]["addr"][:3], words[i]["desc"][:3] = (a, b, c), (0, 1, 2)
        else:
            dram, half = (1, 2) if op == LOAD else (0, 3)
            far = b * 4 - 2**31
            words[i]["addr"][1 - dram], words[i]["desc"][:2] = a, (0, 1)
            far += 2**33
            words[i]["addr"][dram], words[i]["addr"][half] = far & 0xFFFF_FFFF, far >> 32
    check(words)


def test_long_programs_are_quick():
    """400,000 words take below 8 s: a nest of 1000 x (head + 199 words), and 200,000 random words."""
    o, t = np.divmod(np.arange(200_000), 200)
    words = np.zeros(400_000, dtype=WIDE)
    words["op"], words["desc"] = ADD, UNUSED
    words["desc"][:, :2] = 0
    words["wait"][:200_000] = t == 0
    words["addr"][:200_000, 0], words["addr"][:200_000, 1] = 64 * t, 64 * o + 4 * t
    noise = np.random.default_rng(1).integers(0, 2**20, 200_000)
    words["addr"][200_000:, 0], words["wait"][200_000:] = noise, noise % 7
    reroll_loops(words[:10])
    started = time.process_time()
    rolled = reroll_loops(words)
    assert time.process_time() - started < 8
    assert len(rolled) < 200_000 + 20

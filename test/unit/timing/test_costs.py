"""Tests of the costs of instructions, against numbers computed by hand and an independent formula."""

from __future__ import annotations

from dataclasses import replace
from math import ceil

import numpy as np
import pytest
from meshloom.chips import load_chip
from meshloom.chips.chip import Chip
from meshloom.emulator.executable.build import Assembly, Operand, at
from meshloom.emulator.machine.costs import (
    contiguous_run,
    dram_traffic,
    host_cycles,
    matmul_cycles,
    port_cycles,
    word_costs,
)
from meshloom.emulator.machine.errors import EmulationError
from meshloom.emulator.machine.memory import F16, F32, I8, I32

TINY = load_chip("tiny")  # 8 x 8 matrix unit, 8 lanes, 32 bytes of SRAM per cycle


def test_matmul_is_weight_stationary_on_random_shapes() -> None:
    """ceil(K/R) * ceil(N/C) * (M + 2R + C - 2) - 1 cycles for f32, on 10,000 shapes and arrays."""
    rng = np.random.default_rng(1)
    for _ in range(100):
        rows, cols = (int(v) for v in rng.integers(1, 129, 2))
        chip = replace(TINY, mpu_rows=rows, mpu_cols=cols)
        m, k, n = rng.integers(1, 5000, (3, 100))
        zero = np.zeros(100, np.int64)
        got = matmul_cycles(chip, zero, zero + 1, m, k, n)
        for cycles, mm, kk, nn in zip(got.tolist(), m.tolist(), k.tolist(), n.tolist(), strict=True):
            assert cycles == ceil(kk / rows) * ceil(nn / cols) * (mm + 2 * rows + cols - 2) - 1


def test_published_resnet50_shape() -> None:
    """The published cycles of a 128 x 128 array with M, K, N = 12544, 147, 64: 2 * 1 * (12544 + 256 + 126) - 1."""
    chip = replace(TINY, mpu_rows=128, mpu_cols=128)
    one = np.array([1])
    assert matmul_cycles(chip, np.array([F32]), one, one * 12544, one * 147, one * 64)[0] == 25851


def one(mnemonic: str, *operands: Operand | float | None, chip: Chip = TINY, **fields: int) -> dict[str, int]:
    """The costs of a single instruction."""
    asm = Assembly(chip)
    asm.op(0, mnemonic, *operands, **fields)  # pyright: ignore[reportArgumentType]
    program = asm.build().programs[0]
    costs = word_costs(chip, program.words, program.descs)
    names = ("cycles", "traffic", "macs", "vpu_ops", "sram_bytes")
    return {name: int(getattr(costs, name)[0]) for name in names}


def test_matmul_word() -> None:
    """
    The cycles of a product with batch 2, m (3, 5), k 20, n 9.

    In f32 there are 3 blocks of k and 2 of n, each of 15 + 16 + 8 - 2 = 37 cycles. In i8 the array holds 32 of k at
    once: 1 block.
    """
    imm = 1 | 2 << 4 | 1 << 8 | 1 << 12
    d, a, b = at(0, (2, 3, 5, 9)), at(0, (2, 3, 5, 20)), at(0, (2, 20, 9))
    assert one("matmul", d, a, b, imm=imm)["cycles"] == 2 * 3 * 2 * 37 - 1
    assert one("matmul", d, a, b, imm=imm)["macs"] == 2 * 15 * 20 * 9
    a, b = at(0, (2, 3, 5, 20), I8), at(0, (2, 20, 9), I8)
    assert one("matmul.acc", d, a, b, imm=imm, source=I8, result=I32)["cycles"] == 2 * 1 * 2 * 37 - 1


def test_convolution_as_matmul() -> None:
    """A convolution of a 5 x 5 image: A iterates over (oh, ow, ic, kh, kw) = (4, 4, 3, 2, 2), M 16, K 12, N 8."""
    a = at(0, (4, 4, 3, 2, 2), strides=(20, 4, 100, 20, 4))
    imm = 2 << 4 | 3 << 8 | 1 << 12
    got = one("matmul", at(0, (4, 4, 8)), a, at(0, (3, 2, 2, 8)), imm=imm)
    assert got["cycles"] == 2 * 1 * (16 + 16 + 8 - 2) - 1
    assert got["macs"] == 16 * 12 * 8


def test_vector_words() -> None:
    """8 lanes; 4 cycles to start; slow functions take 4 passes; f16 has twice the rate; SRAM has 32 bytes per cycle."""
    x = at(0, (10, 10))
    assert one("add", x, x, 1.0)["cycles"] == 4 + 13  # 100 elements take 13 cycles; 400 bytes take 13 cycles as well
    assert one("exp", x, x)["cycles"] == 4 + 13 * 4
    assert one("exp", x, x)["vpu_ops"] == 400
    half = at(0, (10, 10), F16)
    assert one("add", half, half, 1.0, source=F16)["cycles"] == 4 + 7  # 200 bytes take 7 cycles
    wide = at(0, (100,), F32)
    assert one("mov", at(0, (100,), 10), wide, result=10)["cycles"] == 4 + 25  # 800 bytes of i64 at 32 per cycle
    reduced = one("reduce.sum", at(0, (10,)), x, imm=1)
    assert reduced["cycles"] == 4 + 13
    assert reduced["vpu_ops"] == 100
    assert one("dot", at(0, (10,)), x, x, imm=1)["macs"] == 100
    broadcast = at(0, (10, 10), strides=(0, 4))
    assert one("add", x, x, broadcast)["sram_bytes"] == 400 + 400 + 40


def test_copies_cost_their_common_runs() -> None:
    """10 rows of 10 of 12 f32 are 10 runs of 40 bytes, 2 cycles each; dense, they are one run of 400, 13 cycles."""
    x, gaps = at(0, (10, 10)), at(0, (10, 10), strides=(48, 4))
    assert one("copy", x, x)["cycles"] == 4 + 13
    assert one("copy", x, gaps)["cycles"] == 4 + 10 * 2
    assert one("copy", at(0, (10, 10), strides=(4, 40)), x)["cycles"] == 4 + 100
    # 100 f32 in 20 rows of 5 (runs of 20 bytes, one cycle each), from and to one dense run.
    rows = at(0, (20, 5), strides=(24, 4))
    assert one("copy", x, rows)["cycles"] == one("copy", rows, x)["cycles"] == 4 + 20
    assert one("fill", gaps, 0.0)["cycles"] == 4 + 10 * 2
    # 6 rows of 20 f32 (80 bytes, 3 cycles), selected by a 2 x 3 table of indices.
    gather = one("gather", at(0, (2, 3, 20)), at(0, (50, 20)), at(0, (2, 3), I32), imm=2, result=I32)
    assert gather["cycles"] == 4 + 6 * 3
    scatter = one("scatter.add", at(0, (50, 20)), at(0, (2, 3, 20)), at(0, (2, 3), I32), imm=2, result=I32)
    assert scatter["cycles"] == 4 + 6 * 3


def test_dram_traffic_is_in_bursts() -> None:
    """With bursts of 32 bytes, 10 runs of 40 bytes transfer 64 each, one run of 400 transfers 416."""
    x, gaps = at(0, (10, 10)), at(0, (10, 10), strides=(48, 4))
    assert one("load", x, gaps)["traffic"] == 640
    assert one("load", gaps, x)["traffic"] == 416  # only runs in DRAM count
    assert one("store", gaps, x)["traffic"] == 640
    gather = one("load.gather", at(0, (3, 10)), at(0, (50, 10)), None, at(0, (3,), I32), imm=1, result=I32)
    assert gather["traffic"] == 3 * 64
    assert one("put", x, gaps, cores=(0,))["traffic"] == 400  # pyright: ignore[reportArgumentType]
    assert dram_traffic(TINY, np.array([3]), np.array([33]))[0] == 192


def test_ports_and_host() -> None:
    """On `edge`, 1,000 bytes take 32 cycles on one of 4 ports with 128 bytes per cycle; the host has 16 per cycle."""
    edge = load_chip("edge")
    assert port_cycles(edge, 1000) == 32
    assert host_cycles(edge, 1000) == 1000 + 63


def test_contiguous_run_skips_unit_dims() -> None:
    sizes = np.array([[1, 3, 1, 4, 5]])
    strides = np.array([[0, 80, 999, 20, 4]])
    assert contiguous_run(sizes, [strides], np.array([4]))[0] == 3 * 4 * 5 * 4


def test_absurd_descriptor_is_an_error() -> None:
    asm = Assembly(TINY)
    asm.op(0, "add", at(0, (1 << 31, 1 << 31), strides=(0, 0)), 1.0, 2.0)
    program = asm.build().programs[0]
    with pytest.raises(EmulationError, match="word 0: the sizes of descriptor 0 are out of range"):
        word_costs(TINY, program.words, program.descs)

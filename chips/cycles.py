"""
Cycles of instructions on the units of a core: one closed formula for each kind, for integers or arrays of integers.

The emulator, instruction selection (to compare alternatives) and planning (to estimate cycles) all use these formulas.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from .chip import RATES, Chip

Number = TypeVar("Number", int, NDArray[np.int64])
"""An integer, or an array of integers."""

STARTUP = 4
"""Startup cycles of an instruction of the vector unit or the data access unit."""
RATE_BY_WIDTH = {1: RATES["i8"], 2: RATES["f16"]}
"""Operations per cycle relative to f32, by bytes of an element; 1 for other sizes."""


def ceil_div(a: Number, b: Any) -> Number:
    """a / b rounded up, for a >= 0 and b > 0."""
    return -(-a // b)


def larger(a: Number, b: Number) -> Number:
    """The elementwise maximum."""
    return a + (b - a) * (b > a)


def load_cycles(chip: Chip) -> int:
    """Cycles to load a block of weights, and to fill and drain the array."""
    return 2 * chip.mpu_rows + chip.mpu_cols - 2


def encoded_lanes(chip: Chip) -> tuple[int, int]:
    """
    (lanes, weights): number of lanes that are filled with encoded weights independently of each other, and number of
    f32 weights that each holds at a time. The lanes are the columns of the array, or one lane of all if joined.
    """
    joined = chip.map_lanes == "joined"
    return (1, chip.mpu_rows * chip.mpu_cols) if joined else (chip.mpu_cols, chip.mpu_rows)


def bound_by_weights(chip: Chip, rows: int) -> bool:
    """Whether a matrix unit spends at least 4/5 of its time on loading weights when `rows` rows pass each block."""
    return rows * 4 <= load_cycles(chip)


def matmul_cycles(chip: Chip, rate: Any, batch: Number, m: Number, k: Number, n: Number) -> Number:
    """
    Cold-start cycles of D[b, m, n] = A[b, m, k] x B[b, k, n], with `rate` elements in the place of one f32 element.

    An R x C weight-stationary array, R = mpu_rows * rate: each block of R x C weights takes mpu_rows cycles to load
    and the m rows of A take m + mpu_rows + C - 2 to pass (SCALE-Sim's form where the rate is 1).
    """
    return batch * matmul_blocks(chip, rate, k, n) * (m + load_cycles(chip)) - 1


def matmul_blocks(chip: Chip, rate: Any, k: Number, n: Number) -> Number:
    """Number of blocks of weights of a K x N matrix."""
    return ceil_div(k, chip.mpu_rows * rate) * ceil_div(n, chip.mpu_cols)


def vector_cycles(chip: Chip, rate: Any, points: Number, factor: Any, operand_bytes: Number) -> Number:
    """Cycles of `points` element operations, of `factor` passes each, whose largest operand has `operand_bytes`."""
    passing = ceil_div(points, chip.vpu_lanes * rate) * factor
    return STARTUP + larger(passing, ceil_div(operand_bytes, chip.sram_bytes_per_cycle))


def shared_product(chip: Chip, k: int, n: int) -> tuple[int, int]:
    """
    (terms, cycles) of the fastest division of a product of one row of K elements and a K x N matrix, in f32, between
    both units: the matrix unit sums the last `terms` of the K terms, concurrently the vector unit sums the others, and
    then adds both sums. If one unit alone is faster, `terms` is 0, and the cycles are those of the vector unit alone.

    A matrix unit loads each block of weights for a single row. If it holds the row and streams the columns instead, a
    block takes N cycles more than it takes to load; for large N, the vector unit takes longer for as many terms.
    """
    alone = vector_cycles(chip, 1, k * n, 1, 4 * k * n)
    best, fewest = 0, alone
    joined = vector_cycles(chip, 1, n, 1, 4 * n)

    def on_matrix_unit(terms: int) -> int:
        return min(matmul_cycles(chip, 1, 1, 1, terms, n), matmul_cycles(chip, 1, 1, n, terms, 1))

    for terms in range(chip.mpu_rows, k, chip.mpu_rows):
        matrix = on_matrix_unit(terms)
        left = (k - terms) * n
        cycles = max(matrix, vector_cycles(chip, 1, left, 1, 4 * left)) + joined
        if cycles < fewest:
            best, fewest = terms, cycles
        if matrix > fewest:
            break
    return (best, fewest) if fewest < on_matrix_unit(k) else (0, alone)


def shared_batch(chip: Chip, rate: Any, sizes: tuple[int, int, int, int], item_bytes: int) -> tuple[int, int]:
    """
    (products, cycles) of the fastest division of `batch` independent products of M x K and K x N between both units:
    the matrix unit computes `products` of them, concurrently the vector unit computes the others, as sums of products
    that read K x N elements for each row. `sizes` is (batch, M, K, N).
    """
    batch, m, k, n = sizes

    def on_vector(count: int) -> int:
        points = count * m * k * n
        return vector_cycles(chip, rate, points, 1, points * item_bytes) if count else 0

    def on_matrix(count: int) -> int:
        straight = matmul_cycles(chip, rate, count, m, k, n)
        return min(straight, matmul_cycles(chip, rate, count, n, k, m)) if count else 0

    vector, matrix = on_vector(batch), on_matrix(batch)
    balanced = batch * vector // max(1, vector + matrix)
    counts = {0, batch, *range(max(0, balanced - 1), min(batch, balanced + 2) + 1)}
    cycles, best = min((max(on_matrix(count), on_vector(batch - count)), count) for count in counts)
    return best, cycles


def copy_cycles(chip: Chip, runs: Number, run_bytes: Number) -> Number:
    """Cycles of copying `runs` contiguous pieces of `run_bytes` bytes each within SRAM."""
    return STARTUP + runs * ceil_div(run_bytes, chip.sram_bytes_per_cycle)


def dram_traffic(chip: Chip, runs: Number, run_bytes: Number) -> Number:
    """Bytes through the DRAM port for `runs` contiguous pieces of `run_bytes` each, rounded up to whole bursts."""
    return runs * ceil_div(run_bytes, chip.dram_burst) * chip.dram_burst

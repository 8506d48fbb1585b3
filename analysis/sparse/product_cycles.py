"""Cycles of matrix products with skipped zeros, by the machine's formula on expected numbers."""

from __future__ import annotations

import math

from ...chips import Chip
from ...chips.cycles import encoded_lanes, load_cycles
from ...dialects.dataflow.tiling import EncodedWork
from ...formats.sparse.nonzero import ALL_NONZERO, Nonzero

LOADING_WORK = 4.0
"""
Weight of the cycles of matrix units with encoded weights relative to elapsed cycles, where most of them load weights:
every core with separate rows loads all weights, and a network rarely waits for that.
"""


def product_cycles(chip: Chip, work: EncodedWork, rate: int) -> float:
    """
    Cycles of one product with encoded weights, whose element type does `rate` multiply-accumulates in the time of one
    in f32: with zeros of the neurons skipped where that is faster.
    """
    return min(_encoded_cycles(chip, work, rate, ALL_NONZERO), skipping_cycles(chip, work, rate))


def skipping_cycles(chip: Chip, work: EncodedWork, rate: int) -> float:
    """As `product_cycles`, with zeros of the neurons skipped; infinite if no zeros are expected."""
    return _encoded_cycles(chip, work, rate, work.nonzero) if work.nonzero.has_zeros else math.inf


def _encoded_cycles(chip: Chip, work: EncodedWork, rate: int, nonzero: Nonzero) -> float:
    """
    Lanes load as many weights as they have places, stream the rows, and wait for each other at the end; the mapping
    unit reads the index in parallel, again for each row if the input caches precede it. Numbers of the fullest lane may
    be averages over several products.
    """
    depth, fill = encoded_lanes(chip)[1] * rate, load_cycles(chip)
    before = chip.map_caches == "before"
    loads, fullest = work.loads, work.fullest
    if nonzero.has_zeros:
        shares = nonzero.of_lane(work.rows, work.lines)
        # If it was measured for these lanes, the mean number of loads is known, not only that of weights.
        loads = loads * shares.loads if nonzero.lanes else min(loads, math.ceil(fullest * shares.met / depth))
        fullest *= shares.pairs if before else shares.met
    # On average, rounding up adds half a cycle.
    passing = loads if work.rows == 1 else _rounded_up(work.rows * fullest / depth, exact=fullest == int(work.fullest))
    times = work.rows if before else 1
    looked_at = times * work.looked_at / (chip.map_direct_bits if work.direct else chip.map_stride_codes)
    if nonzero.has_zeros:
        uses = -(-work.fibers // chip.mpu_cols) if before else 1
        looked_at = max(looked_at, uses * work.rows * work.inputs / chip.map_direct_bits)
    memory = max(work.weight_bytes, work.neuron_bytes) / chip.map_bytes_per_cycle
    least = max(1.0, math.ceil(looked_at), math.ceil(memory))
    # The number of loads is an integer: with a mean between two integers, some products take the lower one and may wait
    # for the mapping unit or for memory, while others take longer than these.
    fewer, more = math.floor(loads), loads % 1
    mixed = ((fewer, 1 - more), (fewer + 1, more))
    return sum(share * max(least, fill * number + passing - 1) for number, share in mixed if share)


def _rounded_up(cycles: float, exact: bool) -> float:
    return math.ceil(cycles) if exact else cycles + 0.5


def expected_loads(mean: float, deviation: float, depth: int) -> float:
    """
    Expected loads for a normally distributed number of weights: the sum over n of the probability that there are more
    weights than n loads hold. The number is rarely 0.
    """
    if deviation < 1e-3:
        return math.ceil(round(mean, 6) / depth)
    limits = range(depth, math.ceil(mean + 5 * deviation), depth)
    more = sum(0.5 * math.erfc((limit + 0.5 - mean) / deviation / math.sqrt(2)) for limit in limits)
    return min(1.0, mean) + more


def dense_weights_cycles(
    chip: Chip, sizes: tuple[int, int, int, int], rate: int, nonzero: Nonzero, operand_bytes: float = 0, lines: int = 0
) -> float:
    """
    Cycles of products of `sizes` (batch, m, k, n) with dense weights; the share `nonzero` of the first operand is
    multiplied. `operand_bytes`: bytes of the largest operand; `lines`: number of lines of the rows (0: unknown).
    """
    batch, m, k, n = sizes
    depth, fill = chip.mpu_rows * rate, load_cycles(chip)
    before = chip.map_caches == "before"
    shares, rounds = nonzero.of_lane(m, lines), -(-n // chip.mpu_cols)
    stored = rounds * k
    loads = min(math.ceil(stored / depth), expected_loads(stored * shares.met, stored * shares.spread, depth))
    pairs = m * stored * (shares.pairs if before else shares.met)
    lanes = batch * (fill * loads + math.ceil(pairs / depth)) - 1
    looked_at = batch * m * k * (rounds if before else 1) / chip.map_direct_bits
    return max(1.0, lanes, math.ceil(looked_at), math.ceil(operand_bytes / chip.map_bytes_per_cycle))

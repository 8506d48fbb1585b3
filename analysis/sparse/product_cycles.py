"""Cycles of matrix products from which zeros are left out, by the machine's own formula on expected numbers."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from ...chips import Chip
from ...dialects.dataflow.tiling import EncodedWork
from .nonzero import ALL_NONZERO, Nonzero

SPREAD = (0.96, 0.98, 1.0, 1.02, 1.04)
"""How far tiles of a layer lie from the mean of what counts."""


def product_cycles(chip: Chip, work: EncodedWork, rate: int) -> float:
    """
    Cycles of one product with encoded weights, whose element type does `rate` multiply-accumulates where f32 does one:
    with zeros of the neurons left out where that is faster.
    """
    return min(_encoded_cycles(chip, work, rate, ALL_NONZERO), skipping_cycles(chip, work, rate))


def skipping_cycles(chip: Chip, work: EncodedWork, rate: int) -> float:
    """The same where zeros of the neurons are left out; without end where none are expected."""
    return _encoded_cycles(chip, work, rate, work.nonzero) if work.nonzero.has_zeros else math.inf


def _encoded_cycles(chip: Chip, work: EncodedWork, rate: int, nonzero: Nonzero) -> float:
    """
    Lanes load up to R weights of an output neuron and let the rows pass, and meet at the end; the mapping unit looks at
    the index beside that, for each row anew where the input caches stand before it. Numbers of the fullest lane may
    be averages over several products.
    """
    depth, fill = chip.mpu_rows * rate, 2 * chip.mpu_rows + chip.mpu_cols - 2
    before = chip.map_caches == "before"
    each = min(-(-work.strings // chip.mpu_cols), work.loads)
    loads, fullest = work.loads, work.fullest
    if nonzero.has_zeros:
        met = nonzero.met(work.rows)
        if met < 1:
            # The lane that was longest, or another one, by chance.
            neurons, lanes = max(1, round(each)), min(work.strings, chip.mpu_cols)
            mean = work.stored / max(1, work.strings)
            loads = min(
                loads,
                max(
                    longest_loads(neurons, round(stored, 1), work.inputs, round(met, 3), depth, among)
                    for stored, among in ((fullest / neurons, 1), (mean, lanes))
                ),
            )
        fullest *= nonzero.density if before else met
    if work.rows == 1:
        passing = loads
    else:  # each output neuron of the lane rounds up by itself: by half a cycle on average
        passing = work.rows * fullest / depth + 0.5 * each
    lanes = fill * loads + passing - 1
    times = work.rows if before else 1
    looked_at = times * work.looked_at / (chip.map_direct_bits if work.direct else chip.map_stride_codes)
    if nonzero.has_zeros:
        uses = -(-work.strings // chip.mpu_cols) if before else 1
        looked_at = max(looked_at, uses * work.rows * work.inputs / chip.map_direct_bits)
    memory = max(work.weight_bytes, work.neuron_bytes) / chip.map_bytes_per_cycle
    return max(1.0, lanes, math.ceil(looked_at), math.ceil(memory))


@lru_cache(maxsize=1 << 14)
def longest_loads(each: int, stored: float, inputs: int, met: float, depth: int, lanes: int) -> float:
    """
    Loads that the slowest of so many lanes is expected to take for `each` output neurons, if each neuron stores about
    `stored` weights, at random among its inputs, and those count whose input is one of the share `met`.

    How many count is binomial (taken as normal); loads are whole; lanes and neurons are independent.
    """
    mean = stored * met
    deviation = math.sqrt(max(0.0, mean * (1 - stored / max(1, inputs))))
    if deviation < 1e-3:
        return each * math.ceil(mean / depth)
    highest = max(1, math.ceil(min(inputs * met, mean + 5 * deviation) / depth))
    below = [0.5 * (1 + math.erf((loads * depth + 0.5 - mean) / deviation / math.sqrt(2))) for loads in range(highest)]
    share = np.diff([0.0, *below, 1.0])
    total = np.ones(1)
    for _ in range(each):
        total = np.convolve(total, share)
    # The largest of several: the sum over n of the chance that not all are at most n.
    return float((1 - np.minimum(1.0, np.cumsum(total)) ** lanes).sum())


def dense_weights_cycles(
    chip: Chip, sizes: tuple[int, int, int, int], rate: int, nonzero: Nonzero, operand_bytes: float = 0
) -> float:
    """
    Cycles of products of `sizes` (batch, m, k, n) with dense weights, of whose first operand `nonzero` counts,
    and whose largest operand has so many bytes.
    """
    batch, m, k, n = sizes
    depth, fill = chip.mpu_rows * rate, 2 * chip.mpu_rows + chip.mpu_cols - 2
    before = chip.map_caches == "before"
    met = k * nonzero.met(m)
    pairs = m * (k * nonzero.density if before else met)
    rounds = -(-n // chip.mpu_cols)
    # Tiles differ a little in what they meet: some need a load more than others.
    likely = [min(k, met * share) for share in (SPREAD if met < k else (1.0,))]
    loads = sum(math.ceil(used / depth) for used in likely) / len(likely)
    lanes = batch * rounds * (fill * loads + math.ceil(pairs / depth)) - 1
    looked_at = batch * m * k * (rounds if before else 1) / chip.map_direct_bits
    return max(1.0, lanes, math.ceil(looked_at), math.ceil(operand_bytes / chip.map_bytes_per_cycle))

"""Cycles of a matrix product with encoded weights, from what its fullest lane does: the machine's own formula."""

from __future__ import annotations

import math

from ...chips import Chip
from ...dialects.dataflow.tiling import EncodedWork


def product_cycles(chip: Chip, work: EncodedWork, rate: int) -> float:
    """
    Cycles of one product whose element type does `rate` multiply-accumulates where f32 does one.

    Lanes load up to R weights of an output neuron and let the rows pass, and meet at the end; the mapping unit looks at
    the index beside that, for each row anew where the input caches stand before it. Numbers of the fullest lane may
    be averages over several products.
    """
    depth = chip.mpu_rows * rate
    load = 2 * chip.mpu_rows + chip.mpu_cols - 2
    if work.rows == 1:
        passing = work.loads
    else:  # each output neuron of the lane rounds up by itself: by half a cycle on average
        each = min(-(-work.strings // chip.mpu_cols), work.loads)
        passing = work.rows * work.fullest / depth + 0.5 * each
    lanes = load * work.loads + passing - 1
    times = work.rows if chip.map_caches == "before" else 1
    looked_at = times * work.looked_at / (chip.map_direct_bits if work.direct else chip.map_stride_codes)
    memory = max(work.weight_bytes, work.neuron_bytes) / chip.map_bytes_per_cycle
    return max(1.0, lanes, math.ceil(looked_at), math.ceil(memory))

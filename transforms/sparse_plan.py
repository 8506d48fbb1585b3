"""Which encoding each known weight tensor should have: the decisions of `sparse-select-encoding`, as data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import ModuleOp, bf16

from ..analysis.sparse.choose import Choice, smallest
from ..analysis.sparse.cost import Layer, LayerCost, Machine, fastest, layer_costs
from ..analysis.sparse.encode import counts
from ..analysis.sparse.formats import Format, candidates
from ..chips import RATES, Chip
from ..dialects.dataflow.types import element_bytes, element_of, is_float, shape_of
from ..support.errors import InputError
from .contraction_weights import Array, WeightUse, numeric_values, stored_values, weight_uses


@dataclass(frozen=True)
class MappingRates:
    """What the mapping unit of one core looks at in a cycle."""

    direct_bits: int
    stride_codes: int


@dataclass(frozen=True, eq=False)
class PlannedWeight:
    """A weight of a contraction, and the best way to store it."""

    use: WeightUse
    choice: Choice
    dense: LayerCost | None = None
    """Cycles with dense weights, where cycles were asked for."""
    chosen: LayerCost | None = None
    """Cycles with the choice."""


def machine_of(chip: Chip, rates: MappingRates, item: int) -> Machine:
    """All cores of a chip together, for elements of so many bytes."""
    cores = chip.rows * chip.cols
    return Machine(
        macs=cores * chip.mpu_rows * chip.mpu_cols * {1: RATES["i8"], 2: RATES["f16"]}.get(item, 1),
        memory_bytes=chip.dram_bytes_per_cycle,
        direct_bits=cores * rates.direct_bits,
        stride_codes=cores * rates.stride_codes,
        lanes=chip.mpu_cols,
    )


def plan_encodings(
    module: ModuleOp,
    groups: Sequence[int] = (1,),
    threshold: float = 0.0,
    chip: Chip | None = None,
    rates: MappingRates | None = None,
) -> list[PlannedWeight]:
    """
    A plan for each known weight of a contraction: of fewest bytes, or with `chip` and `rates` of fewest cycles.

    With threshold 0, weights whose decoded form would differ in any bit (they hold -0) stay dense.
    """
    if any(group < 1 for group in groups):
        raise InputError(f"groups={','.join(map(str, groups))}: expected at least 1")
    formats = candidates(tuple(groups))
    return [_plan(use, formats, threshold, chip, rates) for use in weight_uses(module)]


def _plan(
    use: WeightUse, formats: Sequence[Format], threshold: float, chip: Chip | None, rates: MappingRates | None
) -> PlannedWeight:
    values, stored = numeric_values(use.source), stored_values(use.source)
    if threshold == 0 and is_float(element_of(use.source.result)) and _has_negative_zero(values):
        formats = ()
    # Sizes are those of elements as they are stored; which count is a matter of their numbers.
    if element_of(use.source.result) == bf16:
        stored = np.where(counts(values, threshold), stored, np.uint16(0))
        threshold = 0.0
    if chip is None or rates is None:
        return PlannedWeight(use, smallest(stored, use.strings, formats, threshold))
    layer = Layer(use.rows, use.strings.inputs, use.strings.outputs, _neuron_bytes(use))
    machine = machine_of(chip, rates, stored.dtype.itemsize)
    costs = layer_costs(layer, stored, use.strings, machine, formats, threshold)
    best = fastest(costs)
    return PlannedWeight(use, best.choice, costs[0], best)


def _has_negative_zero(values: Array) -> bool:
    return bool((np.signbit(values) & (values == 0)).any())


def _neuron_bytes(use: WeightUse) -> int:
    """Bytes of the neurons in and out."""
    neurons = (use.op.operands[1 - use.position], use.op.results[0])
    return sum(math.prod(shape_of(value)) * element_bytes(element_of(value)) for value in neurons)

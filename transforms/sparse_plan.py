"""Which encoding each known weight tensor should have: the decisions of `sparse-select-encoding`, as data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import ModuleOp, bf16, f32

from ..analysis.sparse.choose import Choice, smallest
from ..analysis.sparse.encode import counts
from ..analysis.sparse.formats import Format, candidates
from ..analysis.sparse.layer_cost import Layer, LayerCost, fastest, layer_costs
from ..chips import RATES, Chip
from ..dialects.dataflow import ConvOp
from ..dialects.dataflow.types import element_bytes, element_of, is_float
from ..support.errors import InputError
from .contraction_weights import Array, WeightUse, numeric_values, stored_values, weight_uses

WORTHWHILE = 0.9
"""Weights are encoded for speed only if that takes less than this share of the cycles."""
MATRIX_RATES: dict[str, int] = {**RATES, "ui8": RATES["i8"]}
"""Multiply-accumulates a cycle of the element types that a matrix unit takes, relative to f32."""


@dataclass(frozen=True, eq=False)
class PlannedWeight:
    """A weight of a contraction, and the best way to store it."""

    use: WeightUse
    choice: Choice
    dense: LayerCost | None = None
    """Cycles with dense weights, where cycles were asked for."""
    chosen: LayerCost | None = None
    """Cycles with the choice."""


def plan_encodings(
    module: ModuleOp,
    groups: Sequence[int] = (1,),
    threshold: float = 0.0,
    chip: Chip | None = None,
) -> list[PlannedWeight]:
    """
    A plan for each known weight of a contraction: of fewest bytes, or with `chip` of fewest cycles on it.

    With threshold 0, weights whose decoded form would differ in any bit (they hold -0) stay dense.
    """
    if any(group < 1 for group in groups):
        raise InputError(f"groups={','.join(map(str, groups))}: expected at least 1")
    formats = candidates(tuple(groups))
    return [_plan(use, formats, threshold, chip) for use in weight_uses(module)]


def _plan(use: WeightUse, formats: Sequence[Format], threshold: float, chip: Chip | None) -> PlannedWeight:
    values, stored = numeric_values(use.source), stored_values(use.source)
    if threshold == 0 and is_float(element_of(use.source.result)) and _has_negative_zero(values):
        formats = ()
    # Sizes are those of elements as they are stored; which count is a matter of their numbers.
    if element_of(use.source.result) == bf16:
        stored = np.where(counts(values, threshold), stored, np.uint16(0))
        threshold = 0.0
    if chip is None:
        return PlannedWeight(use, smallest(stored, use.strings, formats, threshold))
    layer = layer_of(use)
    if not on_panels(use):
        formats = ()  # no unit of the chip takes such weights encoded
    costs = layer_costs(chip, layer, stored, use.strings, formats, threshold)
    best = fastest(costs)
    # A little faster by an estimate may be slower in truth.
    best = best if best.cycles < WORTHWHILE * costs[0].cycles else costs[0]
    return PlannedWeight(use, best.choice, costs[0], best)


def layer_of(use: WeightUse) -> Layer:
    """The sizes of a contraction with known weights."""
    strings, shape = use.strings, use.strings.shape
    taps = math.prod(shape[2:]) if isinstance(use.op, ConvOp) else 1
    return Layer(use.rows, strings.inputs, strings.outputs, element_bytes(element_of(use.source.result)), taps)


def on_panels(use: WeightUse) -> bool:
    """Whether a matrix unit takes the weights of a contraction encoded, by panels."""
    element, result = element_of(use.source.result), element_of(use.op.results[0])
    if use.position != 1 or str(element) not in MATRIX_RATES or (is_float(element) and result not in (element, f32)):
        return False
    return use.op.group_count == 1 if isinstance(use.op, ConvOp) else len(use.strings.shape) == 2


def _has_negative_zero(values: Array) -> bool:
    return bool((np.signbit(values) & (values == 0)).any())

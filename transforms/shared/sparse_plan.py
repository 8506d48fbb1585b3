"""The choice of an encoding for each constant weight tensor: the decisions of `sparse-select-encoding`, as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from xdsl.dialects.builtin import ModuleOp, bf16, f32
from xdsl.ir import Attribute, Operation

from ...analysis.execution.nonzero_activations import by_input
from ...analysis.sparse.layer_cost import Layer, LayerCost, Objective, dense_cycles, fastest, layer_costs
from ...analysis.sparse.observed_activations import ObservedActivations
from ...analysis.sparse.smallest_encoding import Choice, smallest
from ...chips import RATES, Chip
from ...dialects.dataflow import ConvOp
from ...dialects.dataflow.types import element_bytes, element_of, is_float
from ...formats.sparse.encode import Mask, counts
from ...formats.sparse.index_formats import Format, candidates
from ...formats.sparse.nonzero import ALL_NONZERO, Activations, Nonzero
from ...support.errors import InputError
from .contraction_weights import WeightUse, numeric_values, stored_values, stored_weights, weight_uses

ACCEPT_RATIO = 0.9
"""Weights are encoded for speed only if the estimate is below this share of the dense cycles."""
NO_ZEROS = "none of them is zero"
"""The reason why weights without zeros stay dense."""
MATRIX_RATES: dict[str, int] = {**RATES, "ui8": RATES["i8"]}
"""Multiply-accumulates per cycle, relative to f32, of the element types that a matrix unit accepts."""


@dataclass(frozen=True, eq=False)
class PlannedWeight:
    """A weight of a contraction, and the best way to store it."""

    use: WeightUse
    choice: Choice
    dense: LayerCost | None = None
    """Cycles with dense weights, if cycles were requested."""
    chosen: LayerCost | None = None
    """Cycles with the choice."""
    neurons: Nonzero | None = None
    """Measured share of nonzero activations, if any."""
    encode_neurons: bool = False
    """Whether the activations are encoded at run time, because skipping their zeros pays."""
    reason: str = ""
    """The reason why the weights stay dense; "" if they do not."""

    @property
    def is_sparse(self) -> bool:
        """Whether weights or activations of the layer are encoded."""
        return self.choice.format is not None or self.encode_neurons


def plan_encodings(
    module: ModuleOp,
    groups: Sequence[int] = (1,),
    threshold: float = 0.0,
    chip: Chip | None = None,
    neurons: Mapping[Operation, Mask] | None = None,
    objective: Objective = "cycles",
) -> list[PlannedWeight]:
    """
    A plan for each constant weight of a contraction: for the fewest bytes, or with `chip` for the fewest cycles on it.

    A zero of either sign is not stored, and is decoded as +0. `neurons`: the observed activations of contractions, if
    measured (`analysis.execution.nonzero_activations`); only cycles depend on them. `objective`: the criterion for
    panels.
    """
    if any(group < 1 for group in groups):
        raise InputError(f"groups={','.join(map(str, groups))}: expected at least 1")
    formats = candidates(tuple(groups))
    return [
        _plan(use, formats, threshold, chip, None if neurons is None else neurons.get(use.op), objective)
        for use in weight_uses(module)
    ]


def _plan(
    use: WeightUse,
    formats: Sequence[Format],
    threshold: float,
    chip: Chip | None,
    counting: Mask | None,
    objective: Objective,
) -> PlannedWeight:
    values, stored = numeric_values(use.source), stored_values(use.source)
    all_count = bool(counts(values, threshold).all())
    # Sizes are those of elements in storage form; whether an element is stored depends on its number.
    if element_of(use.source.result) == bf16:
        stored = np.where(counts(values, threshold), stored, np.uint16(0))
        threshold = 0.0
    if chip is None:
        choice = smallest(stored, use.fibers, formats, threshold)
        reason = "" if choice.format else NO_ZEROS if all_count else "no encoding is smaller"
        return PlannedWeight(use, choice, reason=reason)
    if reason := not_on_panels(use):
        formats = ()  # no unit of the chip accepts such weights encoded
    seen = None if counting is None else _seen(use, counting, chip)
    # Matrix units skip zeros of the first operand only.
    skips = seen is not None and use.position == 1 and _matrix_types(use)
    layer = layer_of(use, seen if seen is not None and skips else ALL_NONZERO, objective)
    costs = layer_costs(chip, layer, stored, use.fibers, formats, threshold)
    best = fastest(costs)
    best = best if is_faster(best, costs[0]) else costs[0]
    if best.choice.format is None:
        reason = reason or (NO_ZEROS if all_count else _why_dense(costs))
    neurons = None
    if seen is not None:
        neurons = seen.on_dense_weights() if best.panels is None else seen.as_stored(best.panels)
    encode = skips and neurons is not None and neurons.has_zeros and _encode_neurons(chip, layer, best)
    return PlannedWeight(use, best.choice, costs[0], best, neurons, encode, reason)


def is_faster(encoded: LayerCost, dense: LayerCost) -> bool:
    """Whether to encode weights for speed; a small estimated gain may be a loss in reality."""
    return encoded.cycles < ACCEPT_RATIO * dense.cycles


def _seen(use: WeightUse, counting: Mask, chip: Chip) -> ObservedActivations:
    """The observed activations of a contraction; if its weights cannot be in panels, those for dense weights."""
    counts = by_input(use.op, counting)
    if use.position == 1 and (isinstance(use.op, ConvOp) or len(use.fibers.shape) == 2):
        stored = stored_weights(use)
    else:
        stored = np.ones((1, 1, len(counts)), np.bool_)
    return ObservedActivations(counts, stored, chip, layer_of(use).rate)


def _encode_neurons(chip: Chip, layer: Layer, best: LayerCost) -> bool:
    """Whether to skip zeros of the activations: with dense weights, if that pays."""
    if best.choice.format is not None:
        return True
    return dense_cycles(chip, layer) < ACCEPT_RATIO * dense_cycles(chip, replace(layer, neurons=ALL_NONZERO))


def _why_dense(costs: Sequence[LayerCost]) -> str:
    """The reason why no encoding is chosen for weights."""
    if len(costs) == 1:
        return "no encoding fits their fibers"
    dense, best = costs[0], fastest(costs[1:])
    return (
        f"the best encoding ({best.choice.format}) takes {best.cycles / max(1.0, dense.cycles):.2f} x the dense cycles"
    )


def layer_of(use: WeightUse, neurons: Activations = ALL_NONZERO, objective: Objective = "cycles") -> Layer:
    """The sizes of a contraction with constant weights and the share `neurons` of activations."""
    fibers = use.fibers
    item_bytes = element_bytes(element_of(use.source.result))
    return Layer(
        use.rows, fibers.inputs, fibers.outputs, item_bytes, use.op.taps, neurons, use.op.group_count, objective
    )


def on_panels(use: WeightUse) -> bool:
    """Whether a matrix unit accepts the weights of a contraction in panels."""
    return not not_on_panels(use)


def not_on_panels(use: WeightUse) -> str:
    """The reason why a matrix unit does not accept the weights of a contraction in panels; "" if it does."""
    if use.position != 1:
        return "they are the first operand"
    if not _matrix_types(use):
        return f"matrix units do not multiply {element_of(use.source.result)} into {element_of(use.op.results[0])}"
    return "" if isinstance(use.op, ConvOp) or len(use.fibers.shape) == 2 else "they differ from batch to batch"


def _matrix_types(use: WeightUse) -> bool:
    return matrix_types(element_of(use.source.result), element_of(use.op.results[0]))


def matrix_types(element: Attribute, result: Attribute) -> bool:
    """
    Whether matrix units support an element type with a result type: floats with f32 or their own type, 8-bit integers.
    """
    return str(element) in MATRIX_RATES and (not is_float(element) or result in (element, f32))

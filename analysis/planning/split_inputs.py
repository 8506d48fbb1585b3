"""
Products of one row that are cut along their inputs: each part has all outputs, parts are on separate cores, and the sum
over the parts follows.

The time of a lane of a matrix unit is the sum over its output neurons, and the slowest lane determines the time. A
narrow panel of whole neurons waits for the neuron with the most weights. If inputs are cut, each lane has a share of
these weights, and the same number of cores works on panels that are wider by the number of parts, whose lanes process
further neurons.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...chips import Chip
from ...formats.sparse.bits import Array
from ...formats.sparse.encode import Mask
from ..sparse.layer_cost import Layer, LayerCost, best_panels
from ..sparse.smallest_encoding import Choice
from .estimate import MESSAGE

ACCEPT_RATIO = 0.9
"""Inputs are cut only if the price (`LayerCost.price`) is then below this share of that without a cut."""
MORE_WORK = 1.25
"""Largest factor by which the work of matrix units may grow: parts of joined lanes are not all filled."""
SECOND_TASK = 100
"""Cycles of a task for the sum, in addition to those of the messages of the parts."""


@dataclass(frozen=True)
class Split:
    """The number of parts of the inputs, and the cost of the product with its sum."""

    parts: int
    cost: LayerCost


def best_split(chip: Chip, layer: Layer, mask: Mask, choice: Choice) -> Split:
    """
    The number of parts with the least cost of a product; 1 if others have no gain or cause much more work for matrix
    units. See `best_panels`.
    """
    whole = best_panels(chip, layer, mask, choice)
    best = Split(1, whole)
    for parts in range(2, len(chip.usable_cores) + 1):
        if layer.inputs % parts:
            continue
        cut = replace(layer, inputs=layer.inputs // parts, outputs=layer.outputs * parts, groups=parts)
        cost = best_panels(chip, cut, in_parts(mask, parts), choice)
        cost = replace(cost, compute=cost.compute + SECOND_TASK + MESSAGE * parts)
        little_more = cost.mean_compute <= MORE_WORK * whole.mean_compute
        if little_more and cost.price < min(best.cost.price, ACCEPT_RATIO * whole.price):
            best = Split(parts, cost)
    return best


def in_parts(matrix: Array, parts: int) -> Array:
    """[outputs, inputs] as [parts x outputs, inputs / parts]."""
    outputs, inputs = matrix.shape
    groups = matrix.reshape(outputs, parts, inputs // parts).transpose(1, 0, 2)
    return np.ascontiguousarray(groups).reshape(outputs * parts, inputs // parts)

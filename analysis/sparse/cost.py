"""
Cycles and bytes of a layer with dense or indexed weights: the model that chooses between them.

A layer is `rows` input vectors against `outputs` weight vectors of `inputs` each. Matrix unit, mapping unit and memory
work at the same time, so that the slowest counts:

    multiply   pairs left by the weights' index (and the neurons', where they are sparse), over lanes of unequal work,
               the output neurons in the order that they are in
    map        what the mapping unit looks at: for each row, all positions of a direct index, or the entries of a stride
    memory     index and values of the weights, neurons in and out

With one side indexed a pair is left where the weight is; with both, if independent, the product of their densities.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .balance import efficiency
from .bits import Array
from .choose import Choice, all_choices
from .encode import counts, group_mask
from .formats import Format, Kind, Order
from .strings import Strings


@dataclass(frozen=True)
class Machine:
    """Rates of a chip, all for one cycle."""

    macs: float
    """Pairs that the matrix units multiply."""
    memory_bytes: float
    direct_bits: float
    """Positions of direct indices that the mapping units look at."""
    stride_codes: float
    """Entries of stride indices that they look at."""
    lanes: int = 1
    """Output neurons that go through a matrix unit in step."""


@dataclass(frozen=True)
class Layer:
    """Sizes of a product, and what of its neurons counts."""

    rows: int
    inputs: int
    outputs: int
    neuron_bytes: int
    """Bytes of the neurons that come in and go out."""
    neuron_density: float = 1.0


@dataclass(frozen=True)
class LayerCost:
    """What a layer takes with its weights in one way."""

    choice: Choice
    multiply: float
    map: float
    memory: float

    @property
    def cycles(self) -> float:
        """Cycles of the slowest part."""
        return max(self.multiply, self.map, self.memory)


def layer_costs(
    layer: Layer,
    weights: Array,
    strings: Strings,
    machine: Machine,
    formats: Sequence[Format] | None = None,
    threshold: float = 0.0,
) -> list[LayerCost]:
    """The costs of a layer with dense weights (first) and with each format."""
    mask = Strings(strings.shape, Order.OUTPUT, strings.axis).matrix(counts(weights, threshold))
    choices = all_choices(weights, strings, formats, threshold)
    # Fillers and whole groups are multiplied too; how work spreads over outputs hardly depends on the fillers.
    spread: dict[int, float] = {}
    for group in {choice.format.group for choice in choices if choice.format is not None}:
        spread[group] = efficiency(group_mask(mask, Format(Kind.DIRECT, group=group)).sum(axis=1), machine.lanes)
    return [_cost(layer, choice, machine, spread) for choice in choices]


def _cost(layer: Layer, choice: Choice, machine: Machine, spread: dict[int, float]) -> LayerCost:
    memory = (choice.nbytes + layer.neuron_bytes) / machine.memory_bytes
    if choice.format is None:
        return LayerCost(choice, layer.rows * layer.inputs * layer.outputs / machine.macs, 0.0, memory)
    group = choice.format.group
    pairs = layer.rows * choice.entries * group * layer.neuron_density
    looked_at = layer.inputs * layer.outputs / group if choice.format.kind == Kind.DIRECT else choice.entries
    rate = machine.direct_bits if choice.format.kind == Kind.DIRECT else machine.stride_codes
    return LayerCost(choice, pairs / machine.macs / spread[group], layer.rows * looked_at / rate, memory)


def fastest(costs: Sequence[LayerCost]) -> LayerCost:
    """The way of fewest cycles, then of fewest bytes; the first of equal ones, so dense where nothing is gained."""
    return min(costs, key=lambda cost: (cost.cycles, cost.choice.nbytes))


def break_even(
    layer: Layer, machine: Machine, format: Format, densities: Sequence[float], seed: int = 0
) -> list[tuple[float, float]]:
    """(density, cycles dense / cycles in the format) on random 8-bit weights of these densities."""
    generator = np.random.default_rng(seed)
    strings = Strings((layer.outputs, layer.inputs))
    curve: list[tuple[float, float]] = []
    for density in densities:
        weights = (generator.random(strings.shape) < density).astype(np.int8)
        dense, indexed = layer_costs(layer, weights, strings, machine, (format,))
        curve.append((density, dense.cycles / indexed.cycles))
    return curve

"""
Cycles and bytes of a layer with dense or encoded weights on a chip: the model that chooses between them.

A layer multiplies `rows` vectors of neurons by `outputs` fibers of `inputs` weights each. Its work is divided over the
cores along rows and output neurons, in the fastest way:

    compute  cycles of the busiest core's matrix (or, dense, vector) unit; see `product_cycles`
    memory   cycles for loading the weights from DRAM
    cycles   the sum: the share that overlaps depends on the neighbouring layers, and may be zero
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ...chips import Chip
from ...chips.cycles import RATE_BY_WIDTH, bound_by_weights, load_cycles
from ...chips.dram_ports import dram_rate, port_rate
from ...dialects.dataflow.tiling import EncodedWork, split_evenly
from ...formats.sparse.bits import Array, Ints
from ...formats.sparse.encode import Mask, counts, group_mask
from ...formats.sparse.fibers import Fibers
from ...formats.sparse.index_formats import Format
from ...formats.sparse.nonzero import ALL_NONZERO, Activations
from ...formats.sparse.panels import Lanes, Panels, fullest_lane
from .balance_lanes import balance
from .product_cycles import LOADING_WORK, dense_weights_cycles, product_cycles
from .smallest_encoding import Choice, all_choices

Objective = Literal["cycles", "loads"]
"""
The objective of the choice of panels: few cycles of a layer, or few loads of weights in all cores, for layers that
rarely wait for matrix units.
"""
WIDTHS = (1, 2, 3, 4, 8)
"""
Numbers of output neurons of a panel that are tried, in columns of the matrix unit; for joined lanes, also the loads of
a panel.
"""
MATRIX_WORK = 0.5
"""Weight of the work of matrix units, for the choice between panels of about the same cycles."""
PANEL_SHARE = 16
"""
A panel takes at most this fraction (1 / 16) of SRAM: several are resident at once, while the next ones are loaded.
"""
ACTIVATIONS_SHARE = 8
"""The neurons of one row of a panel take at most this fraction (1 / 8) of SRAM."""


@dataclass(frozen=True)
class Layer:
    """Sizes of a product."""

    rows: int
    inputs: int
    outputs: int
    item_bytes: int
    taps: int = 1
    """Number of inputs that are kept together when the inputs are cut in parts: places of a kernel."""
    neurons: Activations = ALL_NONZERO
    """The neurons that are expected to be nonzero; the others may be skipped."""
    groups: int = 1
    """Number of equal groups of outputs with separate inputs."""
    objective: Objective = "cycles"
    """The objective of the choice of panels; `loads` only where most work is loading weights."""

    @property
    def group_outputs(self) -> int:
        """Outputs of a group."""
        return self.outputs // self.groups

    @property
    def rate(self) -> int:
        """Multiply-accumulates of the element type in the time of one in f32."""
        return RATE_BY_WIDTH.get(self.item_bytes, 1)


@dataclass(frozen=True)
class LayerCost:
    """The cost of a layer with one representation of its weights."""

    choice: Choice
    panels: Panels | None
    """The cut of the weights; None if they are dense."""
    nbytes: int
    """Bytes of the weights in DRAM."""
    compute: float
    memory: float
    mean_compute: float = 0.0
    """For encoded weights, the mean cycles over all cores' matrix units."""
    matrix_work: float = MATRIX_WORK
    """The weight of `mean_compute` in `price`."""

    @property
    def cycles(self) -> float:
        """Cycles of the layer."""
        return self.compute + self.memory

    @property
    def price(self) -> float:
        """
        The criterion for panels: the cycles, and a share of a matrix unit's mean cycles. Wide panels balance lanes,
        narrow ones use more cores; where both take about as long, less work is better.
        """
        return self.cycles + self.matrix_work * self.mean_compute


def layer_costs(
    chip: Chip,
    layer: Layer,
    weights: Array,
    fibers: Fibers,
    formats: Sequence[Format] | None = None,
    threshold: float = 0.0,
) -> list[LayerCost]:
    """The costs of a layer with dense weights (first) and with each format, in its best panels."""
    mask = fibers.matrix(counts(weights, threshold))
    found: list[LayerCost] = []
    for choice in all_choices(weights, fibers, formats, threshold):
        if choice.format is None:
            found.append(dense_cost(chip, layer, choice))
        else:
            found.append(best_panels(chip, layer, mask, choice))
    return found


def dense_cost(chip: Chip, layer: Layer, choice: Choice) -> LayerCost:
    """The costs of a layer with dense weights."""
    memory = choice.nbytes / dram_rate(chip)
    return LayerCost(choice, None, choice.nbytes, dense_cycles(chip, layer), memory)


def fastest(costs: Sequence[LayerCost]) -> LayerCost:
    """
    The cost with the fewest cycles, then the fewest bytes; the first of equal ones, so dense weights if encoding has no
    gain.
    """
    return min(costs, key=lambda cost: (cost.cycles, cost.nbytes))


def grids(cores: int, rows: int, units: int, fewer_rows: bool = False) -> Iterator[tuple[int, int]]:
    """
    (rows, units) of the largest tile for each division of the rows and units over the cores; with `fewer_rows` also
    with rows divided over a half, a quarter... of the cores available for them.
    """
    for cuts in range(1, min(cores, units) + 1):
        parts = min(rows, cores // cuts)
        while parts:
            yield -(-rows // parts), -(-units // cuts)
            parts = parts // 2 if fewer_rows else 0


def dense_cycles(chip: Chip, layer: Layer) -> float:
    """
    Cycles of the busiest core for dense weights: either operand held in the matrix unit, or zeros of neurons skipped,
    or the vector unit.
    """
    fill, depth = load_cycles(chip), chip.mpu_rows * layer.rate
    folds = -(-layer.inputs // depth)
    nonzero = layer.neurons.on_dense_weights() if layer.neurons.has_zeros else ALL_NONZERO
    best = math.inf
    for m, outputs in grids(len(chip.usable_cores), layer.rows, layer.outputs):
        groups, n = -(-outputs // layer.group_outputs), min(outputs, layer.group_outputs)
        straight = groups * folds * -(-n // chip.mpu_cols) * (m + fill)
        swapped = groups * folds * -(-m // chip.mpu_cols) * (n + fill)
        best = min(best, straight - 1, swapped - 1)
        if nonzero.has_zeros:
            neurons = m * layer.inputs * layer.item_bytes // layer.taps
            largest = groups * max(neurons, m * n * 4, n * layer.inputs * layer.item_bytes)
            sizes = (groups, m, layer.inputs, n)
            best = min(best, dense_weights_cycles(chip, sizes, layer.rate, nonzero, largest))
        if layer.item_bytes == 4:
            points = m * outputs * layer.inputs
            moved = points * layer.item_bytes / chip.sram_bytes_per_cycle
            best = min(best, max(points / chip.vpu_lanes, moved))
    return best


def encoded_cycles(
    chip: Chip, layer: Layer, panels: Panels, work: Sequence[EncodedWork], nbytes: int
) -> tuple[float, float, float]:
    """
    Cycles of the busiest core for weights in panels, cycles to load the weights, of `nbytes` bytes, from DRAM, and mean
    cycles over all cores; `work` is that of each panel, part by part, for all rows. Each panel is loaded by one core,
    at most at the rate of its link. Joined lanes are filled by panels of any width, whose number is then chosen to
    match the DRAM ports; for separate lanes, whole columns determine the width, and the mean over ports is the better
    estimate. Cores with separate rows all load the same weights: if few loads are the objective, rows are divided over
    fewer cores if that costs less.
    """
    count, parts = panels.counts
    cores, few_loads = len(chip.usable_cores), _few_loads(chip, layer)
    mean_work = LOADING_WORK if few_loads else 1.0
    ports = chip.dram_ports
    panel_cycles = nbytes / count / port_rate(chip)
    best = (math.inf, math.inf, math.inf)
    of_rows: dict[int, NDArray[np.float64]] = {}  # cycles of each panel, independent of the number of panels on a core
    for m, own in grids(cores, layer.rows, count, few_loads):
        if m not in of_rows:
            share = m / layer.rows
            tiles_of_rows = (replace(one, rows=m, neuron_bytes=int(one.neuron_bytes * share)) for one in work)
            cycles = np.array([product_cycles(chip, one, layer.rate) for one in tiles_of_rows])
            of_rows[m] = cycles.reshape(parts, count).sum(axis=0)
        of_panel = of_rows[m]
        tiles = split_evenly(count, -(-count // own))
        compute = max(float(of_panel[low : low + size].sum()) for low, size in tiles)
        if chip.map_lanes == "joined":
            memory = panel_cycles * max(sum(size for _, size in tiles[port::ports]) for port in range(ports))
        else:
            memory = nbytes / min(dram_rate(chip), len(tiles) * chip.link_bytes_per_cycle)
        mean = float(of_panel.sum()) * -(-layer.rows // m) / cores
        best = min(best, (compute, memory, mean), key=lambda one: one[0] + one[1] + mean_work * one[2])
    return best


def _few_loads(chip: Chip, layer: Layer) -> bool:
    """Whether few loads are preferred to few cycles."""
    return layer.objective == "loads" and bound_by_weights(chip, layer.rows)


def best_panels(chip: Chip, layer: Layer, mask: Mask, choice: Choice) -> LayerCost:
    """The panels with which a layer takes the fewest cycles; `mask` [outputs, inputs] marks the weights to store."""
    found = [
        _cost_in(chip, layer, mask, choice, panels_of_width(chip, layer, choice, width))
        for width in panel_widths(chip, layer, choice)
    ]
    return min(found, key=lambda cost: (cost.price, cost.nbytes))


def panel_widths(chip: Chip, layer: Layer, choice: Choice) -> list[int]:
    """
    Numbers of output neurons of panels of equal width, none of which crosses the end of a group: at most those of one
    of `WIDTHS` columns of the matrix unit; for joined lanes also the number that fills the matrix unit in one of
    `WIDTHS` loads, or slightly fewer, as panels are not exactly equal.
    """
    outputs, cols = layer.group_outputs, chip.mpu_cols
    counts = [-(-outputs // (columns * cols)) for columns in WIDTHS if columns == 1 or (columns - 1) * cols < outputs]
    if chip.map_lanes == "joined" and choice.format is not None:
        lanes = Lanes.of(chip, layer.rate)
        filled = choice.entries * choice.format.group / (lanes.count * lanes.depth * layer.groups)
        full = [max(1, math.ceil(filled / loads)) for loads in WIDTHS]
        counts += [count + more for count in full for more in (0, 1) if count + more <= counts[0]]
    widths: dict[int, None] = {}
    for count in counts:
        while layer.groups > 1 and outputs % count:
            count += 1
        widths[-(-outputs // count)] = None
    return list(widths)


def panels_of_width(chip: Chip, layer: Layer, choice: Choice, width: int) -> Panels:
    """Panels of `width` output neurons, with the fewest parts that fit in memory."""
    assert choice.format is not None
    panel_bytes = choice.nbytes * width / layer.outputs
    parts = max(
        math.ceil(panel_bytes / (chip.sram_bytes // PANEL_SHARE)),
        math.ceil(layer.inputs * layer.item_bytes / (chip.sram_bytes // ACTIVATIONS_SHARE)),
    )
    depth = max(1, -(-(layer.inputs // layer.taps) // parts)) * layer.taps
    return Panels(choice.format, layer.outputs, width, layer.inputs, depth)


def _cost_in(chip: Chip, layer: Layer, mask: Mask, choice: Choice, panels: Panels) -> LayerCost:
    format, (count, parts) = panels.format, panels.counts
    stored = np.stack([_stored(mask[:, part * panels.depth :][:, : panels.depth], format) for part in range(parts)])
    # Fillers are stored too, at any position.
    stored = stored * (choice.entries * format.group / max(1, int(stored.sum())))
    index_bytes = _index_bytes(layer, choice, panels)
    neurons = max(layer.rows * panels.depth * layer.item_bytes // layer.taps, layer.rows * panels.width * 4)
    lanes = Lanes.of(chip, layer.rate)
    nonzero = layer.neurons.in_panels(panels.width, panels.depth)
    work: list[EncodedWork] = []
    for own in stored:
        for start in range(0, layer.outputs, panels.width):
            part = own[start : start + panels.width]
            fullest, loads = fullest_lane(part, lanes)
            entries = float(part.sum()) / format.group
            looked_at = format.definition.elements(len(part), format.positions(panels.depth), entries)
            nbytes = round(index_bytes + float(part.sum()) * layer.item_bytes)
            work.append(
                EncodedWork(
                    1, layer.rows, len(part), fullest, loads, looked_at, format.direct, nbytes, neurons, panels.depth,
                    float(part.sum()), nonzero,
                )
            )  # fmt: skip
    nbytes = max(one.weight_bytes for one in work) * count * parts
    compute, memory, mean = encoded_cycles(chip, layer, panels, work, nbytes)
    matrix_work = LOADING_WORK if _few_loads(chip, layer) else MATRIX_WORK
    return LayerCost(choice, panels, nbytes, compute, memory, mean, matrix_work)


def _index_bytes(layer: Layer, choice: Choice, panels: Panels) -> float:
    """Mean bytes of the index of a panel."""
    format = panels.format
    if format.definition.code:  # of all, by the share of the panel
        index = choice.nbytes - choice.entries * format.group * layer.item_bytes
        return index * panels.width * panels.depth / (layer.outputs * layer.inputs)
    bits = 1 / format.group if format.direct else format.bits * choice.entries / (layer.outputs * layer.inputs)
    return panels.width * panels.depth * bits / 8


def _stored(mask: Mask, format: Format) -> Ints:
    """Stored weights of each fiber, in whole groups."""
    return group_mask(mask, format).sum(axis=1).astype(np.int64) * format.group


def break_even(chip: Chip, layer: Layer, format: Format, densities: Sequence[float]) -> list[tuple[float, float]]:
    """(density, cycles dense / cycles in the format) on random weights of these densities, lanes balanced."""
    generator = np.random.default_rng(0)
    fibers = Fibers((layer.outputs, layer.inputs))
    curve: list[tuple[float, float]] = []
    for density in densities:
        weights = (generator.random(fibers.shape) < density).astype(f"i{layer.item_bytes}")
        weights = weights[balance(weights.sum(axis=1), chip.mpu_cols, "pair")]
        dense, indexed = layer_costs(chip, layer, weights, fibers, (format,))
        curve.append((density, dense.cycles / indexed.cycles))
    return curve

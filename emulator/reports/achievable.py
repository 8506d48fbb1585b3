"""
The achievable time of a network on a chip: its layers one after the other, each as fast as the shapes of its products
allow, with weights prefetched as far as SRAM has capacity.

A roofline assumes that all multipliers are busy and all data is available. The achievable time adds costs that every
schedule of whole layers has: arrays that shapes do not fill, reloading of weights into arrays, and loads that wait for
SRAM capacity. It is not a lower bound: parts of two layers may overlap, and exchange between cores is not counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...chips.chip import Chip
from ...chips.cycles import ceil_div, matmul_cycles
from ..executable.executable import Executable
from ..machine.errors import EmulationError
from .network_layers import NOTE, NetworkLayer, layers_from_json
from .roofline import noted_work

PARTS = {
    "peak": "at the peak of the units",
    "filling": "for unfilled arrays",
    "loads": "for loads not hidden",
    "results": "to store results",
}
"""The parts of the achievable time: fields with their cycles, and the names of the parts in texts."""


@dataclass(frozen=True)
class LayerTime:
    """The contribution of a layer to the achievable time, in cycles."""

    number: int
    """Position in the network, from 0."""
    product: tuple[int, int, int, int]
    """Batch, M, K, N; zeros if the layer has no product."""
    peak: float
    filling: float
    loads: float

    @property
    def cycles(self) -> float:
        return self.peak + self.filling + self.loads

    @property
    def name(self) -> str:
        """`layer 3 (1 x 529 x 27 x 28)`: position in the network, from 1, and product."""
        sizes = " x ".join(map(str, self.product))
        return f"layer {self.number + 1} ({sizes if any(self.product) else 'no product'})"

    def figures(self) -> dict[str, Any]:
        """The figures as a JSON-serialisable table."""
        return {"product": list(self.product), "peak": self.peak, "filling": self.filling, "loads": self.loads}


@dataclass(frozen=True)
class Achievable:
    """The achievable time and its parts, in cycles."""

    cycles: float
    peak: float
    """All layers one after the other, with matrix and vector units at their peak rates."""
    filling: float
    """Cycles lost as shapes do not fill arrays, and for loading weights into them."""
    loads: float
    """Cycles in which nothing is computed, as weights or inputs are not loaded yet."""
    results: float
    """Cycles of storing the outputs of the last layer."""
    layers: tuple[LayerTime, ...] = ()
    """The layers in order; their cycles and `results` add up to `cycles`."""

    def longest(self, count: int) -> list[LayerTime]:
        """The `count` layers with the most cycles, in descending order."""
        return sorted(self.layers, key=lambda layer: -layer.cycles)[:count]


def achievable(chip: Chip, layers: Sequence[NetworkLayer]) -> Achievable:
    """The achievable time of `layers` on all usable cores of `chip`."""
    peak = [layer_cycles(chip, layer, filled=True) for layer in layers]
    computing = [layer_cycles(chip, layer) for layer in layers]
    done = layer_ends(chip, layers, computing)
    last = layers[-1].stored_bytes / chip.dram_bytes_per_cycle + chip.dram_latency if layers else 0.0
    end, busy = done[-1] if done else 0.0, sum(computing)
    times = tuple(
        LayerTime(
            number, layer.product, peak[number], computing[number] - peak[number], round(own - computing[number], 6)
        )
        for number, (layer, own) in enumerate(zip(layers, np.diff(done, prepend=0.0).tolist(), strict=True))
    )
    return Achievable(end + last, sum(peak), busy - sum(peak), end - busy, last, times)


def layer_ends(chip: Chip, layers: Sequence[NetworkLayer], computing: Sequence[float]) -> list[float]:
    """
    The cycle in which each layer ends. Weights and inputs are loaded in order, at the rate of all DRAM ports, the first
    byte after the latency; those of a layer as soon as enough earlier layers have ended to free SRAM for them. A layer
    may start with its first weights, but ends no earlier than its last weights are loaded.
    """
    room = len(chip.usable_cores) * chip.sram_bytes
    done: list[float] = []
    loaded, oldest, kept = float(chip.dram_latency), 0, 0
    for number, layer in enumerate(layers):
        kept += layer.loaded_bytes
        # Weights that exceed SRAM by themselves are streamed, without prefetching.
        while oldest < number and kept + max(one.held_bytes for one in layers[oldest : number + 1]) > room:
            loaded = max(loaded, done[oldest])
            kept -= layers[oldest].loaded_bytes
            oldest += 1
        loaded += layer.loaded_bytes / chip.dram_bytes_per_cycle
        done.append(max((done[-1] if done else 0.0) + computing[number], loaded))
    return done


def layer_cycles(chip: Chip, layer: NetworkLayer, filled: bool = False) -> float:
    """
    Cycles of a layer on all cores, with vector operations concurrent with products, and the product on the faster of
    matrix and vector units. `filled`: as if arrays were always full.
    """
    cores = max(len(chip.usable_cores), 1)
    lanes, cells = cores * chip.vpu_lanes, cores * chip.mpu_rows * chip.mpu_cols
    vector = layer.vector_ops / lanes
    macs = float(np.prod(np.array(layer.product, float)))
    if not macs:
        return vector
    by_lanes = layer.runs * macs / (lanes * layer.rate) + vector
    if filled:
        return min(max(layer.runs * macs / (cells * layer.rate), vector), by_lanes)
    return min(max(layer.runs * product_cycles(chip, layer.rate, layer.product), vector), by_lanes)


@lru_cache(maxsize=4096)
def product_cycles(chip: Chip, rate: int, product: tuple[int, int, int, int]) -> float:
    """
    Minimum cycles of a product (batch, M, K, N) on the usable cores, over all even divisions of batch, rows, inputs and
    outputs. If inputs are divided, vector units add the partial sums, an equal share on each core.
    """
    batch, m, k, n = product
    by_batch, by_m, by_k, by_n = _cuts(max(len(chip.usable_cores), 1))
    rows, outputs = ceil_div(m, by_m), ceil_div(n, by_n)
    cycles = matmul_cycles(chip, rate, ceil_div(batch, by_batch), rows, ceil_div(k, by_k), outputs)
    adding = rows * outputs * (by_k - 1) / (by_k * chip.vpu_lanes)
    return float((cycles + adding).min())


@lru_cache(maxsize=16)
def _cuts(cores: int) -> tuple[NDArray[Any], ...]:
    """All divisions (batch, m, k, n) of a product for this many cores, as arrays; n is as large as possible."""
    found: list[tuple[int, int, int, int]] = []
    for k in range(1, cores + 1):
        for m in range(1, cores // k + 1):
            for batch in range(1, cores // (k * m) + 1):
                found.append((batch, m, k, cores // (k * m * batch)))
    return tuple(np.array(found, np.int64).T)


def achievable_of(exe: Executable) -> Achievable | None:
    """
    The achievable time of the network from which `exe` was compiled; None if there is no note of its layers.

    Raises EmulationError for an invalid note.
    """
    text = noted_work(exe, NOTE)
    if text is None:
        return None
    try:
        layers = layers_from_json(text)
    except ValueError as error:
        raise EmulationError(f"note '{NOTE}' of the executable is not a list of layers: {error}") from error
    return achievable(exe.chip, layers) if layers else None

"""
The achievable time of a network on a chip: its layers one after the other, each as fast as the shapes of its products
allow, with weights loaded ahead as far as SRAM has room.

A roofline takes every multiplier to be busy and every byte to be there. This time adds what no schedule of whole layers
is without: arrays that shapes do not fill, or that are loaded with weights anew, and loads that wait for room. It is
not a lower bound: parts of two layers may overlap, and what cores exchange is not counted.
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
    "filling": "as shapes do not fill arrays",
    "loads": "for loads that nothing hides",
    "results": "to store the results",
}
"""What the achievable time consists of: the fields with the cycles, and their names in texts."""


@dataclass(frozen=True)
class LayerTime:
    """What a layer adds to the achievable time, in cycles."""

    number: int
    """Its place in the network, from 0 on."""
    product: tuple[int, int, int, int]
    """Batch, M, K, N; zeros where there is none."""
    peak: float
    filling: float
    loads: float

    @property
    def cycles(self) -> float:
        return self.peak + self.filling + self.loads

    @property
    def name(self) -> str:
        """`layer 3 (1 x 529 x 27 x 28)`: its place in the network, from 1 on, and its product."""
        sizes = " x ".join(map(str, self.product))
        return f"layer {self.number + 1} ({sizes if any(self.product) else 'no product'})"

    def figures(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {"product": list(self.product), "peak": self.peak, "filling": self.filling, "loads": self.loads}


@dataclass(frozen=True)
class Achievable:
    """The achievable time, and what it consists of. All in cycles."""

    cycles: float
    peak: float
    """All layers one after the other if matrix and vector units did all that they can."""
    filling: float
    """What arrays lose to shapes that do not fill them, and to loading weights."""
    loads: float
    """In which nothing is computed, as weights or inputs are not there yet."""
    results: float
    """Storing the outputs that the last layer computes."""
    layers: tuple[LayerTime, ...] = ()
    """The layers in order; they and the storing of results add up to `cycles`."""

    def longest(self, count: int) -> list[LayerTime]:
        """The layers that take most, the longest first."""
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
    When each layer is done. What they read is loaded in order, at the rate of all DRAM ports, the first byte after the
    latency; of a layer, once those before it are done without which SRAM has no room for it. A layer may begin with its
    first weights, but ends no earlier than it has the last of them.
    """
    room = len(chip.usable_cores) * chip.sram_bytes
    done: list[float] = []
    loaded, oldest, kept = float(chip.dram_latency), 0, 0
    for number, layer in enumerate(layers):
        kept += layer.loaded_bytes
        # Weights that do not fit by themselves pass through, with nothing ahead of them.
        while oldest < number and kept + max(one.held_bytes for one in layers[oldest : number + 1]) > room:
            loaded = max(loaded, done[oldest])
            kept -= layers[oldest].loaded_bytes
            oldest += 1
        loaded += layer.loaded_bytes / chip.dram_bytes_per_cycle
        done.append(max((done[-1] if done else 0.0) + computing[number], loaded))
    return done


def layer_cycles(chip: Chip, layer: NetworkLayer, filled: bool = False) -> float:
    """
    Cycles in which all cores compute a layer, vector operations beside products; the product on matrix or vector units,
    whichever take less. `filled`: as if arrays were always full.
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
    Least cycles of a product over the usable cores, of all ways to cut batch, rows, inputs and outputs evenly among
    them. Partial sums of cut inputs are added by vector units, each core its share.
    """
    batch, m, k, n = product
    by_batch, by_m, by_k, by_n = _cuts(max(len(chip.usable_cores), 1))
    rows, outputs = ceil_div(m, by_m), ceil_div(n, by_n)
    cycles = matmul_cycles(chip, rate, ceil_div(batch, by_batch), rows, ceil_div(k, by_k), outputs)
    adding = rows * outputs * (by_k - 1) / (by_k * chip.vpu_lanes)
    return float((cycles + adding).min())


@lru_cache(maxsize=16)
def _cuts(cores: int) -> tuple[NDArray[Any], ...]:
    """All (batch, m, k, n) into which so many cores can cut a product, n most."""
    found: list[tuple[int, int, int, int]] = []
    for k in range(1, cores + 1):
        for m in range(1, cores // k + 1):
            for batch in range(1, cores // (k * m) + 1):
                found.append((batch, m, k, cores // (k * m * batch)))
    return tuple(np.array(found, np.int64).T)


def achievable_of(exe: Executable) -> Achievable | None:
    """
    The achievable time of the network that `exe` was made of; None where that was not noted.

    Raises EmulationError where the note is none.
    """
    text = noted_work(exe, NOTE)
    if text is None:
        return None
    try:
        layers = layers_from_json(text)
    except ValueError as error:
        raise EmulationError(f"note '{NOTE}' of the executable is not a list of layers: {error}") from error
    return achievable(exe.chip, layers) if layers else None

"""Reference time of a network with loops on a chip: cycles that a good compilation can come close to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ...chips.chip import Chip
from ...chips.cycles import STARTUP, ceil_div
from ..executable.executable import Executable
from ..machine.errors import EmulationError
from .recurrent_layers import NOTE, RecurrentLayer, layers_from_json
from .roofline import Work, noted_work, roofline


@dataclass(frozen=True)
class ReferenceTime:
    """
    The maximum of the times of DRAM, of the units, and of the sequence of steps, in cycles.

    Unlike a roofline it is not a lower bound: overlap of layers is not considered.
    """

    dram: float
    """One transfer of all data that must pass the DRAM ports, and the latency of the first byte."""
    units: float
    """The work of matrix units or of vector units, whichever takes longer."""
    steps: float
    """All steps, one after the other."""
    cores: int
    """The number of cores on which `steps` is smallest."""

    @property
    def cycles(self) -> float:
        """The reference time in cycles."""
        return max(self.dram, self.units, self.steps)

    @property
    def binding(self) -> str:
        """The part that determines the reference time."""
        return max((self.steps, "steps"), (self.dram, "DRAM"), (self.units, "units"), key=lambda pair: pair[0])[1]


def reference_time(chip: Chip, work: Work, layers: Sequence[RecurrentLayer]) -> ReferenceTime:
    """The reference time of a network with loops; `work` is the whole network's."""
    least = roofline(chip, work).cycles
    steps, cores = steps_time(chip, layers)
    return ReferenceTime(
        least["DRAM"] + chip.dram_latency if work.dram_bytes else 0.0, max(least["MPU"], least["VPU"]), steps, cores
    )


def steps_time(chip: Chip, layers: Sequence[RecurrentLayer]) -> tuple[float, int]:
    """(cycles, cores): cycles of all steps, one after the other, on the number of cores for which they are fewest."""
    return min((sum(layer_cycles(chip, layer, cores) for layer in layers), cores) for cores in _core_counts(chip))


def layer_cycles(chip: Chip, layer: RecurrentLayer, cores: int) -> float:
    """
    Cycles of a layer on this many cores: steps x (reading of a core's weights, once per step at the rate of one operand
    + the longest chain of vector operations + the exchange of the carried values).
    """
    reading = layer.weight_bytes / (cores * chip.sram_bytes_per_cycle)
    return layer.steps * (reading + longest_chain(chip, layer, cores) + exchange(chip, layer.carried_bytes, cores))


def longest_chain(chip: Chip, layer: RecurrentLayer, cores: int) -> int:
    """Cycles of the longest chain of dependent operations, each distributed over the cores."""
    ends: list[int] = []
    for one in layer.operations:
        passing = ceil_div(ceil_div(one.points, cores), chip.vpu_lanes * one.rate) * one.passes
        ends.append(max((ends[number] for number in one.after), default=0) + STARTUP + passing)
    return max(ends, default=0)


def exchange(chip: Chip, carried_bytes: int, cores: int) -> int:
    """Cycles until each core has the carried values that the others computed; 0 for one core, or no bytes."""
    if cores == 1 or not carried_bytes:
        return 0
    of_core = ceil_div(ceil_div(carried_bytes, cores), chip.link_bytes_per_cycle)
    return hops_across(chip, cores) * chip.hop_cycles + cores * of_core + 2


def hops_across(chip: Chip, cores: int) -> int:
    """Hops between the two most distant of `cores` cores, in the rectangle of the mesh in which they are fewest."""
    heights = range(1, min(chip.rows, cores) + 1)
    sizes = ((height, ceil_div(cores, height)) for height in heights)
    return min(height + width - 2 for height, width in sizes if width <= chip.cols)


def noted_layers(exe: Executable) -> list[RecurrentLayer]:
    """
    The loops recorded in an executable; empty if there is no note.

    Raises EmulationError if the note is not such a list.
    """
    text = noted_work(exe, NOTE)
    if text is None:
        return []
    try:
        return layers_from_json(text)
    except ValueError as error:
        raise EmulationError(f"note '{NOTE}' of the executable is not a list of layers: {text[:80]}") from error


def _core_counts(chip: Chip) -> Iterable[int]:
    """The numbers of cores to try."""
    return range(1, max(len(chip.usable_cores), 1) + 1)

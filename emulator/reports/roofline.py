"""Roofline: lower bounds of the cycles of each kind of unit for given work, and the binding unit."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from ...chips.chip import Chip
from ..executable.executable import Executable
from ..executable.load import has_dynamic_loops
from ..machine.errors import EmulationError


@dataclass(frozen=True)
class Roofline:
    """Minimum cycles by unit."""

    cycles: dict[str, float]

    @property
    def binding(self) -> str:
        """The unit that needs the most cycles, except the host, whose copies are not part of `cycles`."""
        return max((unit for unit in self.cycles if unit != "host"), key=lambda unit: self.cycles[unit])

    @property
    def bound(self) -> float:
        """
        The cycles of the binding unit, if its work is distributed evenly. A compilation that moves work to another kind
        of unit may take less; for a given program, `busiest` returns a lower bound.
        """
        return self.cycles[self.binding]


@dataclass(frozen=True)
class Work:
    """Amounts of work. MACs and vector operations count at their rate, in f32-equivalents."""

    macs: float = 0
    vpu_ops: float = 0
    dram_bytes: float = 0
    noc_bytes: float = 0
    """Bytes times links that they pass."""
    host_bytes: float = 0


def roofline(chip: Chip, work: Work) -> Roofline:
    """The roofline for `work` that is distributed evenly over all usable cores, links and ports of `chip`."""
    cores = max(len(chip.usable_cores), 1)
    links = 2 * (chip.rows * (chip.cols - 1) + chip.cols * (chip.rows - 1)) + chip.cores
    return Roofline(
        {
            "MPU": work.macs / (cores * chip.mpu_rows * chip.mpu_cols),
            "VPU": work.vpu_ops / (cores * chip.vpu_lanes),
            "NoC": work.noc_bytes / (links * chip.link_bytes_per_cycle),
            "DRAM": work.dram_bytes / chip.dram_bytes_per_cycle,
            "host": work.host_bytes / chip.host_bytes_per_cycle,
        }
    )


def noted_work(exe: Executable, key: str) -> str | None:
    """
    The text of an executable's note of the network's work; None if there is no such note, and for executables with
    dynamic loops, as the notes assume their largest numbers of steps.
    """
    return None if has_dynamic_loops(exe) else exe.notes.get(key)


def ideal_work(exe: Executable) -> Work | None:
    """
    The network's own work, from the note `ideal` (JSON: macs, vpu_ops, dram_bytes); None if that is not known.

    Raises EmulationError if the note is not such a table.
    """
    text = noted_work(exe, "ideal")
    if text is None:
        return None
    try:
        table: object = json.loads(text)
        if not isinstance(table, Mapping):
            raise TypeError
        values = {str(key): float(value) for key, value in table.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    except (ValueError, TypeError) as error:
        raise EmulationError(f"note 'ideal' of the executable is not a table of numbers: {text[:80]}") from error
    return Work(values.get("macs", 0), values.get("vpu_ops", 0), values.get("dram_bytes", 0))

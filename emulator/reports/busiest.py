"""The busiest units, links and DRAM ports of a run; their busy cycles are lower bounds of the program's cycles."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...dialects.coreasm.isa import Unit
from ..executable.executable import Executable
from ..machine.noc import LINK_NAMES, LINKS
from ..timing.engine import TimingResult

COMPUTING = (Unit.MPU, Unit.VPU, Unit.DAU, Unit.MAP)
"""Units whose busy cycles are their own work only; other units are also busy while they wait for links and ports."""


@dataclass(frozen=True)
class Busiest:
    """The busiest one of a kind; in any schedule, the program takes at least its cycles."""

    kind: str
    """`MPU`, `VPU`, `DAU`, `MAP`, `link` or `DRAM port`."""
    name: str
    """Which one it is: `MPU of core 3`, `link east of core 4`, `link into core 5`, `DRAM port 1`."""
    cycles: float


def busiest(exe: Executable, timing: TimingResult) -> list[Busiest]:
    """The busiest unit of each kind, the busiest link and DRAM port of a run of `exe`, by descending cycles."""
    chip = exe.chip
    found: list[Busiest] = []
    for unit in COMPUTING:
        core = int(np.argmax(timing.busy[:, unit]))
        found.append(Busiest(unit.name, f"{unit.name} of core {core}", float(timing.busy[core, unit])))
    core, way = divmod(int(np.argmax(timing.link_bytes)), LINKS)
    name = f"link into core {core}" if LINK_NAMES[way] == "core" else f"link {LINK_NAMES[way]} of core {core}"
    found.append(Busiest("link", name, float(timing.link_bytes[core, way]) / chip.link_bytes_per_cycle))
    moved = timing.port_read + timing.port_written
    port = int(np.argmax(moved))
    cycles = float(moved[port]) * chip.dram_ports / chip.dram_bytes_per_cycle
    found.append(Busiest("DRAM port", f"DRAM port {port}", cycles))
    return sorted((one for one in found if one.cycles > 0), key=lambda one: -one.cycles)

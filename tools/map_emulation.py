"""`meshloom-map --emulate`: one step of a mapped network as a program, and its cycles in the emulator."""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..chips import Chip, load_chip
from ..emulator.executable.executable import Executable
from ..emulator.machine.noc import LINK_NAMES, LINKS
from ..emulator.reports.stats import collect
from ..emulator.timing.engine import TimingResult, run_timing
from ..lowering.linker.spike_program import spike_program
from ..mapping.mesh import Mesh
from ..mapping.messages import Messages, messages_of
from ..mapping.topology.topology import Topology
from ..support.errors import InputError

BUSIEST = 10
"""Number of links that are listed."""


@dataclass(frozen=True)
class EmulatedStep:
    """One step of a mapped network."""

    messages: Messages
    executable: Executable
    timing: TimingResult
    spike_bytes: int

    def figures(self) -> dict[str, Any]:
        """Cycles, messages, bytes, links and energy (picojoules), ready for JSON."""
        stats = collect(self.executable, self.timing)
        received = self.messages.received() * self.spike_bytes
        return {
            "chip": self.executable.chip.name,
            "spike_bytes": self.spike_bytes,
            "cycles": self.timing.cycles,
            "time_us": stats["time_us"],
            "messages": len(self.messages.spikes),
            "core_sets": len(self.messages.sets),
            "sent_bytes": int(self.messages.sent().sum()) * self.spike_bytes,
            "delivered_bytes": int(received.sum()),
            "link_bytes": stats["bytes"]["links"],
            "busiest_links": self.busiest_links(),
            "energy_pj": stats["energy_pj"],
        }

    def busiest_links(self) -> list[dict[str, Any]]:
        """The busiest links: router, direction, bytes, and share of the cycles in which they are in use."""
        chip, loads = self.executable.chip, self.timing.link_bytes.ravel()
        order = np.argsort(-loads, kind="stable")[:BUSIEST]
        return [
            {
                "core": int(link) // LINKS,
                "way": LINK_NAMES[int(link) % LINKS],
                "bytes": int(loads[link]),
                "utilisation": round(int(loads[link]) / chip.link_bytes_per_cycle / max(self.timing.cycles, 1), 4),
            }
            for link in order
            if loads[link]
        ]


def emulate_step(
    topology: Topology, mesh: Mesh, core_of_vertex: NDArray[np.int32], chip: Chip, spike_bytes: int = 4
) -> EmulatedStep:
    """
    Run one step of a mapped network on cores like those of `chip`.

    Raises InputError for a network without directed edges and for a mesh whose links differ in length.
    """
    messages = messages_of(topology, mesh, core_of_vertex)
    executable = spike_program(messages, chip_of_mesh(chip, mesh), mesh, spike_bytes)
    return EmulatedStep(messages, executable, run_timing(executable), spike_bytes)


def chip_of_mesh(chip: Chip, mesh: Mesh) -> Chip:
    """A chip with the cores of `chip` in a mesh of another size. Raises InputError if links differ in length."""
    if any(cost != 1 for cost in (*mesh.column_costs, *mesh.row_costs)):
        raise InputError("--emulate needs a mesh whose links are all one hop: leave out --array, or add --link-cost 1")
    if (mesh.width, mesh.height, mesh.unusable) == (chip.cols, chip.rows, chip.unusable_cores):
        return chip
    ports = min(chip.dram_ports, mesh.height)
    return replace(chip, rows=mesh.height, cols=mesh.width, dram_ports=ports, unusable_cores=mesh.unusable)


def emulated_chip(options: argparse.Namespace) -> Chip:
    """The chip that `--emulate` names, or `--chip` does. Raises InputError where neither does, or both."""
    if options.emulate and options.chip is not None:
        raise InputError(
            f"--emulate {options.emulate}: --chip {options.chip} names the cores already: leave out the name"
        )
    name = options.emulate or options.chip
    if name is None:
        raise InputError("--emulate with --mesh needs a chip that describes the cores: --emulate NAME")
    return load_chip(name)

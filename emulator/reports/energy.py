"""Energy of a run by component, from numbers of events and the chip's energy per event."""

from __future__ import annotations

from dataclasses import dataclass

from ...chips.chip import Chip


@dataclass(frozen=True)
class EnergyEvents:
    """
    Numbers of the events of a run that consume energy.

    `macs` and `vpu_ops` are in f32-equivalents (an i8 MAC counts a quarter: it takes a quarter of the array's time).
    """

    macs: float
    vpu_ops: float
    sram_bytes: float
    noc_byte_hops: float
    dram_bytes: float
    host_bytes: float
    index_elements: float = 0


def energy_picojoules(chip: Chip, events: EnergyEvents) -> dict[str, float]:
    """Energy in picojoules, by component and in total."""
    table = chip.energy
    parts = {
        "mac": events.macs * table.mac_f32,
        "vpu": events.vpu_ops * table.vpu_op,
        "sram": events.sram_bytes * table.sram_byte,
        "noc": events.noc_byte_hops * table.noc_byte_hop,
        "dram": events.dram_bytes * table.dram_byte,
        "host": events.host_bytes * table.host_byte,
        "map": events.index_elements * table.map_index,
    }
    return {**parts, "total": sum(parts.values())}

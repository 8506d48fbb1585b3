"""Energy of a run by component, from counts and the chip's picojoules an event."""

from __future__ import annotations

from ...chips.chip import Chip


def energy_picojoules(
    chip: Chip,
    macs: float,
    vpu_ops: float,
    sram_bytes: float,
    noc_byte_hops: float,
    dram_bytes: float,
    host: float,
    index_elements: float = 0,
) -> dict[str, float]:
    """
    Energy by component and in total.

    `macs` and `vpu_ops` are in f32-equivalents (an i8 MAC counts a quarter: it takes a quarter of the array's time).
    """
    table = chip.energy
    parts = {
        "mac": macs * table.mac_f32,
        "vpu": vpu_ops * table.vpu_op,
        "sram": sram_bytes * table.sram_byte,
        "noc": noc_byte_hops * table.noc_byte_hop,
        "dram": dram_bytes * table.dram_byte,
        "host": host * table.host_byte,
        "map": index_elements * table.map_index,
    }
    return {**parts, "total": sum(parts.values())}

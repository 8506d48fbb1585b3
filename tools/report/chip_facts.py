"""The main numbers of a chip for reports."""

from __future__ import annotations

from ...chips import Chip
from .html import key_values
from .page import Section
from .words import by, in_bytes


def chip_section(chip: Chip) -> Section:
    """The chip's main numbers."""
    cores = f"{by([chip.rows, chip.cols])}" + (f", {len(chip.unusable_cores)} unusable" if chip.unusable_cores else "")
    facts = [
        ("Cores", cores),
        ("Clock", f"{chip.clock_ghz:g} GHz"),
        ("Matrix unit (MPU)", f"{by([chip.mpu_rows, chip.mpu_cols])} MACs"),
        ("Vector unit (VPU)", f"{chip.vpu_lanes} lanes"),
        ("Mapping unit (MAP)", f"{chip.map_direct_bits} bits or {chip.map_stride_codes} strides per cycle"),
        ("Caches of the mapping unit", f"{chip.map_caches} it"),
        ("Lanes for encoded weights", chip.map_lanes),
        ("SRAM per core", in_bytes(chip.sram_bytes)),
        ("SRAM bytes per unit and cycle", f"{chip.sram_bytes_per_cycle} B"),
        ("Link", f"{chip.link_bytes_per_cycle} B per cycle, {chip.hop_cycles} cycles per hop"),
        ("DRAM", f"{in_bytes(chip.dram_bytes)}, {chip.dram_ports} ports"),
        ("DRAM rate", f"{chip.dram_bytes_per_cycle} B per cycle, latency {chip.dram_latency}"),
        ("Host link", f"{chip.host_bytes_per_cycle} B per cycle, latency {chip.host_latency}"),
    ]
    return Section(f"Chip {chip.name}", key_values(facts), chip.source)

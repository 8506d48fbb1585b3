"""Summary of a run's figures for the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...emulator.executable.executable import Executable
from ...emulator.reports.achievable import PARTS

PICO = {"pJ": 1.0, "nJ": 1e3, "uJ": 1e6, "mJ": 1e9, "J": 1e12}
SHOWN_LAUNCHES = 16
MICRO = {"us": 1.0, "ms": 1e3, "s": 1e6}


def scaled(value: float, units: dict[str, float]) -> str:
    """`value` in the largest of `units` (ascending factors) that keeps it at 1 or more, three digits."""
    unit, factor = next(iter(units.items()))
    for name, size in units.items():
        if value >= size:
            unit, factor = name, size
    return f"{value / factor:.3g} {unit}"


def summary(name: str, exe: Executable, stats: dict[str, Any]) -> str:
    """Cycles, distance to the roofline, use of the units, traffic, memory and energy. Keys as in `stats.collect`."""
    chip, bound, moved = exe.chip, stats["roofline"], stats["bytes"]
    units = [(unit, entry) for unit, entry in stats["units"].items() if entry["instructions"]]
    busy = "  ".join(f"{unit} {100 * entry['utilisation']:.1f}%" for unit, entry in units)
    network = sum(moved["links"].values())
    lines = [
        f"{name} on {chip.name}: {chip.rows} x {chip.cols} cores at {chip.clock_ghz:g} GHz",
        f"  cycles   {stats['cycles']:,} ({scaled(stats['time_us'], MICRO)}) on the chip, "
        f"{stats['total_cycles']:,} with copies from and to the host",
        f"  bounds   {'; '.join(_bounds(stats, bound)) or 'none'}",
        *([f"  layers   {achievable_text(stats)}"] if "achievable" in stats else []),
        f"  busy     {busy}",
        f"  traffic  DRAM {moved['dram_read']:,} bytes read, {moved['dram_written']:,} written; "
        f"network {network:,} bytes x links; host {moved['host_in']:,} in, {moved['host_out']:,} out",
        f"  memory   SRAM touched up to {stats['peak_sram']['max']:,} of {chip.sram_bytes:,} bytes per core; "
        f"DRAM {stats['peak_dram']:,} of {chip.dram_bytes:,}",
        f"  energy   {scaled(stats['energy_pj']['total'], PICO)}",
    ]
    if "reference" in stats:
        lines.insert(4 if "achievable" in stats else 3, f"  loops    {_reference(stats['reference'])}")
    if "sparse" in stats:
        lines.append(f"  sparse   {_sparse(stats['sparse'])}")
    launches: list[dict[str, Any]] = stats["launches"]
    if len(launches) > 1:
        lines += [f"  launch   {_launch(launch)}" for launch in launches[:SHOWN_LAUNCHES]]
        lines += [f"           and {len(launches) - SHOWN_LAUNCHES} more"] if len(launches) > SHOWN_LAUNCHES else []
    return "\n".join(lines)


def _bounds(stats: dict[str, Any], bound: dict[str, Any]) -> Iterator[str]:
    """`1.37 x 9,852, the DRAM time of the network's work if spread evenly`; the same of the busiest part."""
    if bound["ratio"]:
        unit = "links" if bound["unit"] == "NoC" else bound["unit"]
        least = f"{bound['ratio']:.2f} x {bound['cycles']:,.0f}"
        yield f"{least}, the {unit} time of the {bound['of']}'s work if spread evenly"
    if stats["busiest"]:
        most = stats["busiest"][0]
        ratio = stats["cycles"] / most["cycles"]
        yield f"{ratio:.2f} x {most['cycles']:,.0f}, the busiest part of this program: {most['name']}"


def achievable_text(stats: dict[str, Any]) -> str:
    """
    `1.21 x 11,200, achievable layer by layer: 6,100 at the peak of the units, 2,100 for unfilled arrays,
    2,800 for loads not hidden, 200 to store results`
    """
    figures = stats["achievable"]
    parts = figures["by_part"]
    found = ", ".join(f"{parts[part]:,.0f} {text}" for part, text in PARTS.items() if round(parts[part]))
    times = f"{figures['ratio']:.2f} x " if figures["ratio"] else ""
    return f"{times}{figures['cycles']:,.0f}, achievable layer by layer: {found or 'nothing to do'}"


def _reference(figures: dict[str, Any]) -> str:
    """`2.10 x the reference time of 4,600 (set by the steps, on 16 cores)`"""
    parts = {"steps": f"the steps, on {figures['cores']} cores", "DRAM": "DRAM", "units": "the units"}
    text = f"the reference time of {figures['cycles']:,.0f} (set by {parts[figures['set_by']]})"
    return f"{figures['ratio']:.2f} x {text}" if figures["ratio"] else text


def _sparse(figures: dict[str, Any]) -> str:
    """`1,200 pairs multiplied, 10,800 skipped (90.0%); the mapping unit reads 5,000 index elements in 90 cycles`"""
    if figures["cycles"] == "declared":
        return "cycles are those declared by the compiler"
    pairs, skipped = figures["pairs"], figures["skipped"]
    text = (
        f"{pairs:,} pairs multiplied, {skipped:,} skipped ({100 * skipped / max(1, pairs + skipped):.1f}%); "
        f"the mapping unit reads {figures['index_elements']:,} index elements in {figures['map_cycles']:,} cycles"
    )
    if figures["bytes_sent_dense"]:
        text += f"; {figures['bytes_sent']:,} bytes sent instead of {figures['bytes_sent_dense']:,} with zeros"
    return text


def _launch(launch: dict[str, Any]) -> str:
    """`2: subgraph 1.2, cycles 4,000 to 9,100 (5,100, estimated 4,800)`"""
    start, end = launch["start"], launch["end"]
    name = f" subgraph {launch['subgraph']}," if "subgraph" in launch else ""
    estimate = f", estimated {launch['estimated_cycles']:,}" if "estimated_cycles" in launch else ""
    return f"{launch['number']}:{name} cycles {start:,} to {end:,} ({end - start:,}{estimate})"

"""Networks on several chips on the command line: file names and summaries."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from .budget import saving_table
from .table import table

if TYPE_CHECKING:
    from ..emulator.executable.chip_pipeline import ChipPipeline
    from ..lowering.driver.chips_compilation import ChipsCompilation


def file_of_chip(path: Path, number: int) -> Path:
    """The path of a chip's own file: `run-chip2.html` for `run.html` and chip 2."""
    return path.with_name(f"{path.stem}-chip{number}{path.suffix}")


def chips_summary(name: str, compilation: ChipsCompilation) -> str:
    """Summary of a compilation: cycles, and a line for each chip."""
    when, chip = compilation.schedule, compilation.pipeline.chip
    rows = [("chip", "operators", "tasks", "launches", "cycles", "DRAM", "weights", "")]
    for number, (each, cycles) in enumerate(zip(compilation.chips, when.cycles, strict=True)):
        exe, parts = each.executable, each.parts
        held = f" and {exe.host_weight_bytes:,} on the host" if exe.host_weight_bytes else ""
        rows.append(
            (
                f"{number}", f"{sum(part.operators for part in parts)}", f"{each.tasks}", f"{len(parts)}",
                f"{cycles:,}", f"{exe.dram_bytes_used:,}", f"{exe.weight_bytes:,}{held}",
                f"{parts[0].first} to {parts[-1].last}",
            )
        )  # fmt: skip
    used = f"{len(when.cycles)} {chip.name}" + (" chips" if len(when.cycles) > 1 else " chip")
    lines = [f"{name}: {used}; one input every {when.interval:,} cycles, results after {when.latency:,}"]
    lines += [compilation.note] if compilation.note else []
    for number, each in enumerate(compilation.chips):
        if each.saving is not None:
            lines.append(f"  chip {number}:{saving_table(each.saving).splitlines()[0].removeprefix(' ')}")
    return "\n".join([*lines, table(rows)])


def run_summary(name: str, pipeline: ChipPipeline, stats: dict[str, Any]) -> str:
    """Summary of a run. Keys as in `collect_chips`."""
    from .report.summary import MICRO, PICO, scaled

    chip, each = pipeline.chip, stats["of_chip"]
    interval, latency = stats["interval_cycles"], stats["latency_cycles"]
    rows = [("chip", "begins", "cycles", "busy", "launches", "host in", "host out", "DRAM")]
    rows += [
        (
            f"{one['number']}", f"{one['start']:,}", f"{one['total_cycles']:,}", f"{100 * one['utilisation']:.1f}%",
            f"{len(one['launches'])}", f"{one['bytes']['host_in']:,}", f"{one['bytes']['host_out']:,}",
            f"{one['peak_dram']:,}",
        )
        for one in each
    ]  # fmt: skip
    count = len(each)
    lines = [
        f"{name} on {count} x {chip.name}: {chip.rows} x {chip.cols} cores each at {chip.clock_ghz:g} GHz",
        f"  one input every {interval:,} cycles ({scaled(stats['interval_us'], MICRO)}), "
        f"results after {latency:,} cycles ({scaled(stats['latency_us'], MICRO)})",
        f"  energy   {scaled(stats['energy_pj'], PICO)}; host memory {stats['peak_host']:,} bytes",
    ]
    return "\n".join([*lines, table(rows)])

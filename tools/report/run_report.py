"""The report of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..cli import versions
from ..summary import MICRO, PICO, scaled
from .page import Figure, SectionMaker, page, sections_of
from .run_sections import SECTIONS, RunFacts
from .tasks import task_notes
from .trace_sums import task_times
from .words import by, in_bytes, percent, significant

if TYPE_CHECKING:
    from ...emulator.executable import Executable
    from ...emulator.timing import TimingResult


def run_facts(exe: Executable, timing: TimingResult, stats: Mapping[str, Any]) -> RunFacts:
    """What the report shows. Raises InputError where the executable's notes are damaged."""
    notes = task_notes(exe)
    times = [] if timing.trace is None else task_times(exe, timing, timing.trace)
    return RunFacts(exe, timing, stats, times, notes if len(notes) == len(exe.source_names) else [])


def run_report(name: str, facts: RunFacts, makers: Sequence[SectionMaker[RunFacts]] = SECTIONS) -> str:
    """The page; `name` is that of the executable."""
    stats, chip = facts.stats, facts.exe.chip
    bound = stats["roofline"]
    peak = stats["peak_sram"]["max"]
    figures = [
        Figure("Cycles", f"{stats['cycles']:,}", f"{stats['total_cycles']:,} with host copies"),
        Figure("Time", scaled(stats["time_us"], MICRO), f"at {chip.clock_ghz:g} GHz"),
        Figure(
            "Against the bound",
            f"{significant(bound['ratio'])}\N{MULTIPLICATION SIGN}" if bound["ratio"] else "none",
            f"{bound['cycles']:,.0f} cycles, set by {bound['unit']}",
        ),
        Figure("Matrix units", percent(stats["mpu_efficiency"]), "of their peak rate"),
        Figure("SRAM peak", in_bytes(peak), f"of a core's {in_bytes(chip.sram_bytes)}"),
        Figure("Energy", scaled(stats["energy_pj"]["total"], PICO)),
    ]
    subtitle = f"run on {chip.name}, {by([chip.rows, chip.cols])} cores, in the emulator of {versions()}"
    return page(name, subtitle, figures, sections_of(makers, facts))

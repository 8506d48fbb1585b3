"""The report of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...emulator.executable.host import controller_steps
from ...emulator.reports.device_memory import device_memory
from .page import Figure, SectionMaker, page, sections_of
from .run_sections import SECTIONS, RunFacts
from .sparse_cycles import sparse_cycles
from .summary import MICRO, PICO, scaled
from .tasks import task_notes
from .trace_sums import task_times
from .versions import versions
from .words import by, in_bytes, percent, significant

if TYPE_CHECKING:
    from ...emulator.executable.executable import Executable
    from ...emulator.machine.mapped_work import MappedWork
    from ...emulator.timing.engine import TimingResult


def run_facts(
    exe: Executable, timing: TimingResult, stats: Mapping[str, Any], mapped: MappedWork | None = None
) -> RunFacts:
    """
    The facts of the report; `mapped` is the sparse work of the functional run. Raises InputError if the executable's
    notes are damaged.
    """
    notes = task_notes(exe)
    times = [] if timing.trace is None else task_times(exe, timing, timing.trace)
    shown = notes if len(notes) == len(exe.source_names) else []
    return RunFacts(exe, timing, stats, times, shown, device_memory(exe, timing), _sparse(exe, mapped))


def _sparse(exe: Executable, mapped: MappedWork | None) -> dict[str, tuple[int, int]]:
    """(declared, counted) cycles of sparse products by task; none where launches run several times."""
    if mapped is None or not len(mapped.run):
        return {}
    numbers = [step.number for step in controller_steps(exe) if step.mnemonic == "ctl.launch"]
    return sparse_cycles(exe, mapped) if numbers == list(range(len(exe.launches))) else {}


def run_report(name: str, facts: RunFacts, sections: Sequence[SectionMaker[RunFacts]] = SECTIONS) -> str:
    """The page with these sections; `name` is that of the executable."""
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
        Figure("SRAM touched", in_bytes(peak), f"of a core's {in_bytes(chip.sram_bytes)}"),
        Figure("Energy", scaled(stats["energy_pj"]["total"], PICO)),
    ]
    if facts.memory is not None:
        there = f"of a budget of {in_bytes(facts.memory.planned.capacity)}"
        figures.insert(5, Figure("DRAM peak", in_bytes(facts.memory.peak), there))
    subtitle = f"run on {chip.name}, {by([chip.rows, chip.cols])} cores, in the emulator of {versions()}"
    return page(name, subtitle, figures, sections_of(sections, facts))

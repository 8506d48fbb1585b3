"""The sections of a run report, one function each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...dialects.coreasm.isa import QUEUES, Unit
from ...emulator.reports.achievable import achievable_of
from ...emulator.reports.critical_path import REASONS
from ...emulator.reports.explain import LAYERS, LEAST_SHARE, explain
from ...emulator.reports.waterfall import IDEAL, PARTS
from .bars import Bar, bar_chart, stacked_bar
from .chip_facts import chip_section
from .device_memory import device_memory_section
from .html import Child, Markup, join, meter, name_cell, table, tag
from .lanes import Lane, Span, lane_chart
from .mesh import Mesh, core_map, link_map, scale_legend
from .page import Section, SectionMaker
from .tasks import TaskNote
from .trace_sums import TaskTime, busy_time, lanes_over_time
from .words import compact, in_bytes, percent, significant

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ...emulator.executable.executable import Executable
    from ...emulator.reports.device_memory import DeviceMemory
    from ...emulator.timing.engine import TimingResult

BINS = 500
"""Number of intervals into which timelines divide a run."""
UNITS = tuple(Unit(unit).name for unit in range(QUEUES))
MEANING = {
    "MPU": "matrix products", "VPU": "vectors", "DAU": "copies in SRAM", "LOAD": "from DRAM", "STORE": "to DRAM",
    "SEND": "to other cores", "RECV": "from other cores", "MAP": "sparse operands",
}  # fmt: skip


@dataclass(frozen=True)
class RunFacts:
    """The facts of a run report."""

    exe: Executable
    timing: TimingResult
    """With or without a trace."""
    stats: Mapping[str, Any]
    """The figures of `emulator.reports.stats.collect`."""
    tasks: Sequence[TaskTime]
    notes: Sequence[TaskNote]
    """Of all tasks in the schedule; empty where the executable has none."""
    memory: DeviceMemory | None = None
    """DRAM over time, where it was planned for a budget."""
    sparse: Mapping[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    """(declared, counted) cycles of the sparse products of each task, over all cores."""

    @property
    def mesh(self) -> Mesh:
        """The chip's cores."""
        chip = self.exe.chip
        return Mesh(chip.rows, chip.cols, frozenset(chip.unusable_cores))

    def note_of(self, task: TaskTime) -> TaskNote | None:
        """The note of the compiler about a task."""
        return self.notes[task.number] if task.number < len(self.notes) else None

    @property
    def units(self) -> list[int]:
        """Units that were busy at any time."""
        return [unit for unit in range(QUEUES) if self.timing.instructions[:, unit].any()]


def chip(facts: RunFacts) -> Section:
    """The chip's main numbers."""
    return chip_section(facts.exe.chip)


def limits(facts: RunFacts) -> Section | None:
    """The composition of the cycles, and the operations with the most cycles above their bound."""
    if facts.timing.trace is None:
        return None
    explanation = explain(facts.exe, facts.timing)
    total = max(explanation.cycles, 1)
    shares = [
        (
            f"{share.unit} {share.reason}".strip(),
            f"{share.cycles:,}",
            percent(share.cycles / total),
            REASONS[share.reason],
        )
        for share in explanation.shares
        if share.cycles >= LEAST_SHARE * total
    ]
    over = [
        (
            name_cell(one.task, 40),
            f"{one.cycles:,}",
            f"{one.bound:,.0f}",
            one.set_by,
            f"{one.achievable:,.0f}",
            one.why,
        )
        for one in explanation.over_bound
    ]
    parts: list[Child] = [table(["on the critical path", "cycles", "share", "meaning"], shares)]
    if over:
        heading = "Operations with the most cycles above their own bound"
        parts += [
            tag("h3", heading),
            table(["operation", "on the path", "bound", "set by", "with its tiles", "why"], over),
        ]
    if (found := explanation.waterfall) is not None:
        bound = found.parts[IDEAL]
        rows = [
            (part, f"{cycles:,.0f}", f"{cycles / bound:.2f}", PARTS[part])
            for part, cycles in found.parts.items()
            if abs(cycles) >= LEAST_SHARE * bound
        ]
        heading = f"From the roofline (set by {found.unit}) to the run: {found.ratio:.2f} times as long"
        parts += [tag("h3", heading), table(["part", "cycles", "of the roofline", "meaning"], rows)]
    note = (
        "The chain of instructions, messages and waits that ends with the last cycle. Its parts follow each "
        "other without gaps and add up to the run: the run is shorter only if one of them is."
    )
    return Section("What limits it", join(parts), note)


def _achievable_layers(facts: RunFacts) -> Child:
    """The layers with the largest shares of the achievable time."""
    found = achievable_of(facts.exe)
    rows = [
        (layer.name, *(f"{cycles:,.0f}" for cycles in (layer.cycles, layer.peak, layer.filling, layer.loads)))
        for layer in ([] if found is None else found.longest(LAYERS))
    ]
    heads = ["layer (batch, M, K, N)", "cycles", "at the peak", "not filled", "loads not hidden"]
    return table(heads, rows)


def bounds(facts: RunFacts) -> Section:
    """Cycles compared with the least cycles of each unit."""
    colours = {"MPU": "mpu", "VPU": "vpu", "NoC": "send", "DRAM": "load", "host": "host"}
    cycles = facts.stats["cycles"]
    parts: list[Child] = []
    for key, what in (("roofline", "network"), ("roofline_of_executable", "executable")):
        entry = facts.stats[key]
        if (key == "roofline" and entry["of"] != "network") or not entry["cycles"]:
            continue
        bars = [
            Bar(unit, least, f"{least:,.0f} cycles, {percent(least / max(cycles, 1))} of the run", colours[unit])
            for unit, least in entry["by_unit"].items()
            if least
        ]
        parts += [
            tag("h3", f"Work of the {what} ({entry['unit']} sets the bound: {entry['cycles']:,.0f} cycles)"),
            bar_chart(f"least cycles by unit, {what}", bars, mark=(cycles, f"run: {cycles:,} cycles")),
        ]
    if "achievable" in facts.stats:
        texts = {
            "peak": "at the peak of the units", "filling": "array not filled",
            "loads": "loads not hidden", "results": "storing results",
        }  # fmt: skip
        entry = facts.stats["achievable"]
        bars = [
            Bar(texts[part], part_cycles, f"{part_cycles:,.0f} cycles", "heat")
            for part, part_cycles in entry["by_part"].items()
            if round(part_cycles)
        ]
        heading = f"Achievable, layer by layer: {entry['cycles']:,.0f} cycles"
        chart = bar_chart("parts of the achievable time", bars, mark=(cycles, f"run: {cycles:,} cycles"))
        parts += [tag("h3", heading), chart, _achievable_layers(facts)]
    most = [
        Bar(
            one["name"],
            one["cycles"],
            f"{one['cycles']:,.0f} cycles, {percent(one['cycles'] / max(cycles, 1))} of the run",
            "heat",
        )
        for one in facts.stats["busiest"]
    ]
    if most:
        chart = bar_chart("cycles of the busiest parts", most, mark=(cycles, f"run: {cycles:,} cycles"))
        parts += [tag("h3", "The busiest part of each kind: no run of this executable takes fewer cycles"), chart]
    note = (
        "The fewest cycles that each unit needs if all cores, links and ports are always busy, with equal "
        "shares of the "
        "work. In the work of the network, products are on matrix units, everything else is on vector units, and each "
        "weight, input and output is moved once. The work of the executable is that of its instructions, which may "
        "compute products on vector units. Host copies before the first launch and after the last are not counted."
    )
    return Section("Distance to the roofline", join(parts), note)


def utilisation(facts: RunFacts) -> Section | None:
    """Busy share of the units."""
    if not facts.units:
        return None
    bars = [
        Bar(
            f"{name}, {MEANING[name]}",
            entry["utilisation"],
            f"{percent(entry['utilisation'])}, busiest core {percent(entry['utilisation_max'])}",
            name.lower(),
        )
        for name, entry in facts.stats["units"].items()
        if entry["instructions"]
    ]
    note = (
        "Busy cycles over the cycles of the run, mean over all usable cores. Waiting for others does not count as busy."
    )
    return Section("Units", bar_chart("busy share by unit", bars, maximum=1.0), note)


def timeline(facts: RunFacts) -> Section | None:
    """Units over time, for the chip and for one core."""
    timing = facts.timing
    if timing.trace is None:
        note = "This run has too many instructions for a trace: no timeline and no figures by task."
        return Section("Timeline", "", note)
    total = timing.total_cycles
    bin_cycles = total / BINS or 1.0
    busiest = max(range(facts.exe.chip.cores), key=lambda core: int(timing.busy[core].sum()))
    one = lanes_over_time(timing, timing.trace, BINS, busiest) / bin_cycles
    spans = _spans(facts)
    run = max(timing.cycles, 1)
    single = _lanes(facts.units, one, timing.busy[busiest] / run)
    parts: list[Child] = [
        tag("h3", "All cores: busy share"),
        chip_lanes(facts, BINS),
    ]
    if single:
        parts += [
            tag("h3", f"Core {busiest}, the busiest"),
            lane_chart(f"busy share of core {busiest} by unit over time", single, total, spans),
        ]
    note = (
        f"Cycles from left to right, from the host's first copy to its last; a lane is full where the unit is busy "
        f"all the time. Each step of the outline is the mean over {significant(bin_cycles)} cycles. The strip shows "
        f"when each task ended; figures on the right: shares of the run, first launch to last."
    )
    return Section("Timeline", join(parts), note)


def chip_lanes(facts: RunFacts, bins: int) -> Markup:
    """The activity of all cores by unit, and of the host's copies, over time; for a run with a trace."""
    timing = facts.timing
    assert timing.trace is not None
    total, cores = timing.total_cycles, max(len(facts.exe.chip.usable_cores), 1)
    shares = lanes_over_time(timing, timing.trace, bins) / ((total / bins or 1.0) * cores)
    lanes = _lanes(facts.units, shares, timing.busy.sum(axis=0) / (max(timing.cycles, 1) * cores))
    return lane_chart("busy share of all cores by unit over time", [*lanes, *_host(facts)], total, _spans(facts))


def _lanes(units: Sequence[int], shares: NDArray[Any], whole: NDArray[Any]) -> list[Lane]:
    return [
        Lane(UNITS[unit], shares[unit].tolist(), UNITS[unit].lower(), percent(float(whole[unit]))) for unit in units
    ]


def _spans(facts: RunFacts) -> list[Span]:
    spans: list[Span] = []
    for task in facts.tasks:
        if task.takes and task.name:
            spans.append(Span(task.name, task.end - task.takes, task.end))
    return spans


def _host(facts: RunFacts) -> list[Lane]:
    import numpy as np

    copies = facts.timing.copies
    if not copies:
        return []
    start, end = (np.array([getattr(copy, name) for copy in copies], np.int64) for name in ("start", "end"))
    total = facts.timing.total_cycles
    return [Lane("host", (busy_time(start, end, total, BINS) * BINS / max(total, 1)).tolist(), "host")]


def tasks(facts: RunFacts) -> Section | None:
    """Cycles by task, with the estimates."""
    if not facts.tasks:
        return None
    units = facts.units
    head: list[Child] = ["#", "task", "operations", "from", "to", "takes", "share", "estimate", "error"]
    run = max(facts.timing.cycles, 1)
    rows: list[list[Child]] = []
    for task in facts.tasks:
        note = facts.note_of(task)
        rows.append(
            [
                str(task.number) if task.name else "",
                name_cell(task.name or "no task", 22),
                tag("span", note.operator, title=" + ".join(note.ops)) if note else "",
                f"{task.start:,}",
                f"{task.end:,}",
                f"{task.takes:,}",
                _share(task.takes / run),
                f"{note.cycles:,}" if note else "",
                error_text(note.cycles, task.takes) if note else "",
                *(_busy(task.busy[unit]) for unit in units),
            ]
        )
    total = sum(task.takes for task in facts.tasks)
    if waits := sum(task.waits for task in facts.tasks):
        empty = [""] * (len(units) + 2)
        rows.append(["", "no task", "waiting for copies", "", "", f"{waits:,}", _share(waits / run), *empty])
    estimated = sum(note.cycles for note in facts.notes)
    sums = [_busy(sum(task.busy[unit] for task in facts.tasks)) for unit in units]
    whole = total + waits
    rows.append(
        ["", tag("b", "all"), "", "", "", f"{whole:,}", percent(whole / run), f"{estimated:,}" if estimated else "",
         error_text(estimated, total) if estimated else "", *sums]
    )  # fmt: skip
    note = (
        "From the first instruction of a task, which may be a prefetch, to the last on any core. The cycles "
        "of a task are "
        "those by which it ends later than all earlier tasks: they add up to the run, except for the time in which "
        "the mesh drains. The error is that of the compiler's estimate of these cycles. "
        "Columns on the right: busy cycles by unit, summed over the cores."
    )
    return Section("Tasks", table([*head, *(UNITS[unit] for unit in units)], rows, 3, "wide"), note)


def _share(share: float) -> Child:
    return meter(share, percent(share))


def _busy(cycles: int) -> Child:
    return tag("span", compact(cycles), title=f"{cycles:,}") if cycles else ""


def error_text(estimate: int, cycles: int) -> str:
    """The error of an estimate, in percent of the measured cycles."""
    return f"{round(100 * (estimate - cycles) / cycles):+,d}%".replace("+0%", "0%") if cycles else ""


def cores(facts: RunFacts) -> Section:
    """Heat maps: busy share by core, for each kind of work."""
    run = max(facts.timing.cycles, 1)
    parts: list[Child] = []
    for unit in facts.units:
        shares = [int(busy) / run for busy in facts.timing.busy[:, unit]]
        most = max(shares)
        caption = f"{UNITS[unit]}, {MEANING[UNITS[unit]]}: up to {percent(most)}"
        parts.append(_figure(caption, core_map(f"{UNITS[unit]} by core", facts.mesh, shares, percent, most, 240)))
    peaks = facts.stats["peak_sram"]["of_core"]
    capacity = facts.exe.chip.sram_bytes
    caption = f"SRAM touched: up to {in_bytes(max(peaks))} of {in_bytes(capacity)}"
    parts.append(_figure(caption, core_map("SRAM touched by core", facts.mesh, peaks, _short_bytes, max(peaks), 240)))
    note = (
        "Each square is a core, in its place on the mesh; the stronger its colour, the closer it is to the "
        "busiest core "
        "of the same map. Numbers are shares of the run's cycles."
    )
    return Section("Cores", tag("div", parts, class_="row"), note)


def _short_bytes(value: float) -> str:
    return in_bytes(value).replace("iB", "")


def _figure(caption: str, picture: Child) -> Child:
    return tag("figure", tag("figcaption", caption), picture)


def traffic(facts: RunFacts) -> Section:
    """Bytes by kind of link, and on each link."""
    from ...chips.dram_ports import port_rows

    moved, timing, chip = facts.stats["bytes"], facts.timing, facts.exe.chip
    links = moved["links"]
    kinds = [
        ("Links east and west", links["horizontal"], "send"),
        ("Links north and south", links["vertical"], "recv"),
        ("Into cores", links["into_cores"], "dau"),
        ("DRAM, read", moved["dram_read"], "load"),
        ("DRAM, written", moved["dram_written"], "store"),
        ("Host, in", moved["host_in"], "host"),
        ("Host, out", moved["host_out"], "host"),
    ]
    bars = [Bar(name, value, f"{in_bytes(value)}  ({value:,} bytes)", colour) for name, value, colour in kinds]
    rate = chip.link_bytes_per_cycle * max(timing.cycles, 1)
    ports = list(zip(port_rows(chip), moved["dram_of_port"], strict=True))
    picture = link_map("bytes by link", facts.mesh, timing.link_bytes.tolist(), ports)
    top = int(timing.link_bytes.max(initial=0))
    caption = (
        f"Bytes by link; squares: into the core; D: DRAM ports. The busiest link carries {in_bytes(top)}, "
        f"{percent(top / rate)} of its capacity in the run."
    )
    body = join(
        [
            bar_chart("bytes by kind of link", bars),
            tag("h3", caption),
            picture,
            scale_legend("0", f"{top:,} bytes on a link, {max(moved['dram_of_port']):,} through a port"),
        ]
    )
    note = "A byte counts once for each link. Each direction between two cores is drawn on its right-hand side."
    return Section("Traffic", body, note)


def energy(facts: RunFacts) -> Section:
    """Energy by component."""
    from .summary import PICO, scaled

    names = {"mac": ("MACs", "mpu"), "vpu": ("Vector unit", "vpu"), "sram": ("SRAM", "dau"), "noc": ("Network", "send"),
             "dram": ("DRAM", "load"), "host": ("Host link", "host"), "map": ("Mapping unit", "map")}  # fmt: skip
    parts: Mapping[str, float] = facts.stats["energy_pj"]
    total = parts["total"] or 1.0
    bars = [
        Bar(name, parts[key], f"{scaled(parts[key], PICO)}  ({percent(parts[key] / total)})", colour)
        for key, (name, colour) in names.items()
    ]
    note = f"{scaled(parts['total'], PICO)} in total: events times the chip's energy per event, without leakage."
    return Section("Energy", bar_chart("energy by component", bars), note)


def device_memory(facts: RunFacts) -> Section | None:
    """Device memory over time, if the executable was planned for a budget."""
    return None if facts.memory is None else device_memory_section(facts.memory.planned, facts.memory)


def sparse(facts: RunFacts) -> Section | None:
    """The work that the mapping unit skipped, and the compiler's estimate compared with the counted cycles."""
    figures = facts.stats.get("sparse")
    if not figures or figures["cycles"] == "declared":
        return None
    pairs, skipped = figures["pairs"], figures["skipped"]
    parts = [
        Bar("multiplied", pairs, f"{pairs:,} ({percent(pairs / max(pairs + skipped, 1))})", "mpu"),
        Bar("skipped", skipped, f"{skipped:,} ({percent(skipped / max(pairs + skipped, 1))})", "free"),
    ]
    body: list[Child] = [stacked_bar("pairs of sparse products", parts, pairs + skipped)]
    sent, with_zeros = figures["bytes_sent"], figures["bytes_sent_dense"]
    if with_zeros:
        parts = [
            Bar("sent", sent, f"{in_bytes(sent)} ({percent(sent / with_zeros)})", "send"),
            Bar("left out", with_zeros - sent, in_bytes(with_zeros - sent), "free"),
        ]
        body.append(stacked_bar("bytes between cores, of transfers without zeros", parts, with_zeros))
    rows: list[list[Child]] = [
        [name_cell(name, 40), f"{declared:,}", f"{counted:,}", error_text(declared, counted)]
        for name, (declared, counted) in facts.sparse.items()
    ]
    if rows:
        body.append(table(["task", "cycles declared", "cycles counted", "error"], rows))
    note = (
        f"Pairs of an activation and a weight: multiplied, or skipped because one of them is zero. The mapping unit "
        f"read {figures['index_elements']:,} index elements in {figures['map_cycles']:,} cycles. Cycles are those of "
        f"matrix units in sparse products, summed over the cores: declared by the compiler, and counted in this run."
    )
    return Section("Sparse products", join(body), note)


SECTIONS: tuple[SectionMaker[RunFacts], ...] = (
    limits, bounds, utilisation, timeline, device_memory, tasks, sparse, cores, traffic, energy, chip,
)  # fmt: skip
"""All sections, in the order of the page."""

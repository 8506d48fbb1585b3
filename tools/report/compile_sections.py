"""The sections of a compile report, one function each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...dialects.coreasm.check import HAS_BODY
from .bars import Bar, bar_chart, legend, stacked_bar
from .chip_facts import chip_section
from .device_memory import device_memory_section
from .html import Child, join, key_values, meter, name_cell, table, tag
from .memory_map import alive_bytes, memory_map
from .page import Section, SectionMaker
from .sparse_layers import SparseLayer, sparse_section
from .sram_blocks import ROLES, SramUse
from .tasks import TaskNote
from .words import by, in_bytes, percent, plural, significant

if TYPE_CHECKING:
    from ...emulator.executable.executable import Executable

MOST_PROGRAMS = 24
"""Number of programs that the table lists individually."""
MOST_MAPS = 4
"""Largest number of memory maps on the page."""


@dataclass(frozen=True)
class SubgraphRow:
    """A subgraph, which runs as one launch."""

    label: str
    first: str
    last: str
    """Names of its first and last operator."""
    operators: int
    tasks: int
    cycles: int
    """Estimated."""
    sram: int
    """Peak of a core, in bytes."""
    dram: int
    weights: int
    streamed: bool
    """Whether its weights are streamed from the host."""


@dataclass(frozen=True)
class CompileFacts:
    """The facts of a compile report."""

    exe: Executable
    tasks: Sequence[TaskNote]
    stages: Sequence[tuple[str, float]]
    """Stages and passes with their seconds, in order."""
    sram: Sequence[SramUse]
    """The SRAM map of each launch."""
    subgraphs: Sequence[SubgraphRow] = ()
    log: Sequence[str] = ()
    """Lines of the search log."""
    sparse: Sequence[SparseLayer] = ()
    """The decision for each weight, if encoding was requested."""
    encoded: bool = True
    """Whether the network was compiled with encoded weights."""


def chip(facts: CompileFacts) -> Section:
    """The chip's main numbers."""
    return chip_section(facts.exe.chip)


def stages(facts: CompileFacts) -> Section | None:
    """Time by stage."""
    if not facts.stages:
        return None
    total = sum(seconds for _, seconds in facts.stages) or 1.0
    bars = [
        Bar(name, seconds, f"{1000 * seconds:,.0f} ms  ({percent(seconds / total)})", "heat")
        for name, seconds in facts.stages
    ]
    return Section("Stages", bar_chart("seconds by stage", bars), "Passes and stages in the order in which they ran.")


def subgraphs(facts: CompileFacts) -> Section | None:
    """The launches, and the search log."""
    if len(facts.subgraphs) < 2:
        return None
    head = [
        "subgraph",
        "from",
        "to",
        "operators",
        "tasks",
        "estimated cycles",
        "SRAM allocated",
        "DRAM",
        "weights",
        "held by",
    ]
    rows: list[list[Child]] = [
        [
            row.label,
            name_cell(row.first, 26),
            name_cell(row.last, 26),
            f"{row.operators:,}",
            f"{row.tasks:,}",
            f"{row.cycles:,}",
            in_bytes(row.sram),
            in_bytes(row.dram),
            in_bytes(row.weights),
            "" if not row.weights else "host" if row.streamed else "DRAM",
        ]
        for row in facts.subgraphs
    ]
    log = [tag("h3", "Search log"), tag("ol", [tag("li", line) for line in facts.log], class_="log")]
    note = "The network runs as a sequence of launches; 1.2 is the second subgraph into which subgraph 1 was split."
    return Section("Subgraphs", join([table(head, rows, 3), log if facts.log else []]), note)


def tasks(facts: CompileFacts) -> Section | None:
    """The tasks in order."""
    if not facts.tasks:
        return None
    total = sum(task.cycles for task in facts.tasks) or 1
    head = [
        "#",
        "task",
        "operations",
        "grid",
        "cores",
        "steps",
        "constants",
        "SRAM needed",
        "result in",
        "estimated cycles",
    ]
    rows: list[list[Child]] = [
        [
            str(number),
            name_cell(task.name, 32),
            tag("span", task.operator, title=" + ".join(task.ops)),
            by(task.grid),
            f"{task.cores:,}",
            f"{int(np.prod(task.steps, dtype=np.int64)):,}",
            in_bytes(task.constants) if task.constants else "",
            in_bytes(task.working),
            "SRAM" if task.sram else "DRAM",
            meter(task.cycles / max(one.cycles for one in facts.tasks), f"{task.cycles:,}"),
        ]
        for number, task in enumerate(facts.tasks)
    ]
    note = (
        f"{plural(len(facts.tasks), 'task')} in the order of the schedule; {total:,} cycles estimated in all. The grid "
        f"cuts the dimensions of the first operation over cores, steps cut them in time; SRAM needed is the space that "
        f"must be free on a core while the task runs."
    )
    return Section("Tasks", table(head, rows, text_columns=4), note)


def sram(facts: CompileFacts) -> Section | None:
    """The map of the cores' memory over the schedule."""
    if not facts.sram:
        return None
    capacity = facts.exe.chip.sram_bytes
    largest = sorted(range(len(facts.sram)), key=lambda number: -_peak(facts.sram[number]))[:MOST_MAPS]
    shown = [facts.sram[number] for number in sorted(largest)]
    parts: list[Child] = [legend([(what, colour) for colour, what in ROLES.items()])]
    for use in shown:
        peak = _peak(use)
        bound = max(alive_bytes(use.blocks, len(use.tasks)), default=0)
        ratio = f", {peak / bound:.2f} times the lower bound" if bound else ""
        where = f"{use.name}: " if use.name else ""
        parts += [
            tag("h3", f"{where}peak {in_bytes(peak)} of {in_bytes(capacity)} ({percent(peak / capacity)}){ratio}"),
            memory_map("SRAM addresses in use by task", use.blocks, use.tasks, capacity),
        ]
    if (left := len(facts.sram) - MOST_MAPS) > 0:
        parts.append(tag("p", f"{plural(left, 'further subgraph')} with smaller peaks not shown.", class_="note"))
    note = (
        "Vertical axis: addresses; horizontal axis: tasks in order. All cores have the same layout. The line shows the "
        "bytes in use at each task; its maximum is a lower bound of every allocation."
    )
    return Section("SRAM of a core", join(parts), note)


def _peak(use: SramUse) -> int:
    return max((block.address + block.size for block in use.blocks), default=0)


def dram(facts: CompileFacts) -> Section:
    """The contents of DRAM."""
    exe = facts.exe

    def total(role: str) -> int:
        return sum(tensor.nbytes for tensor in exe.tensors if tensor.role == role)

    named = {"constant": exe.weight_bytes, "input": total("input"), "output": total("output")}
    rest = max(exe.dram_bytes_used - sum(named.values()), 0)
    names = {"constant": "resident weights and constants", "input": "inputs", "output": "outputs"}
    parts = [Bar(names[role], size, in_bytes(size), role) for role, size in named.items() if size]
    if rest:
        what = "values between tasks" + (", weights from the host" if exe.host_weight_bytes else "")
        parts.append(Bar(f"{what}, alignment", rest, in_bytes(rest), "between"))
    share = percent(exe.dram_bytes_used / exe.chip.dram_bytes)
    note = f"{in_bytes(exe.dram_bytes_used)} of {in_bytes(exe.chip.dram_bytes)} in use ({share})."
    if exe.host_weight_bytes:
        note += f" The host holds {in_bytes(exe.host_weight_bytes)} of streamed weights, copied before their launches."
    total_bytes = max(exe.dram_bytes_used, sum(named.values()))
    return Section("DRAM", stacked_bar("bytes of DRAM by contents", parts, total_bytes), note)


def programs(facts: CompileFacts) -> Section:
    """Programs: instructions, loops, and cores that share a program."""
    from ...dialects.coreasm.encoding import DESC, WORD
    from ...emulator.timing.tables import build_tables

    exe = facts.exe
    users = np.zeros(len(exe.programs), np.int64)
    executed = 0
    for launch in exe.launches:
        usable = launch.program_of_core[list(exe.chip.usable_cores)]
        users += np.bincount(usable, minlength=len(exe.programs))
        executed += int(build_tables(exe, launch).instructions().sum())
    words = sum(len(program.words) for program in exe.programs)
    unshared = sum(len(program.words) * int(count) for program, count in zip(exe.programs, users, strict=True))
    loops = sum(int(np.count_nonzero(HAS_BODY[program.words["op"]])) for program in exe.programs)
    size = sum(program.words.size * WORD.itemsize + len(program.descs) * DESC.itemsize for program in exe.programs)
    summary = key_values(
        [
            ("Programs", f"{len(exe.programs):,}"),
            ("Launches", f"{len(exe.launches):,}"),
            ("Instructions", f"{words:,}"),
            ("Loops", f"{loops:,}"),
            ("Instructions without sharing", f"{unshared:,}"),
            ("Instructions executed", f"{executed:,}"),
            ("Code with descriptors", in_bytes(size)),
            ("Executions per stored instruction", significant(executed / max(words, 1))),
        ]
    )
    order = sorted(range(len(exe.programs)), key=lambda index: (-users[index] * len(exe.programs[index].words), index))
    rows: list[list[Child]] = []
    for index in order[:MOST_PROGRAMS]:
        program = exe.programs[index]
        count = int(np.count_nonzero(HAS_BODY[program.words["op"]]))
        numbers = (int(users[index]), len(program.words), count, len(program.descs), len(program.params))
        rows.append([program.name, *(f"{value:,}" for value in numbers)])
    head = ["program", "cores", "instructions", "loops", "descriptors", "values patched per core"]
    rest = len(order) - MOST_PROGRAMS
    more = [tag("p", f"{plural(rest, 'smaller program')} not shown.", class_="note")] if rest > 0 else []
    note = "Cores with equal work share one program; parameters in which they differ are patched when it is loaded."
    return Section("Programs", join([summary, tag("h3", "By program"), table(head, rows), more]), note)


def device_memory(facts: CompileFacts) -> Section | None:
    """Device memory over time, if a budget was given."""
    from ...emulator.reports.device_memory import planned_memory

    planned = planned_memory(facts.exe)
    return None if planned is None else device_memory_section(planned, None)


def sparse(facts: CompileFacts) -> Section | None:
    """Densities, encodings and savings, if encoding of weights was requested."""
    return sparse_section(facts.sparse, facts.exe.chip, facts.encoded) if facts.sparse else None


SECTIONS: tuple[SectionMaker[CompileFacts], ...] = (
    chip, stages, device_memory, subgraphs, tasks, sparse, sram, dram, programs,
)  # fmt: skip
"""All sections, in the order of the page."""

"""Output for notebooks: a card with figures, tensors, tasks and a timeline of a compiled network or a run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...dialects.coreasm.encoding import TYPES
from .html import Child, Markup, name_cell, table, tag
from .page import Figure, figure_boxes
from .run_sections import BINS, RunFacts, chip_lanes
from .style import STYLE
from .summary import MICRO, scaled
from .tasks import TaskNote
from .words import by, in_bytes, plural, significant

if TYPE_CHECKING:
    from ...emulator.executable.executable import Executable, TensorInfo
    from ...emulator.executable.task_results import TaskResult

CLASS = "meshloom"
SHOWN_TASKS = 12


def network_card(
    exe: Executable, stats: Mapping[str, Any], notes: Sequence[TaskNote], results: Sequence[TaskResult]
) -> str:
    """The card of a compiled network: inputs and outputs, tasks, and cycles compared with the bound."""
    places = {(one.launch, one.task): one for one in results}
    of_task = {task: place for (_, task), place in places.items()}
    rows = [_task_row(note, of_task.get(note.name)) for note in notes[:SHOWN_TASKS]]
    parts: list[Child] = [_tensors(exe.inputs, exe.outputs)]
    if rows:
        left = len(notes) - len(rows)
        title = plural(len(notes), "task") + (f", of which the first {len(rows)}" if left else "")
        parts += [tag("h3", title), table(["task", "operators", "result", "cores", "estimated cycles"], rows, 3)]
    weights = exe.weight_bytes + exe.host_weight_bytes
    figures = [*_cycles(exe, stats), Figure("Weights", in_bytes(weights), f"DRAM {in_bytes(exe.dram_bytes_used)}")]
    return _card(f"network for {_chip(exe)}", figures, parts)


def result_card(facts: RunFacts, outputs: Mapping[str, Any]) -> str:
    """The card of a run: outputs, cycles compared with the bound, and a timeline of the units if it was traced."""
    rows = [
        (name_cell(name, 40), str(value.dtype), by(list(value.shape)) or "scalar", _range(value))
        for name, value in outputs.items()
    ]
    parts: list[Child] = [table(["output", "type", "shape", "values"], rows, 4)]
    if facts.timing.trace is not None:
        parts += [tag("h3", "Busy share of all cores, by unit over time"), chip_lanes(facts, BINS)]
    figures = [*_cycles(facts.exe, facts.stats), Figure("Matrix units", _share(facts.stats), "of their peak rate")]
    return _card(f"run on {_chip(facts.exe)}", figures, parts)


def _cycles(exe: Executable, stats: Mapping[str, Any]) -> Iterator[Figure]:
    bound = stats["roofline"]
    yield Figure("Cycles", f"{stats['cycles']:,}", f"{stats['total_cycles']:,} with host copies")
    yield Figure("Time", scaled(stats["time_us"], MICRO), f"at {exe.chip.clock_ghz:g} GHz")
    if bound["ratio"]:
        ratio = f"{significant(bound['ratio'])}\N{MULTIPLICATION SIGN}"
        yield Figure("Against the bound", ratio, f"{bound['cycles']:,.0f} cycles, set by {bound['unit']}")


def _share(stats: Mapping[str, Any]) -> str:
    return f"{100 * stats['mpu_efficiency']:.1f}%"


def _chip(exe: Executable) -> str:
    return f"{exe.chip.name}, {by([exe.chip.rows, exe.chip.cols])} cores"


def _tensors(inputs: Sequence[TensorInfo], outputs: Sequence[TensorInfo]) -> Markup:
    rows = [
        (what, name_cell(one.name, 40), TYPES[one.dtype].name, by(list(one.shape)) or "scalar")
        for what, tensors in (("input", inputs), ("output", outputs))
        for one in tensors
    ]
    return table(["", "tensor", "type", "shape"], rows, 4)


def _task_row(note: TaskNote, place: TaskResult | None) -> tuple[Child, ...]:
    where = "SRAM" if note.sram else "DRAM"
    shape = where if place is None else f"{by(list(place.shape)) or 'scalar'} in {where}"
    return name_cell(note.name, 32), note.operator, shape, f"{note.cores:,}", f"{note.cycles:,}"


def _range(value: Any) -> str:
    if not value.size:
        return "none"
    if value.size == 1:
        return f"{value.reshape(-1)[0]:.6g}"
    return f"{value.min():.4g} to {value.max():.4g}"


def _card(title: str, figures: Sequence[Figure], parts: Sequence[Child]) -> str:
    head = tag("p", tag("b", title), class_="head")
    return str(tag("div", tag("style", Markup(_STYLE)), head, figure_boxes(figures), *parts, class_=CLASS))


def _scoped(style: str) -> Iterator[str]:
    """The rules of a style sheet, restricted to the contents of a card."""
    for line in style.strip().splitlines():
        selectors, brace, rest = line.partition("{")
        if not brace or selectors.lstrip().startswith("@"):
            yield line
            continue
        indent = selectors[: len(selectors) - len(selectors.lstrip())]
        names = (re.sub(r"^(:root|body)$", "", name.strip()) for name in selectors.split(","))
        yield indent + ", ".join(f".{CLASS} {name}".rstrip() for name in names) + " {" + rest


_OWN = f"""
.{CLASS} {{ max-width: 960px; padding: 12px 14px; border: 1px solid var(--line); border-radius: 10px; }}
.{CLASS} .head {{ margin: 0 0 8px; }}
.{CLASS} .figures {{ margin-bottom: 10px; }}
.{CLASS} table {{ margin: 0; }}
.{CLASS} th, .{CLASS} td {{ text-align: left; background: none; }}
.{CLASS} .number {{ text-align: right; }}
"""
_STYLE = "\n".join(_scoped(STYLE)) + _OWN

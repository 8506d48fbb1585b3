"""The report of a compilation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .compile_sections import SECTIONS, CompileFacts, SubgraphRow
from .memory_map import alive_bytes
from .page import Figure, page, sections_of
from .sram_blocks import SramUse, sram_use
from .tasks import task_notes
from .versions import versions
from .words import by, in_bytes, percent, plural

if TYPE_CHECKING:
    from ...lowering.driver.compile_module import Compilation
    from .sparse_layers import SparseLayer


def compile_facts(
    compilation: Compilation,
    stages: Sequence[tuple[str, float]],
    layers: Sequence[SparseLayer] = (),
    encoded: bool = True,
) -> CompileFacts:
    """
    The facts of the report: `stages` with their seconds, in order; `layers` if encoding of weights was requested, and
    whether the network was compiled with it.
    """
    exe = compilation.executable
    notes = task_notes(exe)
    uses: list[SramUse] = []
    begin = 0
    for part in compilation.parts:
        end = begin + len(part.code.tasks)
        label = f"Subgraph {part.label}" if len(compilation.parts) > 1 else ""
        uses.append(sram_use(label, exe.source_names[begin:end], part.code.buffers))
        begin = end
    rows = [
        SubgraphRow(
            part.label, part.first, part.last, part.operators, len(part.code.tasks), part.code.estimated_cycles,
            part.code.sram_peak, part.code.dram_bytes, part.weight_bytes, part.streamed,
        )
        for part in compilation.parts
    ]  # fmt: skip
    return CompileFacts(exe, notes, stages, uses, rows, compilation.log.lines(), layers, encoded)


def compile_report(model: str, facts: CompileFacts) -> str:
    """The page; `model` is the name of the compiled model."""
    exe = facts.exe
    chip = exe.chip
    words = sum(len(program.words) for program in exe.programs)
    launches = len(exe.launches)
    held = f"{in_bytes(exe.host_weight_bytes)} held by the host" if exe.host_weight_bytes else ""
    figures = [
        Figure("Tasks", f"{len(exe.source_names):,}", f"in {launches:,} launch{'' if launches == 1 else 'es'}"),
        Figure("Estimated", f"{sum(task.cycles for task in facts.tasks):,}", "cycles, task after task"),
        Figure("Instructions", f"{words:,}", f"in {plural(len(exe.programs), 'program')}"),
        Figure("Weights", in_bytes(exe.weight_bytes + exe.host_weight_bytes), held),
        Figure(
            "DRAM", in_bytes(exe.dram_bytes_used), f"{percent(exe.dram_bytes_used / chip.dram_bytes)} of the chip's"
        ),
    ]
    if facts.sram:
        peak = max((block.address + block.size for use in facts.sram for block in use.blocks), default=0)
        bound = max(max(alive_bytes(use.blocks, len(use.tasks)), default=0) for use in facts.sram)
        times = f"; {peak / bound:.2f} x the lower bound" if bound else ""
        remark = f"of {in_bytes(chip.sram_bytes)}{times}"
        figures.insert(3, Figure("SRAM allocated", in_bytes(peak), remark))
    subtitle = f"compiled for {chip.name}, {by([chip.rows, chip.cols])} cores, by {versions()}"
    return page(model, subtitle, figures, sections_of(SECTIONS, facts))

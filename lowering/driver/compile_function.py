"""Compile one function to the executable of one chip, with figures for the log and reports."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp

from ...emulator.executable.executable import Executable
from ..cache.subgraph_code import SubgraphCode
from ..linker.read_program import read_program
from ..manycore_autotune import autotune
from ..manycore_outline_to_fit import outline_to_fit
from ..manycore_to_memory import lower_module
from ..options.compilation_log import CompilationLog, LogEntry
from ..options.progress import Level
from ..options.subgraph_options import parse_fusion
from ..sequence.launch_sequence import constant_bytes_read, operator_count
from ..session import Session
from ..subgraphs.fuse_subgraphs import fuse_subgraphs
from ..subgraphs.subgraph import Subgraphs

if TYPE_CHECKING:
    from ..offload.compile_launches import Budget, LaunchCompilation


@dataclass(frozen=True)
class CompiledPart:
    """A subgraph of the launch sequence, which one launch runs."""

    label: str
    """Its label in the log."""
    operators: int
    first: str
    last: str
    """Names of its first and last operator."""
    code: SubgraphCode
    weight_bytes: int
    streamed: bool
    """Whether the host holds its weights, which are copied to DRAM before the launch."""


@dataclass(frozen=True)
class Compilation:
    """An executable, the IR from which it was generated, and figures."""

    executable: Executable
    module: ModuleOp
    """The program at the `memory` level, from which the executable is generated."""
    parts: tuple[CompiledPart, ...]
    """The launch sequence, one entry per launch."""
    log: CompilationLog
    levels: Callable[[], list[Level]]
    """The module at each intermediate level."""
    cache_hits: int = 0
    """Number of subgraphs that were found in the cache folder."""
    saving: LaunchCompilation | None = None
    """The memory saving for the budget, if one was given."""

    @property
    def tasks(self) -> int:
        """Number of tasks."""
        return sum(len(part.code.tasks) for part in self.parts)

    @property
    def sram_peak(self) -> int:
        """Allocated bytes of a core's SRAM: up to the end of the highest buffer, including padding for alignment."""
        return max(part.code.sram_peak for part in self.parts)

    @property
    def sram_lower_bound(self) -> int:
        """Largest sum of bytes that a core needs at one time."""
        return max(part.code.sram_lower_bound for part in self.parts)


def compile_function(module: ModuleOp, session: Session, budget: Budget | None = None) -> Compilation:
    """
    Compile @main of a simplified `dataflow` (or tiled `manycore`) module, as `compile_in_session` does; with a
    `budget`, in launches that save memory. The module becomes the program at the `memory` level.

    Raises ResourceError if the network does not fit the chip.
    """

    def in_subgraphs() -> Subgraphs:
        found = outline_to_fit(module, session)
        return fuse_subgraphs(module, parse_fusion(session.options.fuse), session) or found

    cut = in_subgraphs() if budget is not None and session.options.cuts_before_saving else None
    saved = False
    if budget is not None:
        from ..memory_insert_offload import insert_offload

        saved = insert_offload(module, session, budget)
    if not saved:
        found = in_subgraphs() if cut is None else cut
        parts = tuple(_describe(number, found) for number in range(len(found.parts)))
        levels: list[Level] = [("subgraphs", module.clone())] if len(parts) > 1 else []
    else:
        parts, levels = (), [("offload", module.clone())]
    chip, cache = session.chip, session.cache
    session.progress("tile")
    codes = autotune(module, chip, cache, session.options.jobs)
    levels.append(("manycore", module.clone()))
    session.progress("link")
    saving = None
    if not saved:
        lower_module(module, chip)
    else:
        from ..offload.lower_saved import lower_saved

        lowered = lower_saved(module, chip, cache)
        saving, codes = lowered.saving, [compiled.code for _, compiled in lowered.launches]
        parts = tuple(_launch(name, code, session.log) for (name, _), code in zip(lowered.launches, codes, strict=True))
    executable = read_program(module, chip, {code.digest: code.code for code in codes})
    levels.append(("memory", module))
    return Compilation(executable, module, parts, session.log, lambda: levels, cache.hits, saving)


def _describe(number: int, found: Subgraphs) -> CompiledPart:
    part = found.parts[number]
    first, last = part.ends
    streamed = number in found.residency.blocks
    size = constant_bytes_read(part.operators)
    return CompiledPart(part.label, operator_count(part.operators), first, last, part.code, size, streamed)


def _launch(name: str, code: SubgraphCode, log: CompilationLog) -> CompiledPart:
    """Describe a launch of a network with memory saving, also in the log."""
    count = len(code.tasks)
    tasks = "1 task" if count == 1 else f"{count} tasks"
    text = f"is a launch of {tasks}, {code.sram_peak:,} bytes of SRAM per core and {code.dram_bytes:,} of DRAM"
    log.add(LogEntry("compile", name, count, name, name, True, text))
    return CompiledPart(name, count, name, name, code, 0, False)

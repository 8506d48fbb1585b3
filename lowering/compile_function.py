"""One function to the executable of one chip, and what the compiler knows about it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from ..chips import Chip
from ..dialects.dataflow.entry_function import find_main
from ..emulator.executable import Executable
from ..emulator.roofline import Work, roofline
from .compilation_log import CompilationLog
from .compile_subgraphs import Driver
from .fewer_frames import Attempt, fewer_frames, possible_parts
from .ideal_work import ideal_work
from .inline_subgraphs import Group
from .link_network import link_network
from .offload.compile_launches import LaunchCompilation
from .piece_cache import PieceCache
from .piece_code import PieceCode
from .program_notes import IDEAL, noted_ideal
from .read_program import read_program
from .serial import constant_bytes_read, operator_count
from .stages import Level, Progress
from .subgraph import Subgraphs
from .subgraph_options import SubgraphOptions
from .tiled_module import tiled_module
from .write_program import write_program


@dataclass(frozen=True)
class CompiledPart:
    """A subgraph of the serial list: what one launch runs."""

    label: str
    """As in the log."""
    operators: int
    first: str
    last: str
    """Names of its first and last operator."""
    code: PieceCode
    weight_bytes: int
    streamed: bool
    """The host holds its weights; they are copied to DRAM before the launch."""


@dataclass(frozen=True)
class Compilation:
    """An executable and what the compiler knows about it."""

    executable: Executable
    module: ModuleOp
    """The program at the `memory` level, of which the executable is made."""
    parts: tuple[CompiledPart, ...]
    """The serial list: one a launch."""
    log: CompilationLog
    levels: Callable[[], list[Level]]
    """The module at each level between, as it was compiled."""
    cache_hits: int = 0
    """Parts that were found in the cache folder."""
    saving: LaunchCompilation | None = None
    """What was done to need no more device memory than there is, where a budget was given."""

    @property
    def tasks(self) -> int:
        """Number of tasks."""
        return sum(len(part.code.tasks) for part in self.parts)

    @property
    def sram_peak(self) -> int:
        """Bytes of a core that are allocated: up to the end of the highest buffer, room for alignment included."""
        return max(part.code.sram_peak for part in self.parts)

    @property
    def sram_lower_bound(self) -> int:
        """Most bytes that a core needs at once."""
        return max(part.code.sram_lower_bound for part in self.parts)


def compile_function(
    module: ModuleOp,
    chip: Chip,
    options: SubgraphOptions,
    log: CompilationLog,
    progress: Progress,
    given: Sequence[Group] = (),
    cache: PieceCache | None = None,
) -> Compilation:
    """
    Compile @main of a simplified `dataflow` (or tiled `manycore`) module, as `compile_module` does. The module is
    changed. `given`: the subgraphs that it comes in.

    Raises ResourceError if the network does not fit the chip.
    """
    function = find_main(module)
    ideal = noted_ideal(module) or ideal_work(function)
    automatic = not given and options.rule is None and options.split_failures
    counts = possible_parts(module, chip) if automatic else []
    before = module.clone() if counts else module
    driver = Driver(function, chip, options, log, progress, cache)
    found = driver.run(given)
    if counts:
        least = roofline(chip, Work(**ideal)).bound
        best = fewer_frames(before, counts, Attempt(module, driver, found), least)
        module, found = best.module, best.found
    codes = [part.code for part in found.parts]
    parts = tuple(_describe(number, found) for number in range(len(codes)))
    progress("link")
    names = [part.task_names for part in found.parts]
    labels = [(part.label, part.operators) for part in parts]
    program = link_network(
        found.serial, [code.function for code in codes], labels, names, {IDEAL: json.dumps(ideal)}, found.residency
    )
    lowered = write_program(program, chip)
    executable = read_program(lowered, chip, {code.digest: code.code for code in codes})

    def levels() -> list[Level]:
        return [("manycore", tiled_module(find_main(module), found.parts, ideal, chip)), ("memory", lowered)]

    return Compilation(executable, lowered, parts, log, levels, driver.cache.hits)


def _describe(number: int, found: Subgraphs) -> CompiledPart:
    part = found.parts[number]
    first, last = part.ends
    streamed = number in found.residency.blocks
    size = constant_bytes_read(part.operators)
    return CompiledPart(part.label, operator_count(part.operators), first, last, part.code, size, streamed)

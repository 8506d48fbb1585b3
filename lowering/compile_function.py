"""One function to the executable of one chip, and what the compiler knows about it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from ..chips import Chip
from ..dialects.dataflow.entry_function import find_main
from ..emulator.executable import Executable
from ..emulator.roofline import Work, roofline
from ..transforms.outline import outline
from .compilation_log import CompilationLog
from .compile_piece import compile_piece
from .compile_subgraphs import Driver
from .fewer_frames import Attempt, fewer_frames, possible_parts
from .ideal_work import ideal_work
from .link_network import link_network
from .manycore_to_memory import lower_module
from .offload.compile_launches import LaunchCompilation
from .piece_cache import PieceCache
from .piece_code import PieceCode
from .read_program import read_program
from .serial import constant_bytes_read, part_module
from .stages import Observer, Progress
from .subgraph import Subgraphs
from .subgraph_options import SubgraphOptions
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
        """Bytes up to the end of the highest buffer of a core."""
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
    observe: Observer | None = None,
    given: Sequence[Sequence[Operation]] = (),
    cache: PieceCache | None = None,
) -> Compilation:
    """
    Compile @main of a simplified `dataflow` (or tiled `manycore`) module, as `compile_module` does. The module is
    changed. `given`: the operations of subgraphs that it comes in.

    Raises ResourceError if the network does not fit the chip.
    """
    function = find_main(module)
    ideal = ideal_work(function)
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
        found.serial, [code.function for code in codes], labels, names, {"ideal": json.dumps(ideal)}, found.residency
    )
    lowered = write_program(program, chip)
    executable = read_program(lowered, chip, {code.digest: code.code for code in codes})
    if observe is not None:
        progress("write levels")
        _show(module, found, chip, observe)
    return Compilation(executable, lowered, parts, log, driver.cache.hits)


def _describe(number: int, found: Subgraphs) -> CompiledPart:
    part = found.parts[number]
    first, last = part.ends
    streamed = number in found.residency.blocks
    size = constant_bytes_read(part.operators)
    return CompiledPart(part.label, len(part.operators), first, last, part.code, size, streamed)


def _show(module: ModuleOp, found: Subgraphs, chip: Chip, observe: Observer) -> None:
    """The levels between, made once more with the network's names: tasks, tilings and buffers."""
    if len(found.parts) == 1:
        begun: list[str] = []

        def show_the_one_before(stage: str) -> None:
            # Tasks, then their tilings; what follows is done for several of these, of which the module has the best.
            if len(begun) < 2:
                if begun:
                    observe(begun[-1], module)
                begun.append(stage)

        compile_piece(module, chip, show_the_one_before)
        observe(begun[-1], module)
        lowered = module.clone()
        lower_module(lowered, chip)
        observe("memory", lowered)
        return
    for number, part in enumerate(found.parts):
        lowered = part_module(part.operators).module
        compile_piece(lowered, chip)
        lower_module(lowered, chip)
        observe(f"memory {number}", lowered)
    block = find_main(module).body.block
    outline(block, found.nodes, found.segments, lambda number: found.parts[number].label)
    observe("outline subgraphs", module)

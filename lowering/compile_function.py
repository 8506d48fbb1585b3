"""One function to the executable of one chip, and what the compiler knows about it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from ..analysis.task_info import value_bytes
from ..chips import Chip
from ..dialects.dataflow.entry_function import find_main
from ..dialects.dataflow.tiling import Box, TilingInterface
from ..dialects.dataflow.types import shape_of
from ..dialects.manycore import TaskOp
from ..emulator.executable import Executable
from ..emulator.roofline import Work, roofline
from ..transforms.outline import outline
from .compilation_log import CompilationLog
from .compile_piece import compile_piece
from .compile_subgraphs import Driver
from .fewer_frames import Attempt, fewer_frames, possible_parts
from .link_network import link_network
from .manycore_to_memory import lower_module
from .offload.compile_launches import LaunchCompilation
from .piece_cache import PieceCache
from .piece_code import PieceCode
from .serial import constant_bytes_read, part_module
from .stages import Observer, Progress
from .subgraph import Subgraphs
from .subgraph_options import SubgraphOptions


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
    notes = notes_of(ideal, parts)
    names = [part.task_names for part in found.parts]
    executable = link_network(chip, found.serial, codes, names, notes, found.residency)
    if observe is not None:
        progress("write levels")
        _show(module, found, chip, observe)
    return Compilation(executable, parts, log, driver.cache.hits)


def notes_of(ideal: dict[str, int], parts: Sequence[CompiledPart]) -> dict[str, str]:
    """What an executable says of the network's work (see `ideal_work`) and of its parts."""
    return {
        "entry": "main",
        "ideal": json.dumps(ideal),
        "sram_allocated": str(max(part.code.sram_peak for part in parts)),
        "sram_lower_bound": str(max(part.code.sram_lower_bound for part in parts)),
        "subgraphs": json.dumps([[part.label, part.operators, part.code.estimated_cycles] for part in parts]),
    }


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


def ideal_work(function: FuncOp) -> dict[str, int]:
    """Work of the network itself, for rooflines: multiply-accumulates, element operations and bytes of DRAM traffic."""
    macs = vpu_ops = 0
    dram_bytes = sum(_bytes(value) for value in function.body.block.args)
    last = function.body.block.last_op
    dram_bytes += sum(_bytes(value) for value in (last.operands if last is not None else ()))
    for op in function.walk():
        if isinstance(op, TilingInterface):
            cost = op.cost(Box.whole(tuple(dim.size for dim in op.iteration_space())))
            macs += cost.macs if cost.matmul is not None else 0
            vpu_ops += cost.vpu_ops if cost.matmul is None else 0
        elif len(op.results) == 1 and not op.operands and not isinstance(op, TaskOp):
            dram_bytes += _bytes_read(op.results[0])
    return {"macs": macs, "vpu_ops": vpu_ops, "dram_bytes": dram_bytes}


def _bytes_read(value: SSAValue) -> int:
    """Bytes of a constant that must be read: of one that is only read by index, no more than what is picked."""
    needed = 0
    for use in value.uses:
        user = use.operation
        if isinstance(user, TaskOp):
            needed += _bytes_read(user.body.block.args[use.index])
            continue
        if not isinstance(user, TilingInterface):
            return _bytes(value)
        whole = Box.whole(tuple(dim.size for dim in user.iteration_space()))
        indexed = user.operand_slice(use.index, whole).indexed
        needed += _bytes(user.results[0]) if indexed else _bytes(value)
    return min(needed, _bytes(value))


def _bytes(value: SSAValue) -> int:
    return prod(shape_of(value)) * value_bytes(value)

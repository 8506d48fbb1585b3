"""From a `dataflow` module to an executable: the stages by name, in order."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.transforms.canonicalize import CanonicalizePass

from ..analysis.task_info import value_bytes
from ..chips import Chip, chip_names, load_chip
from ..dialects.dataflow import Dataflow
from ..dialects.dataflow.tiling import Box, TilingInterface
from ..dialects.dataflow.types import shape_of
from ..dialects.manycore import CHIP, ChipAttr, SubgraphOp, TaskOp
from ..dialects.sparse import Sparse
from ..emulator.executable import Executable
from ..support.errors import InputError
from ..transforms.dataflow_fold_affine import DataflowFoldAffinePass
from ..transforms.outline import inline, outline
from ..transforms.sparse_pack import pack_module
from .compilation_log import CompilationLog
from .compile_piece import PieceCode, plan_piece
from .compile_subgraphs import Driver
from .link_network import link_network
from .manycore_to_memory import lower_module
from .offload.compile_launches import Budget, LaunchCompilation, compile_launches, has_memory_ops
from .offload.device_steps import Run
from .offload.link_steps import link_steps
from .offload.memory_note import NOTE, memory_note
from .serial import constant_bytes_read, part_module
from .sparse_to_dataflow import lower_sparse
from .stages import Observer, Progress, main_function
from .subgraph import Subgraphs
from .subgraph_options import SubgraphOptions

__all__ = [
    "Budget",
    "Compilation",
    "CompilationLog",
    "CompiledPart",
    "Observer",
    "Progress",
    "SubgraphOptions",
    "compile_module",
    "main_function",
]


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
        """Bytes up to the end of the highest buffer of a core."""
        return max(part.code.sram_peak for part in self.parts)

    @property
    def sram_lower_bound(self) -> int:
        """Most bytes that a core needs at once."""
        return max(part.code.sram_lower_bound for part in self.parts)


def compile_module(
    module: ModuleOp,
    chip: Chip,
    progress: Progress = lambda stage: None,
    observe: Observer | None = None,
    options: SubgraphOptions | None = None,
    tell: Callable[[str], None] = lambda line: None,
    budget: Budget | None = None,
) -> Compilation:
    """
    Compile @main of a `dataflow` (or `sparse`, or tiled `manycore`) module for a chip. The module is changed.

    The network is tried whole; what fails is split into subgraphs that run one after another (see `options`). A module
    that comes in subgraphs is compiled in these. With a `budget`, or where the module has operations of `memory` that
    save some, it becomes launches with copies beside them (`lowering.offload`). `tell` gets the lines of the log as
    they are written. `observe` is shown the module as tasks, tiled ("plan"), and in buffers ("memory"), which are made
    for it alone, at the addresses that code uses before launches are linked; with a budget, the module with memory
    saving.

    Raises InputError if there is no @main, ResourceError if the network does not fit the chip.
    """
    options = SubgraphOptions() if options is None else options
    function = main_function(module)
    progress("simplify")
    context = Context()
    context.load_dialect(Dataflow)
    context.load_dialect(Sparse)
    CanonicalizePass().apply(context, module)
    DataflowFoldAffinePass().apply(context, module)
    pack_module(module, chip)
    lower_sparse(module)
    given = _inlined(function)
    ideal = ideal_work(function)
    _name_chip(module, chip)
    log = CompilationLog(tell)
    if budget is not None or has_memory_ops(function):
        if given:
            raise InputError("the module comes in subgraphs: a budget goes with operations outside of subgraphs")
        return _with_saving(module, chip, options, budget or Budget(), log, progress, observe, ideal)
    driver = Driver(function, chip, options, log, progress)
    found = driver.run(given)
    codes = [part.code for part in found.parts]
    parts = tuple(_describe(number, found) for number in range(len(codes)))
    progress("link")
    notes = {
        "entry": "main",
        "ideal": json.dumps(ideal),
        "sram_peak": str(max(code.sram_peak for code in codes)),
        "sram_lower_bound": str(max(code.sram_lower_bound for code in codes)),
        "subgraphs": json.dumps([[part.label, part.operators, part.code.estimated_cycles] for part in parts]),
    }
    names = [part.task_names for part in found.parts]
    executable = link_network(chip, found.serial, codes, names, notes, found.residency)
    if observe is not None:
        progress("write levels")
        _show(module, found, chip, observe)
    return Compilation(executable, parts, log, driver.cache.hits)


def _with_saving(
    module: ModuleOp,
    chip: Chip,
    options: SubgraphOptions,
    budget: Budget,
    log: CompilationLog,
    progress: Progress,
    observe: Observer | None,
    ideal: dict[str, int],
) -> Compilation:
    """The executable of launches with memory saving between them."""
    function = main_function(module)
    saving = compile_launches(function, chip, options, budget, progress)
    if observe is not None:
        shown = ModuleOp([saving.function.clone()])
        observe("memory saving", shown)
    progress("link")
    runs = [action for action in saving.layout.steps.actions if isinstance(action, Run)]
    codes = [run.piece.code for run in runs]
    names = [
        step.name
        for step, action in zip(saving.layout.steps.program.steps, saving.layout.steps.actions, strict=True)
        if isinstance(action, Run)
    ]
    parts = tuple(
        CompiledPart(name, len(run.piece.task_names), name, name, run.piece.code, 0, False)
        for name, run in zip(names, runs, strict=True)
    )
    notes = {
        "entry": "main",
        "ideal": json.dumps(ideal),
        "sram_peak": str(max(code.sram_peak for code in codes)),
        "sram_lower_bound": str(max(code.sram_lower_bound for code in codes)),
        "subgraphs": json.dumps([[part.label, part.operators, part.code.estimated_cycles] for part in parts]),
        NOTE: memory_note(saving.layout, saving.capacity, saving.unsaved_peak),
    }
    return Compilation(link_steps(chip, saving.function, saving.layout, notes), parts, log, saving=saving)


def _inlined(function: FuncOp) -> list[list[Operation]]:
    """Put the operations of subgraphs into the function; which these were, with those between them. None: no list."""
    groups: list[list[Operation]] = []
    loose = False
    subgraphs = [op for op in function.body.block.ops if isinstance(op, SubgraphOp)]
    for op in function.body.block.ops if subgraphs else ():
        if isinstance(op, SubgraphOp):
            groups.append(list(op.body.block.ops)[:-1])
        elif loose:
            groups[-1].append(op)
        else:
            groups.append([op])
        loose = not isinstance(op, SubgraphOp)
    for subgraph in subgraphs:
        inline(subgraph)
    return groups


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
            if begun:
                observe(begun[-1], module)
            begun.append(stage)

        plan_piece(module, chip, show_the_one_before)
        observe(begun[-1], module)
        lowered = module.clone()
        lower_module(lowered, chip)
        observe("memory", lowered)
        return
    for number, part in enumerate(found.parts):
        lowered = part_module(part.operators).module
        plan_piece(lowered, chip)
        lower_module(lowered, chip)
        observe(f"memory {number}", lowered)
    block = main_function(module).body.block
    outline(block, found.nodes, found.segments, lambda number: found.parts[number].label)
    observe("outline subgraphs", module)


def _name_chip(module: ModuleOp, chip: Chip) -> None:
    """Note the chip in the module, if it is one that goes by a name. Raises InputError if the module is for another."""
    named = module.attributes.get(CHIP)
    if isinstance(named, ChipAttr):
        if named.load() != chip:
            raise InputError(f"the module is for chip '{named.load().name}': it cannot be compiled for '{chip.name}'")
    elif chip.name in chip_names() and load_chip(chip.name) == chip:
        module.attributes[CHIP] = ChipAttr(chip.name)


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

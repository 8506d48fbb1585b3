"""From a `dataflow` module to an executable: the stages by name, in order."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from ..chips import Chip, chip_names, load_chip
from ..dialects.dataflow import Dataflow
from ..dialects.dataflow.entry_function import find_main
from ..dialects.manycore import CHIP, ChipAttr, SubgraphOp
from ..dialects.memory import Memory
from ..dialects.sparse import Sparse
from ..support.errors import InputError
from ..transforms.canonicalize import CanonicalizePass
from ..transforms.dataflow_fold_affine import DataflowFoldAffinePass
from ..transforms.outline import inline
from ..transforms.sparse_pack import pack_module
from .compilation_log import CompilationLog
from .compile_function import Compilation, CompiledPart, compile_function, ideal_work, notes_of
from .offload.compile_launches import Budget, compile_launches, has_memory_ops
from .offload.device_steps import Run
from .offload.link_steps import link_steps
from .offload.memory_note import NOTE, memory_note
from .sparse_to_dataflow import lower_sparse
from .stages import Observer, Progress
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
    "find_main",
    "ideal_work",
]


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
    given = simplify(module, chip, progress)
    function = find_main(module)
    log = CompilationLog(tell)
    if budget is not None or has_memory_ops(function):
        if given:
            raise InputError("the module comes in subgraphs: a budget goes with operations outside of subgraphs")
        return _with_saving(module, chip, options, budget or Budget(), log, progress, observe)
    return compile_function(module, chip, options, log, progress, observe, given)


def simplify(module: ModuleOp, chip: Chip, progress: Progress) -> list[list[Operation]]:
    """
    Bring a module into the form that is compiled, in place. Returns the operations of the subgraphs that it came in;
    none where it came in none.

    Raises InputError if there is no @main, or if the module is for another chip.
    """
    function = find_main(module)
    progress("simplify")
    context = Context()
    for dialect in (Dataflow, Sparse, Memory):
        context.load_dialect(dialect)
    CanonicalizePass().apply(context, module)
    DataflowFoldAffinePass().apply(context, module)
    pack_module(module, chip)
    lower_sparse(module)
    given = _inlined(function)
    _name_chip(module, chip)
    return given


def _with_saving(
    module: ModuleOp,
    chip: Chip,
    options: SubgraphOptions,
    budget: Budget,
    log: CompilationLog,
    progress: Progress,
    observe: Observer | None,
) -> Compilation:
    """The executable of launches with memory saving between them."""
    function = find_main(module)
    ideal = ideal_work(function)
    saving = compile_launches(function, chip, options, budget, progress)
    if observe is not None:
        shown = ModuleOp([saving.function.clone()])
        observe("memory saving", shown)
    progress("link")
    runs = [action for action in saving.layout.steps.actions if isinstance(action, Run)]
    names = [
        step.name
        for step, action in zip(saving.layout.steps.program.steps, saving.layout.steps.actions, strict=True)
        if isinstance(action, Run)
    ]
    parts = tuple(
        CompiledPart(name, len(run.piece.task_names), name, name, run.piece.code, 0, False)
        for name, run in zip(names, runs, strict=True)
    )
    notes = notes_of(ideal, parts) | {NOTE: memory_note(saving.layout, saving.capacity, saving.unsaved_peak)}
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


def _name_chip(module: ModuleOp, chip: Chip) -> None:
    """Note the chip in the module, if it is one that goes by a name. Raises InputError if the module is for another."""
    named = module.attributes.get(CHIP)
    if isinstance(named, ChipAttr):
        if named.load() != chip:
            raise InputError(f"the module is for chip '{named.load().name}': it cannot be compiled for '{chip.name}'")
    elif chip.name in chip_names() and load_chip(chip.name) == chip:
        module.attributes[CHIP] = ChipAttr(chip.name)

"""
Pass `memory-insert-offload`: cut a network into launches, and offload tensors from DRAM between their uses (spec 1).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from ..analysis.semantic_effect import SemanticEffect, lossy, reassociating
from ..dialects.dataflow.entry_function import find_main
from ..dialects.dataflow.unroll_loops import unroll_loops
from ..dialects.manycore import SubgraphOp
from ..dialects.manycore.stage import networks_of
from ..dialects.memory.stash import is_memory_op
from ..support.errors import BudgetError, InputError
from ..support.warn import warn
from ..transforms.canonicalize import CanonicalizePass
from ..transforms.shared.chip_option import chip_for
from ..transforms.shared.kept_loops import stays_loop
from ..transforms.shared.options import Number, positive
from .ir.refuse_launches import refuse_launches
from .launch.note_ideal_work import note_ideal
from .offload.add_offload import add_offload
from .offload.budget_options import parse_budget
from .offload.compile_launches import Budget, LaunchCompilation, capacity_of, needed_as_one, save_in_launches
from .offload.compiled_launches import CompiledLaunches
from .offload.save_memory import Saving
from .offload.saved_module import CAPACITY, UNSAVED, noted_bytes, saves_memory
from .offload.wrap_operations import wrap_operations
from .options.effort import EffortOptions
from .options.subgraph_options import SubgraphOptions, default_jobs
from .sequence.residency_decisions import Residence
from .session import Session


@dataclass(frozen=True)
class MemoryInsertOffloadPass(EffortOptions, ModulePass):
    """
    Make `@main` fit into less DRAM. It is cut into launches by the DRAM that each needs (its subgraphs, if any, are the
    launches, as long as they fit), and between them operations of `memory` move tensors to the host, compress them, or
    recompute them, with serialize and prefetch edges. The choice is based on the compiled launches and their cycles.

    With `budget` (bytes; up to 1 a share of what the network needs as one launch; `chip`: all of the chip's DRAM, the
    default), tensors are chosen for the least time, each with one of `kinds` (swap, compress, recompute). An error
    names the smallest budget with a plan. If memory saving has no gain, a note says so, and the module does not change;
    only `launch-bytes` cuts it into launches even then.

    With `th-tts`, `th-size` or `n`, tensors are chosen by the thresholds of spec 1: inputs of launches that wait longer
    than `th-tts` ns for their use, of more than `th-size` bytes, of these the `n` largest. With a budget, this is
    repeated on the result until it fits; if the network fits without it, there is no gain.

    Given its own output, or operations of `memory` that a user wrote, the pass keeps these and offloads further
    tensors; without thresholds and without a budget it only converts the other operations to launches.

    `chip`: a name, or the path of a `.toml`; without it, the module's. Only tensors of f32 are compressed, to `format`;
    this is lossy, and `bound` replaces the error bound of the format (that of one tensor) if the network amplifies or
    reduces errors. `launch-bytes`, `jobs`, `effort`, `order`, `stop-at`, `placement`: as for `meshloom-compile`.
    """

    name = "memory-insert-offload"

    chip: str | None = None
    budget: Number | None = None
    kinds: tuple[str, ...] = ()
    format: str | None = None
    launch_bytes: Number | None = None
    th_tts: int | None = None
    th_size: int | None = None
    n: int | None = None
    bound: Number | None = None
    jobs: int | None = None

    @property
    def semantic_effect(self) -> SemanticEffect:
        """Different launches may add in another order; compression is lossy."""
        if "compress" not in self.kinds:
            return reassociating(1e-4)
        return lossy(
            self._budget().saving.format.relative_error if self.bound is None else positive("bound", self.bound)
        )

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        options = SubgraphOptions(jobs=default_jobs() if self.jobs is None else self.jobs, effort=self.read_effort())
        budget = self._budget()
        unroll_loops(op, stays_loop)
        refuse_launches(op, self.name)
        for network in networks_of(op):
            if not saves_memory(network):
                CanonicalizePass().apply(ctx, network)  # constants that are folded later are not planned
            chip = chip_for(network, self.chip, f"{self.name}{{chip=NAME}}")
            insert_offload(network, Session.of_pass(chip, options), budget)

    def _budget(self) -> Budget:
        given = {"th-tts": self.th_tts, "th-size": self.th_size, "n": self.n}
        thresholds = ",".join(f"{name}={value}" for name, value in given.items() if value is not None)
        kinds = ",".join(self.kinds) or None
        return parse_budget(self.budget, kinds, self.format, self.launch_bytes, thresholds or None)


def insert_offload(module: ModuleOp, session: Session, budget: Budget) -> bool:
    """
    Rewrite `@main` as pass `memory-insert-offload` does, and record the available bytes (`CAPACITY`) and those needed
    without saving (`UNSAVED`). Returns False if memory saving has no gain.

    Raises ResourceError and BudgetError as `save_in_launches` and `placed_launches` do.
    """
    function = find_main(module)
    note_ideal(module)
    if saves_memory(module):
        _check_more(budget)
        wrap_operations(function)
        if budget == Budget():
            return True
        saved = add_offload(function, session, budget, noted_bytes(module, UNSAVED))
    elif budget.thresholds is None:
        saved = save_in_launches(function, session, budget)
    else:
        saved = _save_by_thresholds(function, session, budget)
    if saved is None:
        return False
    if not saves_memory(module) and saved.layout.used >= saved.unsaved_peak:
        needs = f"the network needs {saved.unsaved_peak} bytes of DRAM without it, {saved.layout.used} with it"
        warn(f"memory saving has no gain: {needs}")
        if budget.launch_bytes is None:
            return False
    if saved.function is not function:
        Rewriter.replace_op(function, saved.function)
    for op in saved.function.walk():
        if isinstance(op, SubgraphOp):
            op.attributes.pop(CompiledLaunches.NUMBER, None)
            Residence().write(op, ())  # operations of `memory` determine the memories of values
    if saved.capacity < session.chip.dram_bytes or budget.thresholds is None:
        module.attributes[CAPACITY] = IntegerAttr(saved.capacity, i64)
    module.attributes[UNSAVED] = IntegerAttr(saved.unsaved_peak, i64)
    return True


def _save_by_thresholds(function: FuncOp, session: Session, budget: Budget) -> LaunchCompilation | None:
    """
    A copy of a function of operators, or of subgraphs, in which the thresholds choose the offloaded tensors. None, with
    a note, if they choose none, or if memory saving has no gain: the function fits in the budget without it; or the
    budget is a share, and the thresholds do not reach it.

    Raises BudgetError for a budget in bytes that the thresholds do not reach, naming one that is enough.
    """
    unsaved = needed_as_one(function, session)
    capacity = capacity_of(budget.amount, unsaved, session.chip)
    if budget.amount is not None and capacity >= unsaved:
        warn(f"memory saving has no gain: the network needs {unsaved} bytes of DRAM, {capacity} are available")
        return None
    copy = function.clone()
    wrap_operations(copy)
    try:
        saved = add_offload(copy, session, budget, unsaved)
    except BudgetError as error:
        if error.enough < unsaved:
            raise
        reason = f"{error.reason}, and the network needs {unsaved} bytes without memory saving, {error.enough} with it"
        if budget.is_share:
            warn(f"memory saving has no gain: {reason}")
            return None
        raise BudgetError(capacity, f"memory saving has no gain: {reason}", unsaved) from error
    if not any(is_memory_op(op) for op in saved.function.body.block.ops):
        warn("the thresholds select no tensor to offload")
        return None
    return saved


def _check_more(budget: Budget) -> None:
    """Raises InputError for options that do not apply to a module with memory saving."""
    if budget.launch_bytes is not None or (replace(budget, saving=Saving()) == Budget() != budget):
        raise InputError(
            "the module already saves memory, and its operations of dialect 'memory' are kept: leave out --save, "
            "--compress-to and --launch-bytes, or give a smaller --budget"
        )

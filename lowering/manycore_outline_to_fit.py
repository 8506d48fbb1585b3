"""Pass `manycore-outline-to-fit`: divide a network into subgraphs that fit the chip, one launch each (spec 2, S13)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from ..analysis.planning.loops import loops_in
from ..analysis.search import Trial
from ..analysis.semantic_effect import SemanticEffect, reassociating
from ..chips import Chip
from ..dialects.dataflow import LoopOp
from ..dialects.dataflow.entry_function import find_main
from ..dialects.dataflow.unroll_loops import unroll_loops
from ..dialects.manycore import SubgraphOp
from ..dialects.manycore.stage import networks_of
from ..emulator.reports.roofline import Work, roofline
from ..support.errors import MeshloomError
from ..transforms.dataflow_fuse_loops import fuse_main
from ..transforms.shared.chip_option import chip_for
from ..transforms.shared.kept_loops import stays_loop
from .ir.refuse_launches import refuse_launches
from .ir.replace_module import replace_module
from .launch.note_ideal_work import note_ideal
from .offload.saved_module import saves_memory
from .options.compilation_log import CompilationLog
from .options.effort import EffortOptions
from .options.subgraph_options import SubgraphOptions, default_jobs, parse_subgraphs
from .sequence.inline_subgraphs import inline_subgraphs
from .session import Session
from .simplify import unroll_kept_loops
from .subgraphs.cascading import cascades
from .subgraphs.compile_subgraphs import Driver
from .subgraphs.micro_batching import micro_batches
from .subgraphs.outline_function import outline_function
from .subgraphs.smaller_values import Attempt, try_variations
from .subgraphs.subgraph import Subgraphs

MOST_COMPARED = 256
"""
Largest number of operations in all steps of loops for which a network is compiled with its loops unrolled as well; the
faster variant is taken.
"""


@dataclass(frozen=True)
class ManycoreOutlineToFitPass(EffortOptions, ModulePass):
    """
    Put the operators of `@main` into subgraphs if they do not fit the chip as a whole, or if `subgraphs` names a rule:
    subgraphs that do not compile are split, and so are operators that do not fit alone. A network that fits does not
    change; existing subgraphs are kept, and split if they do not fit. Loops are kept if they compile; those of few
    operations are unrolled if that is no slower. Subgraphs of a network that had none, without a rule, are marked
    `to_fit`: `manycore-fuse-subgraphs` may fuse them again. If values of a network that fits pass through DRAM, it is
    tried in micro-batches (`dataflow-split-batch`), or with chains of operators in stripes (`dataflow-cascade`).

    `chip`: a name, or the path of a `.toml`; without it, the module's. `subgraphs`, `jobs`, `effort`, `order`,
    `stop-at`, `placement`: as for `meshloom-compile`.
    """

    name = "manycore-outline-to-fit"
    semantic_effect: ClassVar[SemanticEffect] = reassociating(1e-4)

    chip: str | None = None
    subgraphs: str = "auto"
    jobs: int | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rule, split_failures = parse_subgraphs(self.subgraphs)
        jobs = default_jobs() if self.jobs is None else self.jobs
        options = SubgraphOptions(rule, split_failures, jobs=jobs, effort=self.read_effort())
        refuse_launches(op, self.name)
        for network in networks_of(op):
            if saves_memory(network):
                continue  # the module already has launches
            chip = chip_for(network, self.chip, f"{self.name}{{chip=NAME}}")
            outline_to_fit(network, Session.of_pass(chip, options))


def outline_to_fit(module: ModuleOp, session: Session) -> Subgraphs:
    """
    Rewrite `@main` as pass `manycore-outline-to-fit` does. Returns the compiled subgraphs.

    Raises ResourceError if the network does not fit the chip.
    """
    unroll_loops(module, stays_loop)
    ideal = note_ideal(module)
    loops = loops_in(find_main(module).body.block)
    log = session.log
    own = CompilationLog(log.listener, log.entries, chip=log.chip)  # attempts with loops are counted separately
    unsplit = session.with_options(split_failures=False).logged(own)

    def loop_driver(module: ModuleOp) -> Driver:
        return Driver(find_main(module), unsplit)

    kept = _fused_loops(module, session.chip, loop_driver) if loops else None
    if loops and kept is None:
        kept = _with_loops(module.clone(), loop_driver)
    bound = all(loop.may_run_all for loop in loops)  # others cannot be unrolled
    if not bound and kept is None:
        driver = loop_driver(module)
        best = Attempt(module, driver, driver.run())  # raises here, as it did before
    elif kept is not None and not bound:
        best = kept
    elif kept is not None and sum(map(_operations, loops)) > MOST_COMPARED:
        best = kept
    else:
        if loops:
            unroll_kept_loops(module)
        best = _without_loops(module, Driver(find_main(module), session), ideal)
        if kept is not None:
            best = _faster(kept, best)
    if best.module is not module:
        replace_module(module, best.module)
    return _outlined(module, best)


def _faster(kept: Attempt, unrolled: Attempt) -> Attempt:
    """The faster of two attempts, with loops and with all of their steps; both are logged."""
    best = kept if kept.cycles < unrolled.cycles else unrolled
    cycles = f"{kept.cycles:,.0f} cycles, unrolled {unrolled.cycles:,.0f}, each with host copies"
    best.driver.compiler.note_trials([Trial("loops", f"{cycles}: {'kept' if best is kept else 'unrolled'}")])
    return best


def _outlined(module: ModuleOp, best: Attempt) -> Subgraphs:
    """Put the operators of `@main` into the subgraphs that were found."""
    function = find_main(module)
    Rewriter.replace_op(function, outline_function(function, best.found.parts))
    return best.found


def _operations(loop: LoopOp) -> int:
    """Number of operations in all steps of a loop."""
    return loop.step_count * (len(loop.body.block.ops) - 1)


def _without_loops(module: ModuleOp, driver: Driver, ideal: dict[str, int]) -> Attempt:
    """Compile a network without loops, in as many launches as it needs."""
    given = inline_subgraphs(driver.function)
    options = driver.options
    automatic = not given and options.rule is None and options.split_failures
    variations = micro_batches(driver.function, driver.chip) if automatic else []
    if automatic and not variations:
        variations = cascades(driver.function, driver.chip)
    before = module.clone() if variations else module
    whole = Attempt(module, driver, driver.run(given))
    least = roofline(driver.chip, Work(**ideal)).bound
    return try_variations(variations, before, whole, least) if variations else whole


def _fused_loops(module: ModuleOp, chip: Chip, driver_of: Callable[[ModuleOp], Driver]) -> Attempt | None:
    """As `_with_loops`, with independent loops merged to one; None also if there are no such loops."""
    fused = module.clone()
    return _with_loops(fused, driver_of) if fuse_main(fused, chip) else None


def _with_loops(module: ModuleOp, driver_of: Callable[[ModuleOp], Driver]) -> Attempt | None:
    """Compile a network with loops as one launch, or in the subgraphs of a rule; None if it does not compile."""
    if any(isinstance(op, SubgraphOp) for op in find_main(module).body.block.ops):
        return None
    driver = driver_of(module)
    try:
        return Attempt(module, driver, driver.run())
    except MeshloomError:
        return None

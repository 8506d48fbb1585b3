"""Pass `memory-offload-to-fit`: launches, and between them tensors that leave DRAM while nobody uses them (spec 1)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from ..analysis.nature import Nature, lossy, reassociating
from ..chips import Chip
from ..dialects.dataflow.entry_function import find_main
from ..dialects.manycore import SubgraphOp
from ..dialects.manycore.stage import networks_of
from ..dialects.memory.formats import Format
from ..support.errors import InputError
from ..transforms.chip_option import chip_for
from ..transforms.options import Number
from .above_launches import refuse_launches
from .effort import EffortOptions
from .note_ideal import note_ideal
from .offload.budget_options import parse_budget
from .offload.compile_launches import Budget, placed_launches, save_in_launches
from .offload.pieces import Pieces
from .offload.saved_module import CAPACITY, UNSAVED, saves_memory
from .offload.wrap_operations import wrap_operations
from .piece_cache import PieceCache, cache_for
from .stages import Progress
from .subgraph_options import SubgraphOptions, default_jobs


@dataclass(frozen=True)
class MemoryOffloadToFitPass(EffortOptions, ModulePass):
    """
    Cut `@main` into launches by what they need for themselves, and save memory between them until DRAM holds all:
    operations of `memory` take tensors to the host, compress them, or have them computed again. Where there are such
    operations already, nothing is inserted: each operation beside them becomes a launch.

    `chip`: a name, or the path of a `.toml`; without it, the module's. `budget`, `save`, `compress-to`,
    `launch-bytes`, `effort`, `order`, `stop-at`: as for `meshloom-compile`.
    """

    name = "memory-offload-to-fit"

    chip: str | None = None
    budget: Number = "chip"
    save: str | None = None
    compress_to: str | None = None
    launch_bytes: Number | None = None
    jobs: int | None = None

    @property
    def nature(self) -> Nature:
        """Other launches may add in another order; compression gives up accuracy."""
        if self.save is None or "compress" not in self.save.split(","):
            return reassociating(1e-4)
        return lossy(Format(self.compress_to or Format.F16).relative_error)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        budget = parse_budget(self.budget, self.save, self.compress_to, self.launch_bytes)
        jobs = default_jobs() if self.jobs is None else self.jobs
        options = SubgraphOptions(jobs=jobs, effort=self.read_effort())
        refuse_launches(op, self.name)
        for network in networks_of(op):
            chip = chip_for(network, self.chip, f"{self.name}{{chip=NAME}}")
            offload_to_fit(network, chip, options, budget, cache_for(chip, options.effort))


def offload_to_fit(
    module: ModuleOp,
    chip: Chip,
    options: SubgraphOptions,
    budget: Budget,
    cache: PieceCache,
    progress: Progress = lambda stage: None,
) -> None:
    """
    Rewrite `@main` as pass `memory-offload-to-fit` does, and note the bytes that are there (`CAPACITY`) and that are
    needed if nothing is saved (`UNSAVED`).

    Raises ResourceError and BudgetError as `save_in_launches` and `placed_launches` do, InputError for a budget that
    says how a module is to save memory which does so already.
    """
    function = find_main(module)
    note_ideal(module)
    if saves_memory(module):
        if replace(budget, amount=None) != Budget():
            raise InputError(
                "the module saves memory already, and is compiled as it stands: leave out --save, --compress-to and "
                "--launch-bytes"
            )
        wrap_operations(function)
        if budget.amount is None:
            return
        saved = placed_launches(function, chip, cache, budget.amount)
    else:
        saved = save_in_launches(function, chip, options, budget, cache, progress)
        Rewriter.replace_op(function, saved.function)
    for op in saved.function.walk():
        if isinstance(op, SubgraphOp):
            op.attributes.pop(Pieces.NUMBER, None)
    module.attributes[CAPACITY] = IntegerAttr(saved.capacity, i64)
    module.attributes[UNSAVED] = IntegerAttr(saved.unsaved_peak, i64)

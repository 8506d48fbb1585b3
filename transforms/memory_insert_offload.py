"""Pass `memory-insert-offload`: tensors leave the device's memory while nobody uses them (spec 1)."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from ..analysis.cost_graphs.from_dataflow import cost_graph_of
from ..analysis.nature import EXACT, Nature, lossy
from ..analysis.offload.kinds import NAMES, Kind
from ..analysis.offload_steps.from_function import ChipCosts
from ..chips import Chip
from ..dialects.dataflow.entry_function import find_main
from ..dialects.dataflow.types import element_of
from ..dialects.manycore.stage import networks_of
from ..dialects.memory.formats import Format
from ..support.errors import InputError
from .chip_option import chip_for
from .no_subgraphs import refuse_subgraphs
from .offload.budget import FormatModel, insert_for_budget
from .offload.emit import Emitter, add_control
from .offload.script import function_parts
from .offload.thresholds import Thresholds, threshold_script
from .options import Number, number, positive


@dataclass(frozen=True)
class MemoryInsertOffloadPass(ModulePass):
    """
    Make @main fit into less device memory: reductions and restorations of tensors, with serialize and prefetch edges.

    With `budget` (bytes, or up to 1 a share of the peak), each tensor's kind of saving is chosen among `kinds` (swap,
    compress, recompute) for the least time. Operations follow the order of the plan's execution, and control edges keep
    the memory below the budget however long operations take. An error names the smallest budget that works.

    Without it, the thresholds of spec 1: inputs that wait longer than `th-tts` ns for their use, of more than `th-size`
    bytes, of these the `n` largest; all by the one kind that `kinds` gives (swap and compress: compressed, then
    swapped). Only tensors of f32 are compressed.

    `chip` gives the times of operations, `link` its host link in bytes a second (the chip's own by default), `format`
    what compression makes of f32. Compression is lossy; `bound` replaces the bound of its format, which holds for each
    tensor, where the network makes more or less of it.
    """

    name = "memory-insert-offload"

    budget: Number | None = None
    kinds: tuple[str, ...] = ("swap",)
    th_tts: int = 0
    th_size: int = 0
    n: int | None = None
    chip: str | None = None
    link: Number | None = None
    compress_rate: Number = 200e9
    format: str = "f16"
    bound: Number | None = None
    seed: int = 0

    @property
    def nature(self) -> Nature:
        """Exact but for compression."""
        if "compress" not in self.kinds:
            return EXACT
        return lossy(self._format().relative_error if self.bound is None else positive("bound", self.bound))

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if unknown := sorted(set(self.kinds) - set(NAMES)):
            raise InputError(f"unknown kind '{unknown[0]}': choose from {', '.join(NAMES)}")
        chip = self._chip(op)
        link = chip.host_bytes_per_cycle * chip.clock_ghz * 1e9 if self.link is None else positive("link", self.link)
        costs = ChipCosts(chip, link, positive("compress-rate", self.compress_rate))
        refuse_subgraphs(op, self.name)
        for network in networks_of(op):
            main = find_main(network)
            if self.budget is not None:
                budget, kinds = positive("budget", self.budget), frozenset(self.kinds)
                insert_for_budget(main, costs, budget, kinds, self._format(), self.seed)
            else:
                self._insert_by_thresholds(main, costs)

    def _insert_by_thresholds(self, main: FuncOp, costs: ChipCosts) -> None:
        for name, value in (("th-tts", self.th_tts), ("th-size", self.th_size), ("n", self.n or 0)):
            number(name, value, 0)
        kinds = {
            frozenset({"swap"}): Kind.SWAP,
            frozenset({"compress"}): Kind.COMPRESS,
            frozenset({"swap", "compress"}): Kind.COMPRESS_SWAP,
        }
        kind = kinds.get(frozenset(self.kinds))
        if kind is None:
            raise InputError("thresholds go with kinds swap, compress or both: recomputation needs a budget")
        parts = function_parts(main)
        graph = cost_graph_of(main, costs.chip)
        model = FormatModel(costs.link, costs.compress_rate, format=self._format())
        thresholds = Thresholds(self.th_tts, self.th_size, self.n)
        stays: set[int] = set()
        if kind is not Kind.SWAP:
            stays = {number for number, value in enumerate(parts.tensors) if element_of(value) != f32}
        script, edges = threshold_script(graph, model, kind, thresholds, stays)
        ops = Emitter(main, parts, self._format()).emit(script)
        add_control(main.body.block, ops, edges)

    def _format(self) -> Format:
        if self.format not in list(Format):
            raise InputError(f"unknown format '{self.format}': choose one of {', '.join(Format)}")
        return Format(self.format)

    def _chip(self, module: ModuleOp) -> Chip:
        return chip_for(module, self.chip, f"{self.name}{{chip=NAME}}")

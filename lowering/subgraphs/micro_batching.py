"""
Micro-batching: if the values of a whole batch do not fit the cores and pass through DRAM, the network runs on a few
elements of the batch at a time, several times in one launch (spec 3, step 1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial

from xdsl.dialects.builtin import ModuleOp

from ...analysis.search import ACCEPT_RATIO, Search
from ...analysis.tasks.operator_parts import data_bytes
from ...chips import Chip
from ...dialects.dataflow import ReshapeOp, WeightOp
from ...dialects.dataflow.entry_function import find_main
from ...dialects.dataflow.tiling import TilingInterface
from ...dialects.dataflow.types import shape_of
from ...transforms.dataflow_split_batch import split_batch
from .compile_subgraphs import Driver
from .subgraph import Subgraphs

TRIALS = 2
"""How many numbers of micro-batches are tried."""


@dataclass(frozen=True)
class Attempt:
    """A module that was compiled."""

    module: ModuleOp
    driver: Driver
    found: Subgraphs

    @cached_property
    def cycles(self) -> float:
        """Cycles with host copies."""
        return self.driver.cycles(self.found)

    def may_gain(self, least: float) -> bool:
        """Whether it compiles as one launch, but passes values through DRAM and takes longer than its lower bound."""
        parts = self.found.parts
        return len(parts) == 1 and parts[0].code.segments[-1] > 0 and self.cycles * ACCEPT_RATIO > least


def micro_batch_counts(module: ModuleOp, chip: Chip) -> list[int]:
    """
    Possible numbers of micro-batches: the smallest with which the data of the largest operator fits the cores' memory,
    and larger ones. Empty if inputs and results differ in their batch.
    """
    block = find_main(module).body.block
    last = block.last_op
    results = [shape_of(value)[:1] for value in (last.operands if last is not None else ())]
    if len(set(results)) != 1 or results[0] not in [shape_of(value)[:1] for value in block.args]:
        return []
    (batch,) = results[0] or (1,)
    operators = [op for op in block.ops if isinstance(op, TilingInterface) and not isinstance(op, ReshapeOp)]
    largest = max((data_bytes(op, [dim.size for dim in op.iteration_space()]) for op in operators), default=0)
    needed = largest / (len(chip.usable_cores) * chip.sram_bytes)
    return [parts for parts in range(2, batch + 1) if batch % parts == 0 and parts >= needed][:TRIALS]


def micro_batch(module: ModuleOp, counts: Sequence[int], whole: Attempt, least: float) -> Attempt:
    """
    The best of the compiled network and its variants with these numbers of micro-batches; larger numbers are tried only
    if smaller ones helped, and may not be all that helps. `module` is that before compilation; `least` a lower bound of
    its cycles.
    """
    driver = whole.driver
    search = Search[Attempt](lambda attempt: attempt.cycles, driver.options.effort.measure)
    search.try_variant("all frames at once", lambda: whole)
    for parts in counts:
        best = search.best()
        if not best.may_gain(least):
            break
        driver.progress(f"compile in {parts} parts by frames")
        made = module.clone()
        names = {weight.sym_name.data for weight in made.walk() if isinstance(weight, WeightOp)}
        if not split_batch(find_main(made), parts, names):
            break
        failures = len(search.failures)
        search.try_variant(f"in {parts} parts by frames", partial(_attempt, made, driver), share=ACCEPT_RATIO)
        if search.best() is best and len(search.failures) == failures:
            break
    driver.compiler.note_trials(search.trials)
    return search.best()


def _attempt(module: ModuleOp, driver: Driver) -> Attempt:
    """Compile a module that must not be split. Raises ResourceError if it does not fit."""
    another = driver.for_another(find_main(module))
    return Attempt(module, another, another.run())

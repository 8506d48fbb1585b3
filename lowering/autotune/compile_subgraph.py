"""Compile one subgraph to machine code: tasks, tilings, and the fastest of the candidates."""

from __future__ import annotations

from dataclasses import replace

from xdsl.dialects.builtin import ModuleOp

from ...analysis.planning.loops import tasks_in
from ...analysis.planning.plan_memo import memo_for
from ...chips import Chip
from ...dialects.dataflow.entry_function import find_main
from ...transforms.manycore_split_reductions import split_reductions
from ...transforms.shared.prefetch import write_prefetch
from ..cache.subgraph_code import SubgraphCode
from ..dataflow_to_manycore import outline_tasks
from ..ir.module_text import KeptModule
from ..launch.dram_segments import bytes_of, check_dram, constants_of, padded
from ..launch.launch_schedule import schedule_digest
from ..options.effort import EFFORTS, Effort
from .autotune_subgraph import AutotunedSubgraph, autotune_prefetch, autotune_subgraph
from .candidate_plans import candidate_plans, given_plan
from .fewer_cores import plan_on_fewer_cores


def compile_subgraph(module: ModuleOp, chip: Chip, effort: Effort = EFFORTS["default"]) -> SubgraphCode:
    """
    Compile @main of a `dataflow` (or tiled `manycore`) module to one launch. The module is rewritten to tiled tasks.

    Raises ResourceError if it does not fit the chip, MeshloomError if it cannot be compiled for another reason.
    """
    return subgraph_code(module, plan_subgraph(module, chip, effort))


def subgraph_code(module: ModuleOp, found: AutotunedSubgraph) -> SubgraphCode:
    """The result of a compilation that is cached: the code and the tiled tasks."""
    encoded = found.placed.encoded
    network, sram = encoded.network, encoded.sram
    write_prefetch(network, sram)
    return SubgraphCode(
        encoded.code,
        encoded.dram.sizes,
        tuple(info.name for info in network.tasks),
        sram.peak,
        sram.lower_bound,
        encoded.cycles,
        sram.buffers,
        KeptModule(module),
        schedule_digest(encoded.schedule),
        found.cycles,
        found.trials,
    )


def plan_subgraph(module: ModuleOp, chip: Chip, effort: Effort = EFFORTS["default"]) -> AutotunedSubgraph:
    """As `compile_subgraph`, but returns the chosen plan as well. Tasks in the module keep their order."""
    if effort.measure == "estimated" or any(tasks_in(find_main(module))):
        return _plan_on(module, chip, effort)
    return plan_on_fewer_cores(module, chip, lambda one, part: _plan_on(one, part, effort))


def _plan_on(module: ModuleOp, chip: Chip, effort: Effort) -> AutotunedSubgraph:
    """The fastest plan on any number of the usable cores of a chip; the module is rewritten to it."""
    function = find_main(module)
    values = [*(op.results[0] for op in constants_of(function)), *function.body.block.args]
    check_dram(sum(padded(bytes_of(value)) for value in values), chip, "constants and inputs alone")
    if any(tasks_in(function)):
        effort = replace(effort, orders=0)
    outline_tasks(module, len(chip.usable_cores))
    memo = memo_for(chip)
    if any(task.placement is not None for task in tasks_in(function)):  # the cores are given, too
        return autotune_prefetch(function, given_plan(function, chip, memo), chip, effort)
    split_reductions(function, chip, memo)
    return autotune_subgraph(function, candidate_plans(function, chip, memo, effort), chip, effort)

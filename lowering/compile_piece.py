"""One subgraph to machine code: tasks, tilings, the quickest of what these give."""

from __future__ import annotations

from dataclasses import replace

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ..analysis.planning.loops import tasks_in
from ..analysis.planning.plan_memo import memo_for
from ..chips import Chip
from ..dialects.dataflow.entry_function import find_main
from ..transforms.manycore_split_reductions import split_reductions
from ..transforms.prefetch import write_prefetch
from .candidate_plans import candidate_plans, given_plan
from .dataflow_to_manycore import DataflowToManycorePass
from .dram_layout import bytes_of, check_dram, constants_of, padded
from .effort import EFFORTS, Effort
from .launch_schedule import schedule_digest
from .module_text import KeptModule
from .piece_code import PieceCode
from .quickest_piece import QuickestPiece, quickest_lead, quickest_piece


def compile_piece(module: ModuleOp, chip: Chip, effort: Effort = EFFORTS["default"]) -> PieceCode:
    """
    Compile @main of a `dataflow` (or tiled `manycore`) module to one launch. The module becomes tiled tasks.

    Raises ResourceError if it does not fit the chip, MeshloomError for what else cannot be done.
    """
    return piece_code(module, place_piece(module, chip, effort))


def piece_code(module: ModuleOp, found: QuickestPiece) -> PieceCode:
    """What is kept of a compiled module: its code, and its tasks as they were tiled."""
    encoded = found.placed.encoded
    network, sram = encoded.network, encoded.sram
    write_prefetch(network, sram)
    return PieceCode(
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


def place_piece(module: ModuleOp, chip: Chip, effort: Effort = EFFORTS["default"]) -> QuickestPiece:
    """As `compile_piece`, with the plan that was chosen. Tasks that are there already keep their order."""
    function = find_main(module)
    values = [*(op.results[0] for op in constants_of(function)), *function.body.block.args]
    check_dram(sum(padded(bytes_of(value)) for value in values), chip, "its constants and inputs alone")
    if any(tasks_in(function)):
        effort = replace(effort, orders=0)
    DataflowToManycorePass().apply(Context(), module)
    memo = memo_for(chip)
    if any(task.placement is not None for task in tasks_in(function)):  # the cores are given, too
        return quickest_lead(function, given_plan(function, chip, memo), chip, effort)
    split_reductions(function, chip, memo)
    return quickest_piece(function, candidate_plans(function, chip, memo, effort), chip, effort)

"""One subgraph to machine code: tasks, tilings, the quickest of what these give."""

from __future__ import annotations

from dataclasses import replace

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from ..analysis.planning.placement import column_major
from ..analysis.planning.plan_memo import PlanMemo
from ..analysis.planning.plan_network import NetworkPlan, plan_network
from ..chips import Chip
from ..dialects.dataflow.entry_function import find_main
from ..dialects.manycore import TaskOp
from ..transforms.manycore_split_reductions import split_reductions
from ..transforms.manycore_tile import plans_of, write_tilings
from ..transforms.prefetch import write_prefetch
from .dataflow_to_manycore import DataflowToManycorePass
from .dram_layout import bytes_of, check_dram, constants_of, padded
from .launch_schedule import schedule_digest
from .module_text import KeptModule
from .piece_code import PieceCode
from .quickest_piece import PlacedPiece, quickest_lead, quickest_piece
from .stages import Progress
from .task_notes import task_notes


def compile_piece(module: ModuleOp, chip: Chip, progress: Progress = lambda stage: None) -> PieceCode:
    """
    Compile @main of a `dataflow` (or tiled `manycore`) module to one launch. The module becomes tiled tasks.

    Raises ResourceError if it does not fit the chip, MeshloomError for what else cannot be done.
    """
    return piece_code(module, place_piece(module, chip, progress))


def piece_code(module: ModuleOp, placed: PlacedPiece) -> PieceCode:
    """What is kept of a compiled module: its code, and its tasks as they were tiled."""
    encoded = placed.encoded
    network, sram = encoded.network, encoded.sram
    notes = task_notes(network, encoded.cycles)
    write_prefetch(network, sram)
    return PieceCode(
        encoded.code,
        encoded.dram.sizes,
        tuple(info.name for info in network.tasks),
        sram.peak,
        sram.lower_bound,
        sum(encoded.cycles),
        notes,
        sram.buffers,
        KeptModule(module),
        schedule_digest(encoded.schedule),
        placed.cycles,
    )


def place_piece(module: ModuleOp, chip: Chip, progress: Progress = lambda stage: None) -> PlacedPiece:
    """As `compile_piece`, with the plan that was chosen."""
    function = find_main(module)
    values = [*(op.results[0] for op in constants_of(function)), *function.body.block.args]
    check_dram(sum(padded(bytes_of(value)) for value in values), chip, "its constants and inputs alone")
    progress("outline tasks")
    DataflowToManycorePass().apply(Context(), module)
    progress("plan")
    by_hand = any(isinstance(op, TaskOp) and op.placement is not None for op in function.body.block.ops)
    memo = PlanMemo()
    if not by_hand:
        split_reductions(function, chip, memo)
    networks = [_read_back(plan, function, chip) for plan in plans_of(function, chip, memo)]
    if by_hand:  # the cores are, too
        return quickest_lead(function, networks[0], chip, progress)
    return quickest_piece(function, networks, chip, progress)


def _read_back(plan: NetworkPlan, function: FuncOp, chip: Chip) -> NetworkPlan:
    """A plan as its tasks say it: tilings that were written by hand are compiled in the same way."""
    write_tilings(plan)
    return replace(plan_network(function, chip, column_major(chip)), lead=plan.lead)

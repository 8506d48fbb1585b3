"""Tasks with their tilings and cores to machine code: memory of the cores, streams, encoding."""

from __future__ import annotations

from xdsl.dialects.func import FuncOp

from ..analysis.planning.deep_loads import lay_out_deep
from ..analysis.planning.network_estimate import TaskWorks
from ..analysis.planning.plan_network import NetworkPlan
from ..analysis.planning.sram_layout import estimated_times
from ..chips import Chip
from .dram_layout import check_dram, padded, segment_dram
from .generate import generate
from .link import launch_code
from .piece_code import PieceCode
from .schedule_launch import schedule_launch
from .stages import Progress
from .task_notes import task_notes


def encode_piece(function: FuncOp, network: NetworkPlan, chip: Chip, progress: Progress) -> PieceCode:
    """
    The code of a planned function.

    Raises ResourceError if it does not fit the chip, MeshloomError for what else cannot be done.
    """
    progress("lay out memory")
    segments = segment_dram(function, network, chip)
    inside = f"constants, inputs, results, and {segments.sizes[-1]:,} bytes in between"
    check_dram(sum(map(padded, segments.sizes)), chip, inside)
    works = TaskWorks(network, chip)
    sram = lay_out_deep(network, chip, works)
    progress("generate code")
    machine = generate(schedule_launch(network, segments, sram), chip)
    cycles = estimated_times(network, sram, chip, works, machine.issued(len(network.tasks)))
    progress("assemble")
    return PieceCode(
        launch_code(chip, machine.streams, machine.core_sets.array(), "launch"),
        segments.sizes,
        tuple(info.name for info in network.tasks),
        sram.peak,
        sram.lower_bound,
        sum(cycles),
        task_notes(network, cycles),
        sram.buffers,
    )

"""Compiles planned tasks to machine code: SRAM layout, schedule, instruction streams, encoding."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.func import FuncOp

from ...analysis.planning.multi_buffering import lay_out_multi_buffered
from ...analysis.planning.network_estimate import TaskWorks
from ...analysis.planning.network_plan import NetworkPlan
from ...analysis.planning.sram_layout import SramLayout, estimated_times
from ...chips import Chip
from ...support.phases import phase
from ..launch.dram_segments import DramSegments, check_dram, padded, segment_dram
from ..launch.launch_schedule import LaunchSchedule
from ..launch.schedule_launch import schedule_launch
from ..linker.relocate import LaunchCode
from ..linker.select_launch import select_launch


@dataclass(frozen=True)
class LaidOutSubgraph:
    """A planned function with its SRAM layout."""

    network: NetworkPlan
    dram: DramSegments
    sram: SramLayout
    works: TaskWorks
    estimated_cycles: int
    """Estimated cycles of a launch, from the plan and the layout."""


@dataclass(frozen=True)
class EncodedSubgraph:
    """A planned function with its SRAM layout, schedule and machine code."""

    network: NetworkPlan
    dram: DramSegments
    sram: SramLayout
    schedule: LaunchSchedule
    code: LaunchCode
    cycles: tuple[int, ...]
    """[tasks] estimated cycles that each task adds to the run."""


@phase("lay out SRAM")
def lay_out_subgraph(
    function: FuncOp, network: NetworkPlan, chip: Chip, known: LaidOutSubgraph | None = None
) -> LaidOutSubgraph:
    """
    Lay out the SRAM of a planned function, whose tasks are in the order of the plan. `known`: a variant of it.

    Raises ResourceError if it does not fit the chip.
    """
    dram = segment_dram(function, network, chip)
    inside = f"constants, inputs, results, and {dram.sizes[-1]:,} bytes in between"
    check_dram(sum(map(padded, dram.sizes)), chip, inside)
    works = known.works if known is not None and known.works.are_of(network) else TaskWorks(network)
    sram = lay_out_multi_buffered(network, chip, works)
    return LaidOutSubgraph(network, dram, sram, works, sum(estimated_times(network, sram, chip, works)))


@phase("select instructions")
def encode_subgraph(laid_out: LaidOutSubgraph, chip: Chip) -> EncodedSubgraph:
    """Generate the code of a planned function. Raises MeshloomError for tasks that no kernel can carry out."""
    network, dram, sram = laid_out.network, laid_out.dram, laid_out.sram
    schedule = schedule_launch(network, dram, sram)
    machine, code = select_launch(schedule, chip)
    cycles = estimated_times(network, sram, chip, laid_out.works, machine.issued(len(network.tasks)))
    return EncodedSubgraph(network, dram, sram, schedule, code, tuple(cycles))

"""Lowering of tiled tasks to one launch over buffers."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.func import FuncOp

from ...analysis.planning.multi_buffering import lay_out_multi_buffered
from ...analysis.planning.network_estimate import TaskWorks
from ...analysis.planning.placement import column_major
from ...analysis.planning.plan_network import plan_network
from ...analysis.planning.sram_layout import estimated_times
from ...chips import Chip
from ...dialects.locations import located
from ...support.errors import InputError
from .dram_segments import segment_dram
from .result_values import Values, result_values
from .schedule_launch import schedule_launch
from .write_launch import launch_function


@dataclass(frozen=True)
class LoweredLaunch:
    """A launch without DRAM addresses."""

    function: FuncOp
    """The function with its `manycore.launch`, on buffers without addresses, one for each segment but the last."""
    segments: tuple[int, ...]
    """Bytes of its DRAM segments: constants in order, arguments, results, and last the values internal to it."""
    tasks: tuple[str, ...]
    """Names of its tasks."""
    values: tuple[Values, ...]
    """By task, the values of the function that have the bytes of its result."""


def lower_launch(function: FuncOp, chip: Chip) -> LoweredLaunch:
    """
    Lower a function of tasks, with the tilings, cores and prefetch that they specify.

    Raises InputError for a task that is not tiled, ResourceError for buffers that do not fit.
    """
    network = plan_network(function, chip, column_major(chip))
    if unplaced := [info for info in network.tasks if info.op.placement is None]:
        message = f"task '{unplaced[0].name}' has no placement: run manycore-tile first"
        raise located(InputError(message), unplaced[0].op)
    dram, works = segment_dram(function, network, chip), TaskWorks(network)
    sram = lay_out_multi_buffered(network, chip, works)
    cycles = estimated_times(network, sram, chip, works)
    launch = launch_function(network, dram, sram, schedule_launch(network, dram, sram), cycles)
    names = tuple(info.name for info in network.tasks)
    return LoweredLaunch(launch, dram.sizes, names, tuple(result_values(info.result) for info in network.tasks))

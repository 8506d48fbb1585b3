"""Device memory over time of a function, before or after memory saving (spec 1, figures 11 and 12)."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.func import FuncOp

from ..cost_graphs.graph import Ints
from .from_function import Costs, function_steps
from .steps import execute


@dataclass(frozen=True)
class MemoryProfile:
    """What a function takes under the execution model of `steps`; bytes from each time (ns) on."""

    time_ns: int
    peak: int
    """Most bytes of device memory."""
    host_peak: int
    times: Ints
    device: Ints
    """[times] bytes"""


def memory_profile(function: FuncOp, costs: Costs) -> MemoryProfile:
    """The profile of a function of `dataflow` operations with what the `memory` dialect adds to them."""
    execution = execute(function_steps(function.body.block, costs).program)
    times, device = execution.profile()
    return MemoryProfile(execution.time_ns, execution.peak(), execution.peak("host"), times, device)

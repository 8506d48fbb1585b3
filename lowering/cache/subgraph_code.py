"""A compiled subgraph, as operations and as machine code. It has no address in DRAM before linking."""

from __future__ import annotations

from dataclasses import dataclass

from ...analysis.planning.sram_layout import SramBuffer
from ...analysis.search import Trial
from ..ir.module_text import KeptModule
from ..launch.dram_segments import padded
from ..linker.relocate import LaunchCode


@dataclass(frozen=True)
class SubgraphCode:
    """A compiled subgraph: everything that linking needs, and figures for people."""

    code: LaunchCode
    segments: tuple[int, ...]
    """Bytes of its DRAM segments: constants in order, arguments, results, and last what stays within it."""
    tasks: tuple[str, ...]
    """Names of its tasks; words refer to them."""
    sram_peak: int
    sram_lower_bound: int
    task_cycles: tuple[int, ...]
    """Estimated cycles that each task adds to the run."""
    buffers: tuple[SramBuffer, ...]
    """In the SRAM of its cores, for reports."""
    tiled: KeptModule
    """`@main` of its tasks, with the tilings and the prefetch that were chosen."""
    digest: str
    """Of the schedule that `code` carries out (see `launch_schedule`)."""
    cycles: int | None = None
    """Of one launch by itself, where it was emulated."""
    trials: tuple[Trial, ...] = ()
    """The variants that were compared."""

    @property
    def estimated_cycles(self) -> int:
        """Cycles of the run as estimated by planning."""
        return sum(self.task_cycles)

    @property
    def dram_bytes(self) -> int:
        """DRAM that it needs while it runs."""
        return sum(map(padded, self.segments))

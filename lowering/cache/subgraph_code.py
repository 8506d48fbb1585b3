"""A compiled subgraph, as operations and as machine code. Linking gives it addresses in DRAM."""

from __future__ import annotations

from dataclasses import dataclass

from ...analysis.planning.sram_layout import SramBuffer
from ...analysis.search import Trial
from ..ir.module_text import KeptModule
from ..launch.dram_segments import padded
from ..linker.relocate import LaunchCode


@dataclass(frozen=True)
class SubgraphCode:
    """A compiled subgraph: everything that linking needs, and figures for reports."""

    code: LaunchCode
    segments: tuple[int, ...]
    """Bytes of its DRAM segments: constants in order, arguments, results, and last the values internal to it."""
    tasks: tuple[str, ...]
    """Names of its tasks; words refer to them."""
    sram_peak: int
    sram_lower_bound: int
    task_cycles: tuple[int, ...]
    """Estimated cycles that each task adds to the run."""
    buffers: tuple[SramBuffer, ...]
    """Buffers in the SRAM of its cores, for reports."""
    tiled: KeptModule
    """`@main` with its tasks, and their chosen tilings and prefetch."""
    digest: str
    """Hash of the schedule that `code` implements (see `launch_schedule`)."""
    cycles: int | None = None
    """Cycles of one launch in isolation, if it was emulated."""
    trials: tuple[Trial, ...] = ()
    """The variants that were compared."""

    @property
    def estimated_cycles(self) -> int:
        """Cycles of the run as estimated by planning."""
        return sum(self.task_cycles)

    @property
    def dram_bytes(self) -> int:
        """Bytes of DRAM that it needs while it runs."""
        return sum(map(padded, self.segments))

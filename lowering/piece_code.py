"""What a subgraph is compiled to, as operations and as machine code. It has no place in DRAM: linking gives it one."""

from __future__ import annotations

from dataclasses import dataclass

from ..analysis.planning.sram_layout import SramBuffer
from ..analysis.search import Trial
from .dram_layout import padded
from .module_text import KeptModule
from .relocate import LaunchCode


@dataclass(frozen=True)
class PieceCode:
    """A compiled subgraph: everything that linking needs, and figures for people."""

    code: LaunchCode
    segments: tuple[int, ...]
    """Bytes of its DRAM segments: constants in order, arguments, results, and last what stays within it."""
    tasks: tuple[str, ...]
    """Names of its tasks; words refer to them."""
    sram_peak: int
    sram_lower_bound: int
    task_cycles: tuple[int, ...]
    """What each task is expected to add to the run."""
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
        """What planning expects the run to take."""
        return sum(self.task_cycles)

    @property
    def dram_bytes(self) -> int:
        """DRAM that it needs while it runs."""
        return sum(map(padded, self.segments))

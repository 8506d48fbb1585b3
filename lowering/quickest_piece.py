"""The quickest code of a subgraph: several plans of its tiles, placed in several ways, timed in the emulator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from xdsl.dialects.func import FuncOp

from ..analysis.planning.deep_loads import lay_out_deep
from ..analysis.planning.load_ahead import LEADS, Lead
from ..analysis.planning.network_estimate import TaskWorks
from ..analysis.planning.plan_network import NetworkPlan
from ..analysis.planning.sram_layout import estimated_times
from ..chips import Chip
from ..dialects.manycore import Tiling
from ..support.errors import MeshloomError
from ..transforms.manycore_place import place_function
from ..transforms.manycore_tile import write_tilings
from .encode_piece import EncodedPiece, encode_piece
from .launch_image import launch_cycles
from .stages import Progress

HOPEFUL = 1.03
"""What is estimated to take so many times as long as the best so far may still be quicker."""
PLACEMENTS = ("default", "row-major")
"""How tiles are placed; the code of each is timed, for estimates have been wrong by some tenths of a percent."""


@dataclass(frozen=True)
class PlacedPiece:
    """A network whose tiles were placed, and its code."""

    network: NetworkPlan
    """As it was before."""
    encoded: EncodedPiece
    cycles: int | None = None
    """Emulated, where it was."""

    @property
    def plan(self) -> NetworkPlan:
        """The network as it is placed."""
        return self.encoded.network


def quickest_piece(function: FuncOp, networks: Sequence[NetworkPlan], chip: Chip, progress: Progress) -> PlacedPiece:
    """
    The quickest of `networks` in the first of PLACEMENTS, or that one in another of them, or this with weights loaded
    earlier (`LEADS`); of equals the first. Its tilings are written to the tasks.

    What cannot be compiled counts only where nothing can: then the first error is raised, one of `encode_piece`.
    """
    attempts = _Attempts(function, chip, progress)
    for network in networks:
        attempts.make(network, PLACEMENTS[0])
    base = attempts.quickest().network if attempts.done else networks[-1]
    for method in PLACEMENTS[1:]:
        attempts.make(base, method)
    if not attempts.done:
        raise attempts.failures[0]
    attempts.lead(attempts.quickest())
    best = attempts.quickest()
    write_tilings(best.plan)
    return best


def quickest_lead(function: FuncOp, network: NetworkPlan, chip: Chip, progress: Progress) -> PlacedPiece:
    """The quickest of a network whose tiles and cores are given: weights may be loaded earlier. Raises as above."""
    attempts = _Attempts(function, chip, progress)
    attempts.encode(network, network)
    if not attempts.done:
        raise attempts.failures[0]
    attempts.lead(attempts.quickest())
    return attempts.quickest()


@dataclass
class _Attempts:
    function: FuncOp
    chip: Chip
    progress: Progress
    """Told of the first only."""
    done: list[PlacedPiece] = field(default_factory=list[PlacedPiece])
    failures: list[MeshloomError] = field(default_factory=list[MeshloomError])
    _seen: set[tuple[Lead, tuple[Tiling, ...]]] = field(default_factory=set[tuple[Lead, tuple[Tiling, ...]]])

    def make(self, network: NetworkPlan, method: str) -> None:
        """Place a network and encode it."""
        write_tilings(network)
        self.encode(network, place_function(self.function, self.chip, network, method))

    def lead(self, piece: PlacedPiece) -> None:
        """Encode a piece with weights loaded earlier, where these estimates differ and are not much worse."""
        estimates = [estimated_cycles(piece.plan, self.chip)]
        for lead in LEADS:
            plan = replace(piece.plan, lead=lead)
            cycles = estimated_cycles(plan, self.chip)
            if cycles not in estimates and cycles < HOPEFUL * estimates[0]:
                self.encode(piece.network, plan)
            estimates.append(cycles)

    def encode(self, network: NetworkPlan, plan: NetworkPlan) -> None:
        """Encode `network` placed as in `plan`, unless that has been done before."""
        key = plan.lead, tuple(task.tiling for task in plan.plans)
        if key in self._seen:
            return
        progress = _silent if self._seen else self.progress
        self._seen.add(key)
        try:
            self.done.append(PlacedPiece(network, encode_piece(self.function, plan, self.chip, progress)))
        except MeshloomError as error:
            self.failures.append(error)

    def quickest(self) -> PlacedPiece:
        """A single one is not timed."""
        if len(self.done) == 1:
            return self.done[0]
        timed: list[tuple[int, PlacedPiece]] = []
        for one in self.done:
            cycles = launch_cycles(one.encoded.code, self.chip) if one.cycles is None else one.cycles
            timed.append((cycles, replace(one, cycles=cycles)))
        self.done = [one for _, one in timed]
        return min(timed, key=lambda pair: pair[0])[1]


def estimated_cycles(network: NetworkPlan, chip: Chip) -> int:
    """What the network is expected to take, before there is code."""
    works = TaskWorks(network, chip)
    return sum(estimated_times(network, lay_out_deep(network, chip, works), chip, works))


def _silent(stage: str) -> None:
    pass

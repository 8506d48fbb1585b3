"""The quickest code of a subgraph: several plans of its tiles, placed in several ways, timed in the emulator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from xdsl.dialects.func import FuncOp

from ..analysis.planning.plan_network import NetworkPlan
from ..chips import Chip
from ..dialects.manycore import Tiling
from ..support.errors import MeshloomError
from ..transforms.manycore_place import place_function
from ..transforms.manycore_tile import write_tilings
from .encode_piece import encode_piece
from .piece_code import PieceCode
from .piece_cycles import piece_cycles
from .stages import Progress

PLACEMENTS = ("default", "row-major")
"""How tiles are placed; the code of each is timed, for estimates have been wrong by some tenths of a percent."""


@dataclass(frozen=True)
class PlacedPiece:
    """A network whose tiles were placed, and its code."""

    network: NetworkPlan
    """As it was before."""
    plan: NetworkPlan
    code: PieceCode


def quickest_piece(function: FuncOp, networks: Sequence[NetworkPlan], chip: Chip, progress: Progress) -> PlacedPiece:
    """
    The quickest of `networks` in the first of PLACEMENTS, or that one in another of them; of equals the first. Its
    tilings are written to the tasks.

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
    best = attempts.quickest()
    write_tilings(best.plan)
    return best


@dataclass
class _Attempts:
    function: FuncOp
    chip: Chip
    progress: Progress
    """Told of the first only."""
    done: list[PlacedPiece] = field(default_factory=list[PlacedPiece])
    failures: list[MeshloomError] = field(default_factory=list[MeshloomError])
    _seen: set[tuple[Tiling, ...]] = field(default_factory=set[tuple[Tiling, ...]])

    def make(self, network: NetworkPlan, method: str) -> None:
        """Place a network and encode it, unless the same tiles have been on the same cores before."""
        write_tilings(network)
        plan = place_function(self.function, self.chip, network, method)
        tilings = tuple(task.tiling for task in plan.plans)
        if tilings in self._seen:
            return
        progress = _silent if self._seen else self.progress
        self._seen.add(tilings)
        try:
            self.done.append(PlacedPiece(network, plan, encode_piece(self.function, plan, self.chip, progress)))
        except MeshloomError as error:
            self.failures.append(error)

    def quickest(self) -> PlacedPiece:
        """A single one is not timed."""
        if len(self.done) == 1:
            return self.done[0]
        for number, one in enumerate(self.done):
            self.done[number] = replace(one, code=replace(one.code, cycles=piece_cycles(one.code, self.chip)))
        return min(self.done, key=lambda one: piece_cycles(one.code, self.chip))


def _silent(stage: str) -> None:
    pass

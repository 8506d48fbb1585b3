"""One subgraph to machine code: tasks, tilings, memory of the cores, streams. What it gives knows no place in DRAM."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from ..analysis.planning.look_ahead import look_ahead
from ..analysis.planning.network_estimate import TaskWorks, network_estimate
from ..analysis.planning.placement import column_major
from ..analysis.planning.plan_memo import PlanMemo
from ..analysis.planning.plan_network import NetworkPlan, plan_network
from ..analysis.planning.sram_layout import SramBuffer, lay_out_sram
from ..chips import Chip
from ..dialects.manycore import TaskOp, Tiling
from ..support.errors import MeshloomError, ResourceError
from ..transforms.manycore_place import place_function
from ..transforms.manycore_split_reductions import split_reductions
from ..transforms.manycore_tile import write_tilings
from .dataflow_to_manycore import DataflowToManycorePass
from .dram_layout import DramSegments, bytes_of, constants_of, padded, segment_dram
from .generate import generate
from .link import launch_code
from .places import Places
from .relocate import LaunchCode
from .stages import Progress, main_function
from .task_notes import TaskNote, task_notes


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
    estimated_cycles: int
    """What planning expects the run to take."""
    notes: tuple[TaskNote, ...]
    """Of its tasks, for reports."""
    buffers: tuple[SramBuffer, ...]
    """In the SRAM of its cores, for reports."""

    @property
    def dram_bytes(self) -> int:
        """DRAM that it needs while it runs."""
        return sum(map(padded, self.segments))


PLACEMENTS = ("default", "row-major")
"""How tiles are placed; the code of each is timed, for estimates have been wrong by some tenths of a percent."""


def plan_piece(module: ModuleOp, chip: Chip, progress: Progress = lambda stage: None) -> NetworkPlan:
    """
    Outline @main's operations as tasks, tile and place these, in place.

    Raises ResourceError where one does not fit.
    """
    function = main_function(module)
    networks, by_hand = _tiled(function, module, chip, progress)
    return networks[0] if by_hand else _placed(function, networks, chip, lambda stage: None)[0]


def compile_piece(module: ModuleOp, chip: Chip, progress: Progress = lambda stage: None) -> PieceCode:
    """
    Compile @main of a `dataflow` (or tiled `manycore`) module to one launch. The module is changed.

    Raises ResourceError if it does not fit the chip, MeshloomError for what else cannot be done.
    """
    function = main_function(module)
    values = [*(op.results[0] for op in constants_of(function)), *function.body.block.args]
    check_dram(sum(padded(bytes_of(value)) for value in values), chip, "its constants and inputs alone")
    networks, by_hand = _tiled(function, module, chip, progress)
    return (
        _encoded(function, networks[0], chip, progress) if by_hand else _placed(function, networks, chip, progress)[1]
    )


def _tiled(function: FuncOp, module: ModuleOp, chip: Chip, progress: Progress) -> tuple[list[NetworkPlan], bool]:
    """
    (plans of @main's operations as tiled tasks, the one with the lowest estimate first; whether it was written by hand:
    then its cores are, too)
    """
    progress("outline tasks")
    DataflowToManycorePass().apply(Context(), module)
    progress("plan")
    by_hand = any(isinstance(op, TaskOp) and op.placement is not None for op in function.body.block.ops)
    memo = PlanMemo()
    if not by_hand:
        split_reductions(function, chip, memo)
    place = column_major(chip)
    alone = plan_network(function, chip, place, memo)
    ahead = look_ahead(alone, chip, place)
    networks: list[NetworkPlan] = []
    for plan in [ahead] if ahead is alone else [ahead, alone]:
        write_tilings(plan)
        # Read back what the tasks say: a tiling that was written by hand is compiled in the same way.
        networks.append(plan_network(function, chip, place))
    return networks, by_hand


def _placed(
    function: FuncOp, networks: Sequence[NetworkPlan], chip: Chip, progress: Progress
) -> tuple[NetworkPlan, PieceCode]:
    """
    The quickest of `networks` in the first of PLACEMENTS, or that one in another of them; also written to tasks, and
    its code. What does not fit counts only where nothing does: then the first error is raised.
    """
    failures: list[MeshloomError] = []
    found: list[_Attempt] = []
    seen: set[tuple[Tiling, ...]] = set()

    def attempt(network: NetworkPlan, method: str) -> None:
        write_tilings(network)
        plan = place_function(function, chip, network, method)
        tilings = tuple(task.tiling for task in plan.plans)
        if tilings in seen:
            return
        try:
            code = _encoded(function, plan, chip, lambda stage: None if seen else progress(stage))
            found.append(_Attempt(network, plan, code, chip))
        except MeshloomError as error:
            failures.append(error)
        seen.add(tilings)

    for network in networks:
        attempt(network, PLACEMENTS[0])
    base = _quickest(found).network if found else networks[-1]
    for method in PLACEMENTS[1:]:
        attempt(base, method)
    if not found:
        raise failures[0]
    best = _quickest(found)
    write_tilings(best.plan)
    return best.plan, best.code


@dataclass(frozen=True)
class _Attempt:
    """Code of a network whose tiles were placed."""

    network: NetworkPlan
    plan: NetworkPlan
    code: PieceCode
    chip: Chip

    @cached_property
    def cycles(self) -> int:
        """Emulated."""
        from ..emulator.timing import run_timing
        from .piece_file import piece_executable

        return run_timing(piece_executable(self.code, self.chip)).cycles


def _quickest(found: Sequence[_Attempt]) -> _Attempt:
    """Of equals the first."""
    return found[0] if len(found) == 1 else min(found, key=lambda attempt: attempt.cycles)


def _encoded(function: FuncOp, network: NetworkPlan, chip: Chip, progress: Progress) -> PieceCode:
    """Memory of the cores, streams and machine code of a placed network."""
    progress("lay out memory")
    segments: DramSegments = segment_dram(function, network, chip)
    inside = f"constants, inputs, results, and {segments.sizes[-1]:,} bytes in between"
    check_dram(sum(map(padded, segments.sizes)), chip, inside)
    places = Places(network, segments, lay_out_sram(network, chip))
    progress("generate code")
    machine = generate(network, places, chip)
    sram = places.sram
    issued = machine.issued(len(network.tasks))
    cycles = network_estimate(
        network, replace(sram.code, issued=issued), chip, TaskWorks(network, chip).beside(sram.apart)
    )
    progress("assemble")
    return PieceCode(
        launch_code(chip, machine.streams, machine.core_sets.array(), "launch"),
        segments.sizes,
        tuple(info.name for info in network.tasks),
        places.sram.peak,
        places.sram.lower_bound,
        sum(cycles),
        task_notes(network, cycles),
        places.sram.buffers,
    )


def check_dram(needed: int, chip: Chip, what: str) -> None:
    """Raises ResourceError if a launch needs more than all of the DRAM; `what` it needs that for."""
    if needed > chip.dram_bytes:
        raise ResourceError(what, "DRAM", needed, chip.dram_bytes)

"""Insertion of memory saving between launches, for a limit on the bytes in DRAM at one time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from xdsl.dialects.builtin import f32
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument
from xdsl.transforms.dead_code_elimination import region_dce

from ...analysis.offload.kinds import Kind, allowed_kinds
from ...analysis.offload.problem import OffloadProblem
from ...dialects.dataflow.types import element_of, tensor_of
from ...dialects.manycore import SubgraphOp
from ...dialects.memory.formats import F16, Format
from ...dialects.memory.stash import MoveOp, RecomputeOp
from ...dialects.memory.stash_types import StashType
from ...transforms.offload.budget import LeastPlans
from ...transforms.offload.emit import Emitter, add_control
from ...transforms.offload.planned import planned_script
from ...transforms.offload.script import Absence, Act, FunctionParts, Item, Script, fixed_tensors, function_parts
from ...transforms.offload.thresholds import Thresholds, threshold_script
from ..launch.dram_segments import bytes_of, padded
from .compiled_launches import CompiledLaunches
from .launch_graph import LaunchModel, LaunchProblem, launch_problem


@dataclass(frozen=True)
class Saving:
    """The kinds of memory saving that are allowed."""

    kinds: frozenset[str] = frozenset({"swap", "recompute"})
    """A subset of swap, compress, recompute."""
    format: Format = F16
    """The format to which f32 is compressed."""
    seed: int = 0


@dataclass(frozen=True)
class LaunchPlanning:
    """A function of subgraphs as a planning problem."""

    launches: LaunchProblem
    model: LaunchModel

    @cached_property
    def plans(self) -> LeastPlans:
        """Plans that were found for this problem."""
        return LeastPlans(self.launches.problem, self.model)


def planning_of(function: FuncOp, launch_codes: CompiledLaunches, saving: Saving, capacity: int) -> LaunchPlanning:
    """
    The problem of a function whose subgraphs are the launches. Raises MeshloomError for launches that do not compile.
    """
    parts = function_parts(function)
    launches = launch_problem(parts, launch_codes, capacity)
    model = LaunchModel(
        link=launch_codes.chip.host_bytes_per_cycle * 1e9,
        format=saving.format,
        chip=launch_codes.chip,
        pack_cycles=_pack_cycles(parts, launches.problem, launch_codes, saving),
    )
    return LaunchPlanning(launches, model)


def save_memory(function: FuncOp, planning: LaunchPlanning, limit: int, saving: Saving) -> None:
    """
    Put operations of `memory` between the function's subgraphs, so that inputs, constants that are copied in, and all
    values between launches take at most `limit` bytes.

    Raises InputError if no plan of the allowed kinds does, naming the smallest limit that works.
    """
    parts = function_parts(function)
    launches = planning.launches
    problem, plan = planning.plans.least(parts, limit, saving.kinds, saving.seed)
    planned = planned_script(problem, plan)
    _emit(function, parts, planned.script, planned.prefetch, launches, saving)


def save_by_thresholds(function: FuncOp, planning: LaunchPlanning, thresholds: Thresholds, saving: Saving) -> int:
    """
    Put operations of `memory` between the function's subgraphs by the thresholds of spec 1 (`slack` in cycles). Inputs,
    which the host has, and tensors that are offloaded already are not considered, nor is the first use of a restored
    tensor. Returns the number of inserted restorations.
    """
    parts = function_parts(function)
    launches, kinds = planning.launches, saving.kinds
    others = [kind for kind in allowed_kinds(kinds - {"recompute"}) if kind < Kind.RECOMPUTE]
    kind = max(others, default=Kind.RECOMPUTE)
    stays = fixed_tensors(parts)
    for number, value in enumerate(parts.tensors):
        rounded = kind in (Kind.COMPRESS, Kind.COMPRESS_SWAP) and number not in stays and element_of(value) != f32
        if rounded or isinstance(value, BlockArgument):
            stays.add(number)
    again: set[int] = set()
    if "recompute" in kinds:
        again = {op for op, number in enumerate(launches.launch) if _runs_again(parts, number)}
    graph = launches.problem.graph
    stays |= set(range(len(parts.tensors), graph.tensors))
    restored = {number for number, value in enumerate(parts.tensors) if isinstance(value.owner, MoveOp | RecomputeOp)}
    script, edges = threshold_script(graph, planning.model, kind, thresholds, stays, again, restored)
    _emit(function, parts, script, edges, launches, saving)
    return len(script.absences)


def _runs_again(parts: FunctionParts, number: int) -> bool:
    """Whether an operation may be recomputed: the arrival of an input (-1), or a launch."""
    return number < 0 or isinstance(parts.ops[number], SubgraphOp)


def _emit(
    function: FuncOp,
    parts: FunctionParts,
    script: Script,
    edges: Sequence[tuple[int, int]],
    launches: LaunchProblem,
    saving: Saving,
) -> None:
    """Rewrite the function by a script of the planning problem."""
    items, waits = _script(script, edges, launches)
    ops = Emitter(function, parts, saving.format).emit(items)
    add_control(function.body.block, ops, waits)
    region_dce(function.body)  # operations whose results are used only after recomputation need not run before it


def _script(
    given: Script, edges: Sequence[tuple[int, int]], launches: LaunchProblem
) -> tuple[Script, list[tuple[int, int]]]:
    """
    (the script for the function's own operations, control edges between its items).

    Arrivals of inputs are not operations; repeating one means that the input is copied in again.
    """
    absences: list[Absence] = [
        Absence(one.tensor, one.kind, tuple(launches.launch[op] for op in one.chain if launches.launch[op] >= 0))
        for one in given.absences
    ]
    items: list[Item] = []
    position: list[int] = []
    """For each planned item, the item of the new script that completes with it; -1: none."""
    gone: set[int] = set()

    def again(tensor: int) -> None:
        """Whether an input is copied in once more."""
        absences.append(Absence(tensor, Kind.SWAP))
        if tensor not in gone:
            items.append(Item(Act.OUT, len(absences) - 1))
        gone.add(tensor)
        items.append(Item(Act.IN, len(absences) - 1))

    for item in given.items:
        if item.act is Act.RUN:
            if launches.launch[item.number] >= 0:
                items.append(Item(Act.RUN, launches.launch[item.number]))
        elif item.act is Act.AGAIN:
            chain = given.absences[item.number].chain
            for op in chain:
                if launches.arrives[op] >= 0:
                    again(launches.arrives[op])
            if absences[item.number].chain:
                items.append(item)
        else:
            if item.act is Act.OUT:
                gone.add(absences[item.number].tensor)
            items.append(item)
        position.append(len(items) - 1)
    waits = [(position[source], position[target]) for source, target in edges if position[source] >= 0]
    return Script(tuple(items), tuple(absences)), waits


def _pack_cycles(
    parts: FunctionParts, problem: OffloadProblem, launch_codes: CompiledLaunches, saving: Saving
) -> Mapping[int, int]:
    """Cycles of conversions by padded bytes: the slower direction, for the slowest shape."""
    found: dict[int, int] = {}
    if "compress" not in saving.kinds:
        return found
    numbers: list[int] = sorted(set(problem.tensor.tolist()))
    values = [parts.tensors[number] for number in numbers if number < len(parts.tensors)]
    values = [value for value in values if not isinstance(value.type, StashType)]
    wide = {tensor_of(value): value for value in values if not isinstance(value, BlockArgument)}
    for type, value in wide.items():
        if element_of(value) != f32:
            continue
        nbytes = padded(bytes_of(value))
        found[nbytes] = max(found.get(nbytes, 0), launch_codes.pack_cycles(type, saving.format))
    return found

"""
Lower tiled tasks to the `memory` level: host copies and launches, with every buffer and every transfer in order.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.passes import ModulePass
from xdsl.transforms.dead_code_elimination import region_dce

from ..analysis.semantic_effect import SemanticEffect, reassociating
from ..chips import Chip
from ..dialects.dataflow import ConstantOp, LoopOp, ReshapeOp, WeightOp
from ..dialects.dataflow.entry_function import find_main
from ..dialects.dataflow.loop import YieldOp as LoopYieldOp
from ..dialects.locations import at, located
from ..dialects.manycore import CHIP, TaskOp, chip_of, is_on_host
from ..dialects.manycore.stage import networks_of
from ..support.errors import InputError
from .cache.compile_cache import cache_for
from .ir.launch_names import unique_names
from .ir.replace_module import replace_module
from .launch.lower_launch import LoweredLaunch, lower_launch
from .launch.note_ideal_work import note_ideal
from .launch.program_notes import IDEAL, notes_of
from .linker.device_program import DeviceProgram
from .linker.write_program import write_program
from .offload.saved_module import saves_memory
from .options.effort import EffortOptions
from .sequence.inline_subgraphs import Group, launches_of
from .sequence.launch_sequence import module_of_operators, operator_count, operators
from .sequence.link_sequence import link_network
from .sequence.plan_launches import plan_launches

BEFORE = {
    "dataflow": "run dataflow-to-manycore and manycore-tile",
    "sparse": "run sparse-to-dataflow, dataflow-to-manycore and manycore-tile",
}
"""Dialect or operation -> the pass that turns it into tasks."""


@dataclass(frozen=True)
class ManycoreToMemoryPass(EffortOptions, ModulePass):
    """
    Lower tasks of `@main` to tasks over allocated buffers, in launches with all transfers in order.

    Each subgraph becomes a launch; tasks outside of subgraphs are one. Inputs, results and constants are in host memory
    and DRAM, other values that are spilled are in DRAM, all others in the cores' SRAM from `memory.alloc` to
    `memory.free`. Tasks need a placement: run `manycore-tile` first. `effort`, `order`, `stop-at`, `placement`: those
    of the compilation; with memory saving, they determine the times in the recorded plan.
    """

    name = "manycore-to-memory"
    semantic_effect: ClassVar[SemanticEffect] = reassociating(1e-4)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        chip = chip_of(op)
        if chip is None:
            raise InputError(f"the module has no attribute {CHIP}: run manycore-tile{{chip=NAME}} first")
        for network in networks_of(op):
            if saves_memory(network):
                from .offload.lower_saved import lower_saved

                lower_saved(network, chip, cache_for(chip, self.read_effort()))
            else:
                lower_module(network, chip)


def lower_module(module: ModuleOp, chip: Chip) -> None:
    """Lower `@main`. Raises InputError for tasks that are not tiled, ResourceError for buffers that do not fit."""
    function = find_main(module)
    for task in function.walk():
        if isinstance(task, TaskOp):
            region_dce(task.body)  # each operation of a task over buffers has a buffer for its result
    ideal = note_ideal(module)
    groups = launches_of(function)
    _check_level(function)
    notes = {IDEAL: json.dumps(ideal)} | notes_of(module)
    program = _program(function, groups or [Group("all", list(operators(function)))], notes, chip)
    with at(function):
        lowered = write_program(program, chip)
    replace_module(module, lowered)


def _program(function: FuncOp, groups: Sequence[Group], notes: dict[str, str], chip: Chip) -> DeviceProgram:
    """The program of a function with a group of tasks for each launch."""
    launches: list[LoweredLaunch] = []
    for group in groups:
        part = find_main(module_of_operators(tuple(group.operations)).module)
        with at(function):
            launches.append(lower_launch(part, chip))
    sequence, residency = plan_launches(function, groups, [one.segments[-1] for one in launches], chip)
    labels = [(group.name, operator_count(tuple(group.operations))) for group in groups]
    tasks = [tuple(unique_names(one.tasks)) for one in launches]
    functions = [one.function for one in launches]
    values = [one.values for one in launches]
    return link_network(sequence, functions, labels, tasks, values, notes, residency)


def _check_level(function: FuncOp) -> None:
    """Raises InputError naming the first operation or task whose result has no buffer."""
    for op in function.body.block.ops:
        if isinstance(op, LoopOp) and all(
            isinstance(one, TaskOp | ReshapeOp | LoopYieldOp) for one in op.body.block.ops
        ):
            continue
        if not isinstance(op, TaskOp | ConstantOp | WeightOp | ReshapeOp | ReturnOp) and not is_on_host(op):
            before = BEFORE.get(op.name, BEFORE.get(op.name.partition(".")[0], "put it into a task"))
            raise located(InputError(f"operation '{op.name}' is in no task: {before} first"), op)
        if isinstance(op, TaskOp) and len(op.results) != 1:
            raise located(InputError(f"task '{op.sym_name.data}' has {len(op.results)} results: give it one"), op)

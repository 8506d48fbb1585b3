"""From a `dataflow` module to an executable: the stages by name, in order."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue
from xdsl.transforms.canonicalize import CanonicalizePass

from ..analysis.planning.placement import column_major
from ..analysis.planning.plan_network import NetworkPlan, plan_network
from ..analysis.task_info import value_bytes
from ..chips import Chip, chip_names, load_chip
from ..dialects.dataflow import Dataflow
from ..dialects.dataflow.tiling import Box, TilingInterface
from ..dialects.dataflow.types import shape_of
from ..dialects.manycore import CHIP, ChipAttr, TaskOp
from ..emulator.executable import Executable
from ..support.errors import InputError
from ..transforms.dataflow_fold_affine import DataflowFoldAffinePass
from ..transforms.manycore_tile import tile_function
from .dataflow_to_manycore import DataflowToManycorePass
from .dram_layout import lay_out_dram
from .generate import generate
from .link import link
from .manycore_to_memory import lower_module
from .places import Places
from .sram_layout import SramLayout, lay_out_sram
from .task_notes import task_notes

Progress = Callable[[str], None]
"""Told the name of each stage as it begins."""


@dataclass(frozen=True)
class Compilation:
    """An executable and what the compiler knows about it."""

    executable: Executable
    network: NetworkPlan
    sram: SramLayout


Observer = Callable[[str, ModuleOp], None]
"""Told the name of a level, and the module there, where compilation itself works on other data."""


def compile_module(
    module: ModuleOp, chip: Chip, progress: Progress = lambda stage: None, observe: Observer | None = None
) -> Compilation:
    """
    Compile @main of a `dataflow` (or tiled `manycore`) module for a chip. The module is changed.

    `observe` is shown the module in buffers ("memory"), which is made for it alone, at the addresses that code uses.

    Raises InputError if there is no @main, MeshloomError if the network does not fit the chip.
    """
    function = main_function(module)
    progress("simplify")
    context = Context()
    context.load_dialect(Dataflow)
    CanonicalizePass().apply(context, module)
    DataflowFoldAffinePass().apply(context, module)
    ideal = ideal_work(function)
    progress("outline tasks")
    DataflowToManycorePass().apply(Context(), module)
    progress("plan")
    _name_chip(module, chip)
    tile_function(function, chip)
    # Read back what the tasks say: a tiling that was written by hand is compiled in the same way.
    network = plan_network(function, chip, column_major(chip))
    progress("lay out memory")
    places = Places(network, lay_out_dram(function, network, chip), lay_out_sram(network, chip))
    if observe is not None:
        lowered = module.clone()
        lower_module(lowered, chip)
        observe("memory", lowered)
    progress("generate code")
    machine = generate(network, places, chip)
    progress("link")
    executable = link(
        chip,
        [machine.streams],
        core_sets=machine.core_sets,
        tensors=places.dram.tensors,
        weights=places.dram.weights,
        weights_address=0,
        dram_bytes_used=places.dram.used,
        source_names=[info.name for info in network.tasks],
        notes={
            "entry": "main",
            "ideal": json.dumps(ideal),
            "sram_peak": str(places.sram.peak),
            "sram_lower_bound": str(places.sram.lower_bound),
            "tasks": task_notes(network),
        },
    )
    return Compilation(executable, network, places.sram)


def _name_chip(module: ModuleOp, chip: Chip) -> None:
    """Note the chip in the module, if it is one that goes by a name. Raises InputError if the module is for another."""
    named = module.attributes.get(CHIP)
    if isinstance(named, ChipAttr):
        if named.load() != chip:
            raise InputError(f"the module is for chip '{named.load().name}': it cannot be compiled for '{chip.name}'")
    elif chip.name in chip_names() and load_chip(chip.name) == chip:
        module.attributes[CHIP] = ChipAttr(chip.name)


def main_function(module: ModuleOp) -> FuncOp:
    """The function that is compiled. Raises InputError if the module has none."""
    for op in module.ops:
        if isinstance(op, FuncOp) and op.sym_name.data == "main":
            if not op.body.blocks:
                raise InputError("@main has no body: give the module with the function's definition")
            return op
    raise InputError("the module has no function @main: name the entry function 'main'")


def ideal_work(function: FuncOp) -> dict[str, int]:
    """Work of the network itself, for rooflines: multiply-accumulates, element operations and bytes of DRAM traffic."""
    macs = vpu_ops = 0
    dram_bytes = sum(_bytes(value) for value in function.body.block.args)
    last = function.body.block.last_op
    dram_bytes += sum(_bytes(value) for value in (last.operands if last is not None else ()))
    for op in function.walk():
        if isinstance(op, TilingInterface):
            cost = op.cost(Box.whole(tuple(dim.size for dim in op.iteration_space())))
            macs += cost.macs if cost.matmul is not None else 0
            vpu_ops += cost.vpu_ops if cost.matmul is None else 0
        elif len(op.results) == 1 and not op.operands and not isinstance(op, TaskOp):
            dram_bytes += _bytes_read(op.results[0])
    return {"macs": macs, "vpu_ops": vpu_ops, "dram_bytes": dram_bytes}


def _bytes_read(value: SSAValue) -> int:
    """Bytes of a constant that must be read: of one that is only read by index, no more than what is picked."""
    needed = 0
    for use in value.uses:
        user = use.operation
        if isinstance(user, TaskOp):
            needed += _bytes_read(user.body.block.args[use.index])
            continue
        if not isinstance(user, TilingInterface):
            return _bytes(value)
        whole = Box.whole(tuple(dim.size for dim in user.iteration_space()))
        indexed = user.operand_slice(use.index, whole).indexed
        needed += _bytes(user.results[0]) if indexed else _bytes(value)
    return min(needed, _bytes(value))


def _bytes(value: SSAValue) -> int:
    return prod(shape_of(value)) * value_bytes(value)

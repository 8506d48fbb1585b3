"""From a `dataflow` module to an executable: the stages by name, in order."""

from __future__ import annotations

import json
from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue
from xdsl.transforms.canonicalize import CanonicalizePass

from ..analysis.task_info import value_bytes
from ..chips import Chip, chip_names, load_chip
from ..dialects.dataflow import Dataflow
from ..dialects.dataflow.tiling import Box, TilingInterface
from ..dialects.dataflow.types import shape_of
from ..dialects.manycore import CHIP, ChipAttr, TaskOp
from ..emulator.executable import Executable
from ..support.errors import InputError
from ..transforms.dataflow_fold_affine import DataflowFoldAffinePass
from .compile_piece import PieceCode, compile_piece, plan_piece
from .link_network import link_network
from .manycore_to_memory import lower_module
from .serial import operators, part_module, serial_list
from .stages import Observer, Progress, main_function

__all__ = ["Compilation", "Observer", "Progress", "compile_module", "main_function"]


@dataclass(frozen=True)
class Compilation:
    """An executable and what the compiler knows about it."""

    executable: Executable
    parts: tuple[PieceCode, ...]
    """One a launch."""

    @property
    def tasks(self) -> int:
        """Number of tasks."""
        return sum(len(part.tasks) for part in self.parts)


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
    part = operators(function)
    serial = serial_list(function, [part])
    _name_chip(module, chip)
    code = compile_piece(part_module(part).module, chip, progress)
    if observe is not None:
        plan_piece(module, chip, progress)
        lowered = module.clone()
        lower_module(lowered, chip)
        observe("memory", lowered)
    progress("link")
    notes = {
        "entry": "main",
        "ideal": json.dumps(ideal),
        "sram_peak": str(code.sram_peak),
        "sram_lower_bound": str(code.sram_lower_bound),
    }
    return Compilation(link_network(chip, serial, [code], [code.tasks], notes), (code,))


def _name_chip(module: ModuleOp, chip: Chip) -> None:
    """Note the chip in the module, if it is one that goes by a name. Raises InputError if the module is for another."""
    named = module.attributes.get(CHIP)
    if isinstance(named, ChipAttr):
        if named.load() != chip:
            raise InputError(f"the module is for chip '{named.load().name}': it cannot be compiled for '{chip.name}'")
    elif chip.name in chip_names() and load_chip(chip.name) == chip:
        module.attributes[CHIP] = ChipAttr(chip.name)


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

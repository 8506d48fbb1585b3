"""Lower a program of the `memory` level to instructions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ..analysis.semantic_effect import SemanticEffect, reassociating
from ..chips import Chip, load_chip
from ..dialects.locations import at
from ..dialects.manycore import CHIP, chip_of
from ..dialects.manycore.stage import networks_of
from ..support.errors import InputError
from .executable_to_coreasm import executable_to_coreasm
from .ir.replace_module import replace_module
from .linker.read_program import initial_data, read_program


@dataclass(frozen=True)
class MemoryToCoreasmPass(ModulePass):
    """
    Select instructions for the launches of `@main`. The result is a module of programs, launches, data and the
    controller's program.

    `chip`: a name, or the path of a `.toml`; without it, the chip is the module's.
    """

    name = "memory-to-coreasm"
    semantic_effect: ClassVar[SemanticEffect] = reassociating(1e-4)

    chip: str | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        chip = load_chip(self.chip) if self.chip is not None else chip_of(op)
        if chip is None:
            raise InputError(f"the module has no attribute {CHIP}: give it one, or use {self.name}{{chip=NAME}}")
        with at(op):
            select_instructions(op, chip)


def select_instructions(module: ModuleOp, chip: Chip) -> None:
    """
    Lower a program, or those of all stages, to instructions.

    Raises InputError for a module that is for another chip, else as `read_program` does.
    """
    for program in networks_of(module):
        replace_module(program, executable_to_coreasm(read_program(program, chip), initial_data(program)))

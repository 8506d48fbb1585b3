"""Pass `meshloom`: the whole compiler, down to a program of the `memory` level."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ...analysis.semantic_effect import SemanticEffect, reassociating
from ...chips import load_chip
from ...dialects.locations import at
from ...dialects.manycore import chip_of
from ...support.errors import InputError
from ..ir.replace_module import replace_module
from .compile_network import compile_network
from .search_options import SearchOptions


@dataclass(frozen=True)
class MeshloomPass(SearchOptions, ModulePass):
    """
    Compile `@main`: simplify, split what does not fit, choose tilings, cores, prefetch and memory saving by emulated
    cycles. The result is a program of launches over buffers; `memory-to-coreasm` lowers it to instructions.

    The options are those of `meshloom-compile`. `chip`: a name, or the path of a `.toml`; without it, the module's.
    """

    name = "meshloom"
    semantic_effect: ClassVar[SemanticEffect] = reassociating(1e-4)

    sparse: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        chip = load_chip(self.chip) if self.chip is not None else chip_of(op)
        if chip is None:
            raise InputError(f"no chip is given: use {self.name}{{chip=NAME}}, or module attribute manycore.chip")
        with at(op):
            made = compile_network(op, chip, self.read(op, self.sparse)).compilation.module
        replace_module(op, made)

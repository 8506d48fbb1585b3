"""Pass `coreasm-unpack`: an op an instruction, for rewriting."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from ..dialects.coreasm.packed import PackedOp
from ..dialects.coreasm.packing import unpacked
from ..dialects.locations import at


@dataclass(frozen=True)
class CoreasmUnpackPass(ModulePass):
    """Every packed program becomes a block of instructions; `coreasm-pack` gives the same bytes again."""

    name = "coreasm-unpack"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Replace `coreasm.program` and `coreasm.controller`."""
        for program in [each for each in op.walk() if isinstance(each, PackedOp)]:
            with at(program):
                result = unpacked(program)
            Rewriter.replace_op(program, result)

"""Pass `coreasm-pack`: one op a program."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from ..dialects.coreasm.ops import UnpackedOp
from ..dialects.coreasm.packing import packed


@dataclass(frozen=True)
class CoreasmPackPass(ModulePass):
    """Every block of instructions becomes a packed program, the opposite of `coreasm-unpack`."""

    name = "coreasm-pack"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Replace `coreasm.unpacked_program` and `coreasm.unpacked_controller`."""
        for program in [each for each in op.walk() if isinstance(each, UnpackedOp)]:
            result = packed(program)
            result.location = program.location
            Rewriter.replace_op(program, result)

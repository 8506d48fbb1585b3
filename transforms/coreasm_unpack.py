"""Pass `coreasm-unpack`: convert packed programs to unpacked programs, with an operation for each instruction."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from ..dialects.coreasm.packed import ControllerOp, PackedOp, ProgramOp
from ..dialects.coreasm.packing import unpacked
from .shared.rewrite_once import rewrite_once


@dataclass(frozen=True)
class CoreasmUnpackPass(ModulePass):
    """Unpack every program into a block of instructions; `coreasm-pack` restores the same bytes."""

    name = "coreasm-unpack"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Replace `coreasm.program` and `coreasm.controller`."""
        rewrite_once(op, {ProgramOp: (UnpackProgram(),), ControllerOp: (UnpackProgram(),)})


class UnpackProgram(RewritePattern):
    """Replace a packed program by a block of instructions."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: PackedOp, rewriter: PatternRewriter) -> None:
        rewriter.replace(op, unpacked(op))

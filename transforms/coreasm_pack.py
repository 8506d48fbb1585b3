"""Pass `coreasm-pack`: convert unpacked programs, with an operation for each instruction, to packed programs."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from ..dialects.coreasm.ops import UnpackedControllerOp, UnpackedOp, UnpackedProgramOp
from ..dialects.coreasm.packing import packed
from .shared.rewrite_once import rewrite_once


@dataclass(frozen=True)
class CoreasmPackPass(ModulePass):
    """Pack every block of instructions into one operation: the inverse of `coreasm-unpack`."""

    name = "coreasm-pack"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Replace `coreasm.unpacked_program` and `coreasm.unpacked_controller`."""
        rewrite_once(op, {UnpackedProgramOp: (PackProgram(),), UnpackedControllerOp: (PackProgram(),)})


class PackProgram(RewritePattern):
    """Replace a block of instructions by one operation."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: UnpackedOp, rewriter: PatternRewriter) -> None:
        rewriter.replace(op, packed(op))

"""
A pass on instructions: removes copies from an address to the same address, and waits that repeat an earlier one.

    PASSES=coreasm-unpack,coreasm-peephole,coreasm-pack
    meshloom-objdump net.mlx --mlir -o net.mlir
    meshloom-compile net.mlir --load-pass-plugin examples/coreasm_peephole.py -p $PASSES -o shorter.mlx

`coreasm-unpack` converts each instruction to an operation, `coreasm-pack` converts a program back to one operation.
docs/reference/isa.md describes the instructions. There are three kinds of waits, and only one can be removed alone:
`ctl.wait` and `ctl.join` of the controller wait until copies or a launch are complete, which they stay. The cores'
`wait` and `send.wait` decrement a semaphore, and the `wait` field consumes tokens: without one of those, the next one
would consume a count or token of another instruction.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from meshloom.analysis.semantic_effect import EXACT, SemanticEffect
from meshloom.dialects.coreasm.encoding import NO_DESC
from meshloom.dialects.coreasm.ops import InstructionOp, LoopOp
from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i8
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import (
    GreedyRewritePatternApplier,
    PatternRewriter,
    PatternRewriteWalker,
    RewritePattern,
)

COPIES = {"mov", "copy"}
BEGINS = {"ctl.wait": {"ctl.h2d", "ctl.d2h"}, "ctl.join": {"ctl.launch"}}
"""
The instructions that a wait waits for. The field `imm` of both has the tag of the copies, or the number of the launch.
"""


def neighbours(op: InstructionOp, forward: bool) -> Iterator[InstructionOp]:
    """The instructions of the block after `op`, or before it, up to a loop or an exit from one; the nearest first."""
    other: Operation | None = op.next_op if forward else op.prev_op
    while isinstance(other, InstructionOp) and not isinstance(other, LoopOp) and other.instruction.mnemonic != "leave":
        yield other
        other = other.next_op if forward else other.prev_op


class CopyToItself(RewritePattern):
    """
    `mov` and `copy` with the same source and destination, in one type, have no effect.

    Their tokens must not be lost. The next instruction of the unit can take over the tokens to wait for; that is not
    later than before. The previous instruction of the unit can take over the tokens to give, if there was no wait in
    between.
    """

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Remove `op`, and move its tokens."""
        if not isinstance(op, InstructionOp) or not _copies_to_itself(op) or _is_alone(op):
            return
        fields, unit = op.fields, op.instruction.unit
        if fields.wait and fields.signal:
            return  # Instructions that wait for this one rely on its own waits.
        if fields.wait:
            heir = next((other for other in neighbours(op, True) if other.instruction.unit == unit), None)
            # Two tokens of one unit cannot be waited for by one instruction.
            if heir is None or heir.fields.wait & fields.wait:
                return
            heir.wait = IntegerAttr(heir.fields.wait | fields.wait, i8)
            rewriter.notify_op_modified(heir)
        elif fields.signal:
            heir = next((other for other in neighbours(op, False) if other.instruction.unit == unit), None)
            if heir is None or heir.fields.signal & fields.signal:
                return
            heir.signal = IntegerAttr(heir.fields.signal | fields.signal, i8)
            rewriter.notify_op_modified(heir)
        rewriter.erase(op)


def _copies_to_itself(op: InstructionOp) -> bool:
    fields = op.fields
    return (
        op.instruction.mnemonic in COPIES
        and op.params is None  # Cores that set fields of the instruction might set them to different places.
        and fields.dtype & 0xF == fields.dtype >> 4
        and fields.addr[0] == fields.addr[1]
        and fields.desc[0] == fields.desc[1] != NO_DESC
        and fields.regs & 0xF == fields.regs >> 4 & 0xF
    )


def _is_alone(op: Operation) -> bool:
    """Whether it is the only operation of the block: the body of a loop must not be empty."""
    return op.next_op is None and op.prev_op is None


class CoveredWait(RewritePattern):
    """`ctl.wait` and `ctl.join` for copies or launches that were waited for already, none of which has begun since."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Remove `op`."""
        if not isinstance(op, InstructionOp) or (name := op.instruction.mnemonic) not in BEGINS:
            return
        for other in neighbours(op, False):
            if other.fields.imm != op.fields.imm:
                continue  # Of another tag or launch, or the end of the program.
            if other.instruction.mnemonic == name:
                rewriter.erase(op)
                return
            if other.instruction.mnemonic in BEGINS[name]:
                return


class CoreasmPeepholePass(ModulePass):
    """Removes instructions without effect from unpacked programs."""

    name = "coreasm-peephole"
    semantic_effect: ClassVar[SemanticEffect] = EXACT

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrite all programs, the controller's included."""
        PatternRewriteWalker(GreedyRewritePatternApplier([CopyToItself(), CoveredWait()])).rewrite_module(op)

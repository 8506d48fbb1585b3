"""
The interpreter of reductions and restorations: a stash is a copy, or the bytes of the narrower format; tokens are None.
"""

from __future__ import annotations

from typing import Any

from xdsl.interpreter import (
    Interpreter,
    InterpreterFunctions,
    ReturnedValues,
    TerminatorValue,
    impl,
    impl_terminator,
    register_impls,
)

from ..dataflow.evaluate import evaluate
from .packing import PackOp, UnpackOp
from .stash import AwaitOp, CompletionOp, CompressOp, DecompressOp, RecomputeOp, SwapInOp, SwapOutOp, YieldOp, stash_of


@register_impls
class StashFunctions(InterpreterFunctions):
    """The reference semantics, for xDSL's interpreter."""

    @impl(SwapOutOp)
    def run_swap_out(self, interpreter: Interpreter, op: SwapOutOp, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Copy the tensor."""
        return args[0].copy(), None

    @impl(SwapInOp)
    def run_swap_in(self, interpreter: Interpreter, op: SwapInOp, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Copy the stash, as there may be further restorations."""
        return args[0].copy(), None

    @impl(CompressOp)
    def run_compress(self, interpreter: Interpreter, op: CompressOp, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The bytes of the narrower format."""
        format = stash_of(op.result).format
        assert format is not None
        return format.pack(args[0]), None

    @impl(DecompressOp)
    def run_decompress(self, interpreter: Interpreter, op: DecompressOp, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """f32 values again."""
        type = stash_of(op.source)
        assert type.format is not None
        return type.format.unpack(args[0]), None

    @impl(PackOp)
    def run_pack(self, interpreter: Interpreter, op: PackOp, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The bytes of the narrower format."""
        return (evaluate(op, args),)

    @impl(UnpackOp)
    def run_unpack(self, interpreter: Interpreter, op: UnpackOp, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """f32 values again."""
        return (evaluate(op, args),)

    @impl(RecomputeOp)
    def run_recompute(self, interpreter: Interpreter, op: RecomputeOp, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Run the body on the operands other than tokens."""
        return (*interpreter.run_ssacfg_region(op.body, args[: len(op.inputs)], op.name), None)

    @impl_terminator(YieldOp)
    def run_yield(
        self, interpreter: Interpreter, op: YieldOp, args: tuple[Any, ...]
    ) -> tuple[TerminatorValue, tuple[Any, ...]]:
        """Return the values that the body computes."""
        return ReturnedValues(args), ()

    @impl(CompletionOp)
    def run_done(self, interpreter: Interpreter, op: CompletionOp, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return a token."""
        return (None,)

    @impl(AwaitOp)
    def run_after(self, interpreter: Interpreter, op: AwaitOp, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the value."""
        return (args[0],)

"""The interpreter of the stages of a network on several chips, which run one after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.interpreter import Interpreter, InterpreterFunctions, impl, register_impls

from ..dataflow.constants import Array
from .stage import StageOp


@register_impls
class StageFunctions(InterpreterFunctions):
    """The reference semantics. `run` returns the outputs of a stage's module for its inputs, both in their order."""

    def __init__(self, run: Callable[[ModuleOp, Sequence[Array]], list[Array]]) -> None:
        super().__init__()
        self.run = run

    @impl(StageOp)
    def run_manycore_stage(self, interpreter: Interpreter, op: StageOp, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Run the module's network once."""
        return tuple(self.run(op.module, args))

"""The registry of dialects that plug-ins add, with their reference semantics."""

from __future__ import annotations

from typing import Any

from xdsl.interpreter import Interpreter, InterpreterFunctions, impl, register_impls
from xdsl.ir import Dialect, Operation

from .dataflow.base import ComputedOp
from .dataflow.evaluate import evaluate

DIALECTS: dict[str, Dialect] = {}
FUNCTIONS: list[InterpreterFunctions] = []


def add(dialect: Dialect, functions: InterpreterFunctions | None) -> None:
    """
    Register a dialect. `functions` implement its operations for xDSL's interpreter; operations that compute their own
    result (`ComputedOp`) need none.
    """
    DIALECTS[dialect.name] = dialect
    FUNCTIONS.append(_computed(dialect)())
    if functions is not None:
        FUNCTIONS.append(functions)


def _run(
    functions: InterpreterFunctions, interpreter: Interpreter, op: Operation, args: tuple[Any, ...]
) -> tuple[Any, ...]:
    assert isinstance(op, ComputedOp)
    return (evaluate(op, args),)


def _computed(dialect: Dialect) -> type[InterpreterFunctions]:
    """The interpreter functions for those operations of a dialect that compute their own result."""
    computed = [op for op in dialect.operations if issubclass(op, ComputedOp)]
    members = {f"run_{op.name.replace('.', '_')}": impl(op)(_run) for op in computed}
    return register_impls(type("ComputedFunctions", (InterpreterFunctions,), members))

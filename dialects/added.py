"""Dialects that plug-ins add to the project's own, with their reference semantics."""

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
    Add a dialect. Operations that compute their result themselves (`ComputedOp`) need no `functions`, which implement
    others for xDSL's interpreter.
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
    """Implementations of the operations of a dialect that compute their result themselves."""
    computed = [op for op in dialect.operations if issubclass(op, ComputedOp)]
    members = {f"run_{op.name.replace('.', '_')}": impl(op)(_run) for op in computed}
    return register_impls(type("ComputedFunctions", (InterpreterFunctions,), members))

"""
The interpreter of `dataflow` programs on numpy arrays.

`DataflowFunctions` implements the operations for xDSL's interpreter by the reference semantics; `interpret_function`
runs `@main` of a module, with inputs and outputs by name, and frees each value after its last use.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, cast

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.interpreter import (
    Interpreter,
    InterpreterFunctions,
    ReturnedValues,
    TerminatorValue,
    impl,
    impl_terminator,
    register_impls,
)
from xdsl.interpreters.func import FuncFunctions
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.traits import IsolatedFromAbove

from ...support.errors import InputError, MeshloomError
from .base import DataflowOp
from .constants import Array, numpy_type
from .dialect import OPERATIONS
from .entry_function import argument_names, find_main, result_names
from .evaluate import evaluate
from .loop import Along, LoopOp, YieldOp
from .types import Tensor, tensor_of


def _run(
    functions: InterpreterFunctions, interpreter: Interpreter, op: Operation, args: tuple[Any, ...]
) -> tuple[Any, ...]:
    """The implementation of all operations of the dialect."""
    return (evaluate(cast(DataflowOp, op), args),)


def _all_operations(cls: type[InterpreterFunctions]) -> type[InterpreterFunctions]:
    """Class decorator: register `_run` for each operation, before xDSL collects the implementations."""
    for op in OPERATIONS:
        setattr(cls, "run_" + op.name.replace(".", "_"), impl(op)(_run))
    return cls


@register_impls
@_all_operations
class DataflowFunctions(InterpreterFunctions):
    """The reference semantics, for xDSL's interpreter."""

    @impl(LoopOp)
    def run_loop(self, interpreter: Interpreter, op: LoopOp, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Run the body for each step, in order."""
        count, steps, going = len(op.initial), op.step_count, False
        carried, scanned = args[:count], args[count : count + len(op.scanned)]
        if op.count is not None:
            steps = int(args[-1].reshape(-1)[0]) * op.ending.group
            if not 0 <= steps <= op.step_count:
                raise InputError(f"a loop is to run {steps} times: expected 0 to {op.step_count}")
        rows: list[list[Array]] = [[] for _ in op.stacked]
        for step in range(steps):
            positions = (along.position(step, steps) for along in op.scans)
            slices = [
                whole.take(position, along.axis)
                for whole, along, position in zip(scanned, op.scans, positions, strict=True)
            ]
            yielded = interpreter.run_ssacfg_region(op.body, (*carried, *slices), op.name)
            carried = yielded[:count]
            for row, value in zip(rows, yielded[count : len(op.outputs)], strict=True):
                row.append(value)
            going = op.conditional is not None and bool(yielded[-1].reshape(-1)[0])
            if op.conditional is not None and not going:
                break
        if going and op.must_end is not None and steps == op.step_count:
            raise InputError(f"a loop does not end within {steps} steps")
        return (*carried, *(_stacked(*each) for each in zip(rows, op.stacks, op.stacked, strict=True)))

    @impl_terminator(YieldOp)
    def run_yield(
        self, interpreter: Interpreter, op: YieldOp, args: tuple[Any, ...]
    ) -> tuple[TerminatorValue, tuple[Any, ...]]:
        """The values that the body yields."""
        return ReturnedValues(args), ()


def _stacked(row: list[Array], along: Along, result: SSAValue) -> Array:
    """The stacked result of a loop from the values of its steps; 0 for steps that did not run."""
    type = tensor_of(result)
    whole = np.zeros(tuple(type.get_shape()), numpy_type(type.element_type))
    if row:
        rows = np.moveaxis(whole, along.axis, 0)
        rows[: len(row)] = np.stack(row[::-1] if along.backwards else row)
    return whole


def check_input(name: str, array: Array, type: Attribute) -> Array:
    """The array, if it has the tensor type; else raises InputError that describes the difference."""
    tensor_type = cast(Tensor, type)
    expected = numpy_type(tensor_type.element_type)
    if tuple(array.shape) != tuple(tensor_type.get_shape()):
        raise InputError(f"input '{name}' has shape {list(array.shape)}: expected {list(tensor_type.get_shape())}")
    if array.dtype != expected:
        raise InputError(f"input '{name}' has type {array.dtype}: expected {expected} for {tensor_type}")
    return array


Watch: TypeAlias = Callable[[Operation, Sequence[Any]], None]
"""A callback that gets each operation before it is run, and the values of its operands."""


def interpret_function(
    module: ModuleOp,
    inputs: Mapping[str, Array],
    functions: Sequence[InterpreterFunctions] = (),
    watch: Watch | None = None,
    take: Callable[[str, Any, Attribute], Any] = check_input,
) -> dict[str, Array]:
    """
    Run `@main` on inputs by name and return its results by name, all in storage form.

    `functions` are implementations of operations of other dialects; `watch` is called before each operation; `take`
    converts an input (name, array, type) to the value of an argument. Raises InputError for inputs that are missing,
    unknown or of another type, and MeshloomError for errors of operations.
    """
    main = find_main(module)
    names = argument_names(main)
    if unknown := sorted(set(inputs) - set(names)):
        raise InputError(f"no input is named {', '.join(unknown)}; the inputs are {', '.join(names) or 'none'}")
    if missing := [name for name in names if name not in inputs]:
        raise InputError(f"no value given for input {', '.join(missing)}")
    block = main.body.block
    values: dict[SSAValue, Any] = {}
    for name, argument in zip(names, block.args, strict=True):
        values[argument] = take(name, inputs[name], argument.type)
    interpreter = Interpreter(module)
    for extra in (DataflowFunctions(), FuncFunctions(), *functions):
        interpreter.register_implementations(extra)
    return dict(zip(result_names(main), _run_block(interpreter, block, values, watch), strict=True))


def _run_block(interpreter: Interpreter, block: Block, values: dict[SSAValue, Any], watch: Watch | None) -> list[Any]:
    """
    Run all operations of a block, keeping each value until its last use; returns the values that the block returns.
    """
    uses = {value: sum(1 for _ in value.uses) for value in values}
    for op in block.ops:
        operands = tuple(values[value] for value in op.operands)
        if isinstance(op, func.ReturnOp):
            return list(operands)
        if watch is not None:
            watch(op, operands)
        if op.regions and not op.has_trait(IsolatedFromAbove):
            # Regions of the operation get values of this block from the interpreter.
            seen = {value for inner in op.walk() for value in inner.operands if value in values}
            interpreter.set_values((value, values[value]) for value in seen)
        results = (evaluate(op, operands),) if isinstance(op, DataflowOp) else interpreter.run_op(op, operands)
        for value in op.operands:
            uses[value] -= 1
            if uses[value] == 0:
                values.pop(value, None)
        for value, result in zip(op.results, results, strict=True):
            if value.first_use is not None:
                values[value] = result
                uses[value] = sum(1 for _ in value.uses)
    raise MeshloomError("function @main does not end with a return")

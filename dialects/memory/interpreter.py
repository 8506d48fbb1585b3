"""
The interpreter of `memory` programs: a buffer is a numpy array, which copies change in place.

New and freed buffers are filled with NaN (for integers, the largest value), so that reads of unwritten or freed memory
show in the results.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.interpreter import Interpreter, InterpreterFunctions, impl, register_impls

from ..dataflow.constants import Array, numpy_type
from ..dataflow.types import tensor_of, ui8
from .ops import AllocOp, FreeOp, buffer_of
from .transfers import CopyOp, WaitOp
from .values import GlobalOp, ViewOp, held_bytes


def spoil(array: Array) -> None:
    """Fill an array with NaN, or with the largest value of an integer type."""
    if array.dtype.kind == "f":
        array[...] = np.nan
    else:
        array[...] = True if array.dtype.kind == "b" else np.iinfo(array.dtype).max


@register_impls
class MemoryFunctions(InterpreterFunctions):
    """The reference semantics, for xDSL's interpreter."""

    @impl(AllocOp)
    def run_alloc(self, interpreter: Interpreter, op: AllocOp, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Create an array."""
        type = buffer_of(op.buffer)
        array = np.empty(type.shape, numpy_type(type.element_type))
        spoil(array)
        return (array,)

    @impl(FreeOp)
    def run_free(self, interpreter: Interpreter, op: FreeOp, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Overwrite the contents."""
        spoil(args[0])
        return ()

    @impl(CopyOp)
    def run_copy(self, interpreter: Interpreter, op: CopyOp, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Copy all elements of each source to its target, immediately."""
        count = len(op.sources)
        for source, target in zip(args[:count], args[count:], strict=True):
            target[...] = source
        return ("copied",)

    @impl(WaitOp)
    def run_wait(self, interpreter: Interpreter, op: WaitOp, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Do nothing: copies and launches have completed."""
        return ()

    @impl(GlobalOp)
    def run_hold(self, interpreter: Interpreter, op: GlobalOp, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Create an array with the elements of the tensors."""
        if buffer_of(op.buffer).element_type != ui8 or (len(args) == 1 and args[0].dtype == np.uint8):
            return (args[0].copy(),)
        held = np.zeros(buffer_of(op.buffer).nbytes, np.uint8)
        start = 0
        for value, array in zip(op.values, args, strict=True):
            data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
            held[start : start + data.size] = data
            start += held_bytes(tensor_of(value))
        return (held,)

    @impl(ViewOp)
    def run_view(self, interpreter: Interpreter, op: ViewOp, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the same bytes with another shape and element type."""
        type = buffer_of(op.result)
        data = args[0].reshape(-1).view(np.uint8)[op.start : op.start + type.nbytes]
        return (data.view(numpy_type(type.element_type)).reshape(type.shape),)

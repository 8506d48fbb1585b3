"""Semantics of instructions on rows: functions of the whole last dimension, for each index of the others."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...machine.errors import Fault
from ...machine.memory import STORAGE, Array, Bytes
from .base import Access, Decoded, Instruction, check_types, reader, same_shape, write


def rows(function: Callable[[Array], Array]) -> Callable[[Instruction], Decoded]:
    """
    D[..., m] = `function` of A[..., n], an array of the type of arithmetic. Raises Fault if the result does not have
    the shape of D.
    """

    def decode(ins: Instruction) -> Decoded:
        source, result = ins.source_type, ins.result_type
        check_types(source, result)
        target, a = ins.operand(0), ins.operand(1)
        same_shape(target.shape[:-1], type(a)(a.shape[:-1], a.strides[:-1]))
        read = reader(a, source)

        def step(sram: Bytes, dram: Bytes, a0: int, a1: int, a2: int, a3: int) -> None:
            values = np.asarray(function(read(sram, a1)))
            if values.shape != target.shape:
                raise Fault(f"'{ins.mnemonic}' gives {list(values.shape)} elements for {list(target.shape)}")
            write(sram, a0, target, result, values)

        return Decoded(
            step,
            (
                Access(0, target, STORAGE[result].itemsize, write=True),
                Access(1, a, STORAGE[source].itemsize, write=False),
            ),
        )

    return decode

"""Elementwise instructions of the vector unit: unary, casts, binary, comparisons, fma, select, iota, cumsum."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ...machine.errors import Fault
from ...machine.memory import BOOL, COMPUTE, F32, STORAGE, Array, Bytes, Geometry, coalesce, is_float, storage, store
from .base import (
    Access,
    Decoded,
    Instruction,
    Reader,
    Step,
    check_types,
    immediate,
    plain,
    reader,
    same_shape,
    signed32,
    write,
)
from .scalar import BINARY, COMPARISONS, DIRECT, FLOAT_ONLY, UNARY, Function


def _operands(ins: Instruction, sources: tuple[int, ...]) -> tuple[Geometry, list[Geometry | None]]:
    """Destination and sources with as few dimensions as possible; None for immediates."""
    target = ins.operand(0)
    given = [ins.operands[slot] for slot in sources]
    real = [target, *(g for g in given if g is not None)]
    same_shape(target.shape, *real)
    shape, strides = coalesce(target.shape, [g.strides for g in real])
    merged = [Geometry(shape, s) for s in strides]
    rest = iter(merged[1:])
    return merged[0], [None if g is None else next(rest) for g in given]


def _accesses(ins: Instruction, types: tuple[int, ...]) -> tuple[Access, ...]:
    """Accesses of an instruction whose operands 0, 1, ... have these element types, all in SRAM."""
    found: list[Access] = []
    for slot, code in enumerate(types):
        geometry = ins.operands[slot]
        if geometry is not None:
            found.append(Access(slot, geometry, STORAGE[code].itemsize, write=slot == 0))
    return tuple(found)


def _source(geometry: Geometry | None, ins: Instruction, slot: int, code: int) -> Reader:
    if geometry is not None:
        return reader(geometry, code)
    value = immediate(ins.address[slot], code)
    return lambda memory, address: value


def unary(ins: Instruction) -> Decoded:
    """D = f(A); `mov` also casts."""
    name, source, result = ins.mnemonic, ins.source_type, ins.result_type
    check_types(source, result)
    if name in FLOAT_ONLY and not is_float(source):
        raise Fault(f"'{name}' works on floats only")
    target, (a,) = _operands(ins, (1,))
    shape, strides, kind = target.shape, target.strides, STORAGE[result]
    accesses = _accesses(ins, (result, source))
    function = UNARY[name]
    step: Step
    if a is not None and name == "mov" and source == result:
        from_strides = a.strides

        def move(sram: Bytes, dram: Bytes, a0: int, a1: int, a2: int, a3: int) -> None:
            np.ndarray(shape, kind, sram, a0, strides)[...] = np.ndarray(shape, kind, sram, a1, from_strides)

        return Decoded(move, accesses)
    read = _source(a, ins, 1, source)
    if name in DIRECT and source == result and plain(source) and (is_float(source) or name in ("abs", "not")):
        direct = DIRECT[name]

        def straight(sram: Bytes, dram: Bytes, a0: int, a1: int, a2: int, a3: int) -> None:
            direct(read(sram, a1), out=np.ndarray(shape, kind, sram, a0, strides))

        step = straight
    elif name == "relu" and source == result and plain(source):
        zero = kind.type(0)

        def rectify(sram: Bytes, dram: Bytes, a0: int, a1: int, a2: int, a3: int) -> None:
            np.maximum(read(sram, a1), zero, out=np.ndarray(shape, kind, sram, a0, strides))

        step = rectify
    else:

        def general(sram: Bytes, dram: Bytes, a0: int, a1: int, a2: int, a3: int) -> None:
            write(sram, a0, target, result, function(read(sram, a1)))

        step = general
    return Decoded(step, accesses)


def binary(ins: Instruction) -> Decoded:
    """D = f(A, B); the results of comparisons are booleans."""
    name, source, result = ins.mnemonic, ins.source_type, ins.result_type
    check_types(source, result)
    if name in COMPARISONS:
        result = BOOL
    if name in ("and", "or", "xor", "shl", "shr") and is_float(source):
        raise Fault(f"'{name}' does not work on floats")
    target, (a, b) = _operands(ins, (1, 2))
    shape, strides, kind = target.shape, target.strides, STORAGE[result]
    left, right = _source(a, ins, 1, source), _source(b, ins, 2, source)
    accesses = _accesses(ins, (result, source, source))
    function = BINARY[name]
    stays = source == result and source != BOOL
    if name in DIRECT and plain(source) and (stays or name in COMPARISONS):
        direct = DIRECT[name]

        def straight(sram: Bytes, dram: Bytes, a0: int, a1: int, a2: int, a3: int) -> None:
            direct(left(sram, a1), right(sram, a2), out=np.ndarray(shape, kind, sram, a0, strides))

        return Decoded(straight, accesses)

    def general(sram: Bytes, dram: Bytes, a0: int, a1: int, a2: int, a3: int) -> None:
        write(sram, a0, target, result, function(left(sram, a1), right(sram, a2)))

    return Decoded(general, accesses)


def fma(ins: Instruction) -> Decoded:
    """D = A * B + C; product and sum are each rounded to the arithmetic type."""
    code = ins.source_type
    storage(code)
    target, (a, b, c) = _operands(ins, (1, 2, 3))
    first, second, third = (_source(g, ins, k, code) for g, k in ((a, 1), (b, 2), (c, 3)))

    def step(sram: Bytes, dram: Bytes, a0: int, a1: int, a2: int, a3: int) -> None:
        product = np.multiply(first(sram, a1), second(sram, a2))
        write(sram, a0, target, code, np.add(product, third(sram, a3)))

    return Decoded(step, _accesses(ins, (code, code, code, code)))


def select(ins: Instruction) -> Decoded:
    """D = A ? B : C."""
    code = ins.source_type
    storage(code)
    target, (a, b, c) = _operands(ins, (1, 2, 3))
    condition = _source(a, ins, 1, BOOL)
    first, second = _source(b, ins, 2, code), _source(c, ins, 3, code)

    def step(sram: Bytes, dram: Bytes, a0: int, a1: int, a2: int, a3: int) -> None:
        write(sram, a0, target, code, np.where(condition(sram, a1), first(sram, a2), second(sram, a3)))

    return Decoded(step, _accesses(ins, (code, BOOL, code, code)))


def quantize(ins: Instruction) -> Decoded:
    """D = round(A * B) + C as an integer, saturated; B and C are f32."""
    source, result = ins.source_type, ins.result_type
    check_types(source, result)
    if is_float(result) or result == BOOL:
        raise Fault("'quantize' gives integers only")
    target, (a, b, c) = _operands(ins, (1, 2, 3))
    first, second, third = _source(a, ins, 1, source), _source(b, ins, 2, F32), _source(c, ins, 3, F32)
    limits = np.iinfo(STORAGE[result])
    low, high = np.float32(limits.min), np.float32(limits.max)

    def step(sram: Bytes, dram: Bytes, a0: int, a1: int, a2: int, a3: int) -> None:
        steps = np.rint(np.multiply(first(sram, a1).astype(np.float32), second(sram, a2)))
        write(sram, a0, target, result, np.clip(np.add(steps, third(sram, a3)), low, high))

    return Decoded(step, _accesses(ins, (result, source, F32, F32)))


def elementwise(function: Function, sources: int) -> Callable[[Instruction], Decoded]:
    """D = `function` of `sources` operands, arrays of the type of arithmetic; immediates are broadcast."""

    def decode(ins: Instruction) -> Decoded:
        code = ins.source_type
        storage(code)
        slots = tuple(range(1, sources + 1))
        target, geometries = _operands(ins, slots)
        readers = [(_source(geometry, ins, slot, code), slot) for geometry, slot in zip(geometries, slots, strict=True)]

        def step(sram: Bytes, dram: Bytes, a0: int, a1: int, a2: int, a3: int) -> None:
            addresses = (a0, a1, a2, a3)
            values = function(*(read(sram, addresses[slot]) for read, slot in readers))
            write(sram, a0, target, code, np.broadcast_to(values, target.shape))

        return Decoded(step, _accesses(ins, (code,) * (sources + 1)))

    return decode


def iota(ins: Instruction) -> Decoded:
    """D[i...] = start + step * (row-major index of i)."""
    code, target = ins.result_type, ins.operand(0)
    kind = storage(code)
    start, stride = signed32(ins.address[1]), signed32(ins.address[2])
    counts = np.arange(math.prod(target.shape), dtype=np.int64).reshape(target.shape)
    values: Array = start + stride * counts
    if kind.kind != "f" and code != BOOL:
        values = values.astype(kind)

    def step(sram: Bytes, dram: Bytes, a0: int, a1: int, a2: int, a3: int) -> None:
        write(sram, a0, target, code, values)

    return Decoded(step, (Access(0, target, kind.itemsize, write=True),))


def cumsum(ins: Instruction) -> Decoded:
    """D = running sum of A along the last dimension."""
    source, result = ins.source_type, ins.result_type
    target, a = ins.operand(0), ins.operand(1)
    same_shape(target.shape, a)
    read, compute = reader(a, source), COMPUTE[result] if result < len(COMPUTE) else storage(result)

    def step(sram: Bytes, dram: Bytes, a0: int, a1: int, a2: int, a3: int) -> None:
        store(
            np.ndarray(target.shape, STORAGE[result], sram, a0, target.strides),
            result,
            np.cumsum(read(sram, a1), axis=-1, dtype=compute),
        )

    return Decoded(step, _accesses(ins, (result, source)))

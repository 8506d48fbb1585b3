"""Fixtures that run an operation on one core of an emulated chip, tile by tile: load, kernel, store."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import pytest
from meshloom.chips import load_chip
from meshloom.dialects.coreasm.isa import WORD
from meshloom.dialects.dataflow.base import TiledOp
from meshloom.dialects.dataflow.tiling import Box, OperandSlice
from meshloom.dialects.dataflow.types import DTYPE_CODES, tensor
from meshloom.emulator.executable.build import Assembly
from meshloom.emulator.functional.engine import run_functional
from meshloom.lowering.codegen.emitter import Emitter
from meshloom.lowering.codegen.kernels import DRAM_OPERANDS, Tile, kernel_of
from meshloom.lowering.codegen.stream import IMMEDIATE, UNUSED, CoreStream, DescriptorTable
from meshloom.lowering.codegen.view import View
from meshloom.lowering.linker.synchronise import synchronise_loops
from numpy.typing import NDArray
from xdsl.dialects.test import TestOp
from xdsl.ir import SSAValue

Array: TypeAlias = NDArray[Any]
CHIP = dataclasses.replace(load_chip("edge"), sram_bytes=1 << 24)
"""A chip with enough SRAM for layouts with gaps."""
TYPES = {
    np.dtype(name): code
    for code, name in enumerate(
        ["f4", "f2", "V2", "f8", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "?"],
    )
}
_ELEMENTS = {code: element for element, code in reversed(DTYPE_CODES.items())}
GAP = 3
"""Elements of each gap in layouts with gaps."""


def dtype_code(array: Array) -> int:
    return TYPES[array.dtype]


class Core:
    """The memory and the stream of instructions of one core, under construction."""

    def __init__(self) -> None:
        self.table = DescriptorTable()
        self.stream = CoreStream(self.table)
        self.emitter = Emitter(self.stream, CHIP)
        self.assembly = Assembly(CHIP, dram_bytes=1 << 21)
        self.inputs: dict[str, Array] = {}
        self.sram = 64
        self.dram = 64

    def dram_view(self, name: str, role: str, shape: Sequence[int], code: int) -> View:
        view = View.dense("dram", self.dram, code, shape)
        self.assembly.tensor(name, role, shape, self.dram, code)
        self.dram += -(-max(view.nbytes, 1) // 64) * 64
        return view

    def sram_view(self, shape: Sequence[int], code: int, spread: bool) -> View:
        """A view of free SRAM: dense, or with its dimensions in reverse order and with gaps."""
        if not spread:
            view = View.dense("sram", self.sram, code, shape)
        else:
            padded = View.dense("sram", self.sram, code, [size + GAP for size in reversed(shape)])
            view = padded.box((1,) * len(shape), tuple(reversed(shape))).permute(tuple(reversed(range(len(shape)))))
        self.sram += -(-max(view.extent[1] - self.sram, 1) // 64) * 64
        return view

    def bring(self, array: Array, spread: bool = False) -> View:
        """Load an input into SRAM."""
        name = f"x{len(self.inputs)}"
        self.inputs[name] = array
        far = self.dram_view(name, "input", array.shape, dtype_code(array))
        near = self.sram_view(array.shape, dtype_code(array), spread)
        self.emitter.load(near, far)
        return near

    def run(self, out: View) -> Array:
        """Store `out`, run everything with all checks, and return it."""
        self.emitter.store(self.dram_view("out", "output", out.shape, out.dtype), out)
        arrays = self.stream.finish()
        wait, signal = synchronise_loops(arrays)[:2]
        words = np.zeros(len(arrays), WORD)
        for field in ("op", "dtype", "imm", "addr"):
            words[field] = getattr(arrays, field)
        desc = arrays.desc.copy()
        desc[(desc == UNUSED) | (desc == IMMEDIATE)] = 0xFFFF
        words["desc"], words["wait"], words["signal"] = desc, wait, signal
        self.assembly.words[0] = [words[index] for index in range(len(words))]
        self.assembly._source_of[0] = [0] * len(words)  # pyright: ignore[reportPrivateUsage]
        sizes, strides = self.table.arrays()
        self.assembly.table = [
            (tuple(size), tuple(stride)) for size, stride in zip(sizes.tolist(), strides.tolist(), strict=True)
        ]
        return run_functional(self.assembly.build(), self.inputs, check=True).outputs["out"]


def materialise(array: Array, part: OperandSlice) -> Array:
    """The elements that a tile reads, including padding."""
    for dim, (offset, size, step) in enumerate(zip(part.box.offsets, part.box.sizes, part.steps, strict=True)):
        array = np.take(array, offset + np.arange(size) * step, axis=dim)
    if not part.is_padded:
        return array
    return np.pad(array, list(zip(part.pad_low, part.pad_high, strict=True)), constant_values=part.pad_value)


def values(*arrays: Array) -> tuple[SSAValue, ...]:
    """SSA values of the arrays' types."""
    return TestOp(result_types=[tensor(_ELEMENTS[dtype_code(array)], array.shape) for array in arrays]).results


def cut(size: int, parts: int) -> list[tuple[int, int]]:
    cuts = [part * size // parts for part in range(parts + 1)]
    return [(low, high - low) for low, high in itertools.pairwise(cuts) if high > low]


def run_op(
    op: TiledOp,
    arrays: Sequence[Array | float],
    *,
    parts: Sequence[int] = (),
    spread: bool = False,
    dram: bool = False,
    in_place: bool = False,
) -> Array:
    """The result of `op` computed on one core, tile by tile.

    `parts` is the number of tiles along each dimension of the iteration space; reductions accumulate. Numbers among
    `arrays` are immediates. `spread` permutes the dimensions of operands and result in memory, with gaps. `dram` leaves
    operands in DRAM if the kernel supports that. `in_place` writes over the first operand.
    """
    core = Core()
    space = [dim.size for dim in op.iteration_space()]
    parts = list(parts) + [1] * (len(space) - len(parts))
    result_shape = op.result_shape
    code = DTYPE_CODES[op.result_type.element_type]
    whole = core.sram_view(result_shape, code, spread)
    far = DRAM_OPERANDS.get(type(op), frozenset[int]())
    for ranges in itertools.product(*(cut(size, count) for size, count in zip(space, parts, strict=True))):
        tile = Box(tuple(low for low, _ in ranges), tuple(size for _, size in ranges))
        operands: list[View | float] = []
        for index, array in enumerate(arrays):
            if not isinstance(array, np.ndarray):
                operands.append(array)
                continue
            local = materialise(array, op.operand_slice(index, tile))
            if dram and index in far:
                name = f"x{len(core.inputs)}"
                core.inputs[name] = local
                operands.append(core.dram_view(name, "input", local.shape, dtype_code(local)))
            else:
                operands.append(core.bring(local, spread))
        box = op.result_box(tile)
        out = whole.box(box.offsets, box.sizes)
        accumulate = _continues(op, tile)
        if in_place:
            assert isinstance(operands[0], View)
            out = whole = operands[0]
        kernel_of(op)(op, Tile(tile, out, operands, accumulate, core.emitter))
    return core.run(whole)


def _continues(op: TiledOp, tile: Box) -> bool:
    """Whether an earlier tile has written the same part of the result."""
    return any(
        dim.kind == "reduction" and offset > 0 for dim, offset in zip(op.iteration_space(), tile.offsets, strict=True)
    )


@pytest.fixture(scope="session")
def run_tiles() -> Callable[..., Array]:
    return run_op


@pytest.fixture(scope="session")
def ssa() -> Callable[..., tuple[SSAValue, ...]]:
    return values


@pytest.fixture(scope="session")
def new_core() -> type[Core]:
    return Core

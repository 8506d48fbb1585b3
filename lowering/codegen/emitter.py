"""Emission of instructions on views of any rank: the only interface from kernels to the stream of a core."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from ...dialects.coreasm.encoding import TypeCode
from ...dialects.coreasm.immediates import fits_immediate, immediate_bits, wide_halves
from ...dialects.coreasm.isa import OPCODE
from ...formats.sparse.nonzero import ALL_NONZERO, Nonzero
from .block_emitter import BlockEmitter
from .instruction_plans import (
    DOT,
    IDLE,
    ORDERED_REDUCTION,
    REDUCTION,
    SCAN,
    Busy,
    Prepared,
    plan_contraction,
    plan_copy,
    plan_dot_of_bytes,
    plan_elementwise,
    plan_encoded,
    plan_fill,
    plan_gather,
    plan_reduction,
    plan_rows,
    plan_scatter,
)
from .stream import IMMEDIATE, SRAM, UNUSED, split_address
from .view import EncodedView, View

Operand: TypeAlias = View | float
"""A view, or a number: an immediate."""

_JOIN = {"sum": "add", "max": "max", "min": "min", "prod": "mul"}
"""Binary instruction that joins partial results of a reduction."""


class Emitter(BlockEmitter):
    """Appends instructions to the stream of one core.

    Views may have any rank: dimensions are dropped, merged and looped over until five-dimensional descriptors suffice.
    Operations without elements emit nothing. Methods raise MeshloomError if an operand lies outside the core's memory
    or a constant does not fit. `source` is the index of the operation that instructions are attributed to.
    """

    # --- the vector unit -----------------------------------------------------------------------------------------

    def unary(self, name: str, out: View, a: Operand) -> None:
        """D = name(A), with a cast if the types differ (`mov` only casts); A is broadcast to D."""
        self._elementwise(name, out, (a,), a.dtype if isinstance(a, View) else out.dtype)

    def binary(self, name: str, out: View, a: Operand, b: Operand) -> None:
        """D = A name B, both broadcast to D; comparisons give bool."""
        dtype = a.dtype if isinstance(a, View) else b.dtype if isinstance(b, View) else out.dtype
        self._elementwise(name, out, (a, b), dtype)

    def ternary(self, name: str, out: View, a: Operand, b: Operand, c: Operand) -> None:
        """`fma`: D = A * B + C. `select`: D = A ? B : C, A bool."""
        self._elementwise(name, out, (a, b, c), out.dtype)

    def quantize(self, out: View, a: View, scale: Operand, zero: int) -> None:
        """D = round(A * scale) + zero as an integer, saturated; A and scale are broadcast to D."""
        self._elementwise("quantize", out, (a, scale, float(zero)), a.dtype)

    def _elementwise(self, name: str, out: View, sources: Sequence[Operand], dtype: int) -> None:
        shape = out.shape
        if 0 in shape:
            return
        operands: list[View | int] = [out]
        strides: list[tuple[int, ...] | None] = [out.strides]
        for index, source in enumerate(sources):
            if isinstance(source, View):
                source = source if source.shape == shape else source.broadcast_to(shape)
                operands.append(source)
                strides.append(source.strides)
            else:
                operands.append(immediate_bits(source, _immediate_type(name, index, dtype)))
                strides.append(None)
        key = (shape, *strides)
        prepared = self._planned(key, plan_elementwise, shape, strides)
        self._issue(prepared, OPCODE[name], 0, dtype | out.dtype << 4, 0, operands)

    def reduce(self, name: str, out: View, a: View, reduced: int, accumulate: bool = False) -> None:
        """D[kept...] = sum, max, min or prod (`name`) of A[kept..., reduced...] over its `reduced` last dimensions."""
        if 0 in out.shape:
            return
        kept = len(a.shape) - reduced
        if all(size == 1 for size in a.shape[kept:]):
            a = a.permute(range(kept))
            if accumulate:
                self.binary(_JOIN[name], out, out, a)
            else:
                self.copy(out, a)
            return
        key = ("reduce", reduced, a.shape, out.strides, a.strides)
        prepared = self._planned(key, plan_reduction, REDUCTION, reduced, out, a)
        again = OPCODE[f"reduce.{name}.acc"]
        first = again if accumulate else OPCODE[f"reduce.{name}"]
        self._issue(prepared, first, again, a.dtype | out.dtype << 4, prepared.counts[1], [out, a])

    def arg_reduce(self, name: str, out: View, a: View) -> None:
        """D[kept...] = index of the first extremum (`name`: argmax, argmin) along the last dimension of A; D is i64."""
        if 0 in out.shape:
            return
        key = ("arg", a.shape, out.strides, a.strides)
        prepared = self._planned(key, plan_reduction, ORDERED_REDUCTION, 1, out, a)
        self._issue(prepared, OPCODE[f"reduce.{name}"], 0, a.dtype | out.dtype << 4, 1, [out, a])

    def cumsum(self, out: View, a: View) -> None:
        """D = running sums of A along the last dimension."""
        if 0 in out.shape:
            return
        key = ("scan", a.shape, out.strides, a.strides)
        prepared = self._planned(key, plan_reduction, SCAN, 1, out, a)
        self._issue(prepared, OPCODE["cumsum"], 0, a.dtype | out.dtype << 4, 0, [out, a])

    def rows(self, name: str, out: View, a: View) -> None:
        """D[..., m] = name(A[..., n]), an instruction on rows; the other dimensions of both are equal."""
        if 0 in out.shape:
            return
        key = ("rows", a.shape, out.shape[-1], out.strides, a.strides)
        prepared = self._planned(key, plan_rows, out, a)
        self._issue(prepared, OPCODE[name], 0, a.dtype | out.dtype << 4, 0, [out, a])

    def dot(self, out: View, a: View, b: View, reduced: int) -> None:
        """D[kept...] = sum of A * B over their `reduced` trailing dimensions; A and B have equal shapes."""
        if 0 in out.shape:
            return
        key = ("dot", reduced, a.shape, out.strides, a.strides, b.strides)
        prepared = self._planned(key, plan_reduction, DOT, reduced, out, a, b)
        self._dot(prepared, out, a, b, accumulate=False)

    def _dot(self, prepared: Prepared, out: View, a: View, b: View, accumulate: bool) -> None:
        again = OPCODE["dot.acc"]
        first = again if accumulate else OPCODE["dot"]
        self._issue(prepared, first, again, a.dtype | out.dtype << 4, prepared.counts[1], [out, a, b])

    def dot_of_bytes(
        self, name: str, out: View, a: View, b: View, groups: tuple[int, int, int, int], accumulate: bool = False
    ) -> None:
        """
        As `matmul` on the vector unit, where one of A and B has bytes, of which the instruction `name` reads the
        integer (byte), or that in the low or high half of the bits (low4, high4).
        """
        if 0 in out.shape:
            return
        key = ("dot of bytes", groups, out.shape, out.strides, a.shape, a.strides, b.shape, b.strides)
        prepared = self._planned(key, plan_dot_of_bytes, self.chip, out, a, b, groups)
        again = OPCODE[f"dot.{name}.acc"]
        first = again if accumulate else OPCODE[f"dot.{name}"]
        if prepared.swapped:
            a, b = b, a
        self._issue(prepared, first, again, a.dtype | b.dtype << 4, prepared.counts[1], [out, a, b])

    def iota(self, out: View, start: int, step: int) -> None:
        """D[i] = start + step * i in row-major order of D, which has at most five dimensions of size above 1."""
        if 0 in out.shape:
            return
        out = out.permute([dim for dim, size in enumerate(out.shape) if size != 1])
        descriptor = self._table.intern(out.shape, out.strides)
        low, high = out.extent
        self._check(low, high)
        addr, desc = (out.address, start, step), (descriptor, IMMEDIATE, IMMEDIATE)
        self._emit("iota", out.dtype * 17, addr, desc, ((SRAM, low, high, True),))

    # --- the matrix unit -----------------------------------------------------------------------------------------

    def matmul(
        self,
        out: View,
        a: View,
        b: View,
        groups: tuple[int, int, int, int],
        accumulate: bool = False,
        nonzero: Nonzero = ALL_NONZERO,
        busy: Busy = IDLE,
    ) -> None:
        """
        D[b, m, n] = (or, accumulating, +=) sum over k of A[b, m, k] * B[b, k, n]; `groups`: dimensions of batch, m, k
        and n.

        Runs on the unit and with the roles of operands that are cheapest by the chip's costs; element types that the
        matrix unit does not support run on the vector unit. An operand that does not depend on a batch dimension has
        stride 0 there. `nonzero` is the expected share of elements of A that are not zero; the others may be skipped.
        `busy`: other work of the units at the same time.
        """
        if 0 in out.shape:
            return
        if 0 in a.shape:
            if not accumulate:
                self.fill(out, 0)
            return
        types = (a.dtype, b.dtype, out.dtype)
        key = ("mm", groups, types, nonzero, busy, out.shape, out.strides, a.shape, a.strides, b.strides)
        prepared = self._planned(key, plan_contraction, self.chip, out, a, b, groups, nonzero, busy)
        if prepared.vector:
            self._dot(prepared, out, a, b, accumulate)
            return
        nb, nm, nk, nn = prepared.counts
        name = "matmul.z" if prepared.skipping else "matmul"
        again = OPCODE[f"{name}.acc"]
        first = again if accumulate else OPCODE[name]
        operands: list[View | int] = [out, b, a] if prepared.swapped else [out, a, b]
        if prepared.skipping:
            operands.append(prepared.skipping)
        imm = nb | nm << 4 | nk << 8 | nn << 12
        self._issue(prepared, first, again, a.dtype | out.dtype << 4, imm, operands)

    def encoded_matmul(self, out: View, a: View, weights: EncodedView, m: int, accumulate: bool = False) -> None:
        """
        D[m..., n] = (or, accumulating, +=) sum over k of A[m..., k...] * W, where `m` dimensions are kept and W has one
        fiber over k for each n.
        """
        if 0 in out.shape:
            return
        key = ("encoded", m, out.dtype, out.shape, out.strides, a.shape, a.strides)
        prepared = self._planned(key, plan_encoded, out, a, m)
        nm, nk, nn = prepared.counts
        block = self._table.intern_block(*weights.block.descriptor)
        name = f"matmul.{'zw' if weights.skip_zeros else 'w'}{'.acc' if accumulate else ''}"
        dtype, imm = a.dtype | out.dtype << 4, nm << 4 | nk << 8 | nn << 12
        low, high = weights.view.extent
        self._check(low, high)
        for step in prepared.steps:
            effects, (d, s) = self._ranges(prepared, step.offsets, (out, a))
            addr, desc = (d, s, low, weights.expected_cycles), (*prepared.descs, block)
            self._emit(name, dtype, addr, desc, (*effects, (SRAM, low, high, False)), imm)

    # --- the data access unit ------------------------------------------------------------------------------------

    def copy(self, out: View, a: View) -> None:
        """
        D = A, of equal types and broadcast to D; nothing is emitted if both are the same memory. The cheaper unit is
        used: the data access unit, or the vector unit if the two views have no common contiguous runs.
        """
        if a.shape != out.shape:
            a = a.broadcast_to(out.shape)
        if 0 in out.shape or (a.address == out.address and a.strides == out.strides and a.space == out.space):
            return
        if a.dtype != out.dtype:
            self.unary("mov", out, a)
            return
        key = ("copy", out.dtype, out.shape, out.strides, a.strides)
        prepared = self._planned(key, plan_copy, self.chip, out.shape, out.dtype, out.strides, a.strides)
        op = OPCODE["mov" if prepared.vector else "copy"]
        self._issue(prepared, op, 0, out.dtype * 17, 0, [out, a])

    def fill(self, out: View, value: float) -> None:
        """D = a constant of D's type."""
        if 0 in out.shape:
            return
        if not fits_immediate(value, out.dtype):
            for offset, half in zip((0, 4), wide_halves(value, out.dtype), strict=True):
                self.fill(View(out.space, out.address + offset, TypeCode.I32, out.shape, out.strides), half)
            return
        key = ("fill", out.dtype, out.shape, out.strides)
        prepared = self._planned(key, plan_fill, self.chip, out.shape, out.dtype, out.strides)
        op = OPCODE["mov" if prepared.vector else "fill"]
        self._issue(prepared, op, 0, out.dtype * 17, 0, [out, immediate_bits(value, out.dtype)])

    def gather(self, out: View, data: View, indices: View) -> None:
        """D[i..., inner...] = S[I[i...], inner...]: rows of `data` (in SRAM, or in DRAM: then the load unit does it) by
        i32 or i64 indices, negative ones counted from the end."""
        if 0 in out.shape:
            return
        key = ("gather", out.shape, out.strides, data.shape, data.strides, indices.strides)
        prepared = self._planned(key, plan_gather, out, data, indices)
        dtype, imm = data.dtype | indices.dtype << 4, prepared.counts[0]
        if data.space == "sram":
            self._issue(prepared, OPCODE["gather"], 0, dtype, imm, [out, data, indices])
            return
        to, of, by = prepared.descs
        for step in prepared.steps:
            effects, (d, s, i) = self._ranges(prepared, step.offsets, (out, data, indices))
            low, high = split_address(s)
            self._emit("load.gather", dtype, (d, low, high, i), (to, of, UNUSED, by), effects, imm)

    def scatter(self, name: str, out: View, updates: View, indices: View) -> None:
        """
        D[I[n], inner...] = (`set`), += (`add`) or max= (`max`) S[n, inner...] for n ascending; negative indices (i32
        or i64) count from the end.
        """
        if 0 in updates.shape or 0 in out.shape:
            return
        key = ("scatter", out.shape, out.strides, updates.strides, indices.shape, indices.strides)
        prepared = self._planned(key, plan_scatter, out, updates, indices)
        op = OPCODE["scatter" if name == "set" else f"scatter.{name}"]
        self._issue(prepared, op, 0, out.dtype | indices.dtype << 4, 1, [out, updates, indices])


def _immediate_type(name: str, index: int, dtype: int) -> int:
    """Type code of an immediate as source `index` of an elementwise instruction."""
    if name == "quantize" and index > 0:
        return TypeCode.F32
    return TypeCode.BOOL if name == "select" and index == 0 else dtype

"""Emission of instructions on encoded blocks: those of the mapping unit, and products of encoded activations."""

from __future__ import annotations

from dataclasses import dataclass

from ...dialects.coreasm.encoding import TypeCode
from ...dialects.coreasm.immediates import immediate_bits
from ...formats.sparse.block import Block
from .stream import IMMEDIATE, SRAM, UNUSED, Effect
from .transfers import Transfers
from .view import View


@dataclass(frozen=True, slots=True)
class BlockView:
    """A block in memory that is encoded at run time."""

    view: View
    """Its bytes."""
    block: Block
    """Format of the block."""


class BlockEmitter(Transfers):
    """
    Emits instructions that read and write blocks. Dense matrices are views [fibers, length]; `cycles` is the expected
    number of cycles of an instruction, for timing without values.
    """

    def encode(self, out: BlockView, a: View, threshold: float, cycles: int) -> None:
        """D = index and values of the elements of A with |A| > threshold."""
        (to, written), (dense, read) = self._block(out, True), self._matrix(a, False)
        addr = (out.view.address, a.address, immediate_bits(threshold, a.dtype), cycles)
        self._emit("encode", a.dtype * 17, addr, (to, dense, IMMEDIATE, UNUSED), (written, read))

    def decode(self, out: View, a: BlockView, cycles: int) -> None:
        """D = the stored elements of A, 0 elsewhere."""
        (dense, written), (of, read) = self._matrix(out, True), self._block(a, False)
        addr = (out.address, a.view.address, 0, cycles)
        self._emit("decode", out.dtype * 17, addr, (dense, of, UNUSED, UNUSED), (written, read))

    def connect(self, out: BlockView, a: BlockView, dtype: int, cycles: int) -> None:
        """D = the connection data of A, whose elements have type `dtype`."""
        (to, written), (of, read) = self._block(out, True), self._block(a, False)
        addr = (out.view.address, a.view.address, 0, cycles)
        self._emit("connect", dtype | TypeCode.BOOL << 4, addr, (to, of, UNUSED, UNUSED), (written, read))

    def combine(self, out: BlockView, a: BlockView, b: BlockView, cycles: int) -> None:
        """D = the pairs that are in the connection data of both A and B."""
        (to, written), *given = self._block(out, True), self._block(a, False), self._block(b, False)
        addr = (out.view.address, a.view.address, b.view.address, cycles)
        desc = (to, *[descriptor for descriptor, _ in given], UNUSED)
        self._emit("combine", TypeCode.BOOL * 17, addr, desc, (written, *[effect for _, effect in given]))

    def compact(self, out: BlockView, a: View, connections: BlockView, cycles: int) -> None:
        """D = the elements of A that are connected."""
        (to, written), (dense, read) = self._block(out, True), self._matrix(a, False)
        by, also = self._block(connections, False)
        addr = (out.view.address, a.address, connections.view.address, cycles)
        self._emit("compact", a.dtype * 17, addr, (to, dense, by, UNUSED), (written, read, also))

    def encoded_rows_matmul(self, out: View, a: BlockView, b: View | BlockView, dtype: int, cycles: int) -> None:
        """D[m, n] = sum over k of A[m, k] * B, a matrix [k, n] or a block with one fiber for each n."""
        (to, written), (of, read) = self._matrix(out, True), self._block(a, False)
        if isinstance(b, BlockView):
            (by, also), address, imm = self._block(b, False), b.view.address, 1 << 4 | 1 << 12
        else:
            (by, also), address, imm = self._matrix(b, False), b.address, 1 << 4 | 1 << 8 | 1 << 12
        name = "matmul.xw" if isinstance(b, BlockView) else "matmul.x"
        addr = (out.address, a.view.address, address, cycles)
        self._emit(name, dtype | out.dtype << 4, addr, (to, of, by, UNUSED), (written, read, also), imm)

    def _block(self, given: BlockView, writes: bool) -> tuple[int, Effect]:
        low, high = given.view.extent
        self._check(low, high)
        return self._table.intern_block(*given.block.descriptor), (SRAM, low, high, writes)

    def _matrix(self, view: View, writes: bool) -> tuple[int, Effect]:
        low, high = view.extent
        self._check(low, high)
        return self._table.intern(view.shape, view.strides), (SRAM, low, high, writes)

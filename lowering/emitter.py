"""Emitting instructions on views of any rank: the one way from instruction selection to a core's stream."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from ..chips.chip import Chip
from ..dialects.coreasm.isa import OPCODE
from ..support.errors import MeshloomError
from .immediates import fits_immediate, immediate_bits, wide_halves
from .plans import (
    Prepared,
    cache_of,
    plan_contraction,
    plan_copy,
    plan_dot,
    plan_elementwise,
    plan_gather,
    plan_reduction,
)
from .stream import DRAM, IMMEDIATE, NO_SOURCE, SRAM, UNUSED, CoreStream, Effect, core_set_operand, split_address
from .view import ITEM_BYTES, View

Operand: TypeAlias = View | float
"""A view, or a number: an immediate."""

_I32 = 8
_JOIN = {"sum": "add", "max": "max", "min": "min", "prod": "mul"}
"""Binary instruction that joins partial results of a reduction."""


class Emitter:
    """Appends instructions to the stream of one core.

    Views may have any rank: dimensions are dropped, merged and looped over as five-dimensional descriptors need it.
    Operations on no elements emit nothing. Methods raise MeshloomError where an operand lies outside the core's memory
    or a constant does not fit. `source` is the index of the operation that instructions are attributed to.
    """

    def __init__(self, stream: CoreStream, chip: Chip) -> None:
        self.stream = stream
        self.chip = chip
        self.source = NO_SOURCE
        self._table = stream.descriptors
        self._plans = cache_of(self._table, chip)

    # --- the vector unit -----------------------------------------------------------------------------------------

    def unary(self, name: str, out: View, a: Operand) -> None:
        """D = name(A), casting where the types differ (`mov` is the plain cast); A is broadcast to D."""
        self._elementwise(name, out, (a,), a.dtype if isinstance(a, View) else out.dtype)

    def binary(self, name: str, out: View, a: Operand, b: Operand) -> None:
        """D = A name B, both broadcast to D; comparisons give bool."""
        dtype = a.dtype if isinstance(a, View) else b.dtype if isinstance(b, View) else out.dtype
        self._elementwise(name, out, (a, b), dtype)

    def ternary(self, name: str, out: View, a: Operand, b: Operand, c: Operand) -> None:
        """`fma`: D = A * B + C. `select`: D = A ? B : C, A bool."""
        self._elementwise(name, out, (a, b, c), out.dtype)

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
                operands.append(immediate_bits(source, 12 if name == "select" and index == 0 else dtype))
                strides.append(None)
        key = (shape, *strides)
        prepared = self._plans.get(key)
        if prepared is None:
            prepared = self._plans[key] = plan_elementwise(self._table, shape, strides)
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
        prepared = self._plans.get(key)
        if prepared is None:
            prepared = self._plans[key] = plan_reduction(self._table, out, a, reduced)
        again = OPCODE[f"reduce.{name}.acc"]
        first = again if accumulate else OPCODE[f"reduce.{name}"]
        self._issue(prepared, first, again, a.dtype | out.dtype << 4, prepared.counts[1], [out, a])

    def arg_reduce(self, name: str, out: View, a: View) -> None:
        """D[kept...] = index of the first extremum (`name`: argmax, argmin) along the last dimension of A; D is i64."""
        if 0 in out.shape:
            return
        key = ("arg", a.shape, out.strides, a.strides)
        prepared = self._plans.get(key)
        if prepared is None:
            prepared = self._plans[key] = plan_reduction(self._table, out, a, 1, ordered=True)
        self._issue(prepared, OPCODE[f"reduce.{name}"], 0, a.dtype | out.dtype << 4, 1, [out, a])

    def cumsum(self, out: View, a: View) -> None:
        """D = running sums of A along the last dimension."""
        if 0 in out.shape:
            return
        key = ("scan", a.shape, out.strides, a.strides)
        prepared = self._plans.get(key)
        if prepared is None:
            prepared = self._plans[key] = plan_reduction(self._table, out, a, 1, scan=True)
        self._issue(prepared, OPCODE["cumsum"], 0, a.dtype | out.dtype << 4, 0, [out, a])

    def dot(self, out: View, a: View, b: View, reduced: int, accumulate: bool = False) -> None:
        """D[kept...] = sum of A * B over their `reduced` trailing dimensions; A and B have equal shapes."""
        if 0 in out.shape:
            return
        key = ("dot", reduced, a.shape, out.strides, a.strides, b.strides)
        prepared = self._plans.get(key)
        if prepared is None:
            prepared = self._plans[key] = plan_dot(self._table, out, a, b, reduced)
        self._dot(prepared, out, a, b, accumulate)

    def _dot(self, prepared: Prepared, out: View, a: View, b: View, accumulate: bool) -> None:
        again = OPCODE["dot.acc"]
        first = again if accumulate else OPCODE["dot"]
        self._issue(prepared, first, again, a.dtype | out.dtype << 4, prepared.counts[1], [out, a, b])

    def iota(self, out: View, start: int, step: int) -> None:
        """D[i] = start + step * i in row-major order of D, which has at most five dimensions of size above 1."""
        if 0 in out.shape:
            return
        out = out.permute([dim for dim, size in enumerate(out.shape) if size != 1])
        descriptor = self._table.intern(out.shape, out.strides)
        low, high = out.extent
        self._check(low, high)
        self.stream.emit(
            OPCODE["iota"],
            dtype=out.dtype << 4 | out.dtype,
            addr=(out.address, start, step),
            desc=(descriptor, IMMEDIATE, IMMEDIATE),
            effects=((SRAM, low, high, True),),
            source=self.source,
        )

    # --- the matrix unit -----------------------------------------------------------------------------------------

    def matmul(self, out: View, a: View, b: View, batch: int, m: int, k: int, n: int, accumulate: bool = False) -> None:
        """D[b, m, n] = (or, accumulating, +=) sum over k of A[b, m, k] * B[b, k, n], with so many dimensions per group.

        Runs on the unit and with the roles that the chip's costs favour; element types that the matrix unit does not
        take run on the vector unit. An operand that does not depend on a batch dimension has stride 0 there.
        """
        if 0 in out.shape:
            return
        if 0 in a.shape:
            if not accumulate:
                self.fill(out, 0)
            return
        key = ("mm", batch, m, k, a.dtype, b.dtype, out.dtype, out.shape, out.strides, a.shape, a.strides, b.strides)
        prepared = self._plans.get(key)
        if prepared is None:
            prepared = plan_contraction(self._table, self.chip, out, a, b, (batch, m, k, n))
            self._plans[key] = prepared
        if prepared.vector:
            self._dot(prepared, out, a, b, accumulate)
            return
        nb, nm, nk, nn = prepared.counts
        again = OPCODE["matmul.acc"]
        first = again if accumulate else OPCODE["matmul"]
        operands: list[View | int] = [out, b, a] if prepared.swapped else [out, a, b]
        imm = nb | nm << 4 | nk << 8 | nn << 12
        self._issue(prepared, first, again, a.dtype | out.dtype << 4, imm, operands)

    # --- the data access unit ------------------------------------------------------------------------------------

    def copy(self, out: View, a: View) -> None:
        """D = A, of equal types and broadcast to D; nothing where both are the same memory. Chosen by cost: the data
        access unit, or the vector unit where the walks have no common contiguous runs."""
        if a.shape != out.shape:
            a = a.broadcast_to(out.shape)
        if 0 in out.shape or (a.address == out.address and a.strides == out.strides and a.space == out.space):
            return
        if a.dtype != out.dtype:
            self.unary("mov", out, a)
            return
        key = ("copy", out.dtype, out.shape, out.strides, a.strides)
        prepared = self._plans.get(key)
        if prepared is None:
            prepared = plan_copy(self._table, self.chip, out.shape, out.dtype, out.strides, a.strides)
            self._plans[key] = prepared
        op = OPCODE["mov" if prepared.vector else "copy"]
        self._issue(prepared, op, 0, out.dtype * 17, 0, [out, a])

    def fill(self, out: View, value: float) -> None:
        """D = a constant of D's type."""
        if 0 in out.shape:
            return
        if not fits_immediate(value, out.dtype):
            for offset, half in zip((0, 4), wide_halves(value, out.dtype), strict=True):
                self.fill(View(out.space, out.address + offset, _I32, out.shape, out.strides), half)
            return
        key = ("fill", out.dtype, out.shape, out.strides)
        prepared = self._plans.get(key)
        if prepared is None:
            prepared = plan_copy(self._table, self.chip, out.shape, out.dtype, out.strides)
            one = plan_elementwise(self._table, out.shape, (out.strides, None))
            prepared = self._plans[key] = one._replace(vector=prepared.vector)
        op = OPCODE["mov" if prepared.vector else "fill"]
        self._issue(prepared, op, 0, out.dtype * 17, 0, [out, immediate_bits(value, out.dtype)])

    def gather(self, out: View, data: View, indices: View) -> None:
        """D[i..., inner...] = S[I[i...], inner...]: rows of `data` (in SRAM, or in DRAM: then the load unit does it) by
        i32 or i64 indices, negative ones counted from the end."""
        if 0 in out.shape:
            return
        key = ("gather", out.shape, out.strides, data.shape, data.strides, indices.strides)
        prepared = self._plans.get(key)
        if prepared is None:
            prepared = self._plans[key] = plan_gather(self._table, out, data, indices)
        dtype, imm = data.dtype | indices.dtype << 4, prepared.counts[0]
        if data.space == "sram":
            self._issue(prepared, OPCODE["gather"], 0, dtype, imm, [out, data, indices])
            return
        to, of, by = prepared.descs
        for step in prepared.steps:
            effects, (d, s, i) = self._ranges(prepared, step.offsets, (out, data, indices))
            low, high = split_address(s)
            self.stream.emit(
                OPCODE["load.gather"],
                dtype=dtype,
                imm=imm,
                addr=(d, low, high, i),
                desc=(to, of, UNUSED, by),
                effects=effects,
                source=self.source,
            )

    # --- transfers -----------------------------------------------------------------------------------------------

    def load(self, out: View, dram: View) -> None:
        """SRAM `out` = DRAM `dram`, broadcast to it."""
        prepared = self._transfer(out, dram)
        if prepared is None:
            return
        dram = dram.broadcast_to(out.shape)
        for step in prepared.steps:
            effects, (to, of) = self._ranges(prepared, step.offsets, (out, dram))
            addr = (to, *split_address(of))
            self._emit("load", out.dtype * 17, addr, prepared.descs, effects)

    def store(self, dram: View, a: View) -> None:
        """DRAM `dram` = SRAM `a`, broadcast to it."""
        prepared = self._transfer(dram, a)
        if prepared is None:
            return
        a = a.broadcast_to(dram.shape)
        for step in prepared.steps:
            effects, (to, of) = self._ranges(prepared, step.offsets, (dram, a))
            low, high = split_address(to)
            self._emit("store", a.dtype * 17, (low, of, 0, high), prepared.descs, effects)

    def put(self, remote_out: View, a: View, core_set: int, semaphore: int) -> None:
        """Write SRAM `a` to `remote_out` in the SRAM of each core of the set, then raise their semaphore (once, after
        the last part)."""
        prepared = self._transfer(remote_out, a)
        if prepared is None:
            self.signal(core_set, semaphore)
            return
        if len(prepared.steps) > 1:
            raise MeshloomError(f"a remote write of shape {a.shape} needs more than one packet stream: make it denser")
        a = a.broadcast_to(remote_out.shape)
        effects, addr = self._ranges(prepared, next(iter(prepared.steps)).offsets, (remote_out, a))
        desc = (*prepared.descs, UNUSED, core_set_operand(core_set))
        self._emit("put", a.dtype * 17, addr, desc, effects[1:], semaphore)

    def _transfer(self, out: View, a: View) -> Prepared | None:
        if out.dtype != a.dtype:
            raise MeshloomError("a transfer cannot convert element types: cast before it")
        if 0 in out.shape:
            return None
        strides = a.broadcast_to(out.shape).strides
        key = (out.shape, out.strides, strides)
        prepared = self._plans.get(key)
        if prepared is None:
            prepared = self._plans[key] = plan_elementwise(self._table, out.shape, (out.strides, strides))
        return prepared

    # --- synchronisation between cores ---------------------------------------------------------------------------

    def signal(self, core_set: int, semaphore: int, effects: Sequence[Effect] = ()) -> None:
        """Raise a semaphore of each core of the set, from the send unit; `effects`: what must be complete before."""
        self._emit("signal", 0, (), (UNUSED, UNUSED, UNUSED, core_set_operand(core_set)), effects, semaphore)

    def send_wait(self, semaphore: int, n: int, effects: Sequence[Effect] = ()) -> None:
        """Hold the send unit until the semaphore reaches n, and take n from it."""
        self._emit("send.wait", 0, (n,), (), effects, semaphore)

    def ready(self, core_set: int, semaphore: int, effects: Sequence[Effect]) -> None:
        """Tell the cores of the set that a buffer here may be written; `effects`: the write of that buffer."""
        desc = (UNUSED, UNUSED, UNUSED, core_set_operand(core_set))
        self._emit("ready", 0, (), desc, effects, semaphore)

    def wait(self, semaphore: int, n: int, effects: Sequence[Effect]) -> None:
        """Hold the receive unit until the semaphore reaches n, and take n; `effects`: what others wrote here."""
        self._emit("wait", 0, (n,), (), effects, semaphore)

    # --- common --------------------------------------------------------------------------------------------------

    def _emit(
        self, name: str, dtype: int, addr: Sequence[int], desc: Sequence[int], effects: Sequence[Effect], imm: int = 0
    ) -> None:
        self.stream.emit(OPCODE[name], dtype=dtype, imm=imm, addr=addr, desc=desc, effects=effects, source=self.source)

    def _issue(
        self, prepared: Prepared, op: int, again: int, dtype: int, imm: int, operands: Sequence[View | int]
    ) -> None:
        """One instruction per step; all views in SRAM. `again` is the opcode of accumulating steps."""
        descs, spans = prepared.descs, prepared.spans
        limit = self.chip.sram_bytes
        for offsets, accumulate in prepared.steps:
            addr: list[int] = []
            effects: list[Effect] = []
            for index, operand in enumerate(operands):
                if isinstance(operand, int):
                    addr.append(operand)
                    continue
                if operand.space != "sram":
                    raise MeshloomError("only loads, stores and gathers take operands in DRAM: load this one first")
                start = operand.address + offsets[index]
                low, high = spans[index]
                low, high = start + low, start + high + ITEM_BYTES[operand.dtype]
                if low < 0 or high > limit:
                    self._check(low, high)
                addr.append(start)
                effects.append((SRAM, low, high, index == 0))
            self.stream.emit(
                again if accumulate else op,
                dtype=dtype,
                imm=imm,
                addr=addr,
                desc=descs,
                effects=effects,
                source=self.source,
            )

    def _ranges(
        self, prepared: Prepared, offsets: Sequence[int], views: Sequence[View]
    ) -> tuple[list[Effect], list[int]]:
        """Effects and addresses of operands of which some lie in DRAM; the first one is written."""
        effects: list[Effect] = []
        addr: list[int] = []
        for index, view in enumerate(views):
            start = view.address + offsets[index]
            low, high = prepared.spans[index]
            low, high = start + low, start + high + view.item_bytes
            if view.space == "sram":
                self._check(low, high)
            effects.append((SRAM if view.space == "sram" else DRAM, low, high, index == 0))
            addr.append(start)
        return effects, addr

    def _check(self, low: int, high: int) -> None:
        if low < 0 or high > self.chip.sram_bytes:
            raise MeshloomError(f"bytes {low} to {high} lie outside a core's {self.chip.sram_bytes} bytes of SRAM")

"""Issue of instructions from a plan and the addresses of its operands; shared by all emitters."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import ParamSpec

from ...chips.chip import Chip
from ...dialects.coreasm.encoding import NO_SOURCE
from ...dialects.coreasm.isa import OPCODE
from ...support.errors import MeshloomError
from .instruction_plans import Prepared, cache_of, plans_for
from .stream import DRAM, SRAM, CoreStream, Effect
from .view import ITEM_BYTES, View

KEPT_PLANS = 1 << 15
"""Largest number of plans without descriptors that are cached for a chip."""

_Given = ParamSpec("_Given")


class Issuer:
    """Appends instructions to the stream of one core."""

    def __init__(self, stream: CoreStream, chip: Chip) -> None:
        self.stream = stream
        self.chip = chip
        self.source = NO_SOURCE
        self._table = stream.descriptors
        self._plans, self._known = cache_of(self._table, chip), plans_for(chip)

    def _planned(
        self,
        key: Hashable,
        plan: Callable[_Given, Prepared],
        *given: _Given.args,
        **options: _Given.kwargs,
    ) -> Prepared:
        """The cached result of `plan` for the operands that `key` identifies."""
        prepared = self._plans.get(key)
        if prepared is None:
            known = self._known.get(key)
            if known is None:
                if len(self._known) >= KEPT_PLANS:
                    self._known.clear()
                known = self._known[key] = plan(*given, **options)
            prepared = self._plans[key] = known.described(self._table)
        return prepared

    def _emit(
        self, name: str, dtype: int, addr: Sequence[int], desc: Sequence[int], effects: Sequence[Effect], imm: int = 0
    ) -> None:
        self.stream.emit(OPCODE[name], dtype=dtype, imm=imm, addr=addr, desc=desc, effects=effects, source=self.source)

    def _issue(
        self, prepared: Prepared, op: int, again: int, dtype: int, imm: int, operands: Sequence[View | int]
    ) -> None:
        """Emit one instruction per step; all views are in SRAM. `again` is the opcode of accumulating steps."""
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
        """Effects and addresses of operands, some of them in DRAM; the first operand is written."""
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

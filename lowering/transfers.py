"""Transfers of one core to and from DRAM and other cores, and the synchronisation with these."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..analysis.sparse.nonzero import ALL_NONZERO, Nonzero
from ..chips import Chip
from ..support.errors import MeshloomError
from .issue import Issuer
from .plans import Prepared, plan_elementwise
from .stream import UNUSED, Effect, core_set_operand, split_address
from .view import View

WORTHWHILE = 0.9
"""Zeros are left out of a transfer that should then take less than this share of the time."""


class Transfers(Issuer):
    """Instructions of the load, store, send and receive units."""

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

    def put(self, remote_out: View, a: View, core_set: int, semaphore: int, nonzero: Nonzero = ALL_NONZERO) -> None:
        """
        Write SRAM `a` to `remote_out` in the SRAM of each core of the set, then raise their semaphore (once, after the
        last part). `nonzero` says how much of it should not be zero: the rest need not travel.
        """
        prepared = self._transfer(remote_out, a)
        if prepared is None:
            self.signal(core_set, semaphore)
            return
        if len(prepared.steps) > 1:
            raise MeshloomError(f"a remote write of shape {a.shape} needs more than one packet stream: make it denser")
        a = a.broadcast_to(remote_out.shape)
        effects, addr = self._ranges(prepared, next(iter(prepared.steps)).offsets, (remote_out, a))
        desc = (*prepared.descs, UNUSED, core_set_operand(core_set))
        sent = bytes_without_zeros(self.chip, a.count, a.item_bytes, nonzero)
        if sent is None:
            self._emit("put", a.dtype * 17, addr, desc, effects[1:], semaphore)
        else:
            self._emit("put.z", a.dtype * 17, (*addr, 0, sent), desc, effects[1:], semaphore)

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


def bytes_without_zeros(chip: Chip, elements: int, item_bytes: int, nonzero: Nonzero) -> int | None:
    """
    Bytes that should travel of so many elements without their zeros; None where it is faster to send them all.

    The mapping unit looks at all elements before the first byte leaves.
    """
    if not nonzero.has_zeros:
        return None
    dense = elements * item_bytes
    sent = -(-elements // 8) + math.ceil(elements * nonzero.density * item_bytes)
    cycles = -(-elements // chip.map_encode_elements) + sent / chip.link_bytes_per_cycle
    return sent if cycles < WORTHWHILE * dense / chip.link_bytes_per_cycle else None

"""Emission of transfers of one core to and from DRAM and other cores, and of synchronisation with other cores."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ...chips import Chip
from ...dialects.coreasm.isa import OPCODE
from ...formats.sparse.nonzero import Nonzero
from ...support.errors import MeshloomError
from .instruction_plans import Prepared, plan_elementwise
from .issue import Issuer
from .messages import Form
from .stream import CORE_SET_FLAG, FIELDS, NUMBER, UNUSED, Effect, core_set_operand, split_address
from .view import View

ACCEPT_RATIO = 0.9
"""A transfer skips zeros if its expected time is then less than this share of the time with zeros."""


class Transfers(Issuer):
    """Instructions of the load, store, send and receive units."""

    def load(self, out: View, dram: View) -> None:
        """SRAM `out` = DRAM `dram`, broadcast to it."""
        for descs, effects, to, of in self._moves(out, dram):
            self._emit("load", out.dtype * 17, (to, *split_address(of)), descs, effects)

    def store(self, dram: View, a: View) -> None:
        """DRAM `dram` = SRAM `a`, broadcast to it."""
        for descs, effects, to, of in self._moves(dram, a):
            low, high = split_address(to)
            self._emit("store", a.dtype * 17, (low, of, 0, high), descs, effects)

    def _moves(self, out: View, a: View) -> Iterator[tuple[Sequence[int], list[Effect], int, int]]:
        """Descriptors, effects and addresses of the instructions of a transfer."""
        if (prepared := self._transfer(out, a)) is not None:
            views = out, a.broadcast_to(out.shape)
            for step in prepared.steps:
                effects, (to, of) = self._ranges(prepared, step.offsets, views)
                yield prepared.descs, effects, to, of

    def puts(
        self,
        form: Form,
        targets: NDArray[np.int64],
        sources: NDArray[np.int64],
        core_sets: NDArray[np.int64],
        semaphore: int,
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """
        Instructions and their effects (as `CoreStream.extend` takes them) of messages of one form, the same for any
        core: each writes SRAM from its source on to its target in the SRAM of each core of its set, then raises their
        semaphore.
        """
        prepared = self._transfer(form.target, form.source)
        if prepared is None or len(prepared.steps) != 1:
            shape = form.target.shape
            raise MeshloomError(f"a remote write of shape {shape} needs one packet stream: make it denser")
        sent = bytes_without_zeros(self.chip, form.target.volume, form.target.item_bytes, form.nonzero)
        fields = np.empty((len(targets), FIELDS), np.uint32)
        fields[:, 0] = OPCODE["put" if sent is None else "put.z"]
        fields[:, 1], fields[:, 2] = form.source.dtype * 17, semaphore
        fields[:, 5], fields[:, 6] = 0, sent or 0
        fields[:, 7:9], fields[:, 9], fields[:, 11] = prepared.descs, UNUSED, self.source
        fields[:, 10] = core_sets | CORE_SET_FLAG
        effects = np.zeros((len(targets), 4), np.int64)
        for position, starts in enumerate((targets, sources)):
            at = starts + prepared.steps[0].offsets[position]
            low, high = prepared.spans[position]
            effects[:, 1], effects[:, 2] = at + low, at + high + form.target.item_bytes
            self._check(int(effects[:, 1].min()), int(effects[:, 2].max()))
            fields[:, 3 + position] = at
        return fields, effects  # only of the read: the write does not affect the sender's memory

    def _transfer(self, out: View, a: View) -> Prepared | None:
        if out.dtype != a.dtype:
            raise MeshloomError("a transfer cannot convert element types: cast before it")
        if 0 in out.shape:
            return None
        strides = a.broadcast_to(out.shape).strides
        key = (out.shape, out.strides, strides)
        return self._planned(key, plan_elementwise, out.shape, (out.strides, strides))

    # --- synchronisation between cores ---------------------------------------------------------------------------

    def signal(self, core_set: int, semaphore: int, effects: Sequence[Effect] = ()) -> None:
        """
        Raise a semaphore of each core of the set, by the send unit; `effects`: accesses that must complete before.
        """
        self._emit("signal", 0, (), (UNUSED, UNUSED, UNUSED, core_set_operand(core_set)), effects, semaphore)

    def send_wait(self, semaphore: int, n: int, effects: Sequence[Effect] = ()) -> None:
        """Hold the send unit until the semaphore reaches n, and subtract n from it."""
        self._emit("send.wait", 0, (n,), (), effects, semaphore)

    def ready(self, core_set: int, semaphore: int, effects: Sequence[Effect]) -> None:
        """
        Signal the cores of the set that a buffer of this core may be written; `effects`: the write of that buffer.
        """
        self._emit("ready", 0, (), (UNUSED, UNUSED, UNUSED, core_set_operand(core_set)), effects, semaphore)

    def wait(self, semaphore: int, n: int, effects: Sequence[Effect]) -> None:
        """
        Hold the receive unit until the semaphore reaches n, and subtract n from it; `effects`: the bytes that other
        cores wrote here.
        """
        self._emit("wait", 0, (n,), (), effects, semaphore)

    # --- numbers for the sequencer -------------------------------------------------------------------------------

    def drain(self) -> None:
        """Hold the sequencer until all units of the core are idle."""
        self._emit("drain", 0, (), (), ())

    def read_number(self, address: int, dtype: int) -> None:
        """As `drain`, then read the element at an address of SRAM into register `NUMBER`."""
        element = self._table.intern((1,), (0,))
        self._emit("lr", dtype * 17, (0, address), (UNUSED, element), (), NUMBER)

    def leave(self) -> None:
        """Leave the innermost loop if the number that was read last is 0."""
        self._emit("leave", 0, (), (), (), NUMBER)


def bytes_without_zeros(chip: Chip, elements: int, item_bytes: int, nonzero: Nonzero) -> int | None:
    """
    Expected bytes of a message of `elements` elements without their zeros; None if it is faster to send all of them.

    The mapping unit reads all elements before the first byte is sent.
    """
    if not nonzero.has_zeros:
        return None
    dense = elements * item_bytes
    sent = -(-elements // 8) + math.ceil(elements * nonzero.density * item_bytes)
    cycles = -(-elements // chip.map_encode_elements) + sent / chip.link_bytes_per_cycle
    return sent if cycles < ACCEPT_RATIO * dense / chip.link_bytes_per_cycle else None

"""One step of a mapped network as an executable: every core sends its messages and waits for those that it receives."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...chips import Chip
from ...dialects.coreasm.encoding import DESC, TypeCode, new_words, pack_types
from ...dialects.coreasm.isa import OPCODE
from ...emulator.executable.executable import Executable, Launch, Program
from ...mapping.mesh import Mesh
from ...mapping.messages import Messages
from ...support.errors import MeshloomError
from .controller import Begin, Join, controller_words

SEMAPHORE = 0
"""The semaphore that counts messages at a core."""
_LIMIT = 1 << 16
"""Number of core sets, and of descriptors of a program, that fit in the 16 bits of an instruction."""


def spike_program(messages: Messages, chip: Chip, mesh: Mesh, spike_bytes: int) -> Executable:
    """
    The executable of a step, in one launch.

    A core sends its messages, those to the most distant cores first, then waits until all messages to it have arrived.
    The first half of its memory holds the messages to send, the second half receives; both are ring buffers. No values
    are computed: the program is for measuring cycles, traffic and energy. A message of more than half of the memory is
    sent by several puts.

    Raises MeshloomError if there are more core sets or sizes of messages than an instruction can name.
    """
    if len(messages.sets) > _LIMIT:
        raise MeshloomError(f"{len(messages.sets):,} sets of cores are more than {_LIMIT:,}: use fewer cores")
    ring = chip.sram_bytes // 2
    hops = mesh.hops(np.arange(mesh.cores)[:, None], np.arange(mesh.cores)[None, :])
    puts = np.zeros(mesh.cores, np.int64)
    programs: list[Program] = []
    bounds = np.searchsorted(messages.sender, np.arange(mesh.cores + 1))
    puts_of_core: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
    for core in range(mesh.cores):
        own = slice(int(bounds[core]), int(bounds[core + 1]))
        numbers, nbytes = messages.set_of[own], messages.spikes[own] * spike_bytes
        distance = np.where(messages.sets[numbers], hops[core][None, :], 0).max(axis=1, initial=0)
        order = np.lexsort((numbers, -nbytes, -distance))
        puts_of_core.append(_split_messages(numbers[order], nbytes[order], ring))
        parts = np.bincount(puts_of_core[-1][0], minlength=len(messages.sets))
        named = np.flatnonzero(parts)
        puts += parts[named] @ messages.sets[named].astype(np.int64)
    for core, (numbers, nbytes) in enumerate(puts_of_core):
        programs.append(_program(core, numbers, nbytes, int(puts[core]), ring))
    cores = np.arange(mesh.cores, dtype=np.int32)
    launch = Launch(cores, [np.zeros(0, np.uint32)] * mesh.cores)
    return Executable(
        chip, [], programs, [launch], messages.sets, controller_words([Begin(0), Join(0)]),
        source_names=["step"], notes={"entry": "step"},
    )  # fmt: skip


def _split_messages(
    numbers: NDArray[np.int64], nbytes: NDArray[np.int64], most: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(set, bytes) of each put; messages of more than `most` bytes are split."""
    parts = -(-nbytes // most)
    which = np.repeat(np.arange(len(nbytes)), parts)
    last = np.cumsum(parts) - 1
    sizes = np.full(len(which), most, np.int64)
    sizes[last] = nbytes - (parts - 1) * most
    return numbers[which], sizes


def _program(core: int, numbers: NDArray[np.int64], nbytes: NDArray[np.int64], awaited: int, ring: int) -> Program:
    """
    The program of a core that sends `nbytes` to core sets `numbers`, [puts] each, and receives `awaited` messages;
    `ring`: bytes of each half of its memory.
    """
    sizes, which = np.unique(nbytes, return_inverse=True)
    if len(sizes) >= _LIMIT:
        raise MeshloomError(f"core {core} sends messages of {len(sizes):,} sizes, more than {_LIMIT:,}: use more cores")
    descs = np.zeros(len(sizes), DESC)
    descs["size"], descs["stride"] = 1, 0
    descs["size"][:, -1], descs["stride"][:, -1] = sizes, 1
    count = len(nbytes)
    words: NDArray[Any] = new_words(count + bool(awaited) + 1)
    puts = words[:count]
    puts["op"], puts["imm"] = OPCODE["put"], SEMAPHORE
    puts["dtype"] = pack_types(TypeCode.U8, TypeCode.U8)
    # Consecutive offsets modulo the ring; a message that would cross its end begins at 0 instead.
    position = np.cumsum(nbytes) - nbytes
    position = np.where(position % ring + nbytes <= ring, position % ring, 0)
    puts["addr"][:, 0], puts["addr"][:, 1] = ring + position, position
    puts["desc"][:, 0] = puts["desc"][:, 1] = which
    puts["desc"][:, 3] = numbers
    if awaited:
        words["op"][count], words["imm"][count] = OPCODE["wait"], SEMAPHORE
        words["addr"][count, 0] = awaited
    words["op"][-1] = OPCODE["halt"]
    return Program(f"core{core}", words, descs, sources=np.zeros(len(words), np.uint32))

"""The peak of SRAM on each core: the end of the highest byte that is accessed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...dialects.coreasm.isa import BY_CODE, ENCODED, NO_DESC, SLOTS, Space
from ...formats.sparse.block import ALIGNMENT
from ...support.jit import jit
from ..executable.executable import Executable, Launch
from ..executable.load import patched_words
from ..machine.follow import LOOPS, REGISTERS, item_bytes, next_access, reach

_LOCAL, _REMOTE = 1, 2
_WHERE = np.zeros((256, SLOTS), np.uint8)
for _code, _entry in BY_CODE.items():
    for _operand in _entry.operands:
        _WHERE[_code, _operand.slot] = {Space.SRAM: _LOCAL, Space.REMOTE: _REMOTE, Space.DRAM: 0}[_operand.space]


def peak_sram(exe: Executable, launches: Sequence[int]) -> NDArray[np.int64]:
    """
    [cores] bytes of SRAM that are used in `launches`: one more than the highest address that an instruction of the
    core, or a put from another core, reads or writes. Allocated buffers may extend further, since sizes are rounded up.

    The extent of an operand follows from its sizes and strides; registers are computed exactly through the loops.
    """
    peak = np.zeros(exe.chip.cores, np.int64)
    for number in sorted(set(launches)):
        _one_launch(exe, exe.launches[number], peak)
    return peak


def _one_launch(exe: Executable, launch: Launch, peak: NDArray[np.int64]) -> None:
    known: dict[tuple[int, bytes], tuple[int, NDArray[np.int64]]] = {}
    for core in range(exe.chip.cores):
        index, values = int(launch.program_of_core[core]), launch.params_of_core[core]
        key = (index, values.tobytes())
        program = exe.programs[index]
        if key not in known:
            words = patched_words(program, values)
            remote = np.zeros(len(exe.core_sets) + 1, np.int64)
            extent, where = _extents(words, program.descs)
            own = _walk(
                words["op"].astype(np.int64), words["imm"].astype(np.int64), words["regs"].astype(np.int64),
                words["addr"].astype(np.int64), extent, where, words["desc"][:, 3].astype(np.int64), remote,
            )  # fmt: skip
            known[key] = (own, remote)
        own, remote = known[key]
        peak[core] = max(peak[core], own)
        for core_set in np.flatnonzero(remote[:-1]).tolist():
            members = exe.core_sets[core_set]
            peak[members] = np.maximum(peak[members], remote[core_set])


def _extents(words: NDArray[Any], descs: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """[n, 4] bytes from the address to the end of the highest element, and the memory of each operand (0: not SRAM)."""
    sizes, strides = descs["size"].astype(np.int64), descs["stride"].astype(np.int64)
    _, up = reach(descs)
    desc = words["desc"].astype(np.int64)
    where = np.where(desc == NO_DESC, 0, _WHERE[words["op"]]).astype(np.uint8)
    item = item_bytes(words)
    extent = up[np.where(where > 0, desc, len(descs))] + item
    blocks = ENCODED[words["op"]] & (where > 0)
    if blocks.any():
        at = desc[blocks]
        entries = sizes[at, 2] * sizes[at, 4]
        extent[blocks] = -(-(strides[at, 0] + entries * item[blocks]) // ALIGNMENT) * ALIGNMENT
    return extent, where


@jit
def _walk(
    op: NDArray[Any],
    imm: NDArray[Any],
    regs: NDArray[Any],
    addr: NDArray[Any],
    extent: NDArray[Any],
    where: NDArray[Any],
    core_set: NDArray[Any],
    remote: NDArray[Any],
) -> int:
    """The peak of a program in its own core's SRAM; `remote` receives that of its puts, by core set."""
    register, loops = np.zeros(REGISTERS, np.int64), np.zeros((LOOPS, 3), np.int64)
    peak = 0
    pc, depth = next_access(op, imm, addr, register, loops, 0, 0)
    while pc < len(op):
        for slot in range(4):
            if where[pc, slot] != 0:
                top = addr[pc, slot] + register[regs[pc] >> (4 * slot) & 15] + extent[pc, slot]
                if where[pc, slot] == _LOCAL:
                    peak = max(peak, top)
                else:
                    remote[core_set[pc]] = max(remote[core_set[pc]], top)
        pc, depth = next_access(op, imm, addr, register, loops, pc + 1, depth)
    return peak

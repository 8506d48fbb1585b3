"""
Simulation of the execution of a plan under a limit on memory.

Operations run one after the other. Three engines run concurrently with them, each with a queue: copies to the host,
copies from the host, and (de)compression on the vector unit. An operation starts when its inputs are in memory and its
results fit; copies to the host start as soon as the tensor is computed; a tensor is restored as early as it fits
without taking memory that an operation before its use needs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...support.jit import jit
from .recompute import COMPRESS, COMPRESS_SWAP, KEEP, RECOMPUTE, SWAP

NEVER = 1 << 62
"""A time that is never reached; also the makespan of plans that do not fit."""

OP, OUT, IN, PACK, UNPACK, AGAIN = range(6)
"""
Kinds of rows of a log: an operation ran; a tensor was copied out, copied in, compressed, decompressed, recomputed.
"""

_HERE, _LEAVING, _AWAY, _COMING, _BACK, _PACKED, _SENDING = range(7)
"""
States of a gap's tensor: not offloaded yet; unused, but its copy is not complete; offloaded (or compressed); being
restored; restored; copied back in compressed form; compressed, but its copy to the host is not complete.
"""


@jit
def profile(live: Any, before: Any, due: Any, saved: Any):
    """
    [n] bytes in memory while each operation runs if all offloads are complete, and tensors are restored just in time.
    """
    n = len(live)
    change = np.zeros(n + 1, np.int64)
    for c in range(len(saved)):
        if saved[c] and due[c] > before[c] + 1:
            change[before[c] + 1] -= saved[c]
            change[due[c]] += saved[c]
    total = 0
    result = live.copy()
    for k in range(n):
        total += change[k]
        result[k] += total
    return result


@jit
def run(
    duration: Any, on_vpu: Any, allocated: Any, freed: Any, live: Any,
    tensor: Any, size: Any, packed: Any, before: Any, producer: Any, kind: Any, due: Any,
    again_ns: Any, again_room: Any, by_before: Any, before_start: Any, tensors: int,
    budget: int, copy_ns: Any, packed_ns: Any, pack_ns: Any, log: Any,
) -> tuple[int, int]:  # fmt: skip
    """
    Execute a plan. Returns (makespan in ns or `NEVER`, number of rows of the log).

    [n] duration, on_vpu, allocated, freed, live; [c] tensor, size, packed (compressed size), before, producer, kind,
    due, again_ns and again_room (recomputation), copy_ns and packed_ns (copying), pack_ns ((de)compressing), gaps
    `by_before` sorted by `before` with `before_start` [n + 1]. `log` [rows, 4] int64: kind of row, number of the
    operation or gap, start, end; with 0 rows nothing is logged.
    """
    n, m = len(duration), len(size)
    saved = np.zeros(m, np.int64)
    for c in range(m):
        if kind[c] == COMPRESS:
            saved[c] = size[c] - packed[c]
        elif kind[c] != KEEP:
            saved[c] = size[c]
    room = profile(live, before, due, saved)
    for k in range(n):
        if room[k] > budget:
            return NEVER, 0
    for c in range(m):
        if again_ns[c] < 0:
            return NEVER, 0
    chosen = np.flatnonzero(kind != KEEP)
    coming = chosen[np.argsort(due[chosen], kind="mergesort")]
    swaps = chosen[kind[chosen] == SWAP]
    swaps = swaps[np.argsort(before[swaps], kind="mergesort")]
    # A tensor is copied when it is certainly in memory: after all its earlier gaps of other kinds (`over` so far).
    others, over = np.zeros(m, np.int64), np.zeros(tensors, np.int64)
    copied_next = np.zeros(m, np.bool_)  # whether the tensor's next gap that is not kept is a swap
    latest = np.full(tensors, -1, np.int64)
    for q in range(m):
        c = by_before[q]
        if kind[c] == KEEP:
            continue
        t = tensor[c]
        others[c] = over[t]
        over[t] += kind[c] != SWAP
        if latest[t] >= 0:
            copied_next[latest[t]] = kind[c] == SWAP
        latest[t] = c
    over[:] = 0
    first_due = np.searchsorted(due[coming], np.arange(n + 1))

    where = np.zeros(m, np.uint8)
    on_host = np.zeros((2, tensors), np.uint8)  # 0: no copy, 1: copy in progress, 2: complete; plain and compressed
    waiting = np.full(tensors, -1, np.int64)  # the gap that begins once the tensor's copy is done
    packs, pack_head, pack_tail = np.empty(m, np.int64), 0, 0
    outs, out_head, out_tail = np.empty(m, np.int64), 0, 0  # compressed tensors ready for their copy
    used, now, rows, logged = 0, 0, 0, len(log)
    op, running, op_end = 0, False, NEVER
    again, again_end = -1, NEVER
    out, out_end, out_packed = -1, NEVER, False
    arriving, in_end = -1, NEVER
    unit, unit_end, packing = -1, NEVER, False
    in_head, swap_head, unpack_head = 0, 0, 0
    scanned_for, scanned = -1, 0
    stayed = -1  # a tensor whose copy to the host is running, but which is not offloaded after all

    while True:
        moved = True
        while moved:
            moved = False
            # --- compute
            if not running and again < 0:
                if op == n:
                    return now, rows
                ready, redo = True, -1
                for q in range(first_due[op], first_due[op + 1]):
                    c = coming[q]
                    if where[c] == _LEAVING:  # it is still in memory: it is kept
                        where[c] = _BACK
                        over[tensor[c]] += kind[c] != SWAP
                        if kind[c] == SWAP:
                            waiting[tensor[c]] = -1
                            if not copied_next[c] and out >= 0 and tensor[out] == tensor[c]:
                                stayed = tensor[c]
                        elif unit == c:
                            used -= packed[c]
                            unit, unit_end = -1, NEVER
                        moved = True
                    elif where[c] == _AWAY and kind[c] >= RECOMPUTE:
                        if redo < 0 or producer[c] < producer[redo]:
                            redo = c
                    elif where[c] != _BACK and where[c] != _HERE:
                        ready = False
                if redo >= 0:
                    # Its inputs are due at this operation as well; those that are copied come first.
                    if ready and used + size[redo] + again_room[redo] <= budget:
                        again, again_end = redo, now + again_ns[redo]
                        used += size[redo] + again_room[redo]
                        moved = True
                elif ready and used + allocated[op] <= budget and not (on_vpu[op] and unit >= 0):
                    used += allocated[op]
                    running, op_end, moved = True, now + duration[op], True
            idle = not running and again < 0
            # --- to the host
            if out >= 0 and not out_packed and tensor[out] == stayed:
                # The copy is not needed, and the tensor may be freed before it is complete: cancel it.
                on_host[0, stayed] = 0
                out, out_end = -1, NEVER
                moved = True
            stayed = -1
            if out < 0:
                if out_head < out_tail:
                    c = outs[out_head]
                    out_head += 1
                    out, out_packed, out_end = c, True, now + packed_ns[c]
                    on_host[1, tensor[c]] = 1
                    moved = True
                else:
                    while swap_head < len(swaps) and (
                        on_host[0, tensor[swaps[swap_head]]] or where[swaps[swap_head]] == _BACK
                    ):
                        swap_head += 1
                    for q in range(swap_head, min(swap_head + 64, len(swaps))):
                        c = swaps[q]
                        here = where[c] <= _LEAVING and over[tensor[c]] >= others[c]
                        if producer[c] < op and on_host[0, tensor[c]] == 0 and here:
                            out, out_packed, out_end = c, False, now + copy_ns[c]
                            on_host[0, tensor[c]] = 1
                            moved = True
                            break
            # --- from the host
            while in_head < len(coming):
                c = coming[in_head]
                by_copy = kind[c] == SWAP or kind[c] == COMPRESS_SWAP
                if by_copy and due[c] >= op and where[c] != _BACK and where[c] != _COMING and where[c] != _PACKED:
                    break
                in_head += 1
            if arriving < 0 and in_head < len(coming):
                c = coming[in_head]
                need = size[c] if kind[c] == SWAP else size[c] + packed[c]
                if where[c] == _AWAY and used + need <= budget and (due[c] == op or not idle):
                    first = op + 1 if running else op
                    if scanned_for != c:
                        scanned_for, scanned = c, first
                    scanned = max(scanned, first)
                    while scanned < due[c] and room[scanned] + need <= budget:
                        scanned += 1
                    if scanned >= due[c]:
                        room[first : due[c]] += size[c]
                        where[c], arriving = _COMING, c
                        in_end = now + (copy_ns[c] if kind[c] == SWAP else packed_ns[c])
                        used += need
                        moved = True
            # --- (de)compression, where the vector unit is idle
            if unit < 0 and not (running and on_vpu[op]):
                while unpack_head < len(coming):
                    c = coming[unpack_head]
                    if (kind[c] == COMPRESS or kind[c] == COMPRESS_SWAP) and due[c] >= op and where[c] != _BACK:
                        break
                    unpack_head += 1
                if unpack_head < len(coming):
                    c = coming[unpack_head]
                    fits = where[c] == _PACKED
                    if where[c] == _AWAY and kind[c] == COMPRESS and used + size[c] <= budget:
                        first = op + 1 if running else op
                        fits = due[c] == op or (not idle and due[c] <= op + 16)
                        for k in range(first, due[c]):
                            fits = fits and room[k] + size[c] <= budget
                        if fits:
                            room[first : due[c]] += size[c] - packed[c]
                            used += size[c]
                    if fits:
                        unit, unit_end, packing = c, now + pack_ns[c], False
                        where[c] = _COMING
                        moved = True
                while unit < 0 and pack_head < pack_tail:
                    c = packs[pack_head]
                    if where[c] != _LEAVING:
                        pack_head += 1
                        continue
                    if used + packed[c] > budget or (running and 2 * (op_end - now) < pack_ns[c]):
                        break
                    pack_head += 1
                    unit, unit_end, packing = c, now + pack_ns[c], True
                    used += packed[c]
                    moved = True
        time = min(min(op_end, again_end), min(min(out_end, in_end), unit_end))
        if time >= NEVER:
            return NEVER, 0
        now = time
        if op_end == now:
            if rows < logged:
                log[rows, 0], log[rows, 1], log[rows, 2], log[rows, 3] = OP, op, now - duration[op], now
            rows += 1
            running, op_end = False, NEVER
            used -= freed[op]
            for q in range(before_start[op], before_start[op + 1]):
                c = by_before[q]
                t = tensor[c]
                if kind[c] == KEEP or due[c] <= op + 1:
                    where[c] = _HERE if kind[c] == KEEP else _BACK
                    if kind[c] == SWAP and not copied_next[c] and out >= 0 and tensor[out] == t:
                        stayed = t
                    over[t] += kind[c] != KEEP and kind[c] != SWAP
                elif kind[c] >= RECOMPUTE:
                    where[c] = _AWAY
                    used -= size[c]
                elif kind[c] == COMPRESS:
                    where[c] = _LEAVING
                    packs[pack_tail] = c
                    pack_tail += 1
                elif on_host[1 if kind[c] == COMPRESS_SWAP else 0, t] == 2:
                    where[c] = _AWAY
                    used -= size[c]
                else:
                    where[c] = _LEAVING
                    if kind[c] == SWAP:
                        waiting[t] = c
                    else:
                        packs[pack_tail] = c
                        pack_tail += 1
            op += 1
        if again_end == now:
            if rows < logged:
                log[rows, 0], log[rows, 1], log[rows, 2], log[rows, 3] = AGAIN, again, now - again_ns[again], now
            rows += 1
            where[again] = _BACK
            over[tensor[again]] += 1
            used -= again_room[again]
            again, again_end = -1, NEVER
        if out_end == now:
            t = tensor[out]
            if rows < logged:
                took = packed_ns[out] if out_packed else copy_ns[out]
                log[rows, 0], log[rows, 1], log[rows, 2], log[rows, 3] = OUT, out, now - took, now
            rows += 1
            if out_packed:
                on_host[1, t] = 2
                where[out] = _AWAY
                used -= packed[out]
            else:
                on_host[0, t] = 2
                c = waiting[t]
                if c >= 0:
                    where[c] = _AWAY
                    waiting[t] = -1
                    used -= size[c]
            out, out_end = -1, NEVER
        if in_end == now:
            if rows < logged:
                took = copy_ns[arriving] if kind[arriving] == SWAP else packed_ns[arriving]
                log[rows, 0], log[rows, 1], log[rows, 2], log[rows, 3] = IN, arriving, now - took, now
            rows += 1
            if kind[arriving] == SWAP:
                where[arriving] = _BACK
            else:
                where[arriving] = _PACKED
            arriving, in_end = -1, NEVER
        if unit_end == now:
            if rows < logged:
                row = PACK if packing else UNPACK
                log[rows, 0], log[rows, 1], log[rows, 2], log[rows, 3] = row, unit, now - pack_ns[unit], now
            rows += 1
            if packing:
                used -= size[unit]
                where[unit] = _AWAY
                if kind[unit] == COMPRESS_SWAP:
                    outs[out_tail] = unit
                    out_tail += 1
                    where[unit] = _SENDING
            else:
                where[unit] = _BACK
                over[tensor[unit]] += 1
                used -= packed[unit]
            unit, unit_end = -1, NEVER

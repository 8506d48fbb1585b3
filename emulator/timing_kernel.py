"""
The compiled heart of the timing engine: one function over flat arrays.

The rules of time are stated, and written down readably, in `reference.py`; this file does the same faster. Each core
runs ahead, in the order of its program, as far as the times of everything that it depends on are known; only what
meets other cores (packets at routers and at DRAM ports) goes through the one event heap, in the order of
(cycle, core, unit). Nothing that happens at cycle t can cause a packet before t + 1, hence running ahead is exact.

The kernel allocates nothing and counts no references, which makes it ten times as fast; where its pools are too small
it says so, and is run again with larger ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..support.jit import jit_with

LOCAL, MAPPED, WAIT, PUT, PUT_MAPPED, SIGNAL, LOAD, STORE, HALT, SEQ, LOOP = range(11)
"""
Kinds of words, as far as time is concerned; kinds from HALT on are executed by the sequencer. The time of MAPPED ones,
and what PUT_MAPPED ones send, depends on values.
"""

DONE, NO_ROOM, TOO_LONG = range(3)
"""What `simulate` returns: all that could happen has happened; the pools are too small; a time is too large."""

KEY_BITS = 20
_CU = (1 << KEY_BITS) - 1
MAX_TIME = 1 << 42
FIRST, LAST = 1, 2
_kernel = jit_with(_nrt=False)  # no reference counts, hence no allocation
_LOG2 = np.zeros(129, np.int64)
_LOG2[[1 << _bit for _bit in range(8)]] = range(8)


@_kernel
def _heap_push(keys: NDArray[Any], values: NDArray[Any], size: int, key: int, value: Any) -> None:
    """Put (key, value) into the binary heap of `size` entries."""
    at = size
    while at > 0:
        up = (at - 1) >> 1
        if keys[up] <= key:
            break
        keys[at] = keys[up]
        values[at] = values[up]
        at = up
    keys[at] = key
    values[at] = value


@_kernel
def _heap_drop(keys: NDArray[Any], values: NDArray[Any], size: int) -> None:
    """Remove the least entry; `size` is the number that remains."""
    key = keys[size]
    value = values[size]
    at = 0
    low = 1
    while low < size:
        if low + 1 < size and keys[low + 1] < keys[low]:
            low += 1
        if keys[low] >= key:
            break
        keys[at] = keys[low]
        values[at] = values[low]
        at = low
        low = 2 * at + 1
    keys[at] = key
    values[at] = value


@_kernel
def simulate(
    # Static words of all cores, one after the other (see timing_tables.Tables).
    kind: NDArray[Any],
    unit: NDArray[Any],
    wait: NDArray[Any],
    signal: NDArray[Any],
    a: NDArray[Any],
    b: NDArray[Any],
    lead: NDArray[Any],
    target: NDArray[Any],
    base: NDArray[Any],
    # Routes (see noc.Routes).
    n_router: NDArray[Any],
    n_mask: NDArray[Any],
    n_child: NDArray[Any],
    n_port: NDArray[Any],
    put_root: NDArray[Any],
    load_root: NDArray[Any],
    store_root: NDArray[Any],
    # Cycles of each MAPPED instruction, lane by lane, and where the next of each lane is; empty: as declared in `a`.
    mapped: NDArray[Any],
    mapped_next: NDArray[Any],
    # Numbers of the chip: queue depth, semaphores, packet bytes, link bytes a cycle, hop, ports, DRAM bytes, latency.
    numbers: NDArray[Any],
    # State, zero at the start; what remains in it tells who is blocked where.
    pc: NDArray[Any],
    halted: NDArray[Any],
    dispatched: NDArray[Any],
    started: NDArray[Any],
    outstanding: NDArray[Any],
    pend_word: NDArray[Any],
    pend_time: NDArray[Any],
    q_count: NDArray[Any],
    sem_count: NDArray[Any],
    seq_time: NDArray[Any],
    # Room to work in: by lane (core * 8 + unit); by core; by link and port; queues; pools. -1 in heads and blocked_sem.
    start_time: NDArray[Any],
    unit_free: NDArray[Any],
    begin: NDArray[Any],
    left: NDArray[Any],
    current: NDArray[Any],
    blocked_sem: NDArray[Any],
    depth_of_loop: NDArray[Any],
    loop_start: NDArray[Any],
    loop_end: NDArray[Any],
    loop_left: NDArray[Any],
    link_free: NDArray[Any],
    port_free: NDArray[Any],
    q_head: NDArray[Any],
    q_tail: NDArray[Any],
    s_head: NDArray[Any],
    s_tail: NDArray[Any],
    p_time: NDArray[Any],
    p_next: NDArray[Any],
    h_key: NDArray[Any],
    h_value: NDArray[Any],
    e_node: NDArray[Any],
    e_bytes: NDArray[Any],
    e_word: NDArray[Any],
    e_flags: NDArray[Any],
    e_next: NDArray[Any],
    # Results.
    seq_count: NDArray[Any],
    busy: NDArray[Any],
    first_time: NDArray[Any],
    last_time: NDArray[Any],
    link_bytes: NDArray[Any],
    port_read: NDArray[Any],
    port_written: NDArray[Any],
    finish: NDArray[Any],
    trace_word: NDArray[Any],
    trace_cu: NDArray[Any],
    trace_start: NDArray[Any],
    trace_end: NDArray[Any],
) -> int:
    """Run all cores from cycle 0 until nothing can happen any more; the status is one of DONE, NO_ROOM, TOO_LONG."""
    cores = base.shape[0]
    depth, sems, packet, link_rate = numbers[0], numbers[1], numbers[2], numbers[3]
    hop, ports, dram_rate, latency = numbers[4], numbers[5], numbers[6], numbers[7]
    ring = pend_word.shape[1]
    wrap = ring - 1
    tracing = trace_word.shape[0] > 0
    n_trace = 0
    full_link = (packet + link_rate - 1) // link_rate
    full_port = (packet * ports + dram_rate - 1) // dram_rate
    flit = link_rate

    # Queues of times (tokens, semaphore counts) are linked lists in one pool; packets under way a heap of
    # (cycle, core, unit) with the number of a packet, whose fields are in arrays of their own.
    pool = p_time.shape[0]
    for i in range(pool):
        p_next[i] = i + 1
    p_free = 0
    p_left = pool
    slots = h_key.shape[0]
    for i in range(slots):
        e_next[i] = i + 1
    e_free = 0
    events = 0
    end = 0
    boot = 0
    while True:
        if boot < cores:
            c = boot
            todo = 0
            boot += 1
        else:
            if events == 0:
                break
            # ---- One packet reaches one router (or its DRAM port).
            key = h_key[0]
            event = h_value[0]
            events -= 1
            _heap_drop(h_key, h_value, events)
            now = key >> KEY_BITS
            cu = key & _CU
            node = e_node[event]
            size = e_bytes[event]
            word = e_word[event]
            flags = e_flags[event]
            e_next[event] = e_free
            e_free = event
            if events + 16 > slots or p_left < 16:
                return NO_ROOM
            if now > MAX_TIME:
                return TOO_LONG
            c = -1
            todo = 0
            mask = n_mask[node]
            on_link = full_link
            if size != packet:
                on_link = (size + link_rate - 1) // link_rate
            gate = now
            if mask & 0xE0:
                on_port = full_port
                if size != packet:
                    on_port = (size * ports + dram_rate - 1) // dram_rate
                slowest = max(on_link, on_port)
                done = -1
                if mask & 0x80:  # FETCH
                    p = n_port[node]
                    s = max(now, port_free[p])
                    port_free[p] = s + on_port
                    port_read[p] += size
                    gate = s + on_port
                    event = e_free
                    e_free = e_next[event]
                    e_node[event] = n_child[node, 0]
                    e_bytes[event] = size
                    e_word[event] = word
                    e_flags[event] = flags & LAST
                    _heap_push(h_key, h_value, events, (s + hop) << KEY_BITS | cu, event)
                    events += 1
                elif mask & 0x40:  # DELIVER
                    done = now + slowest + latency
                else:  # PORT
                    p = n_port[node]
                    s = max(now, port_free[p])
                    port_free[p] = s + on_port
                    port_written[p] += size
                    gate = s + on_port
                    done = s + slowest + latency
                if done >= 0:
                    end = max(end, done)
                    if flags & LAST:
                        c = cu >> 3
                        last_time[cu] = max(last_time[cu], done)
                        bits = int(signal[word])
                        while bits:
                            low = bits & -bits
                            bits ^= low
                            v = _LOG2[low]
                            q = cu * 8 + v
                            item = p_free
                            p_free = p_next[item]
                            p_left -= 1
                            p_time[item] = done
                            p_next[item] = -1
                            if q_head[q] < 0:
                                q_head[q] = item
                            else:
                                p_next[q_tail[q]] = item
                            q_tail[q] = item
                            q_count[q] += 1
                            todo |= low
            first_link = n_router[node] * 5
            ways = mask & 15
            if mask & 0x80:
                ways = 0
            while ways:
                low = ways & -ways
                ways ^= low
                way = _LOG2[low]
                link = first_link + way
                s = max(now, link_free[link])
                link_free[link] = s + on_link
                link_bytes[link] += size
                gate = max(gate, s + on_link)
                event = e_free
                e_free = e_next[event]
                e_node[event] = n_child[node, way]
                e_bytes[event] = size
                e_word[event] = word
                e_flags[event] = flags & LAST
                _heap_push(h_key, h_value, events, (s + hop) << KEY_BITS | cu, event)
                events += 1
            if mask & 16:  # EJECT
                link = first_link + 4
                s = max(now, link_free[link])
                arrival = s + on_link
                link_free[link] = arrival
                link_bytes[link] += size
                gate = max(gate, arrival)
                end = max(end, arrival)
                if flags & LAST:
                    c = n_router[node]
                    sem = b[word]
                    q = c * sems + sem
                    item = p_free
                    p_free = p_next[item]
                    p_left -= 1
                    p_time[item] = arrival
                    p_next[item] = -1
                    if s_head[q] < 0:
                        s_head[q] = item
                    else:
                        p_next[s_tail[q]] = item
                    s_tail[q] = item
                    sem_count[q] += 1
                    if blocked_sem[c * 8 + 5] == sem:
                        todo |= 1 << 5
                    if blocked_sem[c * 8 + 6] == sem:
                        todo |= 1 << 6
            if flags & FIRST:
                if left[cu] > 0:
                    size = min(packet, left[cu])
                    left[cu] -= size
                    event = e_free
                    e_free = e_next[event]
                    e_node[event] = node
                    e_bytes[event] = size
                    e_word[event] = word
                    e_flags[event] = FIRST if left[cu] > 0 else FIRST | LAST
                    _heap_push(h_key, h_value, events, gate << KEY_BITS | cu, event)
                    events += 1
                else:
                    c = cu >> 3
                    outstanding[cu] = 0
                    unit_free[cu] = gate
                    busy[cu] += gate - begin[cu]
                    last_time[cu] = max(last_time[cu], gate)
                    end = max(end, gate)
                    if tracing:
                        trace_word[n_trace] = current[cu]
                        trace_cu[n_trace] = cu
                        trace_start[n_trace] = begin[cu]
                        trace_end[n_trace] = gate
                        n_trace += 1
                    todo |= 1 << (cu & 7)
                    if kind[word] == PUT or kind[word] == PUT_MAPPED:
                        bits = int(signal[word])
                        while bits:
                            low = bits & -bits
                            bits ^= low
                            v = _LOG2[low]
                            q = cu * 8 + v
                            item = p_free
                            p_free = p_next[item]
                            p_left -= 1
                            p_time[item] = gate
                            p_next[item] = -1
                            if q_head[q] < 0:
                                q_head[q] = item
                            else:
                                p_next[q_tail[q]] = item
                            q_tail[q] = item
                            q_count[q] += 1
                            todo |= low
            if todo == 0:
                continue

        # ---- Core c runs ahead: heads of its queues that may have become ready (todo), then the sequencer.
        while True:
            while todo:
                low = todo & -todo
                todo ^= low
                u = _LOG2[low]
                cu = c * 8 + u
                while dispatched[cu] > started[cu] and outstanding[cu] == 0:
                    slot = started[cu] & wrap
                    word = pend_word[cu, slot]
                    start = max(pend_time[cu, slot], unit_free[cu])
                    k = kind[word]
                    ready = True
                    bits = int(wait[word])
                    while bits:
                        low = bits & -bits
                        bits ^= low
                        q = (c * 8 + _LOG2[low]) * 8 + u
                        if q_head[q] < 0:
                            ready = False
                            break
                        start = max(start, p_time[q_head[q]])
                    if not ready:
                        break
                    if k == WAIT:
                        q = c * sems + b[word]
                        needed = a[word]
                        if sem_count[q] < needed:
                            blocked_sem[cu] = b[word]
                            break
                        blocked_sem[cu] = -1
                        sem_count[q] -= needed
                        while needed > 0:
                            item = s_head[q]
                            s_head[q] = p_next[item]
                            start = max(start, p_time[item])
                            p_next[item] = p_free
                            p_free = item
                            p_left += 1
                            needed -= 1
                    bits = int(wait[word])
                    while bits:
                        low = bits & -bits
                        bits ^= low
                        q = (c * 8 + _LOG2[low]) * 8 + u
                        item = q_head[q]
                        q_head[q] = p_next[item]
                        q_count[q] -= 1
                        p_next[item] = p_free
                        p_free = item
                        p_left += 1
                    start_time[cu, slot] = start
                    if started[cu] == 0:
                        first_time[cu] = start
                    started[cu] += 1
                    if k == LOCAL or k == MAPPED or k == WAIT or k == SIGNAL:
                        done = start + 1
                        if k == LOCAL:
                            done = start + a[word]
                        elif k == MAPPED:
                            if mapped.shape[0] > 0:
                                done = start + mapped[mapped_next[cu]]
                                mapped_next[cu] += 1
                            else:
                                done = start + a[word]
                        unit_free[cu] = done
                        busy[cu] += done - start
                        last_time[cu] = done
                        end = max(end, done)
                        if tracing:
                            trace_word[n_trace] = word
                            trace_cu[n_trace] = cu
                            trace_start[n_trace] = start
                            trace_end[n_trace] = done
                            n_trace += 1
                        bits = int(signal[word])
                        while bits:
                            low = bits & -bits
                            bits ^= low
                            v = _LOG2[low]
                            q = cu * 8 + v
                            item = p_free
                            p_free = p_next[item]
                            p_left -= 1
                            p_time[item] = done
                            p_next[item] = -1
                            if q_head[q] < 0:
                                q_head[q] = item
                            else:
                                p_next[q_tail[q]] = item
                            q_tail[q] = item
                            q_count[q] += 1
                            if v != u and dispatched[c * 8 + v] > started[c * 8 + v]:
                                todo |= low
                    if k == SIGNAL or k == PUT or k == PUT_MAPPED or k == LOAD or k == STORE:
                        size = a[word]
                        if k == PUT_MAPPED and mapped.shape[0] > 0:
                            size = mapped[mapped_next[cu]]
                            mapped_next[cu] += 1
                        flags = FIRST | LAST
                        if k == SIGNAL:
                            size = flit
                            flags = LAST
                            node = put_root[c, target[word]]
                        else:
                            outstanding[cu] = 1
                            begin[cu] = start
                            current[cu] = word
                            if size > packet:
                                left[cu] = size - packet
                                size = packet
                                flags = FIRST
                            else:
                                left[cu] = 0
                            if k == PUT or k == PUT_MAPPED:
                                node = put_root[c, target[word]]
                            elif k == LOAD:
                                node = load_root[c]
                            else:
                                node = store_root[c]
                        event = e_free
                        e_free = e_next[event]
                        e_node[event] = node
                        e_bytes[event] = size
                        e_word[event] = word
                        e_flags[event] = flags
                        _heap_push(h_key, h_value, events, (start + lead[word]) << KEY_BITS | cu, event)
                        events += 1
                    if events + 16 > slots or p_left < 16:
                        return NO_ROOM
                    if start > MAX_TIME:
                        return TOO_LONG
            # The sequencer: one word a cycle, in order, until a queue is full with a head of unknown start.
            if halted[c]:
                break
            word = pc[c]
            k = kind[word]
            following = word + 1
            if k < HALT:
                cu = c * 8 + unit[word]
                count = dispatched[cu]
                if count - started[cu] >= depth:
                    break
                time = seq_time[c]
                if count >= depth:
                    time = max(time, start_time[cu, (count - depth) & wrap])
                seq_time[c] = time + 1
                pend_word[cu, count & wrap] = word
                pend_time[cu, count & wrap] = time + 1
                dispatched[cu] = count + 1
                todo = 1 << unit[word]
            else:
                seq_time[c] += 1
                seq_count[c] += 1
                if k == HALT:
                    halted[c] = 1
                    end = max(end, seq_time[c])
                    break
                if k == LOOP:
                    level = depth_of_loop[c]
                    loop_start[c, level] = following
                    loop_end[c, level] = following + b[word]
                    loop_left[c, level] = a[word]
                    depth_of_loop[c] = level + 1
                    pc[c] = following
                    continue
            level = depth_of_loop[c]
            while level > 0 and following == loop_end[c, level - 1]:
                loop_left[c, level - 1] -= 1
                if loop_left[c, level - 1] > 0:
                    following = loop_start[c, level - 1]
                    break
                level -= 1
            depth_of_loop[c] = level
            pc[c] = following
    finish[0] = end
    finish[1] = n_trace
    return DONE

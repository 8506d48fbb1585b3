"""
The compiled heart of the timing engine: one function over flat arrays.

The rules of time are stated, and written down readably, in `reference.py`; this file does the same faster. Each core
runs ahead, in the order of its program, as far as the times of everything that it depends on are known; only what
meets other cores (packets at routers and at DRAM ports) goes through the one event heap, in the order of
(cycle, core, unit). Nothing that happens at cycle t can cause a packet before t + 1, hence running ahead is exact.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit  # pyright: ignore[reportMissingTypeStubs, reportUnknownVariableType]
from numpy.typing import NDArray

LOCAL, WAIT, PUT, SIGNAL, LOAD, STORE, HALT, SEQ, LOOP = range(9)
"""Kinds of words, as far as time is concerned; kinds from HALT on are executed by the sequencer."""

DONE, TOO_MANY, TOO_LONG = range(3)
"""What `simulate` returns: all that could happen has happened, or a limit (outstanding items, cycles) was hit."""

KEY_BITS = 20
_CU = (1 << KEY_BITS) - 1
MAX_TIME = 1 << 42
MAX_POOL = 1 << 26
FIRST, LAST = 1, 2


@njit(cache=True)  # pyright: ignore[reportUntypedFunctionDecorator]
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


@njit(cache=True)  # pyright: ignore[reportUntypedFunctionDecorator]
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


@njit(cache=True)  # pyright: ignore[reportUntypedFunctionDecorator]
def simulate(
    # Static words of all cores, one after the other (see timing_tables.Tables).
    kind: NDArray[Any],
    unit: NDArray[Any],
    wait: NDArray[Any],
    signal: NDArray[Any],
    a: NDArray[Any],
    b: NDArray[Any],
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
    """Run all cores from cycle 0 until nothing can happen any more; the status is one of DONE, TOO_MANY, TOO_LONG."""
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

    start_time = np.zeros((cores * 8, ring), np.int64)
    unit_free = np.zeros(cores * 8, np.int64)
    begin = np.zeros(cores * 8, np.int64)
    left = np.zeros(cores * 8, np.int64)
    current = np.zeros(cores * 8, np.int32)
    blocked_sem = np.full(cores * 8, -1, np.int32)
    depth_of_loop = np.zeros(cores, np.int32)
    loop_start = np.zeros((cores, 4), np.int64)
    loop_end = np.zeros((cores, 4), np.int64)
    loop_left = np.zeros((cores, 4), np.int64)
    link_free = np.zeros(cores * 5, np.int64)
    port_free = np.zeros(ports, np.int64)
    log2 = np.zeros(129, np.int32)
    for bit in range(8):
        log2[1 << bit] = bit

    # Queues of times (tokens, semaphore counts) are linked lists in one pool.
    q_head = np.full(cores * 64, -1, np.int32)
    q_tail = np.full(cores * 64, -1, np.int32)
    s_head = np.full(cores * sems, -1, np.int32)
    s_tail = np.full(cores * sems, -1, np.int32)
    pool = 1 << 12
    p_time = np.empty(pool, np.int64)
    p_next = np.empty(pool, np.int32)
    for i in range(pool):
        p_next[i] = i + 1
    p_free = 0
    p_left = pool

    # Packets under way: heap of (cycle, core, unit) with the number of a packet.
    slots = 1 << 10
    h_key = np.empty(slots, np.int64)
    h_value = np.empty(slots, np.int32)
    e_node = np.empty(slots, np.int32)
    e_bytes = np.empty(slots, np.int64)
    e_word = np.empty(slots, np.int32)
    e_flags = np.empty(slots, np.uint8)
    e_next = np.empty(slots, np.int32)
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
                if slots > MAX_POOL or pool > MAX_POOL:
                    return TOO_MANY
            if events + 16 > slots:
                more = slots * 2
                h_key2, h_value2 = np.empty(more, np.int64), np.empty(more, np.int32)
                e_node2, e_bytes2 = np.empty(more, np.int32), np.empty(more, np.int64)
                e_word2, e_flags2 = np.empty(more, np.int32), np.empty(more, np.uint8)
                e_next2 = np.empty(more, np.int32)
                h_key2[:slots], h_value2[:slots], e_node2[:slots] = h_key, h_value, e_node
                e_bytes2[:slots], e_word2[:slots], e_flags2[:slots], e_next2[:slots] = e_bytes, e_word, e_flags, e_next
                for i in range(slots, more):
                    e_next2[i] = i + 1
                h_key, h_value, e_node, e_bytes = h_key2, h_value2, e_node2, e_bytes2
                e_word, e_flags, e_next = e_word2, e_flags2, e_next2
                slots = more
            if p_left < 16:
                more = pool * 2
                p_time2, p_next2 = np.empty(more, np.int64), np.empty(more, np.int32)
                p_time2[:pool], p_next2[:pool] = p_time, p_next
                for i in range(pool, more):
                    p_next2[i] = i + 1
                p_left += more - pool
                p_time, p_next, pool = p_time2, p_next2, more
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
                            v = log2[low]
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
                way = log2[low]
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
                    if kind[word] == PUT:
                        bits = int(signal[word])
                        while bits:
                            low = bits & -bits
                            bits ^= low
                            v = log2[low]
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
                u = log2[low]
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
                        q = (c * 8 + log2[low]) * 8 + u
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
                        q = (c * 8 + log2[low]) * 8 + u
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
                    if k == LOCAL or k == WAIT or k == SIGNAL:
                        done = start + 1
                        if k == LOCAL:
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
                            v = log2[low]
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
                    if k == SIGNAL or k == PUT or k == LOAD or k == STORE:
                        size = a[word]
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
                            if k == PUT:
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
                        _heap_push(h_key, h_value, events, start << KEY_BITS | cu, event)
                        events += 1
                    if events + 16 > slots or p_left < 16:
                        if slots > MAX_POOL or pool > MAX_POOL:
                            return TOO_MANY
                        if events + 16 > slots:
                            more = slots * 2
                            h_key2, h_value2 = np.empty(more, np.int64), np.empty(more, np.int32)
                            e_node2, e_bytes2 = np.empty(more, np.int32), np.empty(more, np.int64)
                            e_word2, e_flags2 = np.empty(more, np.int32), np.empty(more, np.uint8)
                            e_next2 = np.empty(more, np.int32)
                            h_key2[:slots], h_value2[:slots], e_node2[:slots] = h_key, h_value, e_node
                            e_bytes2[:slots], e_word2[:slots] = e_bytes, e_word
                            e_flags2[:slots], e_next2[:slots] = e_flags, e_next
                            for i in range(slots, more):
                                e_next2[i] = i + 1
                            h_key, h_value, e_node, e_bytes = h_key2, h_value2, e_node2, e_bytes2
                            e_word, e_flags, e_next = e_word2, e_flags2, e_next2
                            slots = more
                        if p_left < 16:
                            more = pool * 2
                            p_time2, p_next2 = np.empty(more, np.int64), np.empty(more, np.int32)
                            p_time2[:pool], p_next2[:pool] = p_time, p_next
                            for i in range(pool, more):
                                p_next2[i] = i + 1
                            p_left += more - pool
                            p_time, p_next, pool = p_time2, p_next2, more
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

"""
The compiled kernel of the timing engine: one function over flat arrays.

The timing rules are defined in `reference.py`, in readable form; this kernel computes the same faster. Each core runs
ahead, in the order of its program, as far as the times of everything that it depends on are known; only interactions
with other cores (packets at routers and at DRAM ports) go through the one queue of events (`event_wheel`), in the order
of (cycle, core, unit). No event at cycle t can cause a packet before t + 1, hence running ahead is exact.

The timing of a word is in the row of its class (`tables`). Bytes on links do not depend on time: bytes that enter each
route are counted here, and summed over the links afterwards.

The kernel does not allocate or count references, which makes it ten times as fast; if its pools are too small it
returns, and is run again with larger ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...dialects.coreasm.encoding import MAX_LOOPS
from ...support.jit import Array, jit_with
from .event_wheel import (
    ALIVE,
    CLASS,
    CYCLES,
    FLAGS,
    LANE,
    NODE,
    NOW,
    PORT_CYCLES,
    WAY,
    free_event,
    new_event,
    next_cycle,
    push,
)
from .time_queues import IN_USE, append, take

LOCAL, MAPPED, WAIT, PUT, PUT_MAPPED, SIGNAL, LOAD, STORE, HALT, SEQ, LOOP = range(11)
"""
Kinds of words for timing; kinds from HALT on are executed by the sequencer. The time of MAPPED ones, and the bytes of
PUT_MAPPED ones, depend on values.
"""
KIND, UNIT, WAITS, SIGNALS, A, B, LEAD, TARGET = range(8)
COLUMNS = 8
"""Columns of a class of words; for A, B, LEAD and TARGET see `tables.Tables`."""

DISPATCHED, STARTED, FREE, BUSY, FIRST_START, LAST_END, BEGIN, LEFT = range(8)
LANE_COLUMNS = 8
"""
Columns of a lane (a unit of a core): instructions that entered its queue, and that started; the cycle from which it is
free (while a transfer is under way: -1 - its word); cycles in which it worked; first start; last completion; start of
the transfer under way, and its bytes that are not yet offered.
"""

ONE_LINK, INTO_CORE, FORK, FROM_PORT, INTO_PORT = range(5)
"""Kinds of nodes of a route."""
NODE_KIND, NODE_WAY, NODE_NEXT, NODE_MASK = range(4)
"""
Columns of a node: its kind; its link (of FORK the first of the router's; DRAM ports are numbered after the links); the
node after it (HERE: what was read is at its core; of FORK itself); the ways out that a FORK takes.
"""
HERE = 0xFFFFFFFF

DONE, NO_ROOM, TOO_LONG = range(3)
"""Results of `simulate`: no event is left; the pools are too small; a time is too large."""

MAX_TIME = 1 << 42
SPARE = 16
"""Events and tokens that one step may need."""
FIRST, LAST = 1, 2
"""Flags of a packet: it is at its source, where the next one of its instruction waits for it; it is the last one."""
_SEND, _RECV = 5, 6
_LOG2 = np.zeros(129, np.uint8)
_LOG2[[1 << _bit for _bit in range(8)]] = range(8)


@jit_with(_nrt=False)
def enter(events: Array, nodes: Array, event: Any, node: Any, flags: Any) -> None:
    """Move the packet of `event` to `node`, whose row is copied to the event."""
    events[8 * event + FLAGS] = flags | nodes[4 * node + NODE_KIND] << 2
    events[8 * event + WAY] = nodes[4 * node + NODE_WAY]
    events[8 * event + NODE] = nodes[4 * node + NODE_NEXT]


@jit_with(_nrt=False)
def simulate(
    # The class of each static word of all cores, one after the other; the classes. All rows are laid out flat.
    word_class: Array,
    classes: Array,
    # Routes (columns as above; for the rest see noc.Routes).
    nodes: Array,
    children: Array,
    put_root: Array,
    load_root: Array,
    store_root: Array,
    # What depends on values: cycles or bytes lane by lane, where the next of each lane is; empty: as declared in A.
    mapped: Array,
    mapped_next: Array,
    # Numbers of the chip: queue depth, semaphores, packet bytes, link bytes a cycle, hop, ports, DRAM bytes, latency.
    numbers: Array,
    # State, zero at the start; what remains in it tells who is blocked where. `when` is the cycle from which a queued
    # instruction may start, and of one that has started, its start. Heads are -1 where the queue is empty.
    pc: Array,
    halted: Array,
    lanes: Array,
    queued: Array,
    when: Array,
    sem_count: Array,
    seq_time: Array,
    q_head: Array,
    # Room to work in. By lane and core; by link and port; queues; pools; the events.
    blocked_sem: Array,
    loop_depth: Array,
    loop_start: Array,
    loop_end: Array,
    loop_left: Array,
    free: Array,
    q_tail: Array,
    s_head: Array,
    s_tail: Array,
    p_time: Array,
    p_next: Array,
    pool: Array,
    events: Array,
    slots: Array,
    used: Array,
    h_key: Array,
    h_value: Array,
    order: Array,
    counters: Array,
    # Results: words of the sequencer; bytes that enter each route; last cycle and length of the trace; the trace.
    seq_count: Array,
    entered: Array,
    finish: Array,
    trace_word: Array,
    trace_cu: Array,
    trace_start: Array,
    trace_end: Array,
) -> int:
    """Run all cores from cycle 0 until no event is left; the status is one of DONE, NO_ROOM, TOO_LONG."""
    cores = pc.shape[0]
    depth, sems, packet, link_rate = numbers[0], numbers[1], numbers[2], numbers[3]
    hop, ports, dram_rate, latency, ring = numbers[4], numbers[5], numbers[6], numbers[7], numbers[8]
    wrap = ring - 1
    sets = put_root.shape[0] // cores
    tracing = trace_word.shape[0] > 0
    n_trace = 0
    tokens_room, events_room = p_time.shape[0] - SPARE, order.shape[0] - SPARE
    end = 0
    boot = 0
    now = 0
    count_now = 0
    at_now = 0
    while True:
        if boot < cores:
            c = np.uint32(boot)
            todo = 0
            boot += 1
        else:
            if at_now == count_now:
                count_now = next_cycle(events, slots, used, h_key, h_value, counters, order)
                if count_now == 0:
                    break
                at_now = 0
                now = counters[NOW]
                if now > MAX_TIME:
                    return TOO_LONG
            if counters[ALIVE] > events_room or pool[IN_USE] > tokens_room:
                return NO_ROOM
            # ---- One packet reaches one router (or its DRAM port).
            event = order[at_now]
            at_now += 1
            cu = events[8 * event + LANE]
            on_link = events[8 * event + CYCLES]
            flags = events[8 * event + FLAGS]
            way = events[8 * event + WAY]
            following = events[8 * event + NODE]
            node_kind = flags >> 2
            onward, arrival, given = -1, -1, -1  # when it is at the next node, in the core, and has given its tokens
            if node_kind == ONE_LINK:
                start = max(now, free[way])
                gate = start + on_link
                free[way] = gate
                onward = start + hop
            elif node_kind == INTO_CORE:
                gate = max(now, free[way]) + on_link
                free[way] = gate
                arrival = gate
            elif node_kind == FORK:
                gate = now
                ways = nodes[4 * following + NODE_MASK]
                while ways & 15:
                    low = ways & -ways
                    ways ^= low
                    link = way + _LOG2[low]
                    start = max(now, free[link])
                    free[link] = start + on_link
                    gate = max(gate, start + on_link)
                    copy = new_event(events, counters)
                    events[8 * copy + LANE] = cu
                    events[8 * copy + CYCLES] = on_link
                    events[8 * copy + CLASS] = events[8 * event + CLASS]
                    enter(events, nodes, copy, children[4 * following + _LOG2[low]], flags & LAST)
                    push(events, slots, used, h_key, h_value, counters, copy, start + hop)
                if ways:
                    way += 4
                    arrival = max(now, free[way]) + on_link
                    free[way] = arrival
                    gate = max(gate, arrival)
            else:
                on_port = events[8 * event + PORT_CYCLES]
                start = max(now, free[way])
                gate = start + on_port
                free[way] = gate
                if node_kind == FROM_PORT:
                    onward = start + hop
                else:
                    given = start + max(on_link, on_port) + latency
            c = np.uint32(cu >> 3)
            todo = 0
            if onward >= 0:
                if following == HERE:
                    given = onward + max(on_link, events[8 * event + PORT_CYCLES]) + latency
                elif flags & FIRST:
                    copy = new_event(events, counters)
                    events[8 * copy + LANE] = cu
                    events[8 * copy + CYCLES] = on_link
                    events[8 * copy + PORT_CYCLES] = events[8 * event + PORT_CYCLES]
                    events[8 * copy + CLASS] = events[8 * event + CLASS]
                    enter(events, nodes, copy, following, flags & LAST)
                    push(events, slots, used, h_key, h_value, counters, copy, onward)
                else:
                    enter(events, nodes, event, following, flags & LAST)
                    push(events, slots, used, h_key, h_value, counters, event, onward)
                    continue
            elif arrival >= 0:
                end = max(end, arrival)
                if flags & LAST:
                    c = np.uint32(way // 5)
                    sem = classes[8 * events[8 * event + CLASS] + B]
                    q = c * sems + sem
                    append(s_head, s_tail, p_time, p_next, pool, q, arrival)
                    sem_count[q] += 1
                    if blocked_sem[c * 8 + _SEND] == sem:
                        todo |= 1 << _SEND
                    if blocked_sem[c * 8 + _RECV] == sem:
                        todo |= 1 << _RECV
            if given >= 0:
                end = max(end, given)
                if flags & LAST:
                    lanes[8 * cu + LAST_END] = max(lanes[8 * cu + LAST_END], given)
                else:
                    given = -1
            if flags & FIRST:
                size = lanes[8 * cu + LEFT]
                if size > 0:
                    if size > packet:
                        lanes[8 * cu + LEFT] = size - packet
                    else:
                        lanes[8 * cu + LEFT] = 0
                        events[8 * event + FLAGS] = flags | LAST
                        events[8 * event + CYCLES] = (size + link_rate - 1) // link_rate
                        events[8 * event + PORT_CYCLES] = (size * ports + dram_rate - 1) // dram_rate
                    push(events, slots, used, h_key, h_value, counters, event, gate)
                    continue
                word = -1 - lanes[8 * cu + FREE]
                lanes[8 * cu + FREE] = gate
                lanes[8 * cu + BUSY] += gate - lanes[8 * cu + BEGIN]
                lanes[8 * cu + LAST_END] = max(lanes[8 * cu + LAST_END], gate)
                end = max(end, gate)
                if tracing:
                    trace_word[n_trace] = word
                    trace_cu[n_trace] = cu
                    trace_start[n_trace] = lanes[8 * cu + BEGIN]
                    trace_end[n_trace] = gate
                    n_trace += 1
                kind = classes[8 * events[8 * event + CLASS] + KIND]
                if kind == PUT or kind == PUT_MAPPED:
                    given = gate
                todo |= 1 << (cu & 7)
            if given >= 0:
                bits = classes[8 * events[8 * event + CLASS] + SIGNALS]
                todo |= bits
                while bits:
                    low = bits & -bits
                    bits ^= low
                    append(q_head, q_tail, p_time, p_next, pool, cu * 8 + _LOG2[low], given)
            free_event(events, counters, event)
            if todo == 0:
                continue

        # ---- Core c runs ahead: heads of its queues that may have become ready (todo), then the sequencer.
        while True:
            while todo:
                low = todo & -todo
                todo ^= low
                u = _LOG2[low]
                cu = c * 8 + u
                while lanes[8 * cu + DISPATCHED] > lanes[8 * cu + STARTED] and lanes[8 * cu + FREE] >= 0:
                    slot = lanes[8 * cu + STARTED] & wrap
                    word = queued[ring * cu + (slot)]
                    row = word_class[word]
                    start = max(when[ring * cu + (slot)], lanes[8 * cu + FREE])
                    ready = True
                    waits = classes[8 * row + WAITS]
                    bits = waits
                    while bits:
                        low = bits & -bits
                        bits ^= low
                        head = q_head[(c * 8 + _LOG2[low]) * 8 + u]
                        if head == 0:
                            ready = False
                            break
                        start = max(start, p_time[head])
                    if not ready:
                        break
                    kind = classes[8 * row + KIND]
                    if kind == WAIT:
                        q = c * sems + classes[8 * row + B]
                        needed = classes[8 * row + A]
                        if sem_count[q] < needed:
                            blocked_sem[cu] = classes[8 * row + B]
                            break
                        blocked_sem[cu] = -1
                        sem_count[q] -= needed
                        while needed > 0:
                            start = max(start, take(s_head, p_time, p_next, pool, q))
                            needed -= 1
                    while waits:
                        low = waits & -waits
                        waits ^= low
                        take(q_head, p_time, p_next, pool, (c * 8 + _LOG2[low]) * 8 + u)
                    when[ring * cu + (slot)] = start
                    if lanes[8 * cu + STARTED] == 0:
                        lanes[8 * cu + FIRST_START] = start
                    lanes[8 * cu + STARTED] += 1
                    if kind <= WAIT or kind == SIGNAL:
                        done = start + 1
                        if kind == LOCAL:
                            done = start + classes[8 * row + A]
                        elif kind == MAPPED:
                            if mapped.shape[0] > 0:
                                done = start + mapped[mapped_next[cu]]
                                mapped_next[cu] += 1
                            else:
                                done = start + classes[8 * row + A]
                        lanes[8 * cu + FREE] = done
                        lanes[8 * cu + BUSY] += done - start
                        lanes[8 * cu + LAST_END] = done
                        end = max(end, done)
                        if tracing:
                            trace_word[n_trace] = word
                            trace_cu[n_trace] = cu
                            trace_start[n_trace] = start
                            trace_end[n_trace] = done
                            n_trace += 1
                        bits = classes[8 * row + SIGNALS]
                        while bits:
                            low = bits & -bits
                            bits ^= low
                            v = _LOG2[low]
                            append(q_head, q_tail, p_time, p_next, pool, cu * 8 + v, done)
                            if v != u and lanes[64 * c + 8 * v + DISPATCHED] > lanes[64 * c + 8 * v + STARTED]:
                                todo |= low
                    if kind > WAIT:
                        if kind == LOAD:
                            node = load_root[c]
                        elif kind == STORE:
                            node = store_root[c]
                        else:
                            node = put_root[sets * c + classes[8 * row + TARGET]]
                        if kind == SIGNAL:
                            size = link_rate  # one flit; nobody waits until it has left
                            flags = LAST
                        else:
                            size = classes[8 * row + A]
                            if kind == PUT_MAPPED and mapped.shape[0] > 0:
                                size = mapped[mapped_next[cu]]
                                mapped_next[cu] += 1
                            flags = FIRST | LAST
                            lanes[8 * cu + BEGIN] = start
                            lanes[8 * cu + FREE] = -1 - word
                        entered[node] += size
                        if size > packet and flags & FIRST:
                            lanes[8 * cu + LEFT] = size - packet
                            size = packet
                            flags = FIRST
                        event = new_event(events, counters)
                        events[8 * event + LANE] = cu
                        events[8 * event + CYCLES] = (size + link_rate - 1) // link_rate
                        events[8 * event + PORT_CYCLES] = (size * ports + dram_rate - 1) // dram_rate
                        events[8 * event + CLASS] = row
                        enter(events, nodes, event, node, flags)
                        push(events, slots, used, h_key, h_value, counters, event, start + classes[8 * row + LEAD])
                    if counters[ALIVE] > events_room or pool[IN_USE] > tokens_room:
                        return NO_ROOM
                    if start > MAX_TIME:
                        return TOO_LONG
            # The sequencer: one word a cycle, in order, until a queue is full with a head of unknown start.
            if halted[c]:
                break
            word = pc[c]
            row = word_class[word]
            kind = classes[8 * row + KIND]
            following = word + 1
            if kind < HALT:
                cu = c * 8 + classes[8 * row + UNIT]
                count = lanes[8 * cu + DISPATCHED]
                if count - lanes[8 * cu + STARTED] >= depth:
                    break
                time = seq_time[c]
                if count >= depth:
                    time = max(time, when[ring * cu + ((count - depth) & wrap)])
                seq_time[c] = time + 1
                queued[ring * cu + (count & wrap)] = word
                when[ring * cu + (count & wrap)] = time + 1
                lanes[8 * cu + DISPATCHED] = count + 1
                todo = 1 << classes[8 * row + UNIT]
            else:
                seq_time[c] += 1
                seq_count[c] += 1
                if kind == HALT:
                    halted[c] = 1
                    end = max(end, seq_time[c])
                    break
                if kind == LOOP:
                    level = loop_depth[c]
                    loop_start[MAX_LOOPS * c + level] = following
                    loop_end[MAX_LOOPS * c + level] = following + classes[8 * row + B]
                    loop_left[MAX_LOOPS * c + level] = classes[8 * row + A]
                    loop_depth[c] = level + 1
                    pc[c] = following
                    continue
            level = loop_depth[c]
            while level > 0 and following == loop_end[MAX_LOOPS * c + level - 1]:
                loop_left[MAX_LOOPS * c + level - 1] -= 1
                if loop_left[MAX_LOOPS * c + level - 1] > 0:
                    following = loop_start[MAX_LOOPS * c + level - 1]
                    break
                level -= 1
            loop_depth[c] = level
            pc[c] = following
    finish[0] = end
    finish[1] = n_trace
    return DONE

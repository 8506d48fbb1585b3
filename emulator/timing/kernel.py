"""
The compiled kernel of the timing engine: one function over flat arrays.

The timing rules are defined in `reference.py`, in readable form; this kernel computes the same times faster. Each core
runs ahead, in the order of its program, as long as the times of all its dependences are known; only interactions with
other cores (packets at routers and at DRAM ports) go through the global queue of events (`event_wheel`), in the order
of (cycle, core, unit). An event at cycle t cannot cause a packet before t + 1, therefore running ahead is exact.

The timing of a word is in the row of its class (`tables`). Bytes on links do not depend on time: the kernel counts the
bytes that enter each route, and they are added up for the links afterwards.

The kernel allocates no memory and counts no references, which makes it ten times as fast; if its pools are too small,
it returns, and is run again with larger ones.
"""

from __future__ import annotations

import numpy as np

from ...dialects.coreasm.encoding import MAX_LOOPS
from ...support.jit import Array, jit_with
from ..machine.noc import INPUTS
from .event_wheel import (
    ALIVE,
    CLASS,
    CYCLES,
    FLAGS,
    LANE,
    NEXT,
    NODE,
    NOW,
    PORT_WORK,
    WAY,
    EventWheel,
    copy_event,
    free_event,
    new_event,
    next_cycle,
    push,
)
from .kernel_arrays import (
    BEGIN,
    BEGIN_AT,
    BUSY,
    DISPATCHED,
    DRAIN,
    FIRST_START,
    FORK,
    FREE,
    FREE_AT,
    HALT,
    HERE,
    INTO_CORE,
    INTO_PORT,
    KIND,
    LAST_END,
    LAST_IN,
    LEAD,
    LEAVE,
    LEFT,
    LOAD,
    LOCAL,
    LOOP,
    LOOP_BY,
    MAPPED,
    NODE_MASK,
    ONE_LINK,
    PART,
    PUT,
    PUT_MAPPED,
    SIGNAL,
    SIGNALS,
    STARTED,
    STORE,
    TARGET,
    TURN,
    UNIT,
    WAIT,
    WAITING,
    WAITS,
    A,
    B,
)
from .kernel_state import CoreState, Network, Results, RouteNodes, Sequencers, TimeQueues, Values, Words
from .links import enter, new_turn, wait_for
from .time_queues import IN_USE, append, take

DONE, NO_ROOM, TOO_LONG = range(3)
"""Results of `simulate`: no event is left; the pools are too small; a time is too large."""

MAX_TIME = 1 << 42
SPARE = 16
"""Number of events and tokens that one step may allocate."""
FIRST, LAST = 1, 2
"""Flags of a packet: it is at its source, where the next packet waits for it; it is the last of its instruction."""
_LOAD, _STORE, _SEND, _RECV = 3, 4, 5, 6
_LOG2 = np.zeros(129, np.uint8)
_LOG2[[1 << _bit for _bit in range(8)]] = range(8)


@jit_with(_nrt=False)
def simulate(
    words: Words,
    routes: RouteNodes,
    values: Values,
    numbers: Array,
    state: CoreState,
    sequencers: Sequencers,
    network: Network,
    queues: TimeQueues,
    wheel: EventWheel,
    results: Results,
) -> int:
    """
    Run all cores from cycle 0 until no event is left. Returns DONE, NO_ROOM or TOO_LONG. All arrays are flat.

    `numbers`: the chip's queue depth, semaphores, packet bytes, link bytes per cycle, hop cycles, ports, DRAM bytes per
    cycle, DRAM latency, and the size of ring buffers.
    """
    word_class, classes = words
    nodes, children, put_root, load_root, store_root = routes
    mapped, mapped_next, decided, decided_next, decided_end = values
    pc, halted, lanes, queued, when, sem_count, seq_time, q_head = state
    blocked_sem, loop_depth, loop_start, loop_end, loop_left, under_way, draining = sequencers
    links, w_head, w_tail, to_leave, left_at, complete = network
    q_tail, s_head, s_tail, p_time, p_next, pool = queues
    events, slots, used, h_key, h_value, order, counters = wheel
    seq_count, entered, finish, trace_lane, trace_word, trace_start, trace_end = results
    cores = pc.shape[0]
    depth, sems, packet, link_rate = numbers[0], numbers[1], numbers[2], numbers[3]
    hop, ports, dram_rate, latency, ring = numbers[4], numbers[5], numbers[6], numbers[7], numbers[8]
    full_work = packet * ports  # most packets are full, so the division is done once
    full_time = (full_work + dram_rate - 1) // dram_rate
    full_cycles, full_part = full_work // dram_rate, full_work % dram_rate
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
            # ---- A packet reaches a router (or its DRAM port), or a link is reserved for a packet that waits there.
            event = order[at_now]
            at_now += 1
            flags = events[8 * event + FLAGS]
            way = events[8 * event + WAY]
            node_kind = flags >> 2 & 7
            if node_kind == TURN:
                turn = event
                came = links[4 * way + LAST_IN] + 1
                around = (links[4 * way + WAITING] * 0x101 >> came) & 0xFF  # the next input first (round-robin)
                came = came + _LOG2[around & -around] & 7
                queue = INPUTS * way + came
                event = w_head[queue]
                w_head[queue] = events[8 * event + NEXT]
                if event == w_tail[queue]:
                    links[4 * way + WAITING] ^= 1 << came
                if links[4 * way + WAITING]:
                    push(events, slots, used, h_key, h_value, counters, turn, links[4 * way + FREE_AT])
                else:
                    free_event(events, counters, turn)
                flags = events[8 * event + FLAGS]
                node_kind = flags >> 2 & 7
            elif node_kind <= INTO_CORE and links[4 * way + BEGIN_AT] > now:
                if wait_for(links, w_head, w_tail, events, way, flags >> 5, event):
                    turn = new_turn(events, counters, way)
                    push(events, slots, used, h_key, h_value, counters, turn, links[4 * way + BEGIN_AT])
                continue
            cu = events[8 * event + LANE]
            on_link = events[8 * event + CYCLES]
            following = events[8 * event + NODE]
            c = np.uint32(cu >> 3)
            todo = 0
            onward, arrival, given = -1, -1, -1  # cycles: at the next node, in the core, and of giving tokens
            if node_kind <= INTO_CORE:
                start = max(now, links[4 * way + FREE_AT])
                gate = start + on_link  # the cycle in which the next packet of its instruction may be offered
                links[4 * way + BEGIN_AT] = start
                links[4 * way + FREE_AT] = gate
                links[4 * way + LAST_IN] = flags >> 5
                if node_kind == INTO_CORE:
                    arrival = gate
                else:
                    onward = start + hop
                    if cu & 7 == _LOAD:
                        gate = start + max(on_link - hop, 1)
            elif node_kind == FORK:
                gate = now
                held = 0
                ways = nodes[4 * following + NODE_MASK]
                while ways & 15:
                    low = ways & -ways
                    ways ^= low
                    out = way + _LOG2[low]
                    copy = copy_event(events, counters, event)
                    if links[4 * out + BEGIN_AT] > now:
                        events[8 * copy + FLAGS] = flags & ~(7 << 2) | ONE_LINK << 2
                        events[8 * copy + WAY] = out
                        events[8 * copy + NODE] = children[4 * following + _LOG2[low]]
                        if wait_for(links, w_head, w_tail, events, out, flags >> 5, copy):
                            turn = new_turn(events, counters, out)
                            push(events, slots, used, h_key, h_value, counters, turn, links[4 * out + BEGIN_AT])
                        held += 1
                    else:
                        start = max(now, links[4 * out + FREE_AT])
                        links[4 * out + BEGIN_AT] = start
                        links[4 * out + FREE_AT] = start + on_link
                        links[4 * out + LAST_IN] = flags >> 5
                        gate = max(gate, start + on_link)
                        enter(events, nodes, copy, children[4 * following + _LOG2[low]], flags & LAST)
                        push(events, slots, used, h_key, h_value, counters, copy, start + hop)
                if ways:
                    way += 4
                    if links[4 * way + BEGIN_AT] > now:
                        events[8 * event + FLAGS] = flags & ~(7 << 2) | INTO_CORE << 2
                        events[8 * event + WAY] = way
                        if wait_for(links, w_head, w_tail, events, way, flags >> 5, event):
                            turn = new_turn(events, counters, way)
                            push(events, slots, used, h_key, h_value, counters, turn, links[4 * way + BEGIN_AT])
                        if flags & FIRST:
                            to_leave[cu] = held
                            left_at[cu] = gate
                        continue
                    start = max(now, links[4 * way + FREE_AT])
                    links[4 * way + BEGIN_AT] = start
                    links[4 * way + FREE_AT] = start + on_link
                    links[4 * way + LAST_IN] = flags >> 5
                    arrival = start + on_link
                    gate = max(gate, arrival)
                if held and flags & FIRST:
                    flags ^= FIRST
                    to_leave[cu] = held - 1
                    left_at[cu] = gate
            else:
                work = np.int64(events[8 * event + PORT_WORK])
                start = now
                if links[4 * way + FREE_AT] < now:
                    links[4 * way + PART] = 0
                else:
                    start = links[4 * way + FREE_AT]
                if work == full_work:
                    links[4 * way + FREE_AT] = start + full_cycles
                    links[4 * way + PART] += full_part
                else:
                    links[4 * way + FREE_AT] = start + work // dram_rate
                    links[4 * way + PART] += work % dram_rate
                if links[4 * way + PART] >= dram_rate:
                    links[4 * way + PART] -= dram_rate
                    links[4 * way + FREE_AT] += 1
                gate = max(links[4 * way + FREE_AT], now + 1)
                if node_kind == INTO_PORT:
                    on_port = full_time if work == full_work else (work + dram_rate - 1) // dram_rate
                    given = start + max(on_link, on_port) + latency
                else:
                    onward = start + hop
                    if following != HERE:  # the next packet also waits for the first link of this one
                        left_at[cu] = gate
                        enter(events, nodes, event, following, flags & (FIRST | LAST))
                        push(events, slots, used, h_key, h_value, counters, event, onward)
                        continue
            if flags & FIRST:
                gate = max(gate, left_at[cu])
                left_at[cu] = 0
                if to_leave[cu] > 0:
                    to_leave[cu] -= 1
                    left_at[cu] = gate
                    flags ^= FIRST
            if onward >= 0:
                if following == HERE:
                    work = np.int64(events[8 * event + PORT_WORK])
                    on_port = full_time if work == full_work else (work + dram_rate - 1) // dram_rate
                    given = onward + max(on_link, on_port) + latency
                elif flags & FIRST:
                    copy = copy_event(events, counters, event)
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
                    given = max(given, complete[cu])
                    complete[cu] = given
                    under_way[c] -= 1
                    todo |= draining[c]
                    lanes[8 * cu + LAST_END] = max(lanes[8 * cu + LAST_END], given)
                else:
                    given = -1
            if flags & FIRST:
                size = lanes[8 * cu + LEFT]
                if size > 0:
                    if cu & 7 == _LOAD:
                        node = load_root[c]
                    elif cu & 7 == _STORE:
                        node = store_root[c]
                    else:
                        node = put_root[sets * c + classes[8 * events[8 * event + CLASS] + TARGET]]
                    if size > packet:
                        lanes[8 * cu + LEFT] = size - packet
                        flags = FIRST
                    else:
                        lanes[8 * cu + LEFT] = 0
                        flags = FIRST | LAST
                        events[8 * event + CYCLES] = (size + link_rate - 1) // link_rate
                        events[8 * event + PORT_WORK] = size * ports
                    enter(events, nodes, event, node, flags)
                    push(events, slots, used, h_key, h_value, counters, event, gate)
                    continue
                word = -1 - lanes[8 * cu + FREE]
                lanes[8 * cu + FREE] = gate
                lanes[8 * cu + BUSY] += gate - lanes[8 * cu + BEGIN]
                lanes[8 * cu + LAST_END] = max(lanes[8 * cu + LAST_END], gate)
                end = max(end, gate)
                if tracing:
                    trace_word[n_trace] = word
                    trace_lane[n_trace] = cu
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

        # ---- Core c runs ahead: first the heads of queues that may have become ready (todo), then the sequencer.
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
                            trace_lane[n_trace] = cu
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
                            size = link_rate  # one flit; the sender does not wait for it to leave
                            flags = LAST
                        else:
                            size = classes[8 * row + A]
                            if kind == PUT_MAPPED and mapped.shape[0] > 0:
                                size = mapped[mapped_next[cu]]
                                mapped_next[cu] += 1
                            flags = FIRST | LAST
                            lanes[8 * cu + BEGIN] = start
                            lanes[8 * cu + FREE] = -1 - word
                            if kind == LOAD or kind == STORE:
                                under_way[c] += 1
                        entered[node] += size
                        if size > packet and flags & FIRST:
                            lanes[8 * cu + LEFT] = size - packet
                            size = packet
                            flags = FIRST
                        event = new_event(events, counters)
                        events[8 * event + LANE] = cu
                        events[8 * event + CYCLES] = (size + link_rate - 1) // link_rate
                        events[8 * event + PORT_WORK] = size * ports
                        events[8 * event + CLASS] = row
                        enter(events, nodes, event, node, flags)
                        push(events, slots, used, h_key, h_value, counters, event, start + classes[8 * row + LEAD])
                    if counters[ALIVE] > events_room or pool[IN_USE] > tokens_room:
                        return NO_ROOM
                    if start > MAX_TIME:
                        return TOO_LONG
            # The sequencer: one word per cycle, in order, until a queue is full and the start of its head is unknown.
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
                if kind == DRAIN:
                    draining[c] = 0
                    for u in range(8):
                        cu = c * 8 + u
                        if lanes[8 * cu + DISPATCHED] > lanes[8 * cu + STARTED] or lanes[8 * cu + FREE] < 0:
                            draining[c] = 1
                        seq_time[c] = max(seq_time[c], lanes[8 * cu + FREE], complete[cu])
                    if under_way[c] > 0:
                        draining[c] = 1
                    if draining[c]:
                        break
                seq_time[c] += 1
                seq_count[c] += 1
                if kind == HALT:
                    halted[c] = 1
                    end = max(end, seq_time[c])
                    break
                count = classes[8 * row + A]
                if (kind == LOOP_BY or kind == LEAVE) and decided_next[c] < decided_end[c]:
                    count = decided[decided_next[c]]
                    decided_next[c] += 1
                elif kind == LEAVE:
                    count = 1
                if kind == LEAVE and count == 0:
                    level = loop_depth[c]
                    loop_left[MAX_LOOPS * c + level - 1] = 1
                    following = loop_end[MAX_LOOPS * c + level - 1]
                elif kind == LOOP_BY and count == 0:
                    following += classes[8 * row + B]
                elif kind == LOOP or kind == LOOP_BY:
                    level = loop_depth[c]
                    loop_start[MAX_LOOPS * c + level] = following
                    loop_end[MAX_LOOPS * c + level] = following + classes[8 * row + B]
                    loop_left[MAX_LOOPS * c + level] = count
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

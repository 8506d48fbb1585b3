"""
The compiled kernel of the checks: vector clocks along the dynamic stream, and shadow memory for all cells.

An agent is one unit of one core; its clock counts its instructions. The order of a queue, tokens and semaphores
propagate clocks between agents; an access is ordered after an earlier one if the clocks of its agent cover that one.
The remote write of a put belongs to a ninth agent of its core, the network, for which tokens of the sender do not wait;
only the semaphore that the put raises covers it. (The writes of one sender are delivered in order.) The counts of a
semaphore that several cores raise are assumed to be in the order of the stream.
"""

from __future__ import annotations

from typing import Any

from ....support.jit import jit

AGENTS = 9
"""Agents of a core: its eight units and the network."""

OK, OUT_OF_SRAM, OUT_OF_DRAM, UNWRITTEN, RACE_WRITE, RACE_READ, BUSY, GROW = range(8)
"""Results of the kernel; GROW requests more memory for clocks in flight."""


@jit
def check_chunk(
    start: int, core: Any, flat: Any, number: Any, address: Any, kind: Any, unit: Any, wait: Any, signal: Any, imm: Any,
    need: Any, core_set: Any, core_sets: Any, first: Any, rows: Any, grain: int, clocks: Any, net: Any, snapshots: Any,
    references: Any, free: Any, nodes: Any, token_ends: Any, counter_ends: Any, written: Any, write_agent: Any,
    write_clock: Any, read_clock: Any, dram_written: Any, busy: Any, touched: Any, cell_of: Any, dram_low: int,
    far_agent: Any, far_clock: Any, far_read: Any, found: Any,
) -> tuple[int, int]:  # fmt: skip
    """
    Check the instructions of a chunk from `start` on. Returns (result, instruction); for GROW, call again from there.

    `snapshots` [room, agents] has the clocks in flight, `references` the number of nodes that refer to each; `free`
    [2, 1 + room] are the stacks of free snapshots and nodes, preceded by their heights; `nodes` [room, 2] are
    (snapshot, next); `token_ends` [cores, 8, 8, 2] and `counter_ends` [cores, semaphores, 2] are the first and last
    nodes of queues. Cells have `grain` bytes. `found` is set to (byte, other agent, its clock, slot).
    """
    cells = written.shape[1]
    agents = clocks.shape[0]
    cores = agents // 9
    for i in range(start, core.size):
        c = core[i]
        f = flat[i]
        u = unit[f]
        a = c * 9 + u
        needed = 9 + cores
        if free[0, 0] < needed or free[1, 0] < needed:
            return 7, i
        mine = clocks[a]
        if kind[f] == 8 or kind[f] == 9:  # all units of the core are idle
            for v in range(8):
                for k in range(agents):
                    if clocks[c * 9 + v, k] > mine[k]:
                        mine[k] = clocks[c * 9 + v, k]
        # the instruction is ordered after those that it waits for
        w = wait[f]
        for v in range(8):
            if (w >> v) & 1:
                node = token_ends[c, v, u, 0]
                shot = nodes[node, 0]
                for k in range(agents):
                    if snapshots[shot, k] > mine[k]:
                        mine[k] = snapshots[shot, k]
                token_ends[c, v, u, 0] = nodes[node, 1]
                free[1, 0] += 1
                free[1, free[1, 0]] = node
                references[shot] -= 1
                if references[shot] == 0:
                    free[0, 0] += 1
                    free[0, free[0, 0]] = shot
        if kind[f] == 7:
            for _ in range(need[f]):
                node = counter_ends[c, imm[f], 0]
                shot = nodes[node, 0]
                for k in range(agents):
                    if snapshots[shot, k] > mine[k]:
                        mine[k] = snapshots[shot, k]
                counter_ends[c, imm[f], 0] = nodes[node, 1]
                free[1, 0] += 1
                free[1, free[1, 0]] = node
                references[shot] -= 1
                if references[shot] == 0:
                    free[0, 0] += 1
                    free[0, free[0, 0]] = shot
        mine[a] += 1
        clock = mine[a]
        # its accesses
        for j in range(first[number[f]], first[number[f] + 1]):
            slot, flags, length = rows[j, 0], rows[j, 1], rows[j, 3]
            low = address[i, slot] + rows[j, 2]
            high = low + length
            for k in range(5):
                high += (rows[j, 4 + 2 * k] - 1) * rows[j, 5 + 2 * k]
            far = (flags & 4) != 0
            limit = touched.size * grain if far else cells * grain
            if low < 0 or high > limit:
                found[0], found[1], found[2], found[3] = low, high, 0, slot
                return 2 if far else 1, i
            if (flags & 8) != 0:
                # the network writes to the destinations
                net[c] += 1
                for d in range(cores):
                    if core_sets[core_set[f], d]:
                        bad = _near(
                            rows, j, low, d, a, c * 9 + 8, net[c], flags, grain, mine, written, write_agent,
                            write_clock, read_clock, found,
                        )  # fmt: skip
                        if bad:
                            found[3] = slot
                            return bad, i
            elif far:
                bad = _far(
                    rows, j, low, a, clock, flags, grain, mine, busy, touched, cell_of, dram_low, far_agent, far_clock,
                    far_read, found,
                )  # fmt: skip
                if bad:
                    found[3] = slot
                    return bad, i
            else:
                bad = _near(
                    rows, j, low, c, a, a, clock, flags, grain, mine, written, write_agent, write_clock, read_clock,
                    found,
                )  # fmt: skip
                if bad:
                    found[3] = slot
                    return bad, i
        if kind[f] == 8 or kind[f] == 9:  # instructions dispatched from now on are ordered after it
            for v in range(8):
                clocks[c * 9 + v, :] = mine
        # instructions that wait for its signals are ordered after it
        s = signal[f]
        if s:
            shot = free[0, free[0, 0]]
            free[0, 0] -= 1
            references[shot] = 0
            for k in range(agents):
                snapshots[shot, k] = mine[k]
            for v in range(8):
                if (s >> v) & 1:
                    node = free[1, free[1, 0]]
                    free[1, 0] -= 1
                    nodes[node, 0], nodes[node, 1] = shot, -1
                    references[shot] += 1
                    if token_ends[c, u, v, 0] < 0:
                        token_ends[c, u, v, 0] = node
                    else:
                        nodes[token_ends[c, u, v, 1], 1] = node
                    token_ends[c, u, v, 1] = node
        if kind[f] == 6:
            shot = free[0, free[0, 0]]
            free[0, 0] -= 1
            references[shot] = 0
            for k in range(agents):
                snapshots[shot, k] = mine[k]
            if u == 5:  # the puts of one sender are delivered in order
                snapshots[shot, c * 9 + 8] = net[c]
            for d in range(cores):
                if core_sets[core_set[f], d]:
                    node = free[1, free[1, 0]]
                    free[1, 0] -= 1
                    nodes[node, 0], nodes[node, 1] = shot, -1
                    references[shot] += 1
                    if counter_ends[d, imm[f], 0] < 0:
                        counter_ends[d, imm[f], 0] = node
                    else:
                        nodes[counter_ends[d, imm[f], 1], 1] = node
                    counter_ends[d, imm[f], 1] = node
            if references[shot] == 0:
                free[0, 0] += 1
                free[0, free[0, 0]] = shot
    return 0, core.size


@jit
def _near(
    rows: Any, j: int, low: int, core: int, a: int, writer: int, clock: int, flags: int, grain: int, mine: Any,
    written: Any, write_agent: Any, write_clock: Any, read_clock: Any, found: Any,
) -> int:  # fmt: skip
    # one access to the SRAM of `core` by agent `a`; a write counts as done by `writer` at `clock`
    writes, checks = (flags & 1) != 0, (flags & 3) != 1
    length = rows[j, 3]
    unit = a % 9
    at = low
    for i0 in range(rows[j, 4]):
        for i1 in range(rows[j, 6]):
            for i2 in range(rows[j, 8]):
                for i3 in range(rows[j, 10]):
                    for i4 in range(rows[j, 12]):
                        at = low + i0 * rows[j, 5] + i1 * rows[j, 7] + i2 * rows[j, 9] + i3 * rows[j, 11]
                        at += i4 * rows[j, 13]
                        for x in range(at // grain, (at + length - 1) // grain + 1):
                            if checks and written[core, x] == 0:
                                found[0], found[2] = x * grain, core
                                return 3
                            g = write_agent[core, x]
                            if write_clock[core, x] > mine[g] and g != writer:
                                found[0], found[1], found[2], found[4] = x * grain, g, core, write_clock[core, x]
                                return 4
                            if writes:
                                for v in range(8):
                                    r = read_clock[core, v, x]
                                    if r > mine[core * 9 + v]:
                                        found[0], found[1], found[2], found[4] = x * grain, core * 9 + v, core, r
                                        return 5
                                written[core, x] = 1
                                write_agent[core, x] = writer
                                write_clock[core, x] = clock
                            else:
                                read_clock[core, unit, x] = clock
    return 0


@jit
def _far(
    rows: Any, j: int, low: int, a: int, clock: int, flags: int, grain: int, mine: Any, busy: Any, touched: Any,
    cell_of: Any, dram_low: int, far_agent: Any, far_clock: Any, far_read: Any, found: Any,
) -> int:  # fmt: skip
    # one access to DRAM by agent `a`; only cells that some core writes in this launch have clocks
    writes = (flags & 1) != 0
    length = rows[j, 3]
    core = a // 9
    for i0 in range(rows[j, 4]):
        for i1 in range(rows[j, 6]):
            for i2 in range(rows[j, 8]):
                for i3 in range(rows[j, 10]):
                    for i4 in range(rows[j, 12]):
                        at = low + i0 * rows[j, 5] + i1 * rows[j, 7] + i2 * rows[j, 9] + i3 * rows[j, 11]
                        at += i4 * rows[j, 13]
                        for x in range(at // grain, (at + length - 1) // grain + 1):
                            if busy[x] == 1 or (writes and busy[x] != 0):
                                found[0] = x * grain
                                return 6
                            if not writes and (touched[x] & 4) == 0:
                                found[0] = x * grain
                                return 3
                            k = x - dram_low
                            if k >= 0 and k < cell_of.size and cell_of[k] >= 0:
                                y = cell_of[k]
                                g = far_agent[y]
                                if far_clock[y] > mine[g]:
                                    found[0], found[1], found[4] = x * grain, g, far_clock[y]
                                    return 4
                                if writes:
                                    for c in range(far_read.shape[1]):
                                        if far_read[y, c] > mine[c * 9 + 3]:
                                            found[0], found[1], found[4] = x * grain, c * 9 + 3, far_read[y, c]
                                            return 5
                                    far_agent[y], far_clock[y] = a, clock
                                else:
                                    far_read[y, core] = clock
                            touched[x] |= 6 if writes else 1
    return 0


@jit
def mark_stores(flat: Any, number: Any, address: Any, first: Any, rows: Any, grain: int, stored: Any) -> None:
    """Mark in `stored` the cells of DRAM that the instructions of a chunk write; cells beyond its end are ignored."""
    for i in range(flat.size):
        for j in range(first[number[flat[i]]], first[number[flat[i]] + 1]):
            if (rows[j, 1] & 5) != 5:
                continue
            low = address[i, rows[j, 0]] + rows[j, 2]
            for i0 in range(rows[j, 4]):
                for i1 in range(rows[j, 6]):
                    for i2 in range(rows[j, 8]):
                        for i3 in range(rows[j, 10]):
                            for i4 in range(rows[j, 12]):
                                at = low + i0 * rows[j, 5] + i1 * rows[j, 7] + i2 * rows[j, 9] + i3 * rows[j, 11]
                                at += i4 * rows[j, 13]
                                start = max(at, 0) // grain
                                end = (at + rows[j, 3] - 1) // grain + 1
                                for x in range(start, min(end, stored.size)):
                                    stored[x] = 1

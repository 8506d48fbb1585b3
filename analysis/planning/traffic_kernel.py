"""The loads that an exchange puts on senders, receivers and links, counted pair by pair of cores."""

from __future__ import annotations

import numpy as np

from ...support.jit import Array, jit


@jit
def busiest(
    held_low: Array, held_high: Array, held_cores: Array, low: Array, high: Array, cores: Array, rows: int, columns: int
) -> tuple[int, int, int, int]:
    """
    The largest loads, in positions: (sent by a core, received by a core, messages of a core, over a link between
    routers).

    Core held_cores[i] holds the box from held_low[i] to held_high[i] (exclusive), core cores[j] needs low[j] to high[j]
    (exclusive). Equal parts of one sender for several receivers travel as one multicast. Routes go along the row first;
    a multicast uses each link of its tree once: one range of links to the east and one to the west in the sender's row,
    and one to the north and one to the south in each column with receivers.
    """
    readers, rank = low.shape
    length = max(rows, columns) + 1
    # Loads along each line of links as differences: east and west by row, south and north by column.
    change = np.zeros((4, length, length), np.int64)
    received = np.zeros(readers, np.int64)
    size = 64
    while size < 2 * readers:
        size *= 2
    # For the current sender: a table of its messages; each message's part, volume and columns; each branch's rows.
    table, table_of = np.empty(size, np.int64), np.full(size, -1, np.int64)
    part = np.empty((readers, 2 * rank), np.int64)
    volumes, west, east = np.empty(readers, np.int64), np.empty(readers, np.int64), np.empty(readers, np.int64)
    branch, branch_of = np.empty((readers, columns), np.int64), np.full((readers, columns), -1, np.int64)
    owner, column = np.empty(readers, np.int64), np.empty(readers, np.int64)
    north, south = np.empty(readers, np.int64), np.empty(readers, np.int64)
    here = np.empty(2 * rank, np.int64)
    most_sent, most_messages = 0, 0
    for holder in range(len(held_cores)):
        y, x = held_cores[holder] // columns, held_cores[holder] % columns
        messages, branches, sent = 0, 0, 0
        for reader in range(readers):
            if cores[reader] == held_cores[holder]:
                continue
            volume, code, message = 1, 0, -1
            for dim in range(rank):
                first = max(low[reader, dim], held_low[holder, dim])
                last = min(high[reader, dim], held_high[holder, dim])
                if last <= first:
                    volume = 0
                    break
                volume *= last - first
                here[2 * dim], here[2 * dim + 1] = first, last
                code = ((code ^ first) * 0x9E3779B1 ^ last) * 0x85EBCA77 + (code >> 29)
            if volume == 0:
                continue
            received[reader] += volume
            at = (code ^ code >> 32) & (size - 1)
            while table_of[at] == holder:
                message = table[at]
                same = True
                for entry in range(2 * rank):
                    same &= part[message, entry] == here[entry]
                if same:
                    break
                at = (at + 1) & (size - 1)
            if table_of[at] != holder:
                table_of[at], table[at], message = holder, messages, messages
                for entry in range(2 * rank):
                    part[message, entry] = here[entry]
                volumes[message], west[message], east[message] = volume, x, x
                messages += 1
                sent += volume
            to_y, to_x = cores[reader] // columns, cores[reader] % columns
            west[message], east[message] = min(west[message], to_x), max(east[message], to_x)
            # Branches are numbered per sender: the mark tells which sender an entry belongs to.
            if branch_of[message, to_x] != holder:
                branch_of[message, to_x], branch[message, to_x] = holder, branches
                owner[branches], column[branches], north[branches], south[branches] = message, to_x, y, y
                branches += 1
            number = branch[message, to_x]
            north[number], south[number] = min(north[number], to_y), max(south[number], to_y)
        for message in range(messages):
            change[0, y, x] += volumes[message]
            change[0, y, east[message]] -= volumes[message]
            change[1, y, west[message]] += volumes[message]
            change[1, y, x] -= volumes[message]
        for number in range(branches):
            volume = volumes[owner[number]]
            change[2, column[number], y] += volume
            change[2, column[number], south[number]] -= volume
            change[3, column[number], north[number]] += volume
            change[3, column[number], y] -= volume
        most_sent, most_messages = max(most_sent, sent), max(most_messages, messages)
    crossing = 0
    for way in range(4):
        for line in range(length):
            load = 0
            for position in range(length):
                load += change[way, line, position]
                crossing = max(crossing, load)
    return most_sent, received.max() if readers else 0, most_messages, crossing


@jit
def missing(
    row_of: Array, held_low: Array, held_high: Array, cores: Array, low: Array, high: Array
) -> tuple[int, bool]:
    """
    (Largest number of positions of a box, low[i] to high[i] (exclusive), that core cores[i] does not hold itself,
    except scalars; whether some core holds nothing)

    Core c holds the box from held_low[row_of[c]] to held_high[row_of[c]] (exclusive); see `BoxArrays.row_of`.
    """
    most, absent = 0, False
    for reader in range(len(cores)):
        row = row_of[cores[reader]] if cores[reader] < len(row_of) else -1
        if row < 0:
            absent = True
        volume, common = 1, 1
        for dim in range(low.shape[1]):
            volume *= high[reader, dim] - low[reader, dim]
            if row < 0:
                common = 0
            else:
                first = max(low[reader, dim], held_low[row, dim])
                common *= max(0, min(high[reader, dim], held_high[row, dim]) - first)
        most = max(most, volume - common)
    return most, absent

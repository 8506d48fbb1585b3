"""
Arrival times of the parts of an exchange on an idle network: its messages are simulated packet by packet over the
links, by the emulator's rules of time (see `emulator/timing/reference.py`), with one exception: at a busy link packets
pass in the order of their arrival, not in round-robin order of the router's inputs. Round-robin would make the times of
single exchanges exact, but plans worse: in a run, cores do not begin to send in the same cycle, as they do here, and
round-robin then delays all parts equally.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...chips import Chip
from ...chips.dram_ports import port_routers
from ...support.heap import heap_drop, heap_push
from ...support.jit import Array, jit
from .transfers import Transfers

PARTS_IN_FLIGHT = 2
"""Number of parts of an exchange with credits at one time, if parts are sent in turn."""
CREDIT_CYCLES = 100
"""Parts that take fewer cycles are sent all at once."""

_SOURCE, _EAST, _WEST, _NORTH, _SOUTH = range(5)
_EJECT = 4
_LINKS = 5
_WAY_BITS = 3


def come_in_turn(parts: Sequence[Transfers], chip: Chip) -> bool:
    """
    Whether the parts of an exchange should be sent one after the other, `PARTS_IN_FLIGHT` of them at a time, rather
    than all at once.

    This is the case if several cores hold the data: otherwise all would send at the same time, and no part would be
    complete before the last. It is not the case if parts are short, or if the senders of a part are too few to keep the
    links to receivers busy.
    """
    if len(parts) <= PARTS_IN_FLIGHT:
        return False
    senders = [set(messages.senders.tolist()) for messages in parts]
    if all(later <= earlier for earlier, later in zip(senders, senders[PARTS_IN_FLIGHT:], strict=False)):
        return False
    least = CREDIT_CYCLES * chip.link_bytes_per_cycle
    sent, received = sum(part.most_sent for part in parts), sum(part.most_received for part in parts)
    return received >= len(parts) * least and sent <= received


def credit_cycles(chip: Chip) -> int:
    """Cycles from the credit of a receiver to its arrival at the senders: one flit over half the chip."""
    return 2 + chip.hop_cycles * (chip.rows + chip.cols) // 2


class Exchange(NamedTuple):
    """Times of an exchange on an idle network."""

    times: list[int]
    """Cycles after which each part, and all before it, has arrived; senders have credit and begin at 0."""
    crossing: tuple[tuple[float, float], ...]
    """
    Links shared with reads from DRAM: (share of a port's reads over the link, share of the time that the exchange uses
    the link; 1 is for the link that it uses most).
    """


def follow(parts: Sequence[Transfers], chip: Chip) -> Exchange:
    """
    Simulate the messages of an exchange.

    Each sender sends its messages of a part in the given order, nearest receivers first, then those of the next part.
    """
    messages = Transfers.joined(parts) if parts else Transfers.of(())
    if not len(messages):
        return Exchange([0] * len(parts), ())
    part = np.repeat(np.arange(len(parts)), [len(one) for one in parts])
    distance = (messages.receivers[messages.first[:-1]] - messages.senders) % chip.cores
    order = np.lexsort((distance, part, messages.senders))
    ends, loads = _follow(
        messages.senders[order], messages.nbytes[order], part[order], messages.first[:-1][order],
        messages.first[1:][order], messages.receivers, len(parts), chip.rows, chip.cols, chip.noc_packet_bytes,
        chip.link_bytes_per_cycle, max(chip.hop_cycles, 1), come_in_turn(parts, chip), credit_cycles(chip),
    )  # fmt: skip
    shares = dram_shares(chip)
    used: dict[float, float] = {}
    for link in np.flatnonzero((shares > 0) & (loads > 0)).tolist():
        share = float(shares[link])
        used[share] = max(used.get(share, 0.0), float(loads[link] / loads.max()))
    return Exchange(np.maximum.accumulate(ends).tolist(), tuple(sorted(used.items())))


@cache
def dram_shares(chip: Chip) -> NDArray[np.float64]:
    """[cores * 5] share of the reads of its DRAM port that crosses a link, if all cores read equally much."""
    ports, homes = port_routers(chip)
    shares = np.zeros(chip.cores * _LINKS)
    for core, port in enumerate(ports.tolist()):
        at, part = int(homes[port]), 1 / int((ports == port).sum())
        while at != core:
            if at % chip.cols < core % chip.cols:
                way, following = 0, at + 1
            elif at < core:
                way, following = 3, at + chip.cols
            else:
                way, following = 2, at - chip.cols
            shares[at * _LINKS + way] += part
            at = following
    return shares


@jit
def _bits(below: int) -> int:
    """Number of bits of the numbers below `below`."""
    bits = 0
    while 1 << bits < below:
        bits += 1
    return bits


@jit
def _follow(
    sender: Array,
    nbytes: Array,
    part: Array,
    begins: Array,
    stops: Array,
    receivers: Array,
    parts: int,
    rows: int,
    cols: int,
    packet: int,
    rate: int,
    hop: int,
    in_turn: bool,
    credit: int,
) -> tuple[Array, Array]:
    """
    ([parts] the time at which the last packet of each part has arrived, [cores * 5] cycles for which each link is
    used); messages are sorted by sender. The receivers of a message are receivers[begins:stops].
    """
    count, cores = len(sender), rows * cols
    row_of, col_of = np.arange(cores) // cols, np.arange(cores) % cols
    # For the tree of each message: the range of columns, and within each column the range of rows.
    west, east = sender % cols, sender % cols
    top, bottom = np.empty((count, cols), np.int64), np.empty((count, cols), np.int64)
    left, ends = np.zeros(parts, np.int64), np.zeros(parts, np.int64)
    needed = np.zeros((count, cores), np.bool_)
    for index in range(count):
        top[index], bottom[index] = sender[index] // cols, sender[index] // cols
        left[part[index]] += stops[index] - begins[index]
        for core in receivers[begins[index] : stops[index]]:
            needed[index, core] = True
            y, x = row_of[core], col_of[core]
            west[index], east[index] = min(west[index], x), max(east[index], x)
            top[index, x], bottom[index, x] = min(top[index, x], y), max(bottom[index, x], y)
    opened = np.ones(parts, np.bool_)
    if in_turn:
        opened[PARTS_IN_FLIGHT:] = False
    link_free, loads = np.zeros(cores * _LINKS, np.int64), np.zeros(cores * _LINKS, np.int64)
    waiting = np.full(count, -1, np.int64)
    # Events are packets that arrive at a router; time, message, router and direction are packed in one number.
    place_bits, message_bits = _bits(cores << _WAY_BITS), _bits(count)
    keys, packets = np.empty(4 * cores, np.int64), np.empty(4 * cores, np.int64)
    size = 0
    for index in range(count):
        if index == 0 or sender[index] != sender[index - 1]:
            if not opened[part[index]]:
                waiting[index] = 0
                continue
            heap_push(keys, packets, size, index << place_bits | sender[index] << _WAY_BITS | _SOURCE, 0)
            size += 1
    while size:
        key, number = keys[0], packets[0]
        size -= 1
        heap_drop(keys, packets, size)
        if size + 5 + cores > len(keys):
            keys, packets = np.concatenate((keys, keys)), np.concatenate((packets, packets))
        now, index = key >> place_bits + message_bits, key >> place_bits & (1 << message_bits) - 1
        router, state = (key & (1 << place_bits) - 1) >> _WAY_BITS, key & (1 << _WAY_BITS) - 1
        y, x = row_of[router], col_of[router]
        left_over = nbytes[index] - number * packet
        busy = (min(packet, left_over) + rate - 1) // rate
        gate = now
        sideways = state <= _WEST
        for way in range(4):
            if way == 0:
                goes = (state == _SOURCE or state == _EAST) and east[index] > x
            elif way == 1:
                goes = (state == _SOURCE or state == _WEST) and west[index] < x
            elif way == 2:
                goes = (sideways or state == _NORTH) and top[index, x] < y
            else:
                goes = (sideways or state == _SOUTH) and bottom[index, x] > y
            if goes:
                link = router * _LINKS + way
                start = max(now, link_free[link])
                link_free[link] = start + busy
                loads[link] += busy
                gate = max(gate, start + busy)
                to = router + (1 if way == 0 else -1 if way == 1 else -cols if way == 2 else cols)
                key = ((start + hop) << message_bits | index) << place_bits | to << _WAY_BITS | way + 1
                heap_push(keys, packets, size, key, number)
                size += 1
        if needed[index, router]:
            link = router * _LINKS + _EJECT
            start = max(now, link_free[link])
            link_free[link] = start + busy
            loads[link] += busy
            gate = max(gate, start + busy)
            if left_over <= packet:
                own = part[index]
                left[own] -= 1
                ends[own] = max(ends[own], start + busy)
                following = own + PARTS_IN_FLIGHT
                if left[own] == 0 and following < parts and not opened[following]:
                    opened[following] = True
                    for other in range(count):
                        if waiting[other] >= 0 and part[other] == following:
                            begin = max(waiting[other], ends[own] + credit)
                            waiting[other] = -1
                            key = (begin << message_bits | other) << place_bits | sender[other] << _WAY_BITS | _SOURCE
                            heap_push(keys, packets, size, key, 0)
                            size += 1
        if state == _SOURCE:
            following = index if left_over > packet else index + 1
            if following == index:
                number += 1
            elif following < count and sender[following] == sender[index]:
                number = 0
                if not opened[part[following]]:
                    waiting[following] = gate
                    continue
            else:
                continue
            key = (gate << message_bits | following) << place_bits | router << _WAY_BITS | _SOURCE
            heap_push(keys, packets, size, key, number)
            size += 1
    return ends, loads

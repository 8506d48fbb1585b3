"""Search for repeats in a sequence of instructions: the kernel of loop rerolling, on flat arrays.

The sequence consists of items: words at first, later also the loops that earlier passes have found. An item has a class
(a 64-bit hash of everything but its addresses: only items with equal classes can be iterations of one loop), its base
addresses, and for every address a key: 0, or the number of the register by which the item itself advances this address.
p consecutive items that occur m times in a row with equal classes, and with addresses that advance by constants, become
one item, a loop.

The keys of a loop are the distinct (child, child's key, delta) of its addresses. Addresses of plain words with equal
deltas share a register. An address that a child loop advances needs a register for that child alone, since the end of
the outer body must subtract what the child has added.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...support.jit import jit

MAX_REGISTERS = 15
MAX_DEPTH = 4
_MAX_KEYS = 64
_MAX_DELTA = 2**30


class Items(NamedTuple):
    """A sequence of n items (see the module's docstring)."""

    classes: NDArray[np.uint64]
    first: NDArray[np.int64]
    """[n + 1] where the addresses of each item begin in `values` and `keys`."""
    values: NDArray[np.int64]
    keys: NDArray[np.int64]
    shape: NDArray[np.int64]
    """[n, 4] node, words, registers, depth; a node below 0 is loop -1 - node, else a word."""

    @staticmethod
    def empty(count: int, addresses: int) -> Items:
        """Uninitialised arrays for this many items and addresses."""
        return Items(
            np.empty(count, np.uint64),
            np.empty(count + 1, np.int64),
            np.empty(addresses, np.int64),
            np.empty(addresses, np.int64),
            np.empty((count, 4), np.int64),
        )

    def up_to(self, count: int) -> Items:
        """A copy of the first `count` items."""
        end = self.first[count]
        counts = (count, count + 1, end, end, count)
        return Items._make(array[:length].copy() for array, length in zip(self, counts, strict=True))


class Loops(NamedTuple):
    """Loops one after the other, in flat arrays."""

    ends: NDArray[np.int64]
    """[loops, 4] iterations, and the ends of the loop's entries in `children`, `keys` and `operands`."""
    children: NDArray[np.int64]
    """Nodes (see `Items.shape`)."""
    keys: NDArray[np.int64]
    """[., 3] child or -1, child's key, delta."""
    operands: NDArray[np.int64]
    """Key number (from 1; 0: fixed) of every address of the children in order."""

    @staticmethod
    def empty(count: int, addresses: int) -> Loops:
        """Uninitialised arrays, large enough for all loops over this many items and addresses."""
        return Loops(
            np.empty((count // 2 + 1, 4), np.int64),
            np.empty(count, np.int64),
            np.empty((addresses + _MAX_KEYS, 3), np.int64),
            np.empty(addresses + 1, np.int64),
        )


def mix(value: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Scramble 64-bit values (the finaliser of splitmix64)."""
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


def candidate_periods(classes: NDArray[np.uint64], most: int) -> NDArray[np.int64]:
    """
    Periods that may give loops, ascending: distances at which runs of 1, 4 or 16 equal classes recur often, at most
    `most` of them, the most frequent ones.
    """
    counts = np.zeros(len(classes) // 2 + 2, dtype=np.int64)
    gram, length = classes, 1
    for wanted in (1, 4, 16):
        while length < wanted:
            if len(gram) <= length:
                break
            gram = mix(gram[:-length] * np.uint64(0x9E3779B97F4A7C15) + gram[length:])
            length *= 2
        if length < wanted:
            break
        order = np.argsort(gram, kind="stable")
        same = gram[order[1:]] == gram[order[:-1]]
        distance = (order[1:] - order[:-1])[same]
        found = np.bincount(distance[distance < len(counts)], minlength=len(counts))
        counts = np.maximum(counts, found)
    # With 2, 3 or 4 buffers used in rotation, addresses advance by constants only from every second, third or fourth
    # repeat to the next: multiples of a frequent period are candidates too.
    for buffers in (4, 3, 2):
        single = counts[: (len(counts) - 1) // buffers + 1]
        frequent = single * 4 >= np.arange(len(single))
        counts[::buffers] = np.maximum(counts[::buffers], single * frequent)
    # A run with period p has the next occurrence of most of its p positions at distance p. Fewer than a quarter means
    # no such run, except where items also recur inside the period.
    periods = np.flatnonzero(counts * 4 >= np.arange(len(counts)))
    periods = periods[(periods > 0) & (counts[periods] > 0)]
    if len(periods) > most:
        periods = np.sort(periods[np.argsort(-counts[periods], kind="stable")[:most]])
    return periods


@jit
def _scramble(value: np.uint64, more: np.uint64) -> np.uint64:
    value = (value ^ more) * np.uint64(0x9E3779B97F4A7C15)
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    return value ^ (value >> np.uint64(27))


@jit
def repetitions(at: int, period: int, most: int, items: Items) -> int:
    """
    The number of consecutive occurrences, at most `most`, of the `period` items from `at`, with addresses that advance
    by constants. Their classes must be equal.
    """
    first, values = items.first, items.values
    low = first[at]
    width = first[at + period] - low
    count = 2
    while count < most:
        base = low + count * width
        for j in range(width):
            if values[base + j] - values[base - width + j] != values[low + width + j] - values[low + j]:
                return count
        count += 1
    return count


@jit
def fold_keys(
    at: int, period: int, count: int, items: Items, operand_keys: NDArray[np.int64], table: NDArray[np.int64]
) -> tuple[int, int]:
    """Number the keys of a loop over the items from `at`: rows of `table` are (child or -1, child's key, delta).

    Fills operand_keys[: width] with 0 or 1 + the row of every address. Returns the number of rows, and of rows whose
    delta is not 0; (-1, 0) if there are too many rows or a delta is too large.
    """
    first, values, keys = items.first, items.values, items.keys
    low = first[at]
    width = first[at + period] - low
    used = live = 0
    for child in range(period):
        for j in range(first[at + child] - low, first[at + child + 1] - low):
            delta = values[low + width + j] - values[low + j]
            inner = keys[low + j]
            if inner == 0 and delta == 0:
                operand_keys[j] = 0
                continue
            if abs(delta) >= _MAX_DELTA or abs(delta) * count >= _MAX_DELTA:
                return -1, 0
            owner = child if inner != 0 else -1
            row = 0
            while row < used and (table[row, 0] != owner or table[row, 1] != inner or table[row, 2] != delta):
                row += 1
            if row == used:
                if delta != 0:
                    live += 1
                if live > MAX_REGISTERS or used == _MAX_KEYS:
                    return -1, 0
                table[row, 0], table[row, 1], table[row, 2] = owner, inner, delta
                used += 1
            operand_keys[j] = row + 1
    return used, live


@jit
def try_fold(
    at: int,
    period: int,
    least: int,
    run: int,
    items: Items,
    operand_keys: NDArray[np.int64],
    table: NDArray[np.int64],
) -> tuple[int, int, int, int, int]:
    """The loop over the `period` items from `at`, if it saves words; `run` items from `at` equal those a period later.

    Returns its iterations (1: no loop), and the numbers of its keys, words, registers and nested levels. Fills the
    arrays as `fold_keys` does.
    """
    if run < period * (least - 1):
        return 1, 0, 0, 0, 0
    # The cheapest tests come first: this function runs at almost every item.
    count = repetitions(at, period, run // period + 1, items)
    if count < least:
        return 1, 0, 0, 0, 0
    used, live = fold_keys(at, period, count, items, operand_keys, table)
    if used < 0:
        return 1, 0, 0, 0, 0
    words = registers = depth = 0
    for child in range(at, at + period):
        words += items.shape[child, 1]
        registers = max(registers, items.shape[child, 2])
        depth = max(depth, items.shape[child, 3])
    # The loop word, and `li` and `addi` for each register. An address that a child advances too may need a register
    # more, at every level below.
    rolled = words + 1 + 2 * live
    for row in range(used):
        if table[row, 0] >= 0 and table[row, 2] != 0:
            rolled += depth
    if depth == MAX_DEPTH or live + registers > MAX_REGISTERS or rolled >= words * count:
        return 1, 0, 0, 0, 0
    return count, used, rolled, live + registers, depth + 1


@jit
def has_fold(period: int, least: int, items: Items, scratch: Loops) -> bool:
    """
    Whether `fold_pass` would fold any repeat. Most passes do not, and this test is much faster. Overwrites `scratch`.
    """
    classes, run = items.classes, 0
    for i in range(len(classes) - period - 1, -1, -1):
        run = run + 1 if classes[i] == classes[i + period] else 0
        if run >= period * (least - 1):
            if try_fold(i, period, least, run, items, scratch.operands, scratch.keys)[0] > 1:
                return True
    return False


@jit
def fold_pass(
    period: int, least: int, items: Items, loops_before: int, new: Items, loops: Loops
) -> tuple[int, int, int, int, int]:
    """Fold every run of at least `least` repeats of `period` items that saves words, left to right.

    `new` takes the resulting items, `loops` the new loops, which are numbered from `loops_before` on. Returns the
    numbers of items, loops, children, loop keys and loop operands.
    """
    classes, first, values = items.classes, items.first, items.values
    total = len(classes)
    run = np.zeros(total + 1, np.int64)
    for i in range(total - period - 1, -1, -1):
        if classes[i] == classes[i + period]:
            run[i] = run[i + 1] + 1
    kept = found = child_end = key_end = operand_end = 0
    new.first[0] = 0
    i = 0
    while i < total:
        count, used, words, registers, depth = try_fold(
            i, period, least, run[i], items, loops.operands[operand_end:], loops.keys[key_end:]
        )
        low = first[i]
        start = new.first[kept]
        if count == 1:
            width = first[i + 1] - low
            for j in range(width):
                new.values[start + j], new.keys[start + j] = values[low + j], items.keys[low + j]
            new.classes[kept] = classes[i]
            for j in range(items.shape.shape[1]):
                new.shape[kept, j] = items.shape[i, j]
            new.first[kept + 1] = start + width
            kept += 1
            i += 1
            continue
        width = first[i + period] - low
        code = _scramble(np.uint64(count), np.uint64(period))
        for child in range(period):
            loops.children[child_end] = items.shape[i + child, 0]
            child_end += 1
            code = _scramble(code, classes[i + child])
        for j in range(width):
            code = _scramble(code, np.uint64(values[low + width + j] - values[low + j]))
            new.keys[start + j] = loops.operands[operand_end + j]
            new.values[start + j] = values[low + j]
        new.classes[kept] = code
        new.first[kept + 1] = start + width
        node, record = new.shape[kept], loops.ends[found]
        node[0], node[1], node[2], node[3] = -1 - (loops_before + found), words, registers, depth
        key_end += used
        operand_end += width
        record[0], record[1], record[2], record[3] = count, child_end, key_end, operand_end
        kept += 1
        found += 1
        i += period * count
    return kept, found, child_end, key_end, operand_end

"""
Equivalence classes of instruction words that differ in addresses only. A launch has few classes with many words each.

The cost and timing of a word depend on its operation, types, tokens, descriptors and a few fields. Words that are equal
in these form a class, and are analysed once per class.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...dialects.coreasm.encoding import DESC, NO_DESC, SLOTS, WORD
from ...dialects.coreasm.isa import DATA_DEPENDENT, Cost, Instruction, by_opcode, by_operand
from ...support.jit import Array, jit

_KEYS = 6
_IMM, _COUNT, _BODY, _DECLARED, _SET, _TOKENS = (1 << bit for bit in range(6))


def _fields(entry: Instruction) -> int:
    """
    The fields that distinguish words of equal operation, types and operands' descriptors, as bits: imm, addr[0],
    addr[1], addr[3], the core set, the tokens.
    """
    found = _TOKENS
    if entry.core_set or entry.cost in (Cost.MATMUL, Cost.SPARSE_MATMUL, Cost.WAIT):
        found |= _IMM
    if entry.cost == Cost.WAIT or entry.has_body:
        found |= _COUNT
    if entry.has_body:
        found |= _BODY
    if entry.core_set:
        found |= _SET
    if entry.cost in DATA_DEPENDENT:
        found |= _DECLARED
    return found


def _cost_fields(entry: Instruction) -> int:
    """Those of `_fields` on which cycles and bytes depend."""
    by_imm = entry.cost in (Cost.MATMUL, Cost.SPARSE_MATMUL)
    return _fields(entry) & _DECLARED | (_IMM if by_imm else 0)


_FIELDS: NDArray[np.uint8] = by_opcode(_fields, np.uint8, _TOKENS)
_COST_FIELDS: NDArray[np.uint8] = by_opcode(_cost_fields, np.uint8)
_OPERAND: NDArray[np.bool_] = by_operand(lambda o: True, np.bool_)
"""[256, 4] whether a slot has an operand's descriptor."""


@dataclass(frozen=True)
class WordClasses:
    """Classes of words, numbered in the order of first appearance, and cost classes: classes with equal costs."""

    of_word: NDArray[np.int32]
    first: NDArray[np.int64]
    """[classes] index of the first word of each class."""
    cost_of: NDArray[np.int32]
    """[classes] number of its cost class."""
    first_of_cost: NDArray[np.int64]
    """[cost classes] index of the first word of each cost class."""
    desc: NDArray[np.int64]
    """[cost classes, 4] descriptors of the operands, as rows of `descs` (-1: none)."""
    descs: NDArray[Any]
    """The distinct descriptors of all programs (DESC)."""


def classify(words: NDArray[Any], bounds: NDArray[np.int64], descs: list[NDArray[Any]]) -> WordClasses:
    """
    The classes of `words` (WORD, [n]); words[bounds[i] : bounds[i + 1]] use the descriptors `descs[i]` (DESC).

    A reference to a descriptor that does not exist becomes an index past the end of the distinct descriptors.
    """
    lengths = np.array([len(table) for table in descs], np.int64)
    every = np.concatenate([np.zeros(0, DESC), *descs])
    of_desc, first_desc = distinct(np.ascontiguousarray(every).view(np.int64).reshape(-1, DESC.itemsize // 8))
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    flat = np.ascontiguousarray(words).view(np.uint32).reshape(-1, WORD.itemsize // 4)
    part = np.repeat(np.arange(len(descs)), np.diff(bounds))
    tables = (starts, of_desc, len(first_desc))
    of_word, first = distinct(_word_keys(flat, part, *tables, _FIELDS, _OPERAND))
    keys = _word_keys(flat[first], part[first], *tables, _COST_FIELDS, _OPERAND)
    cost_of, example = distinct(keys)
    return WordClasses(of_word, first, cost_of, first[example], keys[example, 2:], every[first_desc])


def distinct(rows: NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """
    Groups of equal `rows` ([n, k]): the number of each row's group [n], and the first row of each group [groups].

    Groups are numbered in the order of first appearance.
    """
    return _distinct(rows)


@jit
def _word_keys(
    words: Array, part: Array, starts: Array, of_desc: Array, unknown: int, fields: Array, operand: Array
) -> Array:
    """
    [n, 6] keys that distinguish words: a row for each of `words` ([n, 8] u32). Word i is of part[i], whose descriptors
    are of_desc[starts[part[i]] : starts[part[i] + 1]].
    """
    keys = np.empty((len(words), _KEYS), np.int64)
    for i in range(len(words)):
        here, there = starts[part[i]], starts[part[i] + 1]
        head = np.int64(words[i, 0])
        op = head & 255
        field = fields[op]
        if not field & _TOKENS:
            head &= 0xFFFF
        if field & _IMM:
            head |= np.int64(words[i, 1] >> 16) << 32
        key = 0
        if field & (_COUNT | _DECLARED):
            key = np.int64(words[i, 5] if field & _DECLARED else words[i, 2])
        if field & _BODY:
            key |= np.int64(words[i, 3]) << 32
        keys[i, 0] = head
        keys[i, 1] = key
        for slot in range(SLOTS):
            desc = np.int64(words[i, 6 + (slot >> 1)] >> (16 * (slot & 1)) & 0xFFFF)
            if not operand[op, slot]:
                desc = desc if slot == 3 and field & _SET else np.int64(-1)
            elif desc == NO_DESC:
                desc = np.int64(-1)
            elif here + desc < there:
                desc = np.int64(of_desc[here + desc])
            else:
                desc = np.int64(unknown)
            keys[i, 2 + slot] = desc
    return keys


@jit
def _distinct(rows: Array) -> tuple[Array, Array]:
    count, width = rows.shape
    of_row, first = np.empty(count, np.int32), np.empty(count, np.int64)
    mask = 1023
    table = np.full(mask + 1, -1, np.int32)
    hashes = np.empty(count, np.int64)
    groups = 0
    for i in range(count):
        value = rows[i, 0] * 0x5851F42D4C957F2D
        for column in range(1, width):
            value = ((value >> 29) ^ value ^ rows[i, column]) * 0x5851F42D4C957F2D
        value ^= value >> 32
        at = value & mask
        while True:
            group = table[at]
            if group < 0:
                break
            if hashes[group] == value:
                other = first[group]
                same = True
                for column in range(width):
                    if rows[i, column] != rows[other, column]:
                        same = False
                        break
                if same:
                    break
            at = (at + 1) & mask
        if group < 0:
            group = groups
            groups += 1
            first[group], hashes[group], table[at] = i, value, group
            if 2 * groups > mask:  # the table is enlarged fourfold when it is half full
                mask = 4 * mask + 3
                table = np.full(mask + 1, -1, np.int32)
                for other in range(groups):
                    at = hashes[other] & mask
                    while table[at] >= 0:
                        at = (at + 1) & mask
                    table[at] = other
        of_row[i] = group
    return of_row, first[:groups].copy()

"""Fold repeats in the words of a core into hardware loops; the core executes the same instructions as before.

Repeated words, equal in everything but addresses that advance by constants, become `loop count, body` with registers
that hold iteration * delta: `li` before the loop sets the first value, `addi` at the end of the body adds the delta.
Loops nest; a register that an inner loop has advanced is corrected by the outer body's `addi`
(delta - count * inner delta), which is left out where it adds 0, as in contiguous accesses. Repeats are folded only
where that saves words.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...dialects.coreasm.isa import OPCODE
from ..codegen.stream import UNUSED
from .find_repeats import Items, Loops, candidate_periods, fold_pass, has_fold, mix
from .wide_words import HIGH_HALF, WIDE, address_operands

_MAX_ROUNDS = 40
_PERIODS = {3: 256, 2: 32}
"""
Least number of repeats -> how many periods are tried. Repeats of two are tried last and at fewer periods, since they
are numerous and save little.
"""


def reroll_loops(words: NDArray[np.void]) -> NDArray[np.void]:
    """The words [n] WIDE (without loops and registers) as an equivalent shorter program [<= n] WIDE.

    Source indices of a loop are those of its first iteration.
    """
    if len(words) < 3:
        return words.copy()
    is_address, values = address_operands(words)
    items = _items_of(_classes(words, is_address), is_address, values)
    loops: list[_Loop] = []
    for least in _PERIODS:
        items = _fold_all(items, loops, least)
    writer = _Writer(words, is_address, loops)
    writer.top_level(items.shape[:, 0])
    return writer.finish()


def _classes(words: NDArray[np.void], is_address: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """[n] hash of all fields that the iterations of a loop must have in common: all but the addresses, both halves."""
    fixed = np.where(is_address, 0, words["addr"])
    halves = HIGH_HALF[words["op"]]
    for operand in range(4):
        rows = np.flatnonzero((halves[:, operand] >= 0) & is_address[:, operand])
        fixed[rows, halves[rows, operand]] = 0
    code = np.zeros(len(words), dtype=np.uint64)
    columns = [words[name] for name in ("op", "dtype", "wait", "signal", "imm")]
    columns += [words["desc"][:, k] for k in range(4)] + [fixed[:, k] for k in range(4)]
    for column in columns:
        code = mix(code * np.uint64(0x9E3779B97F4A7C15) + column.astype(np.uint64) + np.uint64(1))
    return code


def _items_of(classes: NDArray[np.uint64], is_address: NDArray[np.bool_], values: NDArray[np.int64]) -> Items:
    """The words as items, one each."""
    flat = values[is_address]
    items = Items.empty(len(classes), len(flat))
    items.classes[:], items.values[:], items.keys[:] = classes, flat, 0
    items.first[0], items.first[1:] = 0, np.cumsum(is_address.sum(axis=1))
    items.shape[:] = 0
    items.shape[:, 0], items.shape[:, 1] = np.arange(len(classes)), 1
    return items


@dataclass(frozen=True)
class _Loop:
    count: int
    children: NDArray[np.int64]
    """Nodes: a word index, or -1 - loop number."""
    keys: NDArray[np.int64]
    """[keys, 3]: child or -1, child's key, delta."""
    operands: NDArray[np.int64]
    """Key number (from 1; 0: fixed) of every address of the children in order."""


def _fold_all(items: Items, loops: list[_Loop], least: int) -> Items:
    """Fold repeats of at least `least`, shortest periods first, until none is left. Appends to `loops`."""
    for _ in range(_MAX_ROUNDS):
        before = len(items.classes)
        for period in candidate_periods(items.classes, _PERIODS[least]).tolist():
            items = _fold(items, loops, period, least)
            # New inner loops change the periods of the items around them: look for periods again once the number of
            # items has shrunk by more than a sixteenth.
            if len(items.classes) * 16 < before * 15:
                break
        if len(items.classes) == before:
            break
    return items


def _fold(items: Items, known: list[_Loop], period: int, least: int) -> Items:
    """One pass over the items for one period. Appends the new loops to `known`."""
    count, width = len(items.classes), len(items.values)
    loops = Loops.empty(count, width)
    if period * least > count or not has_fold(period, least, items, loops):
        return items
    new = Items.empty(count, width)
    ends: tuple[int, int, int, int, int] = fold_pass(period, least, items, len(known), new, loops)
    kept, found = ends[:2]
    # Copies: views would keep the whole scratch arrays in memory.
    flat = [array[:end].copy() for array, end in zip(loops[1:], ends[2:], strict=True)]
    begins = [0, 0, 0]
    for iterations, *stops in loops.ends[:found].tolist():
        arrays = (one[begin:end] for one, begin, end in zip(flat, begins, stops, strict=True))
        known.append(_Loop(iterations, *arrays))
        begins = stops
    return new.up_to(kept)


class _Writer:
    """
    Writes words and loops in order and assigns registers: a loop takes the next free ones, which are free again after
    it.
    """

    def __init__(self, words: NDArray[np.void], is_address: NDArray[np.bool_], loops: list[_Loop]) -> None:
        self._words = words
        self._loops = loops
        self._slots: list[list[int]] = [[k for k in range(4) if mask >> k & 1] for mask in range(16)]
        self._mask: list[int] = (is_address.astype(np.int64) @ np.array([1, 2, 4, 8])).tolist()
        self._index: list[int] = []
        self._regs: list[int] = []
        self._control: list[tuple[int, int, int, int, int]] = []
        """(position, opcode, imm, addr0, addr1) of control words; `_index` has the word whose source they take."""

    def top_level(self, nodes: NDArray[np.int64]) -> None:
        numbers: list[int] = nodes.tolist()
        for node in numbers:
            if node >= 0:
                self._index.append(node)
                self._regs.append(0)
            else:
                loop = self._loops[-1 - node]
                self._loop(loop, [0] * len(loop.operands), 0)

    def finish(self) -> NDArray[np.void]:
        result = self._words[np.array(self._index, dtype=np.int64)]
        result["regs"] = self._regs
        if self._control:
            table = np.array(self._control, dtype=np.int64)
            control = np.zeros(len(table), dtype=WIDE)
            control["op"], control["imm"] = table[:, 1], table[:, 2]
            control["addr"][:, :2] = (table[:, 3:] & 0xFFFF_FFFF).astype(np.uint32)
            control["desc"] = UNUSED
            control["source"] = result["source"][table[:, 0]]
            result[table[:, 0]] = control
        return result

    def _control_word(self, op: int, imm: int, addr0: int, addr1: int, like: int) -> None:
        self._control.append((len(self._index), op, imm, addr0, addr1))
        self._index.append(like)
        self._regs.append(0)

    def _width(self, node: int) -> int:
        return self._mask[node].bit_count() if node >= 0 else len(self._loops[-1 - node].operands)

    def _loop(self, loop: _Loop, outer: list[int], used: int) -> None:
        """Write a loop inside loops that hold `used` registers; `outer`: their register (or 0) for every address."""
        like = self._first_word(loop)
        keys: list[list[int]] = loop.keys.tolist()
        operands: list[int] = loop.operands.tolist()
        own: dict[int, int] = {}
        registers: list[int] = []
        moved: dict[tuple[int, int], None] = {}
        for key, register in zip(operands, outer, strict=True):
            if key and not register and keys[key - 1][2]:
                if key not in own:
                    used += 1
                    own[key] = used
                    self._control_word(OPCODE["li"], used, 0, 0, like)
                register = own[key]
            if key and register:
                moved[key, register] = None
            registers.append(register)
        header = len(self._control)
        self._control_word(OPCODE["loop"], 0, loop.count, 0, like)
        begin = len(self._index)
        children: list[int] = loop.children.tolist()
        at = 0
        for node in children:
            width = self._width(node)
            inside = registers[at : at + width]
            at += width
            if node >= 0:
                slots = self._slots[self._mask[node]]
                self._index.append(node)
                self._regs.append(sum(register << 4 * slot for slot, register in zip(slots, inside, strict=True)))
            else:
                self._loop(self._loops[-1 - node], inside, used)
        for key, register in moved:
            owner, inner_key, step = keys[key - 1]
            if owner >= 0:
                inner = self._loops[-1 - children[owner]]
                step -= inner.count * int(inner.keys[inner_key - 1, 2])
            if step:
                self._control_word(OPCODE["addi"], register, step, 0, like)
        position, op, imm, count, _ = self._control[header]
        self._control[header] = (position, op, imm, count, len(self._index) - begin)

    def _first_word(self, loop: _Loop) -> int:
        node = int(loop.children[0])
        while node < 0:
            node = int(self._loops[-1 - node].children[0])
        return node

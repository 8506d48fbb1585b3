"""
The steps of a loop as a hardware loop.

Of a loop with many steps, streams contain the first few and the last. From some step on, the synchronisation state at
the beginning of a step equals that of the previous step (from `synchronise_loops`), and the words of steps are equal
except for addresses that advance by constants: these steps become one body. The core executes the same instructions as
if all steps had been emitted.

In a loop whose number of steps is known at run time only, all units are idle at the beginning and end of each step, so
all steps are equal from the first on. Its body runs as many times as a register says, or until a `leave`.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ...dialects.coreasm.isa import OPCODE
from ...support.errors import MeshloomError
from ..codegen.stream import NUMBER, UNUSED, EmittedEnding, EmittedLoop
from .find_repeats import MAX_DEPTH, MAX_REGISTERS
from .reroll_loops import reroll_loops
from .wide_words import HIGH_HALF, WIDE, address_operands


class StepsDifferError(MeshloomError):
    """The emitted steps of a loop differ from each other up to the last one: they form no loop."""


def roll_steps(words: NDArray[np.void], loop: EmittedLoop, states: NDArray[np.uint64]) -> NDArray[np.void]:
    """
    A loop over all steps, [<= n] WIDE, from the words [n] WIDE of the emitted steps, which have no loops and registers.
    `states`: hashes of the synchronisation state at the beginning of each emitted step (see `synchronise_loops`).

    Raises StepsDifferError if steps differ, MeshloomError if a step advances too many addresses.
    """
    starts = [start - loop.starts[0] for start in loop.starts]
    parts = [words[low:high] for low, high in pairwise(starts)]
    if loop.ending is not None:
        return _roll_dynamic(parts, loop.steps, loop.ending)
    if len(loop.numbers) == loop.steps:
        return reroll_loops(words)
    front = len(loop.numbers) - 3
    first = next((one for one in range(1, front + 1) if states[one] == states[one + 1]), front)
    body = parts[first]
    deltas = _address_deltas(body, parts[first + 1])
    if deltas is None or states[first] != states[first + 1]:
        raise StepsDifferError(f"the steps of a loop of {loop.steps} steps differ from each other: unroll it")
    if not len(body):
        return body
    count = loop.steps - 1 - first
    last_is_equal = _equals_advanced(body, parts[-1], deltas, count)
    count += last_is_equal
    while first and _equals_advanced(parts[first - 1], body, deltas, 1):
        first, count, body = first - 1, count + 1, parts[first - 1]
    rerolled = [reroll_loops(np.concatenate(parts[:first]))] if first else []
    rerolled.append(_loop(body, deltas, count))
    if not last_is_equal:
        rerolled.append(reroll_loops(parts[-1]))
    return np.concatenate(rerolled)


def _roll_dynamic(parts: list[NDArray[np.void]], steps: int, ending: EmittedEnding) -> NDArray[np.void]:
    """
    A loop whose number of steps, at most `steps`, is known at run time only. `parts`: the first two steps, or the only
    one.
    """
    deltas = _address_deltas(parts[0], parts[-1])
    if deltas is None:
        raise StepsDifferError(f"the steps of a loop of at most {steps} steps differ from each other")
    name, register = ("loop.r", NUMBER) if ending.by_count else ("loop", 0)
    rolled = _loop(parts[0], deltas, steps, name, register)
    if ending.by_count:
        rolled = _correct_descending(rolled, steps)
    if not ending.must_end:
        return rolled
    # A step must leave the loop: the value that it reads, which stays in the register, is then 0. Otherwise this
    # `loop.r` of at most 0 iterations ends the run with an error.
    like = parts[0][:1]
    return np.concatenate([rolled, _control("loop.r", NUMBER, 0, 1, like), _control("nop", 0, 0, 0, like)])


def _correct_descending(rolled: NDArray[np.void], steps: int) -> NDArray[np.void]:
    """
    Correct the descending addresses of a loop that runs n <= `steps` times, where a register holds n.

    Such an address begins at the last of n steps, but the words have it for n = `steps`. So its register begins at
    (steps - n) * delta in place of 0: `li` sets steps * delta, and a loop of n iterations subtracts delta.
    """
    begin: list[NDArray[np.void]] = []
    at = int(np.flatnonzero(rolled["op"] == OPCODE["loop.r"])[0])
    increments = rolled[rolled["op"] == OPCODE["addi"]]
    for word in (rolled[position : position + 1] for position in range(at)):  # the `li` of one register each
        register = int(word["imm"][0])
        delta = int(increments["addr"][increments["imm"] == register, 0].astype(np.int32)[-1])
        if delta >= 0:
            begin.append(word)
            continue
        if steps * delta < -(1 << 31):
            raise MeshloomError(
                f"a loop of at most {steps} steps moves an address back by {-delta} bytes per step: more than 2 GiB"
            )
        begin += [
            _control("li", register, steps * delta, 0, word),
            _control("loop.r", NUMBER, steps, 1, word),
            _control("addi", register, -delta, 0, word),
        ]
    return np.concatenate([*begin, rolled[at:]])


def _address_deltas(one: NDArray[np.void], other: NDArray[np.void]) -> NDArray[np.int64] | None:
    """[n, 4] by how many bytes the operands' addresses advance; None if the words differ in anything else."""
    if len(one) != len(other):
        return None
    is_address, values = address_operands(one)
    _, then = address_operands(other)
    deltas = np.where(is_address, then - values, 0)
    return deltas if _equals_advanced(one, other, deltas, 1) else None


def _equals_advanced(one: NDArray[np.void], other: NDArray[np.void], deltas: NDArray[np.int64], steps: int) -> bool:
    """Whether `other` equals `one` with its addresses advanced by `steps` times `deltas`."""
    if len(one) != len(other):
        return False
    expected = one.copy()
    _advance(expected, deltas * steps)
    names = ("op", "dtype", "wait", "signal", "imm", "addr", "desc")
    return all(np.array_equal(expected[name], other[name]) for name in names)


def _advance(words: NDArray[np.void], by: NDArray[np.int64]) -> None:
    """Add `by` [n, 4] bytes to the addresses of the operands."""
    _, values = address_operands(words)
    moved = values + by
    halves = HIGH_HALF[words["op"]]
    for operand in range(4):
        rows = np.flatnonzero(by[:, operand])
        words["addr"][rows, operand] = moved[rows, operand] & 0xFFFF_FFFF
        wide = rows[halves[rows, operand] >= 0]
        words["addr"][wide, halves[wide, operand]] = moved[wide, operand] >> 32


def _loop(
    body: NDArray[np.void], deltas: NDArray[np.int64], count: int, name: str = "loop", by: int = 0
) -> NDArray[np.void]:
    """
    A loop of `count` iterations, by the instruction `name` with `imm` = `by` (`loop.r`: the register of the count).

    Addresses that advance by the same delta share a register. The words between those with such addresses are rerolled
    by themselves.
    """
    steps = sorted({int(delta) for delta in deltas.ravel() if delta})
    if len(steps) >= MAX_REGISTERS:
        raise MeshloomError(f"a step of a loop advances {len(steps)} addresses: unroll it")
    register = {delta: MAX_REGISTERS - number for number, delta in enumerate(steps)}
    advancing = np.flatnonzero(deltas.any(axis=1))
    rerolled: list[NDArray[np.void]] = []
    at = 0
    for position in (*advancing.tolist(), len(body)):
        if position > at:
            rerolled.append(_reroll_inside(body[at:position], MAX_REGISTERS - len(steps)))
        if position < len(body):
            word = body[position : position + 1].copy()
            word["regs"] = sum(register[int(delta)] << 4 * slot for slot, delta in enumerate(deltas[position]) if delta)
            rerolled.append(word)
        at = position + 1
    like = body[:1]
    begin = [_control("li", register[delta], 0, 0, like) for delta in steps]
    increments = [_control("addi", register[delta], delta, 0, like) for delta in steps]
    inside = np.concatenate([*rerolled, *increments])
    return np.concatenate([*begin, _control(name, by, count, len(inside), like), inside])


def _reroll_inside(words: NDArray[np.void], registers: int) -> NDArray[np.void]:
    """Words inside a loop, rerolled as far as depth and registers allow."""
    rolled = reroll_loops(words)
    loops = rolled[rolled["op"] == OPCODE["loop"]]
    used = rolled["imm"][np.isin(rolled["op"], [OPCODE["li"], OPCODE["addi"]])]
    deep = _depth(rolled) >= MAX_DEPTH
    return words.copy() if len(loops) and (deep or int(used.max(initial=0)) > registers) else rolled


def _depth(words: NDArray[np.void]) -> int:
    """The depth of nested loops."""
    depth, ends = 0, list[int]()
    for position in np.flatnonzero(words["op"] == OPCODE["loop"]).tolist():
        ends = [end for end in ends if end > position]
        ends.append(position + int(words["addr"][position, 1]) + 1)
        depth = max(depth, len(ends))
    return depth


def _control(name: str, imm: int, addr0: int, addr1: int, like: NDArray[np.void]) -> NDArray[np.void]:
    """[1] a control word, with the source of `like`."""
    word = np.zeros(1, WIDE)
    word["op"], word["imm"], word["desc"] = OPCODE[name], imm, UNUSED
    word["addr"][0, :2] = addr0 & 0xFFFF_FFFF, addr1
    word["source"] = like["source"]
    return word

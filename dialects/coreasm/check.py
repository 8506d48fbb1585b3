"""
Checks of instruction words, for a whole program at once: the rules of the instruction table as arrays indexed by
opcode.

In a valid word, unused fields are zero and unused descriptor fields are `NO_DESC`; `canonical_words` sets them so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .encoding import MAX_DIMS, MAX_LOOPS, NO_DESC, TYPES, Unit
from .instruction import Imm, Instruction
from .isa import MNEMONICS, NO_UNIT, OPCODE, UNIT_OF_OPCODE, for_each_instruction

_UNUSED, _OPERAND, _MAYBE_IMMEDIATE, _IMMEDIATE, _CORE_SET, _COUNT = range(6)
_IMMS = tuple(Imm)

TYPES_OK = np.zeros((256, 256), np.bool_)
"""[opcode, dtype byte] whether the instruction permits the pair of types."""
ADDRESS_USED = np.zeros((256, 4), np.bool_)
"""[opcode, slot] whether the address field is used."""
REGISTERS_USED = np.zeros(256, np.uint16)
"""[opcode] mask of the bits of `regs` that operands use."""
_DESC_KIND = np.full((256, 4), _UNUSED, np.uint8)
_IMM_KIND = np.zeros(256, np.uint8)
HAS_BODY = np.zeros(256, np.bool_)
"""[opcode] whether the instruction is a loop over the words that follow it."""
PATCHABLE = np.zeros((256, 10), np.bool_)
"""[opcode, field code] whether a parameter may set the field."""


def _enter(i: Instruction) -> None:
    code = i.code
    for source, destination in i.types:
        TYPES_OK[code, source | destination << 4] = True
    if not i.types:
        TYPES_OK[code, 0] = True
    ADDRESS_USED[code, sorted(i.used_addresses)] = True
    for o in i.operands:
        REGISTERS_USED[code] |= 0xF << (4 * o.slot)
        may = _MAYBE_IMMEDIATE if o.immediate else _OPERAND
        _DESC_KIND[code, o.slot] = _IMMEDIATE if o.always_immediate else may
    if i.core_set:
        _DESC_KIND[code, 3] = _CORE_SET
    if i.byte_count:
        _DESC_KIND[code] = _COUNT
    _IMM_KIND[code] = _IMMS.index(i.imm)
    HAS_BODY[code] = i.has_body
    if i.unit < Unit.SEQ:
        PATCHABLE[code, 0:4] = ADDRESS_USED[code]
        PATCHABLE[code, 4:8] = _DESC_KIND[code] != _UNUSED
        PATCHABLE[code, 8] = i.imm is Imm.SEMAPHORE
        PATCHABLE[code, 9] = REGISTERS_USED[code] != 0
    elif i.unit == Unit.SEQ:
        PATCHABLE[code, 0] = bool(i.scalars)


for_each_instruction(_enter)


@dataclass(frozen=True)
class Limits:
    """The number of descriptors, core sets, semaphores and launches; words refer to them by numbers below these."""

    descs: int
    core_sets: int
    semaphores: int
    launches: int = 0
    controller: bool = False
    """Whether the words are the controller's."""


def canonical_words(words: NDArray[Any]) -> NDArray[Any]:
    """
    `words` with unused addresses, registers and `imm` zero, and unused descriptor fields `NO_DESC`; the same array if
    nothing changes.
    """
    op = words["op"]
    stray_address = ~ADDRESS_USED[op] & (words["addr"] != 0)
    stray_desc = (_DESC_KIND[op] == _UNUSED) & (words["desc"] != NO_DESC)
    stray_imm = (_IMM_KIND[op] == _IMMS.index(Imm.NONE)) & (words["imm"] != 0)
    stray_regs = words["regs"] & ~REGISTERS_USED[op]
    if not (stray_address.any() or stray_desc.any() or stray_imm.any() or stray_regs.any()):
        return words
    words = words.copy()
    words["addr"][stray_address] = 0
    words["desc"][stray_desc] = NO_DESC
    words["imm"][stray_imm] = 0
    words["regs"] ^= stray_regs
    return words


def first_problem(words: NDArray[Any], limits: Limits) -> tuple[int, str] | None:
    """Index of the first invalid word, and what is wrong with it; None if all words are valid."""
    if not len(words):
        return None
    found: tuple[int, str] | None = None
    for wrong, message in _rules(words, limits):
        index = int(np.argmax(wrong))
        if wrong[index] and (found is None or index < found[0]):
            found = index, message
        if found and message == _NO_SUCH_OPCODE:
            break  # the other rules do not apply to words with unknown opcodes
    if found is None:
        return None
    index, message = found
    name = MNEMONICS[int(words["op"][index])]
    return index, f"'{name}': {message}" if name else f"{message} {int(words['op'][index])}"


_NO_SUCH_OPCODE = "there is no instruction with opcode"


def _rules(words: NDArray[Any], limits: Limits) -> Iterator[tuple[NDArray[np.bool_], str]]:
    op = words["op"]
    unit = UNIT_OF_OPCODE[op]
    yield unit == NO_UNIT, _NO_SUCH_OPCODE
    yield (
        (unit == Unit.CTL) != limits.controller,
        "belongs to a core's program" if limits.controller else "belongs to the controller's program",
    )
    types = words["dtype"]
    yield ~TYPES_OK[op, types], f"does not take these element types (codes 0 to {len(TYPES) - 1}, see the reference)"
    tokens = words["wait"] | words["signal"]
    yield (tokens != 0) & (unit >= Unit.SEQ), "only instructions of unit queues wait for and signal units"
    yield (unit < Unit.SEQ) & ((tokens >> np.minimum(unit, 7)) & 1 != 0), "waits for or signals its own unit"
    regs = words["regs"]
    yield regs & ~REGISTERS_USED[op] != 0, "names a register for an operand that it does not have"
    stray = ~ADDRESS_USED[op] & (words["addr"] != 0)
    yield _any(stray), "has a value in an address field that it does not use"
    yield from _descriptor_rules(op, words["desc"], regs, limits)
    yield from _imm_rules(op, words["imm"], limits)


def _any(columns: NDArray[np.bool_]) -> NDArray[np.bool_]:
    return np.logical_or.reduce(columns, axis=1)


def _descriptor_rules(
    op: NDArray[np.uint8], desc: NDArray[np.uint16], regs: NDArray[np.uint16], limits: Limits
) -> Iterator[tuple[NDArray[np.bool_], str]]:
    kind = _DESC_KIND[op]
    none = desc == NO_DESC
    missing = desc >= limits.descs
    yield _any((kind == _UNUSED) & ~none), "has a descriptor for an operand that it does not have"
    yield _any((kind == _IMMEDIATE) & ~none), "takes an immediate value, not an operand in memory"
    yield _any((kind == _OPERAND) & none), "takes no immediate value there"
    yield (
        _any(((kind == _OPERAND) | ((kind == _MAYBE_IMMEDIATE) & ~none)) & missing),
        f"names an access descriptor that does not exist (the program has {limits.descs})",
    )
    yield (
        _any((kind == _CORE_SET) & (desc >= limits.core_sets)),
        f"names a core set that does not exist (there are {limits.core_sets})",
    )
    nibbles = (regs[:, None] >> np.array([0, 4, 8, 12], np.uint16)) & 0xF
    immediate = ((kind == _MAYBE_IMMEDIATE) | (kind == _IMMEDIATE)) & none
    yield _any(immediate & (nibbles != 0)), "adds a register to an immediate value"


def _imm_rules(
    op: NDArray[np.uint8], imm: NDArray[np.uint16], limits: Limits
) -> Iterator[tuple[NDArray[np.bool_], str]]:
    kind = _IMM_KIND[op]

    def has(wanted: Imm) -> NDArray[np.bool_]:
        return kind == _IMMS.index(wanted)

    yield has(Imm.NONE) & (imm != 0), "does not use imm"
    yield has(Imm.SEMAPHORE) & (imm >= limits.semaphores), f"semaphore above {limits.semaphores - 1}"
    yield has(Imm.REGISTER) & ((imm == 0) | (imm > 15)), "register must be 1 to 15"
    yield has(Imm.REDUCED_DIMS) & ((imm == 0) | (imm > MAX_DIMS)), "reduces 1 to 5 dims"
    yield has(Imm.INDEX_DIMS) & (imm > MAX_DIMS), "has 0 to 5 index dims"
    b, m, k, n = imm & 15, (imm >> 4) & 15, (imm >> 8) & 15, imm >> 12
    dims = np.maximum(np.maximum(b + m + k, b + k + n), b + m + n)
    yield has(Imm.MATMUL_DIMS) & (dims > MAX_DIMS), "has an operand of more than 5 dims"
    yield has(Imm.LAUNCH) & (imm >= limits.launches), f"launch does not exist (there are {limits.launches})"


def structure_problem(words: NDArray[Any], controller: bool = False) -> tuple[int, str] | None:
    """As `first_problem`, for rules over several words: the end of the program and the nesting of loops."""
    end = OPCODE["ctl.halt" if controller else "halt"]
    halts = np.flatnonzero(words["op"] == end)
    last = len(words) - 1
    if last < 0 or not halts.size or halts[-1] != last:
        return max(last, 0), f"the last word must be '{MNEMONICS[end]}'"
    if halts[0] != last:
        return int(halts[0]), f"'{MNEMONICS[end]}' is not the last word"
    ends: list[int] = []
    loops = np.flatnonzero(HAS_BODY[words["op"]] | (words["op"] == OPCODE["leave"]))
    fields = words["addr"][loops, :2]
    for index, count, body in zip(loops.tolist(), fields[:, 0].tolist(), fields[:, 1].tolist(), strict=True):
        while ends and ends[-1] <= index:
            ends.pop()
        name = MNEMONICS[int(words["op"][index])]
        if name == "leave":
            if not ends:
                return index, "'leave' outside of a loop"
            continue
        stop = index + 1 + body
        if body < 1 or (name == "loop" and count < 1):
            return index, f"'{name}' of {body} words, {count} times: both must be at least 1"
        if stop > (ends[-1] if ends else last):
            return index, f"'{name}' of {body} words does not end within the enclosing {'loop' if ends else 'program'}"
        ends.append(stop)
        if len(ends) > MAX_LOOPS:
            return index, f"'{name}' nested more than {MAX_LOOPS} deep"
    return None

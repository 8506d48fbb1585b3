"""Fixtures with a sample executable and random programs."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest
from meshloom.chips import load_chip
from meshloom.dialects.coreasm.isa import (
    DESC,
    INSTRUCTIONS,
    MAX_LOOPS,
    NO_DESC,
    NO_SOURCE,
    OPCODE,
    Imm,
    TypeCode,
    Unit,
    new_words,
    pack_types,
)
from meshloom.emulator.executable.executable import Executable, Launch, Program, TensorInfo, idle_program
from numpy.typing import NDArray


def _sample() -> Executable:
    """Two launches on `tiny`: two cores run a program with parameters and loops, the others are idle."""
    chip = load_chip("tiny")
    descs = np.zeros(2, DESC)
    descs["size"] = 1
    descs["size"][:, 4] = 16
    descs["stride"][:, 4] = (4, -4)
    words = new_words(9)
    f32 = pack_types(TypeCode.F32, TypeCode.F32)
    words["op"] = [OPCODE[m] for m in ("load", "li", "loop", "loop", "add", "addi", "put", "wait", "halt")]
    words["dtype"] = [f32, 0, 0, 0, f32, 0, f32, 0, 0]
    words["desc"][0, :2] = 0, 1
    words["addr"][0, :3] = 0, 4096, 0
    words["signal"][0] = 1 << 1
    words["imm"][1], words["addr"][1, 0] = 3, 0xFFFF_FFF0
    words["addr"][2, :2] = 5, 3
    words["addr"][3, :2] = 2, 2
    words["desc"][4, :2] = 0, 1
    words["addr"][4, :3] = 64, 0, np.array(1.5, np.float32).view(np.uint32)
    words["wait"][4] = 1 << 3
    words["regs"][4] = 0x3
    words["imm"][5], words["addr"][5, 0] = 3, 64
    words["desc"][6] = 0, 0, 0xFFFF, 1
    words["imm"][6] = 7
    words["imm"][7], words["addr"][7, 0] = 7, 2
    program = Program("worker", words, descs, np.array([[0, 1], [6, 8]]), np.arange(9, dtype=np.uint32) % 3)
    none = np.zeros(0, np.uint32)
    launch = Launch(
        np.array([0, 1, 0, 1], np.int32),
        [np.array([8192, 1], np.uint32), none, np.array([16, 2], np.uint32), none],
    )
    controller = new_words(5)
    controller["op"] = [OPCODE[m] for m in ("ctl.h2d", "ctl.wait", "ctl.launch", "ctl.join", "ctl.halt")]
    controller["desc"][0] = 64, 0, 0, 0
    controller["addr"][0] = 4096, 0, 0, 0
    controller["imm"][2:4] = 1
    sets = np.zeros((2, chip.cores), np.bool_)
    sets[1, 1:3] = True
    return Executable(
        chip,
        [
            TensorInfo("x", "input", TypeCode.F32, (4, 4), 4096, 64, 0),
            TensorInfo("a b\n\u00e9", "output", TypeCode.I64, (), 8192, 8, 64),
        ],
        [program, idle_program()],
        [launch, launch],
        sets,
        controller,
        bytes(range(256)) * 5,
        65536,
        70000,
        ["conv/0", "", "relu \u00fc"],
        {"entry": "main", "compiler": "test"},
    )


DESCS, SETS, NAMES = 7, 3, 4
_CORE = [i for i in INSTRUCTIONS if i.unit < Unit.SEQ or i.mnemonic in ("nop", "li", "addi")]


def _random_word(random: Random, word: NDArray[Any], semaphores: int) -> None:
    ins = random.choice(_CORE)
    word["op"] = ins.code
    if ins.types:
        source, destination = random.choice(sorted(ins.types))
        word["dtype"] = pack_types(source, destination)
    if ins.unit < Unit.SEQ:
        allowed = 0x7F & ~(1 << ins.unit)
        word["wait"], word["signal"] = random.getrandbits(8) & allowed, random.getrandbits(8) & allowed
    for slot in ins.used_addresses:
        word["addr"][slot] = random.choice([0, 1, 0x7FC0_0001, 0xFFFF_FFFF, random.getrandbits(32)])
    registers = 0
    for o in ins.operands:
        if o.always_immediate or (o.immediate and random.random() < 0.3):
            continue
        word["desc"][o.slot] = random.randrange(DESCS)
        registers |= random.choice([0, random.randrange(16)]) << 4 * o.slot
    word["regs"] = registers
    if ins.core_set:
        word["desc"][3] = random.randrange(SETS)
    match ins.imm:
        case Imm.SEMAPHORE:
            word["imm"] = random.randrange(semaphores)
        case Imm.REGISTER:
            word["imm"] = random.randrange(1, 16)
        case Imm.REDUCED_DIMS:
            word["imm"] = random.randrange(1, 6)
        case Imm.INDEX_DIMS:
            word["imm"] = random.randrange(6)
        case Imm.MATMUL_DIMS:
            word["imm"] = sum(random.randrange(2) << s for s in (0, 4, 8, 12))
        case _:
            pass


def _random_block(random: Random, words: NDArray[Any], start: int, end: int, depth: int, semaphores: int) -> None:
    at = start
    while at < end:
        if depth < MAX_LOOPS and end - at >= 2 and random.random() < 0.2:
            body = random.randrange(1, end - at)
            words["op"][at] = OPCODE["loop"]
            words["addr"][at, :2] = random.randrange(1, 1 << 32), body
            _random_block(random, words, at + 1, at + 1 + body, depth + 1, semaphores)
            at += 1 + body
        else:
            _random_word(random, words[at : at + 1][0], semaphores)
            at += 1


def _random_program(seed: int) -> Program:
    random = Random(seed)
    count = random.randrange(1, 40)
    words = new_words(count)
    _random_block(random, words, 0, count - 1, 0, load_chip("tiny").semaphores)
    words["op"][-1] = OPCODE["halt"]
    descs = np.zeros(DESCS, DESC)
    descs["size"] = 1
    for row in descs:
        dims = random.randrange(6)
        row["size"][5 - dims :] = [random.choice([1, random.randrange(1, 1 << 32)]) for _ in range(dims)]
        row["stride"][5 - dims :] = [random.randrange(-(1 << 31), 1 << 31) for _ in range(dims)]
    sources = [random.choice([NO_SOURCE, random.randrange(NAMES)]) for _ in range(count)]
    assert not (words["desc"][words["op"] == OPCODE["fill"], 1] != NO_DESC).any()
    return Program(f"p{seed}", words, descs, sources=np.array(sources, np.uint32))


@pytest.fixture(scope="session")
def sample() -> Callable[[], Executable]:
    """Builds a small executable with tensors, programs, launches, core sets, weights, names of sources and notes."""
    return _sample


@pytest.fixture(scope="session")
def random_program() -> Callable[[int], Program]:
    """Builds a program of random valid words from a seed; it uses SETS core sets, DESCS descriptors and NAMES names."""
    return _random_program


@pytest.fixture(scope="session")
def random_executable() -> Callable[[int], Executable]:
    """Builds the sample with random programs added, from a seed."""

    def make(seed: int) -> Executable:
        exe = _sample()
        exe.core_sets = np.array([[(seed >> (4 * s + c)) & 1 for c in range(4)] for s in range(SETS)], np.bool_)
        exe.programs += [_random_program(seed + k) for k in range(seed % 4)]
        exe.source_names = ["", "a", "b c", "\u2028;"]
        return exe

    return make

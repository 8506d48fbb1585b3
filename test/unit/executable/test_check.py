"""The check of executables: each rule refuses an invalid executable with its message."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from meshloom.dialects.coreasm.isa import OPCODE
from meshloom.emulator.executable.check import check_executable
from meshloom.emulator.executable.executable import Executable
from meshloom.support.errors import InputError

Make = Callable[[], Executable]
Break = Callable[[Executable], object]


def _set(array: object, index: object, value: object) -> None:
    array[index] = value  # pyright: ignore[reportIndexIssue, reportUnknownMemberType]


WORDS: dict[str, tuple[str, object, object]] = {
    "word 0: 'load': names an access descriptor": ("desc", (0, 1), 2),
    "word 0: 'load': takes no immediate value there": ("desc", (0, 0), 0xFFFF),
    "word 0: 'load': has a descriptor for an operand that it does not have": ("desc", (0, 2), 0),
    "word 0: 'load': does not take these element types": ("dtype", 0, 0x10),
    "word 1: 'li': register must be 1 to 15": ("imm", 1, 16),
    "word 1: 'li': only instructions of unit queues wait": ("wait", 1, 1),
    "word 2: 'loop' of 6 words does not end within the enclosing program": ("addr", (2, 1), 6),
    "word 3: 'loop' of 3 words does not end within the enclosing loop": ("addr", (3, 1), 3),
    "word 3: 'loop' of 2 words, 0 times": ("addr", (3, 0), 0),
    "word 4: 'add': waits for or signals its own unit": ("wait", 4, 2),
    "word 4: 'add': adds a register to an immediate value": ("regs", 4, 0x300),
    "word 4: 'add': names a register for an operand": ("regs", 4, 0x3000),
    "word 4: 'add': has a value in an address field": ("addr", (4, 3), 1),
    "word 4: 'add': does not use imm": ("imm", 4, 1),
    "word 5: 'halt': has a value in an address field": ("op", 5, OPCODE["halt"]),
    "word 6: 'put': names a core set that does not exist": ("desc", (6, 3), 2),
    "word 6: 'put': semaphore above 127": ("imm", 6, 128),
    "word 6: 'ctl.wait': belongs to the controller's program": ("op", 6, OPCODE["ctl.wait"]),
    "word 8: the last word must be 'halt'": ("op", 8, OPCODE["nop"]),
}


@pytest.mark.parametrize("message", WORDS)
def test_words(sample: Make, message: str) -> None:
    exe = sample()
    field, index, value = WORDS[message]
    _set(exe.programs[0].words[field], index, value)
    with pytest.raises(InputError, match="here: program 'worker', " + message.replace("(", r"\(")):
        check_executable(exe, "here")


def _tensor(exe: Executable, **changes: object) -> None:
    exe.tensors[0] = replace(exe.tensors[0], **changes)  # pyright: ignore[reportArgumentType]


PARTS: dict[str, Break] = {
    "core sets have shape": lambda e: setattr(e, "core_sets", np.zeros((2, 5), np.bool_)),
    "program name 'worker'": lambda e: setattr(e.programs[1], "name", "worker"),
    "program name 'caf\u00e9' must be": lambda e: setattr(e.programs[1], "name", "caf\u00e9"),
    "descriptor 1 has a size of 0": lambda e: _set(e.programs[0].descs["size"], (1, 2), 0),
    "8 source names for 9 words": lambda e: setattr(e.programs[0], "sources", e.programs[0].sources[:8]),
    "word 8: source name 3 or above": lambda e: _set(e.programs[0].sources, 8, 3),
    "a parameter names a word or a field": lambda e: _set(e.programs[0].params, (0, 0), 9),
    "word 6: field regs|word 6: field addr3": lambda e: _set(e.programs[0].params, (1, 1), 3),
    "two parameters for the same field": lambda e: _set(e.programs[0].params, 1, (0, 1)),
    "launch 0, core 2: there is no program 7": lambda e: _set(e.launches[0].program_of_core, 2, 7),
    "launch 0: must name a program": lambda e: setattr(
        e.launches[0], "program_of_core", e.launches[0].program_of_core[:3]
    ),
    "core 1: 0 parameters, 'worker' takes 2": lambda e: _set(e.launches[0].program_of_core, 1, 0),
    "core 2: parameter 1 of 'worker'.*'put': semaphore above 127": lambda e: _set(
        e.launches[0].params_of_core[2], 1, 128
    ),
    "for imm exceeds 16 bits": lambda e: _set(e.launches[0].params_of_core[2], 1, 1 << 16),
    "assigns a program to core 2, which is unusable": lambda e: setattr(
        e, "chip", replace(e.chip, unusable_cores=(2,))
    ),
    "unknown role 'inputs'": lambda e: _tensor(e, role="inputs"),
    "element type 13": lambda e: _tensor(e, dtype=13),
    "63 bytes are too few for 16": lambda e: _tensor(e, nbytes=63),
    "an input of 16 elements takes 64 bytes, not 68": lambda e: _tensor(e, nbytes=68),
    "tensor of 1048576x1048576 elements takes 4,398": lambda e: _tensor(e, shape=(1 << 20, 1 << 20)),
    "tensor of 1099511627776x0 elements": lambda e: _tensor(e, shape=(1 << 40, 0)),
    "65 dimensions, at most 64": lambda e: _tensor(e, shape=(1,) * 65),
    "does not fit in DRAM": lambda e: _tensor(e, shape=(1 << 14, 1 << 13), host_address=-1),
    "weights end at 66816, but 66815 bytes of DRAM are in use": lambda e: setattr(e, "dram_bytes_used", 66815),
    "DRAM address 67108864": lambda e: _tensor(e, dram_address=1 << 26),
    "needs a host address": lambda e: _tensor(e, host_address=-1),
    "host address -2": lambda e: _tensor(e, host_address=-2),
    "weights end at": lambda e: setattr(e, "weights_address", 1 << 26),
    "uses -1 bytes": lambda e: setattr(e, "dram_bytes_used", -1),
    "controller, word 2: 'ctl.launch': launch does not exist": lambda e: _set(e.controller["imm"], 2, 2),
    "controller, word 0: copies 281474976710720 bytes": lambda e: _set(e.controller["desc"], (0, 3), 1),
    "controller, word 0: 'halt': belongs to a core": lambda e: setattr(e, "controller", e.programs[1].words),
    "words must be an array of WORD": lambda e: setattr(e.programs[0], "words", np.zeros(9)),
}


@pytest.mark.parametrize("message", PARTS)
def test_parts(sample: Make, message: str) -> None:
    exe = sample()
    PARTS[message](exe)
    with pytest.raises(InputError, match="here: .*(" + message + ")"):
        check_executable(exe, "here")


def test_sample_is_valid(sample: Make) -> None:
    check_executable(sample())

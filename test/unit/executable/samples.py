"""Small executables for the tests here."""

from __future__ import annotations

import numpy as np

from meshloom.chips import load_chip
from meshloom.dialects.coreasm.isa import DESC, OPCODE, TypeCode, new_words, pack_types
from meshloom.emulator.executable import Executable, Launch, Program, TensorInfo, idle_program


def sample() -> Executable:
    """Two launches on `tiny`: one program with parameters and loops on two cores, the others idle."""
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

"""
The `coreasm` dialect: executables as text. A program is either packed (one op) or unpacked (one op for each
instruction); the op classes of instructions are generated from the instruction table.

    coreasm.program @worker {
      .desc [16] [4]
      load f32 [0x0, d0], dram[0x1000, d0] signal(vpu)
      loop count = 5 {
        add f32 [0x40, d0], [0x0, d0], 1.5 wait(load) from "relu"
      }
      halt
    }
    coreasm.unpacked_program @same descs [#coreasm.access<[16], [4]>] {
      coreasm.load f32 [0x0, d0], dram[0x1000, d0] signal(vpu)
      coreasm.loop count = 5 {
        coreasm.add f32 [0x40, d0], [0x0, d0], 1.5 wait(load) from "relu"
      }
      coreasm.halt
    }
"""

from __future__ import annotations

from xdsl.ir import Dialect, Operation

from .executable_ops import BytesOp, DataOp, LaunchOp, MemoryOp, NoteOp, SetsOp, SourcesOp, TensorOp
from .instruction import Instruction
from .isa import for_each_instruction
from .ops import INSTRUCTION_OPS, AccessAttr, UnpackedControllerOp, UnpackedProgramOp
from .packed import ControllerOp, ProgramOp

_OPERATIONS: list[type[Operation]] = [
    NoteOp,
    MemoryOp,
    TensorOp,
    SetsOp,
    SourcesOp,
    ProgramOp,
    UnpackedProgramOp,
    LaunchOp,
    ControllerOp,
    UnpackedControllerOp,
    DataOp,
    BytesOp,
]
Coreasm = Dialect("coreasm", _OPERATIONS, [AccessAttr])


def _enter(instruction: Instruction) -> None:
    if instruction.mnemonic in INSTRUCTION_OPS:
        _OPERATIONS.append(INSTRUCTION_OPS[instruction.mnemonic])


for_each_instruction(_enter)
